// Textures of the launch (tools/launch/texture.h): filtered, single texels, gathers, gradients; queries of their
// headers.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "support/ieee.h"
#include "tools/emulator/texture_geometry.h"
#include "tools/launch/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace orias::emu {

using isa::Mod;
using isa::Op;
using launch::Texels;
using launch::TextureShape;

namespace {

/// Mod::Sub.
enum Level { kAuto, kZero, kBias, kGiven };

enum class Way : std::uint8_t { Filtered, Fetched, Gathered, ByGradients };
Way wayOf(Op op) {
  switch (op) {
  case Op::TLD:
  case Op::TLD_C:
  case Op::TLD_B: return Way::Fetched;
  case Op::TLD4:
  case Op::TLD4_C:
  case Op::TLD4_B: return Way::Gathered;
  case Op::TXD:
  case Op::TXD_C:
  case Op::TXD_B: return Way::ByGradients;
  default: return Way::Filtered;
  }
}

/// The source registers of an instruction in order, independent of their grouping into operands.
class Sources {
 public:
  void add(std::uint32_t value) { values_[count_++] = value; }
  std::uint32_t next() { return values_[at_++]; }

 private:
  std::array<std::uint32_t, 16> values_{};
  unsigned count_ = 0, at_ = 0;
};

/// Whether in each quad either all lanes or none execute.
bool areWholeQuads(std::uint32_t lanes) {
  for (unsigned quad = 0; quad < kLanes; quad += 4)
    if (const std::uint32_t some = lanes >> quad & 0xf; some != 0 && some != 0xf) return false;
  return true;
}

} // namespace

int offsetOf(std::uint32_t packed, unsigned dimension, bool isGathered) {
  const unsigned at = (isGathered ? 8 : 4) * dimension, bits = isGathered ? 6 : 4;
  return static_cast<std::int32_t>(packed << (32 - at - bits)) >> (32 - bits);
}

bool isShape(const launch::Texture& texture, unsigned geometry, bool hasSamples) {
  switch (texture.shape) {
  case TextureShape::Line: return geometry == kLine || geometry == kPlane; // a line is read as a plane with one row
  case TextureShape::Plane: return geometry == kPlane && !hasSamples;
  case TextureShape::Volume: return geometry == kVolume;
  case TextureShape::LineLayers: return geometry == kLineLayers;
  case TextureShape::PlaneLayers: return geometry == kPlaneLayers && !hasSamples;
  case TextureShape::Cube: return geometry == kCube;
  case TextureShape::CubeLayers: return geometry == kCubeLayers;
  case TextureShape::Samples: return geometry == kPlane && hasSamples;
  case TextureShape::SampleLayers: return geometry == kPlaneLayers && hasSamples;
  }
  return false;
}

/// The low word of the handle, if it is not among the sources of the instruction.
std::optional<std::uint32_t> Machine::namedHandle(const Operation& op, unsigned lane) const {
  if (op.uniform >= 0) return word(op, op.uniform, 0, lane);
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const int bank = row.slotIndex(isa::SlotId::bank), index = row.slotIndex(isa::SlotId::index);
  if (bank < 0) return std::nullopt;
  const auto number = [&](int slot) {
    return static_cast<std::uint32_t>(op.inst.operands[static_cast<unsigned>(slot)].imm);
  };
  return static_cast<std::uint32_t>(constants_.read(number(bank), 4 * number(index), 4).value_or(0));
}

/// The sampler's handle follows the texture's, from sm_90 on; 0: none.
std::uint32_t Machine::namedSampler(const Operation& op, unsigned lane) const {
  return op.uniform < 0 || program_.target->has(isa::Capability::JoinedSamplers) ? 0 : word(op, op.uniform, 1, lane);
}

