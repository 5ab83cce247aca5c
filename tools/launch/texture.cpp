#include "tools/launch/texture.h"

#include "tools/launch/element.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orias::launch {

namespace {

constexpr std::int64_t kOutside = -1;
constexpr std::uint32_t kOneAsFloat = 0x3f800000;
constexpr double kWeightSteps = 256;

std::int64_t modulo(std::int64_t value, std::int64_t period) {
  return (value % period + period) % period;
}

/// The face and position where a direction intersects a cube from -1 to 1. Faces: x, -x, y, -y, z, -z; each is seen
/// from inside, as in OpenGL. Of equal coordinates z has priority over y, and y over x.
struct OnCube {
  unsigned face;
  double across, down;
};

/// Likewise on the plane of the given face, which need not be the first one on the direction.
OnCube onPlaneOf(unsigned face, double x, double y, double z) {
  const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  switch (face) {
  case 0: return {face, -z / ax, -y / ax};
  case 1: return {face, z / ax, -y / ax};
  case 2: return {face, x / ay, z / ay};
  case 3: return {face, x / ay, -z / ay};
  case 4: return {face, x / az, -y / az};
  default: return {face, -x / az, -y / az};
  }
}
OnCube onCube(double x, double y, double z) {
  const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  if (az >= ax && az >= ay) return onPlaneOf(z < 0 ? 5 : 4, x, y, z);
  if (ay >= ax) return onPlaneOf(y < 0 ? 3 : 2, x, y, z);
  return onPlaneOf(x < 0 ? 1 : 0, x, y, z);
}

/// NaN counts as 0. Numbers far outside are clamped, because they are equivalent.
double inRange(double texels) {
  constexpr double kFar = 1 << 30;
  return std::isnan(texels) ? 0 : std::clamp(texels, -kFar, kFar);
}

} // namespace

unsigned Texture::dimensions() const {
  switch (shape) {
  case TextureShape::Line:
  case TextureShape::LineLayers: return 1;
  case TextureShape::Volume: return 3;
  default: return 2;
  }
}

bool Texture::isLayered() const {
  return shape == TextureShape::LineLayers || shape == TextureShape::PlaneLayers || shape == TextureShape::CubeLayers ||
         shape == TextureShape::SampleLayers;
}

unsigned Texture::texelBytes() const {
  return channels * elementBytes(type);
}

std::array<std::uint32_t, 3> Texture::levelSize(unsigned level) const {
  std::array<std::uint32_t, 3> sides{};
  for (unsigned d = 0; d < 3; ++d)
    sides[d] = std::max(1u, size[d] >> level);
  return sides;
}

std::uint64_t Texture::levelPitch(unsigned level) const {
  return level == 0 ? pitch : std::uint64_t{levelSize(level)[0]} * samples * texelBytes();
}

Texture Texture::with(const Sampler& sampler) const {
  Texture both = *this;
  both.address = sampler.address;
  both.isLinear = sampler.isLinear && (isFloat(type) || readsUnit);
  both.hasUnitCoordinates = hasUnitCoordinates && !sampler.forcesUnnormalized;
  both.comparison = sampler.comparison;
  return both;
}

std::uint64_t Texture::bytes() const {
  std::uint64_t all = 0;
  for (unsigned level = 0; level < levels; ++level) {
    const auto sides = levelSize(level);
    const std::uint64_t rows = std::uint64_t{sides[1]} * sides[2] * planes();
    // The last row may be shorter than the pitch.
    all += level + 1 < levels ? rows * levelPitch(level)
                              : (rows - 1) * levelPitch(level) + std::uint64_t{sides[0]} * samples * texelBytes();
  }
  return all;
}

bool Texels::givesFloats() const {
  return isFloat(texture_.type) || texture_.readsUnit;
}

Texel Texels::texel(const std::array<std::int64_t, 3>& at, std::uint32_t plane, unsigned level) const {
  const Texture& t = texture_;
  Texel result{0, 0, 0, givesFloats() ? kOneAsFloat : 1};
  std::uint64_t from = address_;
  for (unsigned before = 0; before < level; ++before) {
    const auto sides = t.levelSize(before);
    from += std::uint64_t{sides[1]} * sides[2] * t.planes() * t.levelPitch(before);
  }
  const auto sides = t.levelSize(level);
  const std::uint64_t row = (std::uint64_t{plane} * sides[2] + static_cast<std::uint64_t>(at[2])) * sides[1] +
                            static_cast<std::uint64_t>(at[1]);
  from += row * t.levelPitch(level) + static_cast<std::uint64_t>(at[0]) * t.texelBytes();
  const unsigned each = elementBytes(t.type);
  for (unsigned c = 0; c < t.channels; ++c) {
    const std::byte* bytes = memory_.at(from + c * each, each);
    if (isFloat(t.type)) {
      result[c] = std::bit_cast<std::uint32_t>(static_cast<float>(loadFloat(t.type, bytes)));
      continue;
    }
    const auto integer = static_cast<std::int64_t>(loadInteger(t.type, bytes));
    if (!t.readsUnit) {
      result[c] = static_cast<std::uint32_t>(integer);
      continue;
    }
    const double most = std::exp2(8 * each - (isSigned(t.type) ? 1 : 0)) - 1;
    result[c] = std::bit_cast<std::uint32_t>(static_cast<float>(std::max(-1.0, static_cast<double>(integer) / most)));
  }
  return result;
}

