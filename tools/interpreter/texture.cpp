#include "tools/launch/texture.h"
#include "support/ieee.h"
#include "tools/interpreter/access.h"
#include "tools/interpreter/texture_access.h"
#include "tools/launch/texture_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <optional>

// tex, tld4, txq and suq on textures and surfaces of a launch, by handles in registers.

namespace orias::interp {

using launch::Texels;
using launch::TextureFact;
using launch::TextureShape;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::OperandKind;
using ptx::Slot;
using ptx::Type;

std::optional<TextureShape> shapeOf(const Form& f) {
  switch (f.get(Slot::Geometry)) {
  case Mod::Dim1d: return TextureShape::Line;
  case Mod::Dim2d: return TextureShape::Plane;
  case Mod::Dim3d: return TextureShape::Volume;
  case Mod::Array1d: return TextureShape::LineLayers;
  case Mod::Array2d: return TextureShape::PlaneLayers;
  case Mod::Cube: return TextureShape::Cube;
  case Mod::ArrayCube: return TextureShape::CubeLayers;
  case Mod::Multi2d: return TextureShape::Samples;
  case Mod::ArrayMulti2d: return TextureShape::SampleLayers;
  default: return std::nullopt;
  }
}

std::optional<std::uint32_t> handleOf(FunctionTranslator& t, const ptx::Operand& o) {
  const bool isVariable =
      o.is(OperandKind::Variable) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable);
  if (isVariable && o.offset() == 0) return t.variableAddress(o.variableId());
  if (o.is(OperandKind::Register)) return t.useOf(o, Type::U64);
  if (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Register && o.offset() == 0)
    return t.registerSlot(o.registerId());
  return std::nullopt;
}

std::span<const std::uint32_t> slotsOf(FunctionTranslator& t, const ptx::Operand& o, Type type) {
  std::vector<std::uint32_t> slots;
  if (o.is(OperandKind::Vector))
    for (const ptx::Operand& part : t.function().parts(o))
      slots.push_back(t.useOf(part, type));
  else
    slots.push_back(t.useOf(o, type));
  return t.list(std::move(slots));
}

std::optional<TexelAddress> addressOf(FunctionTranslator& t, const ptx::Operand& operand, Type coordinateType) {
  const auto shape = shapeOf(t.form());
  const auto parts = t.function().parts(operand);
  if (!shape || parts.size() < 2 || parts.size() > 3) return std::nullopt;
  std::vector<std::uint32_t> handles;
  for (const ptx::Operand& part : parts.first(parts.size() - 1)) {
    const auto handle = handleOf(t, part);
    if (!handle) return std::nullopt;
    handles.push_back(*handle);
  }
  return TexelAddress{*shape, t.list(std::move(handles)), slotsOf(t, parts.back(), coordinateType)};
}

namespace {

Texels texelsOf(const Thread& t, std::uint32_t texture, std::uint32_t sampler) {
  const auto texels = t.machine->device.texels(texture, sampler);
  if (!texels)
    throw Stop{"memcheck",
               fmt::format("{:#x} and {:#x} are not handles of a texture or surface and a sampler", texture, sampler)};
  return *texels;
}

} // namespace

Texels texelsOf(const Thread& t, std::uint32_t slot) {
  return texelsOf(t, get<std::uint32_t>(t, slot), 0);
}

Texels texelsOf(const Thread& t, const TexelAddress& address) {
  const auto handle = [&](std::size_t i) {
    return i < address.handle.size() ? get<std::uint32_t>(t, address.handle[i]) : 0;
  };
  const Texels texels = texelsOf(t, handle(0), handle(1));
  if (texels.texture().shape != address.shape)
    throw Stop{"memcheck", fmt::format("the texture '{}' has a different geometry", texels.texture().name)};
  return texels;
}

std::array<std::int64_t, 3> Coordinates::integers() const {
  return {static_cast<std::int32_t>(at[0]), static_cast<std::int32_t>(at[1]), static_cast<std::int32_t>(at[2])};
}

Coordinates coordinatesOf(const Thread& t, const TexelAddress& address) {
  Coordinates result;
  std::size_t next = 0;
  const auto take = [&] { return get<std::uint32_t>(t, address.coordinates[next++]); };
  const TextureShape shape = address.shape;
  if (shape == TextureShape::Samples || shape == TextureShape::SampleLayers) result.sample = take();
  if (shape == TextureShape::LineLayers || shape == TextureShape::PlaneLayers || shape == TextureShape::CubeLayers ||
      shape == TextureShape::SampleLayers)
    result.layer = take();
  for (unsigned d = 0; d < 3 && next < address.coordinates.size(); ++d)
    result.at[d] = take();
  return result;
}

