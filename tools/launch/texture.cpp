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

} // namespace

unsigned Texture::dimensions() const {
  switch (shape) {
  case TextureShape::Line:
  case TextureShape::LineLayers: return 1;
  case TextureShape::Plane:
  case TextureShape::PlaneLayers: return 2;
  case TextureShape::Volume: break;
  }
  return 3;
}

unsigned Texture::texelBytes() const {
  return channels * elementBytes(type);
}

std::uint64_t Texture::bytes() const {
  const std::uint64_t rows = std::uint64_t{size[1]} * size[2] * layers;
  return (rows - 1) * pitch + std::uint64_t{size[0]} * texelBytes();
}

bool Texels::givesFloats() const {
  return isFloat(texture_.type) || texture_.readsUnit;
}

Texel Texels::texel(const std::array<std::int64_t, 3>& at, std::uint32_t layer) const {
  const Texture& t = texture_;
  Texel result{0, 0, 0, givesFloats() ? kOneAsFloat : 1};
  const std::uint64_t row = (std::uint64_t{layer} * t.size[2] + static_cast<std::uint64_t>(at[2])) * t.size[1] +
                            static_cast<std::uint64_t>(at[1]);
  const std::uint64_t from = address_ + row * t.pitch + static_cast<std::uint64_t>(at[0]) * t.texelBytes();
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

Texel Texels::fetch(const std::array<std::int64_t, 3>& at, std::uint32_t layer) const {
  std::array<std::int64_t, 3> place{}; // callers may give more coordinates than there are
  for (unsigned d = 0; d < texture_.dimensions(); ++d) {
    if (at[d] < 0 || at[d] >= texture_.size[d]) return {};
    place[d] = at[d];
  }
  return texel(place, std::min(layer, texture_.layers - 1));
}

std::int64_t Texels::resolved(unsigned dimension, std::int64_t at) const {
  const std::int64_t size = texture_.size[dimension];
  if (at >= 0 && at < size) return at;
  AddressMode mode = texture_.address[dimension];
  if (!texture_.hasUnitCoordinates && mode != AddressMode::Border) mode = AddressMode::Clamp;
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

/// In texels. NaN counts as 0, and nobody tells numbers apart that are far outside.
double Texels::scaled(unsigned dimension, float at) const {
  constexpr double kFar = 1 << 30;
  const double texels = texture_.hasUnitCoordinates ? double{at} * texture_.size[dimension] : double{at};
  return std::isnan(texels) ? 0 : std::clamp(texels, -kFar, kFar);
}

Texel Texels::sample(const std::array<float, 3>& at, std::uint32_t layer, const std::array<int, 3>& shift) const {
  const unsigned dimensions = texture_.dimensions();
  layer = std::min(layer, texture_.layers - 1);
  std::array<std::int64_t, 3> first{};
  std::array<double, 3> weight{}; // of the next texel
  for (unsigned d = 0; d < dimensions; ++d) {
    const double where = scaled(d, at[d]) - (texture_.isLinear ? 0.5 : 0);
    first[d] = static_cast<std::int64_t>(std::floor(where)) + shift[d];
    if (texture_.isLinear) weight[d] = std::rint((where - std::floor(where)) * kWeightSteps) / kWeightSteps;
  }
  std::array<double, 4> sum{};
  for (unsigned corner = 0; corner < (1u << dimensions); ++corner) {
    double share = 1;
    bool isInside = true;
    std::array<std::int64_t, 3> place{};
    for (unsigned d = 0; d < dimensions; ++d) {
      const bool isNext = (corner >> d & 1) != 0;
      share *= isNext ? weight[d] : 1 - weight[d];
      place[d] = resolved(d, first[d] + (isNext ? 1 : 0));
      isInside = isInside && place[d] != kOutside;
    }
    if (share == 0) continue;
    const Texel part = isInside ? texel(place, layer) : Texel{};
    if (!texture_.isLinear) return part;
    for (unsigned c = 0; c < 4; ++c)
      sum[c] += share * double{std::bit_cast<float>(part[c])};
  }
  Texel result{};
  for (unsigned c = 0; c < 4; ++c)
    result[c] = std::bit_cast<std::uint32_t>(static_cast<float>(sum[c]));
  return result;
}

Texel Texels::gather(const std::array<float, 3>& at, std::uint32_t layer, const std::array<int, 3>& shift,
                     unsigned component) const {
  constexpr int kCorners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  Texel result{};
  for (unsigned k = 0; k < 4; ++k) {
    std::array<std::int64_t, 3> place{};
    bool isInside = true;
    for (unsigned d = 0; d < 2; ++d) {
      const auto first = static_cast<std::int64_t>(std::floor(scaled(d, at[d]) - 0.5));
      place[d] = resolved(d, first + shift[d] + kCorners[k][d]);
      isInside = isInside && place[d] != kOutside;
    }
    if (isInside) result[k] = texel(place, std::min(layer, texture_.layers - 1))[component];
  }
  return result;
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

} // namespace orias::launch