Texel Texels::fetch(const std::array<std::int64_t, 3>& at, std::uint32_t layer, std::int64_t level,
                    std::uint32_t sample) const {
  const auto from = static_cast<unsigned>(std::clamp<std::int64_t>(level, 0, texture_.levels - 1));
  const auto sides = texture_.levelSize(from);
  std::array<std::int64_t, 3> place{}; // callers may pass more coordinates than necessary
  for (unsigned d = 0; d < texture_.dimensions(); ++d) {
    if (at[d] < 0 || at[d] >= sides[d]) return {};
    place[d] = at[d];
  }
  if (sample >= texture_.samples) return {};
  place[0] = place[0] * texture_.samples + sample;
  return texel(place, std::min(layer, texture_.layers - 1), from);
}

std::int64_t Texels::resolved(unsigned dimension, std::int64_t at, unsigned level) const {
  const std::int64_t size = texture_.levelSize(level)[dimension];
  if (at >= 0 && at < size) return at;
  AddressMode mode = texture_.address[dimension];
  if (texture_.isCube() || (!texture_.hasUnitCoordinates && mode != AddressMode::Border)) mode = AddressMode::Clamp;
  switch (mode) {
  case AddressMode::Border: return kOutside;
  case AddressMode::Wrap: return modulo(at, size);
  case AddressMode::Mirror: {
    const std::int64_t there = modulo(at, 2 * size);
    return there < size ? there : 2 * size - 1 - there;
  }
  case AddressMode::Clamp: break;
  }
  return std::clamp<std::int64_t>(at, 0, size - 1);
}

bool Texels::compares(float reference, float texel) const {
  switch (texture_.comparison) {
  case Comparison::Less: return reference < texel;
  case Comparison::Equal: return reference == texel;
  case Comparison::LessEqual: return reference <= texel;
  case Comparison::Greater: return reference > texel;
  case Comparison::NotEqual: return reference != texel;
  case Comparison::GreaterEqual: break;
  }
  return reference >= texel;
}

Texels::Found Texels::find(const Place& place) const {
  Found found;
  const double level = std::isnan(place.level) ? 0 : std::clamp<double>(place.level, 0, texture_.levels - 1);
  found.level = static_cast<unsigned>(std::floor(level + 0.5));
  const auto sides = texture_.levelSize(found.level);
  found.plane = std::min(place.layer, texture_.layers - 1);
  if (texture_.isCube()) {
    const OnCube cube = onCube(double{place.at[0]}, double{place.at[1]}, double{place.at[2]});
    found.plane = found.plane * 6 + cube.face;
    found.at = {inRange((cube.across + 1) / 2 * sides[0]), inRange((cube.down + 1) / 2 * sides[1]), 0};
    return found;
  }
  for (unsigned d = 0; d < texture_.dimensions(); ++d)
    found.at[d] = inRange(texture_.hasUnitCoordinates ? double{place.at[d]} * sides[d] : double{place.at[d]});
  return found;
}

Texel Texels::texelOrBorder(std::array<std::int64_t, 3> at, const Found& found, const Place& place) const {
  bool isInside = true;
  for (unsigned d = 0; d < texture_.dimensions(); ++d) {
    at[d] = resolved(d, at[d], found.level);
    isInside = isInside && at[d] != kOutside;
  }
  const Texel part = isInside ? texel(at, found.plane, found.level) : Texel{};
  if (!place.reference) return part;
  const std::uint32_t result = compares(*place.reference, std::bit_cast<float>(part[0])) ? kOneAsFloat : 0;
  return {result, result, result, result};
}

Texel Texels::sample(const Place& place) const {
  const unsigned dimensions = texture_.dimensions();
  const Found found = find(place);
  std::array<std::int64_t, 3> first{};
  std::array<double, 3> weight{}; // of the next texel
  for (unsigned d = 0; d < dimensions; ++d) {
    const double where = found.at[d] - (texture_.isLinear ? 0.5 : 0);
    first[d] = static_cast<std::int64_t>(std::floor(where)) + place.shift[d];
    if (texture_.isLinear) weight[d] = std::rint((where - std::floor(where)) * kWeightSteps) / kWeightSteps;
  }
  std::array<double, 4> sum{};
  for (unsigned corner = 0; corner < (1u << dimensions); ++corner) {
    double share = 1;
    std::array<std::int64_t, 3> at = first;
    for (unsigned d = 0; d < dimensions; ++d) {
      const bool isNext = (corner >> d & 1) != 0;
      share *= isNext ? weight[d] : 1 - weight[d];
      at[d] += isNext ? 1 : 0;
    }
    if (share == 0) continue;
    const Texel part = texelOrBorder(at, found, place);
    if (!texture_.isLinear) return part;
    for (unsigned c = 0; c < 4; ++c)
      sum[c] += share * double{std::bit_cast<float>(part[c])};
  }
  Texel result{};
  for (unsigned c = 0; c < 4; ++c)
    result[c] = std::bit_cast<std::uint32_t>(static_cast<float>(sum[c]));
  return result;
}

