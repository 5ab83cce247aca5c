// Textures and surfaces that the launch describes (tools/launch/texture.h). There is one level of detail.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "tools/launch/texture.h"

#include <bit>
#include <fmt/format.h>

namespace orias::emu {

using isa::Mod;
using isa::Op;
using launch::Texels;

namespace {

/// Values of Mod::Geometry of textures, and of surfaces.
enum TextureGeometry { kLine, kPlane, kVolume, kCube, kLineLayers, kPlaneLayers };
enum SurfaceGeometry {
  kSurfaceLine,
  kSurfaceBuffer,
  kSurfaceLineLayers,
  kSurfacePlane,
  kSurfacePlaneLayers,
  kSurfaceVolume
};

/// A coordinate's offset in texels: four bits, signed.
int offsetOf(std::uint32_t packed, unsigned dimension) {
  return static_cast<std::int32_t>(packed << (28 - 4 * dimension)) >> 28;
}

} // namespace

/// What a handle names; null, and the end of the run, when it names nothing of that kind.
std::optional<launch::Texels> Machine::texels(std::uint32_t handle, unsigned dimensions, bool hasLayers) {
  const auto found = device_.texels(handle);
  if (!found) {
    stop("memcheck", fmt::format("{:#x} is the handle of no texture or surface", handle));
    return std::nullopt;
  }
  // A line is read as a plane of one row.
  const launch::Texture& texture = found->texture();
  const bool isLineAsPlane = texture.dimensions() == 1 && dimensions == 2;
  if (texture.isLayered() != hasLayers || (texture.dimensions() != dimensions && !isLineAsPlane)) {
    stop("memcheck", fmt::format("the texture '{}' has another shape", texture.name));
    return std::nullopt;
  }
  return found;
}

/// TEX, TLD, TLD4. Ra: the layer, then the coordinates; Rb: the level, then the offsets.
void Machine::readTexture(const Operation& op, std::uint32_t lanes) {
  const Op kind = op.inst.op;
  const unsigned geometry = isa::getMod(op.inst, Mod::Geometry);
  const bool hasLayers = geometry >= kLineLayers, hasShift = isa::getMod(op.inst, Mod::Sub2) != 0;
  if (geometry > kPlaneLayers || geometry == kCube || isa::getMod(op.inst, Mod::DstFmt) != 0 ||
      isa::getMod(op.inst, Mod::Sub4) != 0 || isa::getMod(op.inst, Mod::Sub3) > 1 ||
      (kind == Op::TLD4 && isa::getMod(op.inst, Mod::Sub2) > 1))
    return stop("unsupported", "cubes, comparisons, samples and halves of textures");
  const unsigned dimensions = hasLayers ? geometry - kLineLayers + 1 : geometry + 1;
  constexpr unsigned kBias = 2, kLevel = 3;
  const unsigned level = kind == Op::TLD4 ? 0 : isa::getMod(op.inst, Mod::Sub);
  const unsigned shiftAt = level == kBias || level == kLevel ? 1 : 0;
  const unsigned mask = isa::getMod(op.inst, Mod::Mask);
  const int high = isa::desc(kind).slotIndex("Rd2");
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto from = texels(word(op, op.uniform, 0, lane), dimensions, hasLayers);
    if (!from) return;
    const std::uint32_t layer = hasLayers ? word(op, op.base, 0, lane) : 0;
    const std::uint32_t packed = hasShift ? word(op, op.data, shiftAt, lane) : 0;
    std::array<std::int64_t, 3> texelAt{};
    std::array<float, 3> at{};
    std::array<int, 3> shift{};
    for (unsigned d = 0; d < dimensions; ++d) {
      const std::uint32_t coordinate = word(op, op.base, d + (hasLayers ? 1 : 0), lane);
      shift[d] = offsetOf(packed, d);
      texelAt[d] = std::int64_t{static_cast<std::int32_t>(coordinate)} + shift[d];
      at[d] = std::bit_cast<float>(coordinate);
    }
    const launch::Texel texel = kind == Op::TLD    ? from->fetch(texelAt, layer)
                                : kind == Op::TLD4 ? from->gather(at, layer, shift, isa::getMod(op.inst, Mod::Func))
                                                   : from->sample(at, layer, shift);
    unsigned wanted = 0; // the first two go to Rd
    for (unsigned c = 0; c < 4; ++c) {
      if ((mask >> c & 1) == 0) continue;
      setWord(op, wanted < 2 ? op.result : high, wanted % 2, lane, texel[c]);
      ++wanted;
    }
  }
}

/// SULD and SUST. Ra: the coordinates, the first of which counts bytes, then the layer.
void Machine::accessSurface(const Operation& op, std::uint32_t lanes) {
  const bool isLoad = op.inst.op == Op::SULD;
  enum { kIgnore, kClamp, kTrap };
  const unsigned geometry = isa::getMod(op.inst, Mod::Geometry), mode = isa::getMod(op.inst, Mod::Func);
  if (geometry > kSurfaceVolume || geometry == kSurfaceBuffer) return stop("unsupported", "a surface in a buffer");
  const bool hasLayers = geometry == kSurfaceLineLayers || geometry == kSurfacePlaneLayers;
  const unsigned dimensions = geometry == kSurfaceVolume                                     ? 3
                              : geometry == kSurfacePlane || geometry == kSurfacePlaneLayers ? 2
                                                                                             : 1;
  const auto outside = mode == kTrap    ? Texels::Outside::Trap
                       : mode == kClamp ? Texels::Outside::Clamp
                                        : Texels::Outside::Zero;
  const unsigned words = (op.size + 3u) / 4;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto surface = texels(word(op, op.uniform, 0, lane), dimensions, hasLayers);
    if (!surface) return;
    std::array<std::int64_t, 3> at{};
    for (unsigned d = 0; d < dimensions; ++d)
      at[d] = static_cast<std::int32_t>(word(op, op.base, d, lane));
    const std::int64_t layer = hasLayers ? static_cast<std::int32_t>(word(op, op.base, dimensions, lane)) : 0;
    const auto address = surface->surfaceAddress(at, layer, op.size, outside);
    if (!address && mode == kTrap) return stop("trap", "outside of a surface");
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

} // namespace orias::emu
