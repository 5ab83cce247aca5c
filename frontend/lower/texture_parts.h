#pragma once

#include "frontend/lower/texture_name.h"

#include <span>
#include <vector>

// Helpers for all texture instructions.

namespace orias::ptx {

/// A layer beyond those that there can be is the last one.
Value knownLayer(FunctionLowering& f, const Value& layer);

/// The bit position of the offset of a coordinate in the offset word: the first one lowest.
struct OffsetField {
  unsigned apart, bits;
};
inline constexpr OffsetField kOffsets{4, 4}, kGatheredOffsets{8, 6};
/// That word, of the first `count` offsets.
Value packedOffsets(FunctionLowering& f, const Operand& operand, unsigned count, OffsetField field);

/// What may follow the coordinates and the level. Which is there, the kinds of the operands say: offsets are integers.
struct FurtherOperands {
  const Operand *offset = nullptr, *reference = nullptr;
};
FurtherOperands furtherOperands(FunctionLowering& f, std::span<const Operand> operands, const Geometry& geometry);

/// Writes the four components, each 32 bits, to where the vector `results` of `type` says. Halves are made of f32.
void takeTexel(FunctionLowering& f, const Operand& results, Type type, std::span<const isa::Operand> texel);

/// Writes the predicate of `{results}|p`: is the texel in memory?
void takeResidency(FunctionLowering& f, const Operand& results, const isa::Operand& isThere);

} // namespace orias::ptx