Texel Texels::gather(const Place& place, unsigned component) const {
  constexpr int kCorners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  const Found found = find(place);
  Texel result{};
  for (unsigned k = 0; k < 4; ++k) {
    std::array<std::int64_t, 3> at{};
    for (unsigned d = 0; d < 2; ++d)
      at[d] = static_cast<std::int64_t>(std::floor(found.at[d] - 0.5)) + place.shift[d] + kCorners[k][d];
    result[k] = texelOrBorder(at, found, place)[component];
  }
  return result;
}

float Texels::levelFor(const std::array<float, 3>& at, std::span<const float> byX, std::span<const float> byY) const {
  if (texture_.isCube()) {
    const OnCube here = onCube(double{at[0]}, double{at[1]}, double{at[2]});
    const auto squared = [&](std::span<const float> by) {
      const OnCube there = onPlaneOf(here.face, double{at[0]} + double{by[0]}, double{at[1]} + double{by[1]},
                                     double{at[2]} + double{by[2]});
      const double across = there.across - here.across, down = there.down - here.down, half = texture_.size[0] / 2.0;
      return (across * across + down * down) * half * half;
    };
    return static_cast<float>(std::log2(std::max(squared(byX), squared(byY))) / 2);
  }
  const auto squared = [&](std::span<const float> derivatives) {
    double sum = 0;
    for (unsigned d = 0; d < std::min<std::size_t>(derivatives.size(), texture_.dimensions()); ++d) {
      const double texels = double{derivatives[d]} * (texture_.hasUnitCoordinates ? texture_.size[d] : 1);
      sum += texels * texels;
    }
    return sum;
  };
  return static_cast<float>(std::log2(std::max(squared(byX), squared(byY))) / 2);
}

std::optional<std::uint64_t> Texels::surfaceAddress(std::array<std::int64_t, 3> at, std::int64_t layer, unsigned bytes,
                                                    Outside outside) const {
  const Texture& t = texture_;
  const auto fit = [&](std::int64_t& value, std::int64_t last) {
    if (value >= 0 && value <= last) return true;
    value = std::clamp<std::int64_t>(value, 0, last);
    return outside == Outside::Clamp;
  };
  bool isInside = fit(layer, t.layers - 1);
  isInside = fit(at[0], std::int64_t{t.size[0]} * t.texelBytes() - bytes) && isInside;
  for (unsigned d = 1; d < 3; ++d)
    isInside = (d >= t.dimensions() ? at[d] = 0, true : fit(at[d], t.size[d] - 1)) && isInside;
  if (!isInside) return std::nullopt;
  const std::int64_t row = (layer * t.size[2] + at[2]) * t.size[1] + at[1];
  return address_ + static_cast<std::uint64_t>(row) * t.pitch + static_cast<std::uint64_t>(at[0]);
}

std::array<std::byte, 16> Texels::packed(std::span<const std::uint32_t> components) const {
  std::array<std::byte, 16> bytes{};
  const unsigned each = elementBytes(texture_.type);
  for (unsigned c = 0; c < std::min<std::size_t>(texture_.channels, components.size()); ++c) {
    std::byte* to = bytes.data() + c * each;
    if (isFloat(texture_.type)) {
      storeFloat(texture_.type, double{std::bit_cast<float>(components[c])}, to);
      continue;
    }
    if (texture_.readsUnit) {
      const double most = std::exp2(8 * each - (isSigned(texture_.type) ? 1 : 0)) - 1;
      const double value = double{std::bit_cast<float>(components[c])};
      const double least = isSigned(texture_.type) ? -1 : 0;
      storeInteger(texture_.type, std::llrint((std::isnan(value) ? 0 : std::clamp(value, least, 1.0)) * most), to);
      continue;
    }
    const bool hasSign = isSigned(texture_.type);
    const std::int64_t value = hasSign ? std::int64_t{static_cast<std::int32_t>(components[c])} : components[c];
    const std::int64_t most = (std::int64_t{1} << (8 * each - (hasSign ? 1 : 0))) - 1;
    storeInteger(texture_.type, std::clamp<std::int64_t>(value, hasSign ? -most - 1 : 0, most), to);
  }
  return bytes;
}

} // namespace orias::launch
