#pragma once

#include "encoder/code.h"
#include "encoder/control_flow.h"

namespace orias::encoder {

/// Liveness and uniformity of the registers of machine code, computed from its encodings.
struct WordLiveness {
  std::vector<LiveCounts> live; ///< registers live after each instruction
  LiveCounts used{};            ///< highest register of each file that is named + 1
};

/// As ori::Liveness has it: a register is live where it may still be read and some write of it may have happened.
/// A return is assumed to reach every return point; unknown encodings access nothing.
WordLiveness livenessOf(std::span<const isa::Word> words, const IndirectTargets& indirect, const isa::Target& target);

} // namespace orias::encoder
