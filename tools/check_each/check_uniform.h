#pragma once

#include "tools/check_each/check_each.h"

namespace orias::check_each {

struct UniformVerdict {
  bool ok = true;
  std::string text;                 ///< for users: wrong claims of uniformity, by phase
  unsigned checked = 0;             ///< executed states of the kernel: after each phase 53 and 70
  unsigned skipped = 0;             ///< states that the emulator cannot run
  std::string whySkipped;           ///< of the last of them
  std::size_t registers = 0;        ///< used virtual registers of the files R and P, over all states
  std::size_t uniformRegisters = 0; ///< those claimed to be uniform
  std::uint64_t compared = 0;       ///< reads of such registers by several lanes
};

/// Compiles the module and runs the launch's kernel in the states after OriPropagateVarying (phases 53 and 70). Checks
/// every register that the phase claims to be uniform, and every block that the analysis claims to be. Throws
/// orias::Error if the input has errors or does not match the launch.
UniformVerdict checkUniform(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options = {});

} // namespace orias::check_each
