#pragma once

#include "encoder/code.h"
#include "encoder/control_flow.h"

namespace orias::encoder {

/// Liveness and uniformity of the registers of machine code, computed from its encodings.
struct WordLiveness {
  std::vector<LiveCounts> live; ///< registers live after each instruction
  LiveCounts used{};            ///< by file: the highest register used + 1
};

/// As in ori::Liveness, a register is live where it may be read later and may have been written before. A return is
/// assumed to reach every return point; unknown encodings access nothing.
WordLiveness livenessOf(std::span<const isa::Word> words, const IndirectTargets& indirect, const isa::Target& target);

} // namespace orias::encoder
