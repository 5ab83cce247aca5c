#pragma once

#include "tools/interpreter/translate.h"
#include "tools/launch/texture.h"

#include <optional>
#include <span>

// What textures and surfaces have in common: a handle and coordinates.

namespace orias::interp {

/// The shape of the textures and surfaces that an instruction of this form takes; nothing where it names no geometry.
std::optional<launch::TextureShape> shapeOf(const ptx::Form& form);

/// Inst::detail of both.
struct TexelAddress {
  launch::TextureShape shape = launch::TextureShape::Plane;
  std::span<const std::uint32_t> handle; ///< one, or one and the sampler's; in a list, where constants get their slots
  std::span<const std::uint32_t> coordinates; ///< before them the sample and the layer, if there are any
};

/// `[handle, {coordinates}]`; nothing where the handle is not in a register.
std::optional<TexelAddress> addressOf(FunctionTranslator& t, const ptx::Operand& operand, ptx::Type coordinateType);

/// The slot of a handle in a register, alone or in brackets.
std::optional<std::uint32_t> handleOf(FunctionTranslator& t, const ptx::Operand& operand);

/// The slots of a vector or of a single operand.
std::span<const std::uint32_t> slotsOf(FunctionTranslator& t, const ptx::Operand& operand, ptx::Type type);

/// What the handle names; the run stops where it names nothing, or something of another shape than the instruction
/// says.
launch::Texels texelsOf(const Thread& t, std::uint32_t handleSlot);
launch::Texels texelsOf(const Thread& t, const TexelAddress& address);

/// The coordinates as bits.
struct Coordinates {
  std::array<std::uint32_t, 3> at{};
  std::uint32_t layer = 0, sample = 0;
  std::array<std::int64_t, 3> integers() const;
};
Coordinates coordinatesOf(const Thread& t, const TexelAddress& address);

/// Of surfaces.
bool translateSurfaceAccess(FunctionTranslator& t, bool isLoad);
bool translateSurfaceReduction(FunctionTranslator& t);

} // namespace orias::interp
