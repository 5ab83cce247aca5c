#pragma once

#include "orias/options.h"
#include "tools/common/program.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orias::driver {

using tools::UsageError;

struct InputSource {
  std::string name;                ///< a file's name, `-` for standard input; only for display if there is a text
  std::optional<std::string> text; ///< from --input-as-string
  friend bool operator==(const InputSource&, const InputSource&) = default;
};

/// The parsed command line.
struct CommandLine {
  enum class Action : std::uint8_t { Assemble, Help, Version, ListVersions, ListPhases, ListKnobs };

  Action action = Action::Assemble;
  Options options;
  std::vector<InputSource> inputs;
  std::string outputFile = "elf.o";
  bool verbose = false;
  std::optional<std::string> listingFile; ///< `-`: standard output
  std::string sassFile;                   ///< output for plain SASS
  bool textOnly = false;                  ///< no cubin is written
  std::string remarksFile;
  std::string kernelInfoFile; ///< `-`: standard output
  std::string reportFile;     ///< a page, or JSON
  bool reportAsJson = false;
  std::string reportLaunch; ///< a launch file; may be empty
  std::string reproduceDirectory;
  std::string checkEachLaunch;          ///< a launch file; empty: assemble
  std::string checkUniformLaunch;       ///< likewise
  std::vector<std::string> optionWords; ///< the options in their long form, except those that only refer to files
  std::vector<std::string> warnings;    ///< about the command line itself
  friend bool operator==(const CommandLine&, const CommandLine&) = default;
};

/// Reads the words after the program's name. Options files are read here. Throws UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

/// The accepted PTX ISA versions, as ptxas 13.0 lists them.
std::span<const std::string_view> acceptedPtxVersions();

} // namespace orias::driver
