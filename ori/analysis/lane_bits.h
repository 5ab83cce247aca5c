#pragma once

#include "ori/function.h"

#include <cstdint>
#include <optional>
#include <span>

namespace orias::ori {

/// Bits of a 32-bit word that may differ between the lanes of a warp.
using LaneBits = std::uint32_t;
inline constexpr LaneBits kAllLaneBits = ~LaneBits{0};

/// What is known about the value of an operand, without its modifiers.
struct LaneWord {
  LaneBits bits = 0;                  ///< for a predicate none or all
  std::optional<std::uint32_t> value; ///< the same constant in all lanes
};

/// The rows of the block are whole warps: all lanes of a warp have the same %tid.y and %tid.z.
bool hasWholeRows(const Function& function);

/// The consecutive threads of a warp differ in the low five bits of %tid.x: rows of the block are whole warps, or the
/// block has one dimension. (CUDA C++ Programming Guide, "SIMT Architecture": a warp has threads of consecutive IDs.)
bool hasConsecutiveX(const Function& function);

/// The bits of the result that may differ between lanes, given the sources (by operand). No value for instructions that
/// are not modeled. A predicate differs if any bit does.
///
/// For example, %tid.x >> 5 and %tid.x < 64 are the same in all lanes.
std::optional<LaneBits> laneBitsOf(const Function& function, const Instr& instr, std::span<const LaneWord> sources);

} // namespace orias::ori
