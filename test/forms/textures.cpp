#include "test/forms/textures.h"

#include "frontend/types.h"
#include "test/forms/values.h"
#include "tools/interpreter/texture_access.h"
#include "tools/launch/element.h"
#include "tools/launch/random.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace orias::forms {

using launch::ElementType;
using launch::Random;
using launch::TextureShape;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::Type;

namespace {

bool isSurface(const Statement& s) {
  return s.form.op == Op::Suld || s.form.op == Op::Sust || s.form.op == Op::Sured;
}
bool isQuery(const Statement& s) {
  return s.form.op == Op::Txq || s.form.op == Op::Suq;
}

/// A query has no shape.
TextureShape shapeOf(const ptx::Form& form) {
  return interp::shapeOf(form).value_or(TextureShape::Plane);
}

/// Surfaces have sides and layers with a texel for each of 128 lanes.
void setSize(launch::Texture& t, bool isOfSurface) {
  switch (t.shape) {
  case TextureShape::Line: t.size = {isOfSurface ? 130u : 13u, 1, 1}; break;
  case TextureShape::Volume: t.size = isOfSurface ? std::array{8u, 4u, 5u} : std::array{6u, 5u, 3u}; break;
  case TextureShape::LineLayers:
    t.size = {isOfSurface ? 16u : 11u, 1, 1};
    t.layers = isOfSurface ? 9 : 4;
    break;
  case TextureShape::Plane: t.size = isOfSurface ? std::array{16u, 9u, 1u} : std::array{12u, 5u, 1u}; break;
  case TextureShape::PlaneLayers:
    t.size = isOfSurface ? std::array{8u, 4u, 1u} : std::array{6u, 5u, 1u};
    t.layers = isOfSurface ? 5 : 3;
    break;
  // Directions are quotients of odd numbers, so none is between two texels if the size is a power of two.
  case TextureShape::CubeLayers: t.layers = 3; [[fallthrough]];
  case TextureShape::Cube: t.size = {8, 8, 1}; break;
  case TextureShape::SampleLayers: t.layers = 3; [[fallthrough]];
  case TextureShape::Samples:
    t.size = {6, 5, 1};
    t.samples = 4;
    break;
  }
}

void setSurfaceType(launch::Texture& t, const Statement& s) {
  const unsigned bytes = bitWidth(s.form.type()) / 8, count = s.form.vectorSize();
  if (s.form.has(Mod::P)) { // formats that texels are converted to
    const bool isReduction = s.form.op == Op::Sured;
    t.channels = isReduction ? bytes / 4 : count;
    t.type = isReduction  ? ElementType::S32
             : count == 1 ? ElementType::U8
             : count == 2 ? ElementType::S16
                          : ElementType::F32;
    return;
  }
  t.type = bytes == 1 ? ElementType::U8 : bytes == 2 ? ElementType::U16 : ElementType::U32;
  t.channels = bytes * count / launch::elementBytes(t.type);
}

/// The number of coordinates. Sources are in the order of the text: coordinates first; the data of stores follow.
unsigned coordinatesOf(const Statement& s) {
  if (isQuery(s)) return 0;
  switch (shapeOf(s.form)) {
  case TextureShape::Line: return 1;
  case TextureShape::Plane:
  case TextureShape::LineLayers: return 2;
  default: return 4;
  }
}

const Use& sourceAt(const Statement& s, unsigned number) {
  for (const Use& use : s.uses)
    if (use.role == Role::Source && number-- == 0) return use;
  return s.uses.front();
}

std::uint32_t bitsOf(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// A multiple of 1/8 from `low` to `high`.
std::uint32_t eighths(Random& random, int low, int high) {
  return bitsOf(static_cast<float>(low) +
                static_cast<float>(random.below(static_cast<std::uint64_t>(high - low) * 8)) / 8);
}

std::uint32_t integer(Random& random, int low, int high) {
  return static_cast<std::uint32_t>(low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1))));
}

std::uint32_t textureCoordinate(const Statement& s, const launch::Texture& t, unsigned number, Random& random) {
  if (t.hasSamples() && number-- == 0) return integer(random, 0, static_cast<int>(t.samples) - 1);
  if (t.isLayered() && number-- == 0) return integer(random, 0, static_cast<int>(t.layers));
  if (number >= 3) return 0;
  if (t.isCube()) return bitsOf(static_cast<float>(integer(random, -16, 15) * 2 + 1) / 16);
  const int side = static_cast<int>(t.size[number]);
  return s.form.type(1) == Type::S32 ? integer(random, -1, side) : eighths(random, -1, side + 1);
}

