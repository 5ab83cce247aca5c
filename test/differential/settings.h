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
  std::string name; ///< for messages: "-O0"; empty for the only one
  Options options;
};

/// A program: what a failure is known by.
struct Case {
  const generator::Profile* profile = nullptr;
  std::uint64_t seed = 0;
};

struct Settings {
  std::vector<const generator::Profile*> profiles;
  std::uint64_t first = 1, count = 100; ///< seeds of each profile
  std::vector<Case> replay;             ///< these instead of the seeds
  std::vector<Variant> variants;        ///< all of them for each program
  bool rotate = false;                  ///< one of them for each program, in turns
  bool run = false;                     ///< run what was assembled, and compare with the PTX interpreter
  bool ptxas = false;                   ///< run what ptxas makes, and compare with the PTX interpreter
  bool eachPhase = false;               ///< run the kernel after every phase
  bool timing = false;                  ///< cubins run with timing: control words have to be right
  bool checkUniform = false;            ///< check what the analysis of divergence calls uniform
  bool progress = false;
  unsigned jobs = 1;        ///< threads
  unsigned batch = 50;      ///< programs of a batch, which is what a thread takes and ptxas gets in one call
  std::string writeFolder;  ///< where the programs go that fail; empty: nowhere
  std::string failuresFile; ///< where a line for each failure goes; empty: nowhere
  std::string arch;         ///< the chip
  std::string ptxasOptions; ///< besides the architecture
  /// Failures that are explained, by program and who fails ("mixed:17 ptxas"): why.
  std::map<std::string, std::string> known;
};

/// Reads the command line; nothing when help was asked for, which is then printed. Throws orias::Error, or what Boost
/// throws, for what makes no sense.
std::optional<Settings> readSettings(int argc, char** argv);

} // namespace orias::differential