namespace {

/// Inst::detail.
struct TextureAccess {
  TexelAddress address;
  std::span<const std::uint32_t> shifts;   ///< may be empty
  std::span<const std::uint32_t> byX, byY; ///< derivatives; may be empty
  std::span<const std::uint32_t> values;
  std::span<const std::uint32_t> level, reference; ///< one each, or none; lists, for the slots of constants
  bool isFetch = false;                            ///< integer coordinates
  bool isFilteredByIntegers = false;               ///< integer coordinates are converted to floating point and filtered
  int component = -1;                              ///< of tld4
  unsigned halves = 0;                             ///< of a result; 0: it is a word
};

const TextureAccess& accessOf(const Inst& i) {
  return *static_cast<const TextureAccess*>(i.detail);
}

float floatIn(const Thread& t, std::uint32_t slot) {
  return std::bit_cast<float>(get<std::uint32_t>(t, slot));
}

launch::Texel read(const Thread& t, const TextureAccess& access) {
  const Texels texels = texelsOf(t, access.address);
  const Coordinates where = coordinatesOf(t, access.address);
  Texels::Place place;
  place.layer = where.layer;
  for (std::size_t d = 0; d < std::min<std::size_t>(access.shifts.size(), 3); ++d)
    place.shift[d] = get<std::int32_t>(t, access.shifts[d]);
  if (access.isFetch) {
    auto at = where.integers();
    for (unsigned d = 0; d < 3; ++d)
      at[d] += place.shift[d];
    const std::int64_t level = access.level.empty() ? 0 : get<std::int32_t>(t, access.level[0]);
    return texels.fetch(at, where.layer, level, where.sample);
  }
  for (unsigned d = 0; d < 3; ++d)
    place.at[d] = access.isFilteredByIntegers ? static_cast<float>(static_cast<std::int32_t>(where.at[d]))
                                              : std::bit_cast<float>(where.at[d]);
  if (!access.level.empty()) place.level = floatIn(t, access.level[0]);
  if (!access.reference.empty()) place.reference = floatIn(t, access.reference[0]);
  if (!access.byX.empty()) {
    std::array<float, 3> byX{}, byY{};
    for (std::size_t d = 0; d < std::min<std::size_t>(access.byX.size(), 3); ++d) {
      byX[d] = floatIn(t, access.byX[d]);
      byY[d] = floatIn(t, access.byY[d]);
    }
    place.level = texels.levelFor(place.at, byX, byY);
  }
  return access.component < 0 ? texels.sample(place) : texels.gather(place, static_cast<unsigned>(access.component));
}

void readTexture(Thread& t, const Inst& i) {
  const TextureAccess& access = accessOf(i);
  const launch::Texel texel = read(t, access);
  const auto half = [&](std::size_t c) -> std::uint32_t { return ieee::floatToHalf(std::bit_cast<float>(texel[c])); };
  for (std::size_t k = 0; k < access.values.size(); ++k)
    t.r[access.values[k]] = access.halves == 0   ? texel[k]
                            : access.halves == 1 ? half(k)
                                                 : half(2 * k) | half(2 * k + 1) << 16;
  t.r[i.d] = 1; // all texels are resident
}

/// The queried property, unless it is a size.
std::optional<TextureFact> factAsked(Mod asked) {
  switch (asked) {
  case Mod::ForceUnnormalizedCoords: return TextureFact::ForceUnnormalized;
  case Mod::AddrMode0: return TextureFact::AddressMode0;
  case Mod::AddrMode1: return TextureFact::AddressMode1;
  case Mod::AddrMode2: return TextureFact::AddressMode2;
  case Mod::FilterMode: return TextureFact::FilterMode;
  case Mod::NormalizedCoords: return TextureFact::Normalized;
  case Mod::ChannelDataType: return TextureFact::ChannelType;
  case Mod::ChannelOrder: return TextureFact::ChannelOrder;
  case Mod::ArraySize: return TextureFact::ArraySize;
  case Mod::NumMipmapLevels: return TextureFact::Levels;
  case Mod::NumSamples: return TextureFact::Samples;
  case Mod::MemoryLayout: return TextureFact::MemoryLayout;
  default: return std::nullopt;
  }
}

void query(Thread& t, const Inst& i) {
  const launch::Texture& texture = texelsOf(t, i.a).texture();
  const auto asked = static_cast<Mod>(i.option);
  if (const auto fact = factAsked(asked)) return put<std::uint32_t>(t, i.d, launch::factOf(texture, *fact));
  const std::uint32_t level = i.b == kSink ? 0 : std::min(get<std::uint32_t>(t, i.b), texture.levels - 1);
  const auto sides = texture.levelSize(level);
  put<std::uint32_t>(t, i.d, sides[asked == Mod::Width ? 0 : asked == Mod::Height ? 1 : 2]);
}

/// In independent texture mode, samplers have these properties.
bool isOfSampler(const FunctionTranslator& t, Mod asked) {
  return t.module().target.texmodeIndependent &&
         (asked == Mod::AddrMode0 || asked == Mod::AddrMode1 || asked == Mod::AddrMode2 || asked == Mod::FilterMode ||
          asked == Mod::ForceUnnormalizedCoords);
}

void querySampler(Thread& t, const Inst& i) {
  const launch::Sampler* sampler = t.machine->device.sampler(get<std::uint32_t>(t, i.a));
  if (!sampler) throw Stop{"memcheck", fmt::format("{:#x} is not a sampler handle", t.r[i.a])};
  put<std::uint32_t>(t, i.d, launch::factOf(*sampler, *factAsked(static_cast<Mod>(i.option))));
}

bool isFloat(const FunctionTranslator& t, const ptx::Operand& o) {
  return o.is(OperandKind::Float32) || o.is(OperandKind::Float64) ||
         (o.is(OperandKind::Register) && t.registerType(o.registerId()) == Type::F32);
}

bool translateTexture(FunctionTranslator& t) {
  const Form& f = t.form();
  const Mod mipmap = f.get(Slot::Mipmap);
  const ptx::Operand& result = t.operand(0);
  const auto address = addressOf(t, t.operand(1), f.type(1));
  if (!address) return false;
  TextureAccess access;
  access.address = *address;
  // With a separate sampler, ptxas filters a texture at integers, too, except for lines, levels and samples (observed).
  access.isFilteredByIntegers = address->handle.size() > 1 && f.type(1) == Type::S32 && mipmap != Mod::AtLevel &&
                                address->shape != TextureShape::Line && address->shape != TextureShape::Samples &&
                                address->shape != TextureShape::SampleLayers;
  access.isFetch = f.type(1) == Type::S32 && !access.isFilteredByIntegers;
  access.halves = f.type(0) == Type::F16x2 ? 2 : f.type(0) == Type::F16 ? 1 : 0;
  access.values = t.defs(0, f.type(0));
  unsigned next = 2;
  if (mipmap == Mod::AtLevel) access.level = slotsOf(t, t.operand(next++), access.isFetch ? Type::S32 : Type::F32);
  if (mipmap == Mod::Grad) {
    access.byX = slotsOf(t, t.operand(next++), Type::F32);
    access.byY = slotsOf(t, t.operand(next++), Type::F32);
  }
  // Offsets come first: a vector, or for a line a single operand that is not a float.
  const TextureShape shape = address->shape;
  const bool isLine = shape == TextureShape::Line || shape == TextureShape::LineLayers;
  for (; next < t.operandCount(); ++next) {
    const ptx::Operand& o = t.operand(next);
    if (o.is(OperandKind::Vector) || (isLine && access.shifts.empty() && !isFloat(t, o)))
      access.shifts = slotsOf(t, o, Type::S32);
    else
      access.reference = slotsOf(t, o, Type::F32);
  }
  if (f.op == Op::Tld4) {
    const Mod part = f.get(Slot::Part);
    access.component = part == Mod::G ? 1 : part == Mod::B ? 2 : part == Mod::A ? 3 : 0;
  }
  Inst& inst = t.emit(&readTexture);
  inst.detail = t.keep(access);
  const bool hasPredicate = result.is(OperandKind::Vector) && result.vectorPair() != ptx::RegisterId::None;
  inst.d = hasPredicate ? t.registerSlot(result.vectorPair()) : kSink;
  return true;
}

bool translateQuery(FunctionTranslator& t) {
  const Mod asked = t.form().get(Slot::Query);
  const bool isSize = asked == Mod::Width || asked == Mod::Height || asked == Mod::Depth;
  const auto handle = handleOf(t, t.operand(1));
  if (!handle || (!isSize && !factAsked(asked))) return false;
  Inst& inst = t.emit(isOfSampler(t, asked) ? &querySampler : &query);
  inst.d = t.def(0);
  inst.a = *handle;
  if (t.operandCount() > 2) inst.b = t.use(2, Type::B32);
  inst.option = static_cast<std::uint16_t>(asked);
  return true;
}

} // namespace

bool translateTextures(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::Tex:
  case Op::Tld4: return translateTexture(t);
  case Op::Suld: return translateSurfaceAccess(t, true);
  case Op::Sust: return translateSurfaceAccess(t, false);
  case Op::Sured: return translateSurfaceReduction(t);
  case Op::Txq:
  case Op::Suq: return translateQuery(t);
  default: return false;
  }
}

} // namespace orias::interp
