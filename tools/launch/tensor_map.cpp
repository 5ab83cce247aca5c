#include "tools/launch/tensor_map.h"

#include "support/ieee.h"

#include <algorithm>
#include <cstring>

namespace orias::launch {

namespace {

// Offsets in the map, in bytes.
constexpr std::size_t kKind = 0x8, kStride = 0xc, kHighStrides = 0x1c, kSize = 0x20, kElementStrides = 0x34,
                      kBox = 0x37;
// Our own fields: the mode, channels and pixels of a copy, corners.
constexpr std::size_t kMode = 0x40, kChannels = 0x44, kPixels = 0x46, kLower = 0x48, kUpper = 0x50;
constexpr std::uint32_t kIsTf32 = 0x10000;
constexpr unsigned kUnit = 16; ///< unit of strides in bytes

using Type = TensorMap::Type;

template <typename T> void put(std::span<std::byte> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <typename T> T get(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// tf32 is f32 with an additional bit.
constexpr unsigned kFirstTf32 = static_cast<unsigned>(Type::TF32),
                   kToTf32 = kFirstTf32 - static_cast<unsigned>(Type::F32);

std::optional<ieee::Format> formatOf(Type type) {
  switch (type) {
  case Type::F16: return ieee::Format::F16;
  case Type::BF16: return ieee::Format::BF16;
  case Type::F64: return ieee::Format::F64;
  case Type::F32:
  case Type::F32Ftz:
  case Type::TF32:
  case Type::TF32Ftz: return ieee::Format::F32;
  default: return std::nullopt;
  }
}

} // namespace

std::array<std::byte, TensorMap::kBytes> TensorMap::encode() const {
  std::array<std::byte, kBytes> bytes{};
  put(bytes, 0, address);
  const auto number = static_cast<std::uint32_t>(type);
  const bool isTf32 = number >= kFirstTf32;
  put(bytes, kKind,
      static_cast<std::uint32_t>((rank - 1) << 4 | (isTf32 ? number - kToTf32 : number) << 7 | interleave << 11 |
                                 swizzle << 13 | (fillsNan ? 1u : 0u) << 15 | swizzleAtomicity << 19 |
                                 (isTf32 ? kIsTf32 : 0)));
  std::uint32_t high = 0, elementStrides = 0;
  for (unsigned d = 0; d < kMaxDimensions - 1; ++d) {
    put(bytes, kStride + 4 * d, static_cast<std::uint32_t>(stride[d] / kUnit));
    high |= static_cast<std::uint32_t>(stride[d] / kUnit >> 32 & 0xf) << (4 * d);
  }
  for (unsigned d = 0; d < kMaxDimensions; ++d)
    elementStrides |= (elementStride[d] - 1) << (3 * d);
  put(bytes, kHighStrides, high);
  put(bytes, kElementStrides, elementStrides);
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    put(bytes, kSize + 4 * d, static_cast<std::uint32_t>(size[d] - 1));
    put(bytes, kBox + d, static_cast<std::uint8_t>(box[d] - 1));
  }
  put(bytes, kMode, static_cast<std::uint32_t>(mode));
  put(bytes, kChannels, static_cast<std::uint16_t>(channels));
  put(bytes, kPixels, static_cast<std::uint16_t>(pixels));
  for (unsigned d = 0; d < kMaxSpatial; ++d) {
    put(bytes, kLower + 2 * d, static_cast<std::int16_t>(lower[d]));
    put(bytes, kUpper + 2 * d, static_cast<std::int16_t>(upper[d]));
  }
  return bytes;
}

TensorMap TensorMap::decode(std::span<const std::byte, kBytes> bytes) {
  TensorMap map;
  map.address = get<std::uint64_t>(bytes, 0);
  const auto kind = get<std::uint32_t>(bytes, kKind);
  map.rank = (kind >> 4 & 7) + 1;
  // ptxas' code sets the bit for tf32 and never clears it, so it means nothing for other types.
  const unsigned number = kind >> 7 & 15;
  const bool isF32 = number == static_cast<unsigned>(Type::F32) || number == static_cast<unsigned>(Type::F32Ftz);
  map.type = static_cast<Type>(number + (isF32 && (kind & kIsTf32) != 0 ? kToTf32 : 0));
  map.interleave = kind >> 11 & 3;
  map.swizzle = kind >> 13 & 3;
  map.swizzleAtomicity = kind >> 19 & 7;
  map.fillsNan = (kind >> 15 & 1) != 0;
  const auto high = get<std::uint32_t>(bytes, kHighStrides);
  for (unsigned d = 0; d < kMaxDimensions - 1; ++d)
    map.stride[d] = (get<std::uint32_t>(bytes, kStride + 4 * d) | std::uint64_t{high >> (4 * d) & 15} << 32) * kUnit;
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    map.size[d] = std::uint64_t{get<std::uint32_t>(bytes, kSize + 4 * d)} + 1;
    map.box[d] = get<std::uint8_t>(bytes, kBox + d) + 1u;
    map.elementStride[d] = (get<std::uint32_t>(bytes, kElementStrides) >> (3 * d) & 7) + 1;
  }
  const auto mode = get<std::uint32_t>(bytes, kMode);
  const bool isImage =
      mode >= static_cast<std::uint32_t>(Mode::Image) && mode <= static_cast<std::uint32_t>(Mode::Width128);
  map.mode = isImage ? static_cast<Mode>(mode) : Mode::Box;
  map.channels = get<std::uint16_t>(bytes, kChannels);
  map.pixels = get<std::uint16_t>(bytes, kPixels);
  for (unsigned d = 0; d < kMaxSpatial; ++d) {
    map.lower[d] = get<std::int16_t>(bytes, kLower + 2 * d);
    map.upper[d] = get<std::int16_t>(bytes, kUpper + 2 * d);
  }
  return map;
}

unsigned TensorMap::elementBytes() const {
  switch (type) {
  case Type::U8: return 1;
  case Type::U16:
  case Type::F16:
  case Type::BF16: return 2;
  case Type::U64:
  case Type::S64:
  case Type::F64: return 8;
  default: return 4;
  }
}

std::uint64_t TensorMap::loaded(std::uint64_t bits) const {
  using ieee::Format;
  if (type == Type::F32Ftz || type == Type::TF32Ftz) bits = ieee::flush(Format::F32, bits);
  if (type == Type::TF32 || type == Type::TF32Ftz)
    bits = ieee::convert(Format::F32, Format::TF32, ieee::convert(Format::TF32, Format::F32, bits));
  return bits;
}

std::uint64_t TensorMap::outside() const {
  const auto format = formatOf(type);
  return fillsNan && format ? ieee::canonicalNan(*format) : 0;
}

std::optional<std::uint64_t> TensorMap::addressOf(std::span<const std::int64_t> at) const {
  std::uint64_t result = address;
  for (unsigned d = 0; d < rank; ++d) {
    if (at[d] < 0 || static_cast<std::uint64_t>(at[d]) >= size[d]) return std::nullopt;
    result += static_cast<std::uint64_t>(at[d]) * (d == 0 ? elementBytes() : stride[d - 1]);
  }
  return result;
}

/// XORs the low bits of the index of the 16 bytes with those of the index of the 128 bytes.
std::uint64_t TensorMap::swizzled(std::uint64_t shared) const {
  const std::uint64_t mask = (1u << swizzle) - 1;
  return shared ^ (shared >> 7 & mask) << 4;
}

std::optional<TensorFault> TensorMap::fault(Mode copy, std::size_t coordinates,
                                            std::span<const unsigned> offsets) const {
  constexpr std::size_t kFourRowsCoordinates = 5;
  const bool hasFourRows = copy == Mode::FourRows;
  if (mode != (hasFourRows ? Mode::Box : copy) || (hasFourRows ? rank != 2 : rank != coordinates) ||
      (hasFourRows && coordinates != kFourRowsCoordinates))
    return TensorFault{"memcheck", "the tensor map is for a different kind of tensor"};
  if (interleave != 0) return TensorFault{"unsupported", "an interleaved tensor"};
  if (swizzleAtomicity != 0) return TensorFault{"unsupported", "a swizzle in units of more than 16 bytes"};
  if (!isAlongWidth()) return std::nullopt;
  constexpr unsigned kSwizzle64 = 2;
  if (swizzle < kSwizzle64) return TensorFault{"memcheck", "a map for im2col::w has a swizzle of 64 or 128 bytes"};
  if (!offsets.empty() && offsets[0] != 0)
    return TensorFault{"unsupported", "the text of the PTX manual does not say which pixels wHalo adds to im2col::w"};
  return std::nullopt;
}

std::vector<TensorMap::Element> TensorMap::elements(Mode copy, std::span<const std::int64_t> at,
                                                    std::span<const unsigned> offsets, std::uint64_t shared) const {
  std::vector<Element> all;
  std::array<std::int64_t, kMaxDimensions> here{};
  const auto add = [&] { all.push_back({addressOf(here), swizzled(shared + all.size() * elementBytes())}); };
  if (copy == Mode::FourRows) {
    for (unsigned row = 1; row < at.size(); ++row)
      for (unsigned k = 0; k < box[0]; k += elementStride[0]) {
        here[0] = at[0] + k;
        here[1] = at[row];
        add();
      }
    return all;
  }
  if (copy == Mode::Box) {
    // The innermost dimension varies fastest.
    std::array<unsigned, kMaxDimensions> step{};
    for (unsigned d = 0; d < rank;) {
      for (unsigned k = 0; k < rank; ++k)
        here[k] = at[k] + step[k];
      add();
      for (d = 0; d < rank && (step[d] += elementStride[d]) >= box[d]; ++d)
        step[d] = 0;
    }
    return all;
  }
  // The channels of a pixel, then the next pixel of the bounding box: along a row, then down, then in the next image.
  // In the width modes the box is one row high, at the coordinates; wOffset moves the box and the first pixel, as an
  // offset of im2col moves each pixel.
  constexpr unsigned kFixedPixels = 128;
  const unsigned spatial = isAlongWidth() ? 1 : rank - 2;
  const auto moves = isAlongWidth() ? offsets.subspan(std::min<std::size_t>(1, offsets.size())) : offsets;
  std::array<std::int64_t, kMaxDimensions> pixel{};
  std::copy(at.begin(), at.begin() + rank, pixel.begin());
  for (unsigned p = 0; p < (copy == Mode::Width128 ? kFixedPixels : pixels); ++p) {
    here = pixel;
    for (unsigned s = 0; s < spatial; ++s)
      here[s + 1] += s < moves.size() ? moves[s] : 0;
    for (unsigned c = 0; c < channels; ++c, ++here[0])
      add();
    unsigned s = 0;
    for (; s < spatial; ++s) {
      pixel[s + 1] += elementStride[s + 1];
      if (pixel[s + 1] < static_cast<std::int64_t>(size[s + 1]) + upper[s]) break;
      pixel[s + 1] = lower[s];
    }
    if (s == spatial) ++pixel[rank - 1];
  }
  return all;
}

} // namespace orias::launch
