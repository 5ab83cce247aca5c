#pragma once

#include "tools/check_each/check_each.h"

namespace orias::check_each {

struct UniformVerdict {
  bool ok = true;
  std::string text;                 ///< for people: what was called uniform and is not, by phase
  unsigned checked = 0;             ///< states of the kernel that were run: after each phase 53 and 70
  unsigned skipped = 0;             ///< states that the emulator cannot run
  std::string whySkipped;           ///< of the last of them
  std::size_t registers = 0;        ///< virtual registers of the files R and P in use, of all states
  std::size_t uniformRegisters = 0; ///< those called uniform
  std::uint64_t compared = 0;       ///< reads of such registers by several lanes
};

/// Compiles the module and runs the launch's kernel as it is after OriPropagateVarying (phases 53 and 70), watching
/// every register that the phase calls uniform and every block that the analysis behind it does. Throws orias::Error
/// when the input has errors or does not fit the launch.
UniformVerdict checkUniform(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options = {});

} // namespace orias::check_each
