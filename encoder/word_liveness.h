#pragma once

#include "encoder/code.h"
#include "encoder/control_flow.h"

namespace orias::encoder {

/// What the registers of a piece of machine code are used for, worked out from its words.
struct WordLiveness {
  std::vector<LiveCounts> live; ///< registers live behind each word
  LiveCounts used{};            ///< highest register of each file that is named + 1
};

/// As ori::Liveness has it: a register is live where it may still be read and some write of it may have happened.
/// A return is taken to go behind every call of these words; words without a row touch nothing.
WordLiveness livenessOf(std::span<const isa::Word> words, const IndirectTargets& indirect, const isa::Target& target);

} // namespace orias::encoder
