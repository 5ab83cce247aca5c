// Surfaces that the launch describes (tools/launch/texture.h): loads, stores and reductions, by bytes and by texels.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "tools/launch/element.h"
#include "tools/launch/texture.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

using isa::AtomOp;
using isa::Mod;
using isa::Op;
using launch::Texels;
using launch::TextureShape;

namespace {

/// Mod::Geometry of surfaces.
enum SurfaceGeometry { kLine, kBuffer, kLineLayers, kPlane, kPlaneLayers, kVolume };
/// Mod::AtomType of SURED. The last two have the signedness of the surface's texels.
enum ReductionType { kU32, kS32, kU64, kS64 = 5, kTexel32, kTexel64 };

std::optional<TextureShape> shapeOf(unsigned geometry) {
  switch (geometry) {
  case kLine: return TextureShape::Line;
  case kLineLayers: return TextureShape::LineLayers;
  case kPlane: return TextureShape::Plane;
  case kPlaneLayers: return TextureShape::PlaneLayers;
  case kVolume: return TextureShape::Volume;
  default: return std::nullopt;
  }
}

Texels::Outside outsideOf(const isa::Inst& inst) {
  enum { kIgnore, kClamp, kTrap };
  const unsigned mode = isa::getMod(inst, Mod::Func);
  return mode == kTrap ? Texels::Outside::Trap : mode == kClamp ? Texels::Outside::Clamp : Texels::Outside::Zero;
}

std::uint64_t combined(AtomOp op, bool isSigned, bool isWide, std::uint64_t old, std::uint64_t value) {
  const auto asSigned = [&](std::uint64_t v) {
    return isWide ? static_cast<std::int64_t>(v) : std::int64_t{static_cast<std::int32_t>(v)};
  };
  const bool isLess = isSigned ? asSigned(value) < asSigned(old) : value < old;
  switch (op) {
  case AtomOp::MIN: return isLess ? value : old;
  case AtomOp::MAX: return isLess ? old : value;
  case AtomOp::AND: return old & value;
  case AtomOp::OR: return old | value;
  case AtomOp::XOR: return old ^ value;
  default: return old + value;
  }
}

} // namespace

/// The address of the lane's `bytes` bytes. Returns nothing if they are outside and ignored, or if the run stopped. Ra
/// has the coordinates, the first in bytes or texels, and then the layer.
std::optional<std::uint64_t> Machine::surfaceAddress(const Operation& op, unsigned lane, const Texels& surface,
                                                     unsigned bytes, bool countsTexels) {
  const launch::Texture& texture = surface.texture();
  if (shapeOf(isa::getMod(op.inst, Mod::Geometry)) != texture.shape) {
    stop("memcheck", fmt::format("the surface '{}' has a different geometry", texture.name));
    return std::nullopt;
  }
  std::array<std::int64_t, 3> at{};
  for (unsigned d = 0; d < texture.dimensions(); ++d)
    at[d] = static_cast<std::int32_t>(word(op, op.base, d, lane));
  if (countsTexels) at[0] *= texture.texelBytes();
  const std::int64_t layer =
      texture.isLayered() ? static_cast<std::int32_t>(word(op, op.base, texture.dimensions(), lane)) : 0;
  const auto outside = outsideOf(op.inst);
  const auto address = surface.surfaceAddress(at, layer, bytes, outside);
  if (!address && outside == Texels::Outside::Trap) stop("trap", "outside the surface");
  return address;
}

std::optional<Texels> Machine::surface(const Operation& op, unsigned lane) {
  const int byRegister = isa::desc(op.inst.op).slotIndex(isa::SlotId::Rc);
  return texels(byRegister >= 0 ? word(op, byRegister, 0, lane) : *namedHandle(op, lane));
}

/// SULD and SUST by bytes.
void Machine::accessSurface(const Operation& op, std::uint32_t lanes) {
  const bool isLoad = op.result >= 0;
  const unsigned words = (op.size + 3u) / 4;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto texels = surface(op, lane);
    if (!texels) return;
    const auto address = surfaceAddress(op, lane, *texels, op.size, false);
    if (stopped_) return;
    std::uint32_t data[4] = {};
    const std::span bytes = std::as_writable_bytes(std::span(data)).first(op.size);
    if (isLoad) {
      if (address) readMemory(Space::Global, *address, lane, bytes);
      for (unsigned w = 0; w < words; ++w)
        setWord(op, op.result, w, lane, data[w]);
    } else if (address) {
      for (unsigned w = 0; w < words; ++w)
        data[w] = word(op, op.data, w, lane);
      writeMemory(Space::Global, *address, lane, bytes);
    }
  }
}

/// SUST.P.
void Machine::storeTexel(const Operation& op, std::uint32_t lanes) {
  const auto components = static_cast<unsigned>(std::popcount(unsigned{isa::getMod(op.inst, Mod::Mask)}));
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto texels = surface(op, lane);
    if (!texels) return;
    const unsigned bytes = texels->texture().texelBytes();
    const auto address = surfaceAddress(op, lane, *texels, bytes, true);
    if (!address) continue;
    std::array<std::uint32_t, 4> given{};
    for (unsigned c = 0; c < components; ++c)
      given[c] = word(op, op.data, c, lane);
    const auto packed = texels->packed(std::span(given).first(components));
    writeMemory(Space::Global, *address, lane, std::span(packed).first(bytes));
  }
}

/// SURED. Lanes execute in ascending order, as in atomics.
void Machine::reduceSurface(const Operation& op, std::uint32_t lanes) {
  const auto action = isa::modAs<AtomOp>(op.inst, Mod::AtomOp);
  const unsigned type = isa::getMod(op.inst, Mod::AtomType);
  const bool countsTexels = isa::getMod(op.inst, Mod::Sub) == 0;
  const bool isWide = type == kU64 || type == kS64 || type == kTexel64;
  if (action == AtomOp::INC || action == AtomOp::DEC) return stop("unsupported", "atomic operations on surfaces");
  const unsigned bytes = isWide ? 8 : 4;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto texels = surface(op, lane);
    if (!texels) return;
    const auto address = surfaceAddress(op, lane, *texels, bytes, countsTexels);
    if (!address) continue;
    const bool isSigned = type == kS32 || type == kS64 ||
                          ((type == kTexel32 || type == kTexel64) && launch::isSigned(texels->texture().type));
    const std::uint64_t value =
        word(op, op.data, 0, lane) | (isWide ? std::uint64_t{word(op, op.data, 1, lane)} << 32 : 0);
    std::uint64_t data = 0;
    const std::span cell = std::as_writable_bytes(std::span(&data, 1)).first(bytes);
    if (!readMemory(Space::Global, *address, lane, cell, true)) return;
    data = combined(action, isSigned, isWide, data, value);
    writeMemory(Space::Global, *address, lane, cell, true);
  }
}

} // namespace orias::emu
