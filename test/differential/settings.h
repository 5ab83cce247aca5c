#pragma once

#include "orias/options.h"
#include "test/differential/generator/generator.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orias::differential {

/// One way to assemble a program.
struct Variant {
  std::string name; ///< for messages: "-O0"; empty if there is only one
  Options options;
};

/// A program, which identifies a failure.
struct Case {
  const generator::Profile* profile = nullptr;
  std::uint64_t seed = 0;
};

struct Settings {
  std::vector<const generator::Profile*> profiles;
  std::uint64_t first = 1, count = 100; ///< seeds of each profile
  std::vector<Case> replay;             ///< if not empty, these programs instead of the seeds
  std::vector<Variant> variants;        ///< all of them for each program
  bool rotate = false;                  ///< use one of them for each program, round-robin
  bool run = false;                     ///< run the assembled code, and compare with the PTX interpreter
  bool ptxas = false;                   ///< run ptxas' code, and compare with the PTX interpreter
  bool eachPhase = false;               ///< run the kernel after every phase
  bool timing = false;                  ///< emulate cubins with timing, which checks the control fields
  bool checkUniform = false;            ///< check the values that divergence analysis marks as uniform
  bool progress = false;
  unsigned jobs = 1;        ///< threads
  unsigned batch = 50;      ///< programs per batch, the unit of work of a thread and of a ptxas call
  std::string writeFolder;  ///< folder for failing programs; empty: none
  std::string failuresFile; ///< file for a line for each failure; empty: none
  std::string arch;         ///< the chip
  std::string ptxasOptions; ///< in addition to the architecture
  /// The reasons of explained failures, by program and engine ("mixed:17 ptxas").
  std::map<std::string, std::string> known;
};

/// Parses the command line. Prints the help and returns nullopt if it is requested. Throws orias::Error or Boost's
/// exceptions for invalid arguments.
std::optional<Settings> readSettings(int argc, char** argv);

} // namespace orias::differential
