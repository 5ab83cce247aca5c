// Textures with derivatives that TXD does not support: in a quad of lanes, or by a driver function.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "support/ieee.h"
#include "tools/emulator/texture_geometry.h"
#include "tools/launch/gradient_function.h"
#include "tools/launch/texture.h"

#include <array>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

using isa::Mod;
using launch::GradientFunction;

namespace {

constexpr std::uint32_t kQuad = 4;

} // namespace

/// FSWZADD: the sum in some lanes of each quad, Rb in the others.
void Machine::sumInQuad(const Operation& op, std::uint32_t lanes) {
  const unsigned right = 1, below = 2;
  const unsigned needed = op.inst.op == isa::Op::FSWZADD_RIGHT   ? right
                          : op.inst.op == isa::Op::FSWZADD_BELOW ? below
                                                                 : 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t other = word(op, op.data, 0, lane);
    const float sum = std::bit_cast<float>(word(op, op.base, 0, lane)) + std::bit_cast<float>(other);
    setWord(op, op.result, 0, lane, (lane & needed) == needed ? std::bit_cast<std::uint32_t>(sum) : other);
  }
}

/// TEX.QUAD, a pseudo instruction until allocation.
void Machine::readByGradients(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const unsigned geometry = isa::getMod(op.inst, Mod::Geometry), count = coordinatesOf(geometry);
  const bool hasLayers = geometry >= kLineLayers, hasHandle = isa::getMod(op.inst, Mod::Bindless) != 0;
  const int byXSlot = row.slotIndex(isa::SlotId::Rx), byYSlot = row.slotIndex(isa::SlotId::Ry);
  const int low = row.slotIndex(isa::SlotId::Rd), high = row.slotIndex(isa::SlotId::Rd2);
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    unsigned next = 0;
    const auto further = [&] { return word(op, op.data, next++, lane); };
    const std::uint32_t handle = hasHandle ? further() : *namedHandle(op, lane);
    const auto from = texels(handle);
    if (!from) return;
    if (!isShape(from->texture(), geometry, false))
      return stop("memcheck", fmt::format("the texture '{}' has a different geometry", from->texture().name));
    launch::Texels::Place place;
    if (hasLayers) place.layer = word(op, op.base, 0, lane);
    std::array<float, 3> byX{}, byY{};
    for (unsigned d = 0; d < count; ++d) {
      place.at[d] = std::bit_cast<float>(word(op, op.base, d + (hasLayers ? 1 : 0), lane));
      byX[d] = std::bit_cast<float>(word(op, byXSlot, d, lane));
      byY[d] = std::bit_cast<float>(word(op, byYSlot, d, lane));
    }
    place.level = from->levelFor(place.at, byX, byY);
    if (isa::getMod(op.inst, Mod::Sub2) != 0) {
      const std::uint32_t packed = further();
      for (unsigned d = 0; d < count; ++d)
        place.shift[d] = offsetOf(packed, d, false);
    }
    if (isa::getMod(op.inst, Mod::Sub4) != 0) place.reference = std::bit_cast<float>(further());
    const launch::Texel texel = from->sample(place);
    for (unsigned k = 0; k < texel.size(); ++k)
      setWord(op, k < 2 ? low : high, k % 2, lane, texel[k]);
    setWord(op, row.slotIndex(isa::SlotId::Rp), 0, lane, 0);
  }
}

/// The call of one lane. `argument` gives words from R4 on. Nothing is stored if the run stops.
std::array<std::uint32_t, GradientFunction::kResultWords>
Machine::callGradientFunction(const GradientFunction& function, unsigned lane,
                              const std::function<std::uint32_t(unsigned)>& argument) {
  std::array<std::uint32_t, GradientFunction::kResultWords> result{};
  const auto from = texels(argument(0), function.hasSampler ? argument(GradientFunction::kSampler) : 0);
  if (!from) return result;
  if (from->texture().shape != function.shape) {
    stop("memcheck", fmt::format("the texture '{}' has a different geometry", from->texture().name));
    return result;
  }
  const std::uint32_t stack = warp().row(1)[lane];
  const auto onStack = [&](unsigned offset) {
    std::uint32_t value = 0;
    readMemory(Space::Local, stack + offset, lane, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  };
  const bool hasLayers = from->texture().isLayered();
  const unsigned count = from->texture().isCube() ? 3 : from->texture().dimensions();
  launch::Texels::Place place;
  if (hasLayers) place.layer = argument(GradientFunction::kCoordinates);
  std::array<float, 3> byX{}, byY{};
  for (unsigned d = 0; d < count; ++d) {
    place.at[d] = std::bit_cast<float>(argument(GradientFunction::kCoordinates + d + (hasLayers ? 1 : 0)));
    byX[d] = std::bit_cast<float>(argument(GradientFunction::kByX + d));
    byY[d] = std::bit_cast<float>(onStack(GradientFunction::kByY + 4 * d));
    if (function.hasOffset) place.shift[d] = static_cast<int>(onStack(GradientFunction::kOffsets + 4 * d));
  }
  if (function.hasReference)
    place.reference = std::bit_cast<float>(function.hasSampler ? onStack(function.referenceOnStack())
                                                               : argument(GradientFunction::kReference));
  place.level = from->levelFor(place.at, byX, byY);
  const launch::Texel texel = from->sample(place);
  result[0] = 1; // always resident
  for (unsigned k = 0; k < texel.size(); ++k) {
    if (function.givesHalves)
      result[GradientFunction::kTexel + k / 2] |= std::uint32_t{ieee::floatToHalf(std::bit_cast<float>(texel[k]))}
                                                  << 16 * (k % 2);
    else
      result[GradientFunction::kTexel + k] = texel[k];
  }
  return result;
}

} // namespace orias::emu