/// The object of a handle. If there is none, returns null and ends the run. Before sm_90 the handle has a sampler's
/// number in its upper bits, and the highest bit is a mark.
std::optional<Texels> Machine::texels(std::uint32_t handle, std::uint32_t sampler) {
  if (program_.target->has(isa::Capability::JoinedSamplers)) {
    constexpr std::uint32_t kSampler = 0x7ff;
    sampler = handle >> isa::Target::kSamplerShift & kSampler;
    handle &= program_.target->handleNumberMask();
  }
  auto found = device_.texels(handle, sampler);
  if (!found)
    stop("memcheck",
         fmt::format("{:#x} and {:#x} are not handles of a texture or surface and a sampler", handle, sampler));
  return found;
}

/// The level of detail from the coordinates in the other lanes of the quad. These are sources from number `first` on.
float Machine::levelInQuad(const Operation& op, const Texels& from, unsigned lane, unsigned coordinates,
                           unsigned first) const {
  constexpr unsigned kRight = 1, kBelow = 2;
  const unsigned quad = lane & ~3u, inBase = isa::operandWidth(op.inst, static_cast<unsigned>(op.base));
  std::array<float, 3> at{}, byX{}, byY{};
  for (unsigned d = 0; d < coordinates; ++d) {
    const unsigned number = first + d;
    const auto in = [&](unsigned place) {
      return std::bit_cast<float>(number < inBase ? word(op, op.base, number, quad + place)
                                                  : word(op, op.data, number - inBase, quad + place));
    };
    at[d] = in(0);
    byX[d] = in(kRight)-at[d];
    byY[d] = in(kBelow)-at[d];
  }
  return from.levelFor(at, byX, byY);
}

