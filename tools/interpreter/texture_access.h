#pragma once

#include "tools/interpreter/translate.h"
#include "tools/launch/texture.h"

#include <optional>
#include <span>

// Common parts of textures and surfaces: a handle and coordinates.

namespace orias::interp {

/// The shape of the textures and surfaces that an instruction of this form accepts; nothing if it has no geometry.
std::optional<launch::TextureShape> shapeOf(const ptx::Form& form);

/// Inst::detail of both.
struct TexelAddress {
  launch::TextureShape shape = launch::TextureShape::Plane;
  std::span<const std::uint32_t> handle;      ///< one, or one and the sampler's; a list, for the slots of constants
  std::span<const std::uint32_t> coordinates; ///< preceded by the sample and the layer, if there are any
};

/// `[handle, {coordinates}]`; nothing if the handle is not in a register.
std::optional<TexelAddress> addressOf(FunctionTranslator& t, const ptx::Operand& operand, ptx::Type coordinateType);

/// The slot of a handle in a register, with or without brackets.
std::optional<std::uint32_t> handleOf(FunctionTranslator& t, const ptx::Operand& operand);

/// The slots of a vector or of a single operand.
std::span<const std::uint32_t> slotsOf(FunctionTranslator& t, const ptx::Operand& operand, ptx::Type type);

/// The object of the handle. The run stops if there is none, or if its shape is not that of the instruction.
launch::Texels texelsOf(const Thread& t, std::uint32_t handleSlot);
launch::Texels texelsOf(const Thread& t, const TexelAddress& address);

/// The coordinates as bits.
struct Coordinates {
  std::array<std::uint32_t, 3> at{};
  std::uint32_t layer = 0, sample = 0;
  std::array<std::int64_t, 3> integers() const;
};
Coordinates coordinatesOf(const Thread& t, const TexelAddress& address);

/// Translates surface accesses.
bool translateSurfaceAccess(FunctionTranslator& t, bool isLoad);
bool translateSurfaceReduction(FunctionTranslator& t);

} // namespace orias::interp
