#pragma once

// The dependences between instructions, computed from the machine code only.

#include "encoder/control_flow.h"

#include <cstdint>
#include <span>
#include <vector>

namespace orias::report {

/// An instruction waits for the result of another one, or until that has read its sources. Positions are indices of
/// words.
struct Wait {
  std::uint32_t waiter = 0, producer = 0;
  std::uint8_t scoreboard = 0;
  bool isForSources = false;
  friend bool operator==(const Wait&, const Wait&) = default;
};

/// The waits on scoreboards, by waiter, then producer. Each has all instructions that may have used the scoreboard
/// since the last wait on it, along any path.
std::vector<Wait> scoreboardWaits(std::span<const isa::Word> words, const encoder::IndirectTargets& indirect,
                                  const isa::Target& target);

/// Why an instruction stalls for more than one cycle: otherwise `reader` would issue too early after `producer`.
struct StallCause {
  std::uint32_t at = 0, producer = 0, reader = 0;
  friend bool operator==(const StallCause&, const StallCause&) = default;
};

/// The tightest cause of each stall that has one in its own block, by position.
std::vector<StallCause> stallCauses(std::span<const isa::Word> words, const encoder::IndirectTargets& indirect,
                                    const isa::Target& target);

} // namespace orias::report
