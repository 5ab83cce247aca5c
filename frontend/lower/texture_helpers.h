#pragma once

#include "frontend/lower/texture_name.h"

#include <span>
#include <vector>

// Helpers for all texture instructions.

namespace orias::ptx {

/// Clamps a layer to the largest possible one.
Value knownLayer(FunctionLowering& f, const Value& layer);

/// The bit position of a coordinate's offset in the offset word; the first coordinate is lowest.
struct OffsetField {
  unsigned apart, bits;
};
inline constexpr OffsetField kOffsets{4, 4}, kGatheredOffsets{8, 6};
/// The offset word for the first `count` offsets.
Value packedOffsets(FunctionLowering& f, const Operand& operand, unsigned count, OffsetField field);

/// The optional operands after the coordinates and the level. Their kinds tell which are present: offsets are integers.
struct FurtherOperands {
  const Operand *offset = nullptr, *reference = nullptr;
};
FurtherOperands furtherOperands(FunctionLowering& f, std::span<const Operand> operands, const Geometry& geometry);

/// Writes the four components, each 32 bits, to the vector `results` of `type`. Halves are converted from f32.
void takeTexel(FunctionLowering& f, const Operand& results, Type type, std::span<const isa::Operand> texel);

/// Writes the predicate of `{results}|p`: whether the texel is resident.
void takeResidency(FunctionLowering& f, const Operand& results, const isa::Operand& isThere);

} // namespace orias::ptx