/// TEX, TLD, TLD4, TXD. Sources: the layer, the coordinates, the name, the level, the offsets, the sample or the
/// comparison value; for TXD the name, the coordinates, the layer, the derivatives.
void Machine::readTexture(const Operation& op, std::uint32_t lanes) {
  const Way way = wayOf(op.inst.op);
  const auto mod = [&](Mod kind) -> unsigned { return isa::getMod(op.inst, kind); };
  const unsigned geometry = mod(Mod::Geometry), level = mod(Mod::Sub), mask = mod(Mod::Mask), format = mod(Mod::DstFmt);
  const bool isFetch = way == Way::Fetched, hasSamples = isFetch && mod(Mod::Sub4) != 0;
  const bool isInQuad = way == Way::Filtered && mod(Mod::Sub3) != 0;
  if (geometry == kUnused || format > 1 || (way == Way::Filtered && (level == kAuto) != isInQuad) || mod(Mod::Sub2) > 1)
    return stop("unsupported", "derivatives between lanes, offsets of each texel, halves that are cut off");
  if (isInQuad && !areWholeQuads(lanes)) return stop("unsupported", "derivatives between diverged lanes");
  const bool hasLayers = geometry >= kLineLayers, hasHandle = mod(Mod::Bindless) != 0;
  const unsigned coordinates = coordinatesOf(geometry);
  const int high = isa::desc(op.inst.op).slotIndex(isa::SlotId::Rd2);
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Sources sources;
    for (const int slot : {int{op.base}, int{op.data}})
      for (unsigned w = 0; w < isa::operandWidth(op.inst, static_cast<unsigned>(slot)); ++w)
        sources.add(word(op, slot, w, lane));
    Texels::Place place;
    std::array<std::int64_t, 3> texelAt{};
    std::uint32_t handle = 0, sample = 0;
    std::int64_t fetchLevel = 0;
    const bool isGradient = way == Way::ByGradients;
    if (isGradient && hasHandle) handle = sources.next();
    if (!isGradient && hasLayers) place.layer = sources.next();
    for (unsigned d = 0; d < coordinates; ++d) {
      const std::uint32_t coordinate = sources.next();
      texelAt[d] = static_cast<std::int32_t>(coordinate);
      place.at[d] = std::bit_cast<float>(coordinate);
    }
    // The offsets are in the upper half of the layer's word.
    std::optional<std::uint32_t> after;
    if (isGradient && (hasLayers || mod(Mod::Sub2) != 0)) after = sources.next();
    if (after && hasLayers) place.layer = *after & 0xffff;
    if (!isGradient && hasHandle) handle = sources.next();
    if (const auto named = namedHandle(op, lane)) handle = *named;
    const auto from = texels(handle, namedSampler(op, lane));
    if (!from) return;
    if (!isShape(from->texture(), geometry, hasSamples))
      return stop("memcheck", fmt::format("the texture '{}' has a different geometry", from->texture().name));
    if (isGradient) {
      std::array<float, 3> byX{}, byY{};
      for (unsigned d = 0; d < coordinates; ++d) {
        byX[d] = std::bit_cast<float>(sources.next());
        byY[d] = std::bit_cast<float>(sources.next());
      }
      place.level = from->levelFor(place.at, byX, byY);
    } else if (isInQuad) {
      place.level = levelInQuad(op, *from, lane, coordinates, hasLayers ? 1 : 0);
    } else if (way != Way::Gathered && level >= kBias) {
      const std::uint32_t given = sources.next();
      fetchLevel = static_cast<std::int32_t>(given);
      place.level = std::bit_cast<float>(given);
    }
    if (mod(Mod::Sub2) != 0) {
      const std::uint32_t packed = after ? *after >> 16 : sources.next();
      for (unsigned d = 0; d < coordinates; ++d) {
        place.shift[d] = offsetOf(packed, d, way == Way::Gathered);
        texelAt[d] += place.shift[d];
      }
    }
    if (hasSamples) sample = sources.next();
    if (!isFetch && mod(Mod::Sub4) != 0) place.reference = std::bit_cast<float>(sources.next());
    const launch::Texel texel = isFetch                ? from->fetch(texelAt, place.layer, fetchLevel, sample)
                                : way == Way::Gathered ? from->gather(place, mod(Mod::Func))
                                                       : from->sample(place);
    // All texels are resident.
    if (const int missing = isa::desc(op.inst.op).slotIndex(isa::SlotId::Pu); missing >= 0)
      setWord(op, missing, 0, lane, 0);
    // The first two requested components go to Rd, in one register if they are halves.
    std::array<std::uint32_t, 4> wanted{};
    unsigned count = 0;
    for (unsigned c = 0; c < 4; ++c)
      if ((mask >> c & 1) != 0) wanted[count++] = texel[c];
    if (format == 0) {
      for (unsigned k = 0; k < count; ++k)
        setWord(op, k < 2 ? op.result : high, k % 2, lane, wanted[k]);
      continue;
    }
    const auto half = [&](unsigned k) -> std::uint32_t {
      return k < count ? ieee::floatToHalf(std::bit_cast<float>(wanted[k])) : 0;
    };
    setWord(op, op.result, 0, lane, half(0) | half(1) << 16);
    if (count > 2) setWord(op, high, 0, lane, half(2) | half(3) << 16);
  }
}

/// TXQ: the dimensions of a level, and the number of levels.
void Machine::askTexture(const Operation& op, std::uint32_t lanes) {
  const unsigned mask = isa::getMod(op.inst, Mod::Mask);
  const bool hasHandle = isa::getMod(op.inst, Mod::Bindless) != 0;
  const int high = isa::desc(op.inst.op).slotIndex(isa::SlotId::Rd2);
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto from = texels(hasHandle ? word(op, op.base, 0, lane) : *namedHandle(op, lane), namedSampler(op, lane));
    if (!from) return;
    const std::uint32_t level = word(op, op.base, hasHandle ? 1 : 0, lane);
    const auto sides = from->texture().levelSize(std::min(level, from->texture().levels - 1));
    const std::array<std::uint32_t, 4> all{sides[0], sides[1], sides[2], from->texture().levels};
    unsigned count = 0;
    for (unsigned c = 0; c < 4; ++c) {
      if ((mask >> c & 1) == 0) continue;
      setWord(op, count < 2 ? op.result : high, count % 2, lane, all[c]);
      ++count;
    }
  }
}

} // namespace orias::emu
