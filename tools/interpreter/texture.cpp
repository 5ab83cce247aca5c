#include "tools/launch/texture.h"
#include "tools/interpreter/access.h"
#include "tools/interpreter/translate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <optional>

// tex, tld4, txq, suld.b, sust.b and suq on what a launch describes, by handles in registers. There is one level of
// detail; cubes, samples, comparisons and gradients are not known.

namespace orias::interp {

namespace {

using launch::Texels;
using launch::TextureShape;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::OperandKind;
using ptx::Slot;
using ptx::Type;

/// Inst::detail.
struct TextureAccess {
  TextureShape shape = TextureShape::Plane;
  std::uint32_t handle = kSink;
  std::span<const std::uint32_t> coordinates; ///< the layer first, if there are layers
  std::span<const std::uint32_t> shifts;      ///< may be empty
  std::span<const std::uint32_t> values;      ///< loaded or stored
  bool isFetch = false;                       ///< by integers
  int component = -1;                         ///< of tld4
  unsigned elementBytes = 4;                  ///< of surfaces
  Texels::Outside outside = Texels::Outside::Trap;
};

struct Coordinates {
  std::array<std::uint32_t, 3> at{};
  std::uint32_t layer = 0;
};

const TextureAccess& accessOf(const Inst& i) {
  return *static_cast<const TextureAccess*>(i.detail);
}

Texels texelsOf(const Thread& t, std::uint32_t slot) {
  const auto texels = t.machine->device.texels(get<std::uint32_t>(t, slot));
  if (!texels) throw Stop{"memcheck", fmt::format("{:#x} is the handle of no texture or surface", t.r[slot])};
  return *texels;
}

/// What the handle names, which must have the shape that the instruction says.
Texels texelsOf(const Thread& t, const TextureAccess& access) {
  const Texels texels = texelsOf(t, access.handle);
  if (texels.texture().shape != access.shape)
    throw Stop{"memcheck", fmt::format("the texture '{}' has another shape", texels.texture().name)};
  return texels;
}

Coordinates coordinatesOf(const Thread& t, const TextureAccess& access) {
  Coordinates result;
  std::size_t next = 0;
  const bool hasLayer = access.shape == TextureShape::LineLayers || access.shape == TextureShape::PlaneLayers;
  if (hasLayer) result.layer = get<std::uint32_t>(t, access.coordinates[next++]);
  for (unsigned d = 0; d < 3 && next < access.coordinates.size(); ++d)
    result.at[d] = get<std::uint32_t>(t, access.coordinates[next++]);
  return result;
}

std::array<std::int64_t, 3> asIntegers(const std::array<std::uint32_t, 3>& at) {
  return {static_cast<std::int32_t>(at[0]), static_cast<std::int32_t>(at[1]), static_cast<std::int32_t>(at[2])};
}

void readTexture(Thread& t, const Inst& i) {
  const TextureAccess& access = accessOf(i);
  const Texels texels = texelsOf(t, access);
  const Coordinates where = coordinatesOf(t, access);
  std::array<int, 3> shift{};
  for (std::size_t d = 0; d < std::min<std::size_t>(access.shifts.size(), 3); ++d)
    shift[d] = get<std::int32_t>(t, access.shifts[d]);
  launch::Texel texel;
  if (access.isFetch) {
    auto at = asIntegers(where.at);
    for (unsigned d = 0; d < 3; ++d)
      at[d] += shift[d];
    texel = texels.fetch(at, where.layer);
  } else {
    std::array<float, 3> at;
    for (unsigned d = 0; d < 3; ++d)
      at[d] = std::bit_cast<float>(where.at[d]);
    texel = access.component < 0 ? texels.sample(at, where.layer, shift)
                                 : texels.gather(at, where.layer, shift, static_cast<unsigned>(access.component));
  }
  for (std::size_t k = 0; k < access.values.size(); ++k)
    t.r[access.values[k]] = texel[k];
}

/// Nothing where a surface is not and nobody minds.
std::optional<std::uint64_t> surfaceAddress(const Thread& t, const TextureAccess& access) {
  const Texels texels = texelsOf(t, access);
  const Coordinates where = coordinatesOf(t, access);
  const auto bytes = static_cast<unsigned>(access.values.size() * access.elementBytes);
  const auto at =
      texels.surfaceAddress(asIntegers(where.at), static_cast<std::int32_t>(where.layer), bytes, access.outside);
  if (!at && access.outside == Texels::Outside::Trap) throw Stop{"trap", "outside of a surface"};
  return at;
}

void loadSurface(Thread& t, const Inst& i) {
  const TextureAccess& access = accessOf(i);
  const auto from = surfaceAddress(t, access);
  for (std::size_t k = 0; k < access.values.size(); ++k) {
    std::uint64_t value = 0;
    if (from)
      load(t, Space::Global, *from + k * access.elementBytes,
           std::as_writable_bytes(std::span(&value, 1)).first(access.elementBytes));
    t.r[access.values[k]] = value;
  }
}

void storeSurface(Thread& t, const Inst& i) {
  const TextureAccess& access = accessOf(i);
  const auto to = surfaceAddress(t, access);
  if (!to) return;
  for (std::size_t k = 0; k < access.values.size(); ++k)
    store(t, Space::Global, *to + k * access.elementBytes,
          std::as_bytes(std::span(&t.r[access.values[k]], 1)).first(access.elementBytes));
}

void query(Thread& t, const Inst& i) {
  const launch::Texture& texture = texelsOf(t, i.a).texture();
  switch (static_cast<Mod>(i.option)) {
  case Mod::Width: return put<std::uint32_t>(t, i.d, texture.size[0]);
  case Mod::Height: return put<std::uint32_t>(t, i.d, texture.size[1]);
  case Mod::Depth: return put<std::uint32_t>(t, i.d, texture.size[2]);
  case Mod::ArraySize: return put<std::uint32_t>(t, i.d, texture.layers);
  case Mod::NormalizedCoords: return put<std::uint32_t>(t, i.d, texture.hasUnitCoordinates ? 1 : 0);
  default: return put<std::uint32_t>(t, i.d, 1); // one level, one sample
  }
}

std::optional<TextureShape> shapeOf(const Form& f) {
  switch (f.get(Slot::Geometry)) {
  case Mod::Dim1d: return TextureShape::Line;
  case Mod::Dim2d: return TextureShape::Plane;
  case Mod::Dim3d: return TextureShape::Volume;
  case Mod::Array1d: return TextureShape::LineLayers;
  case Mod::Array2d: return TextureShape::PlaneLayers;
  default: return std::nullopt;
  }
}

/// The slot of a handle in a register, alone or in brackets.
std::optional<std::uint32_t> handleOf(FunctionTranslator& t, const ptx::Operand& o) {
  if (o.is(OperandKind::Register)) return t.useOf(o, Type::U64);
  if (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Register && o.offset() == 0)
    return t.registerSlot(o.registerId());
  return std::nullopt;
}

std::span<const std::uint32_t> usesOf(FunctionTranslator& t, const ptx::Operand& o, Type type) {
  std::vector<std::uint32_t> slots;
  if (o.is(OperandKind::Vector))
    for (const ptx::Operand& part : t.function().parts(o))
      slots.push_back(t.useOf(part, type));
  else
    slots.push_back(t.useOf(o, type));
  return t.list(std::move(slots));
}

/// `[handle, {coordinates}]`.
std::optional<TextureAccess> accessTo(FunctionTranslator& t, const ptx::Operand& operand, Type coordinateType) {
  const auto shape = shapeOf(t.form());
  const auto parts = t.function().parts(operand);
  if (!shape || parts.size() != 2) return std::nullopt;
  const auto handle = handleOf(t, parts[0]);
  if (!handle) return std::nullopt;
  TextureAccess access;
  access.shape = *shape;
  access.handle = *handle;
  access.coordinates = usesOf(t, parts[1], coordinateType);
  access.isFetch = coordinateType == Type::S32;
  return access;
}

bool isFloat(const FunctionTranslator& t, const ptx::Operand& o) {
  return o.is(OperandKind::Float32) || o.is(OperandKind::Float64) ||
         (o.is(OperandKind::Register) && t.registerType(o.registerId()) == Type::F32);
}

bool translateTexture(FunctionTranslator& t) {
  const Form& f = t.form();
  const Mod mipmap = f.get(Slot::Mipmap);
  const ptx::Operand& result = t.operand(0);
  if (mipmap == Mod::Grad || bitWidth(f.type(0)) != 32 || f.type(0) == Type::F16x2 ||
      (result.is(OperandKind::Vector) && result.vectorPair() != ptx::RegisterId::None))
    return false;
  auto access = accessTo(t, t.operand(1), f.type(1));
  if (!access) return false;
  access->values = t.defs(0, Type::B32);
  const unsigned next = mipmap == Mod::AtLevel ? 3 : 2; // there is but one level
  if (t.operandCount() > next + 1 || (t.operandCount() > next && isFloat(t, t.operand(next)))) return false;
  if (t.operandCount() > next) access->shifts = usesOf(t, t.operand(next), Type::S32);
  if (f.op == Op::Tld4) {
    const Mod part = f.get(Slot::Part);
    access->component = part == Mod::G ? 1 : part == Mod::B ? 2 : part == Mod::A ? 3 : 0;
    if (access->shape != TextureShape::Plane && access->shape != TextureShape::PlaneLayers) return false;
  }
  t.emit(&readTexture).detail = t.keep(*access);
  return true;
}

bool translateSurface(FunctionTranslator& t, bool isLoad) {
  const Form& f = t.form();
  if (f.has(Mod::P)) return false;
  auto access = accessTo(t, t.operand(isLoad ? 1 : 0), Type::S32);
  if (!access) return false;
  access->values = isLoad ? t.defs(0, f.type()) : t.uses(1, f.type());
  access->elementBytes = bitWidth(f.type()) / 8;
  access->outside = f.mode() == Mod::Clamp  ? Texels::Outside::Clamp
                    : f.mode() == Mod::Zero ? Texels::Outside::Zero
                                            : Texels::Outside::Trap;
  t.emit(isLoad ? &loadSurface : &storeSurface).detail = t.keep(*access);
  return true;
}

bool translateQuery(FunctionTranslator& t) {
  const Mod asked = t.form().get(Slot::Query);
  constexpr Mod kKnown[] = {Mod::Width,      Mod::Height,          Mod::Depth,           Mod::ArraySize,
                            Mod::NumSamples, Mod::NumMipmapLevels, Mod::NormalizedCoords};
  const auto handle = handleOf(t, t.operand(1));
  if (!handle || std::find(std::begin(kKnown), std::end(kKnown), asked) == std::end(kKnown) || t.operandCount() > 2)
    return false;
  Inst& inst = t.emit(&query);
  inst.d = t.def(0);
  inst.a = *handle;
  inst.option = static_cast<std::uint16_t>(asked);
  return true;
}

} // namespace

bool translateTextures(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::Tex:
  case Op::Tld4: return translateTexture(t);
  case Op::Suld: return translateSurface(t, true);
  case Op::Sust: return translateSurface(t, false);
  case Op::Txq:
  case Op::Suq: return translateQuery(t);
  default: return false;
  }
}

} // namespace orias::interp