/// The coordinates of the lane's texel. The first coordinate of the first and the last lane is outside if that is
/// allowed. Reductions share texels.
std::uint32_t surfaceCoordinate(const Statement& s, const launch::Texture& t, unsigned number, unsigned lane,
                                unsigned lanes) {
  unsigned place = s.form.op == Op::Sured ? lane / 3 : lane;
  std::uint32_t at = 0, layer = 0;
  std::array<std::uint32_t, 3> coordinates{};
  for (unsigned d = 0; d < t.dimensions(); ++d) {
    coordinates[d] = place % t.size[d];
    place /= t.size[d];
  }
  layer = place;
  if (t.isLayered() && number-- == 0) return layer;
  if (number >= 3) return 0;
  at = coordinates[number];
  if (number != 0) return at;
  if (s.form.mode() != Mod::Trap && (lane == 0 || lane + 1 == lanes)) at = lane == 0 ? ~std::uint32_t{4} : 1000;
  return s.form.has(Mod::P) ? at : at * t.texelBytes();
}

std::uint32_t furtherValue(const Statement& s, std::string_view operand, Random& random) {
  if (operand == "lod" && s.form.type(1) == Type::F32)
    return bitsOf(static_cast<float>(integer(random, -3, 9)) / 4 + 0.0625f);
  if (operand == "lod") return integer(random, isQuery(s) ? 0 : -1, isQuery(s) ? 2 : 3);
  if (operand == "offset") return integer(random, -8, 7);
  return eighths(random, -4, 4); // derivatives, values to compare with
}

} // namespace

bool isOnTexture(const Statement& statement) {
  switch (statement.form.op) {
  case Op::Tex:
  case Op::Tld4:
  case Op::Txq:
  case Op::Suld:
  case Op::Sust:
  case Op::Sured:
  case Op::Suq: return true;
  default: return false;
  }
}

launch::Texture textureFor(const Statement& s, int buffer) {
  launch::Texture t;
  t.name = kImage;
  t.buffer = buffer;
  t.shape = shapeOf(s.form);
  setSize(t, isSurface(s));
  if (isSurface(s)) {
    setSurfaceType(t, s);
  } else {
    t.channels = 4;
    t.type = s.form.type(0) == Type::U32   ? ElementType::U32
             : s.form.type(0) == Type::S32 ? ElementType::S32
                                           : ElementType::F32;
    t.isLinear = t.type == ElementType::F32;
    if (!t.hasSamples()) t.levels = 3;
  }
  t.pitch = std::uint64_t{t.size[0]} * t.samples * t.texelBytes();
  return t;
}

launch::Sampler samplerFor(launch::Texture& texture) {
  launch::Sampler sampler;
  sampler.name = kSampler;
  sampler.address.fill(launch::AddressMode::Border);
  sampler.isLinear = texture.isLinear;
  sampler.comparison = launch::Comparison::Greater;
  texture.isLinear = false;
  return sampler;
}

launch::Buffer texelsFor(const Statement& s, std::uint64_t seed) {
  const launch::Texture t = textureFor(s, 0);
  launch::Buffer buffer;
  buffer.name = kTexels;
  buffer.type = t.type;
  buffer.elements = t.bytes() / launch::elementBytes(t.type);
  buffer.initial.resize(t.bytes());
  Random random(seed);
  for (std::uint64_t i = 0; i < buffer.elements; ++i) {
    std::byte* at = buffer.initial.data() + i * launch::elementBytes(t.type);
    if (launch::isFloat(t.type))
      launch::storeFloat(t.type, (static_cast<double>(random.below(128)) - 64) / 8, at);
    else
      launch::storeInteger(t.type, static_cast<std::int64_t>(random.bits() >> 1), at);
  }
  return buffer;
}

std::vector<std::byte> textureValues(const Statement& s, unsigned number, unsigned lanes, std::uint64_t seed) {
  const Use& use = sourceAt(s, number);
  const unsigned coordinates = coordinatesOf(s);
  const bool isData = number >= coordinates && (s.form.op == Op::Sust || s.form.op == Op::Sured);
  if (isData) return sourceValues(s, use, lanes, seed);
  const launch::Texture t = textureFor(s, 0);
  Random random(seed);
  std::vector<std::byte> bytes(std::size_t{lanes} * 4);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const std::uint32_t value = number >= coordinates ? furtherValue(s, use.operand, random)
                                : isSurface(s)        ? surfaceCoordinate(s, t, number, lane, lanes)
                                                      : textureCoordinate(s, t, number, random);
    std::memcpy(bytes.data() + std::size_t{lane} * 4, &value, 4);
  }
  return bytes;
}

} // namespace orias::forms
