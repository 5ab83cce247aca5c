#include "tools/gpu/tensor_maps.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace orias::gpu {

using launch::TensorMap;

namespace {

/// CUtensorMapDataType of our types, in the order of TensorMap::Type (CUDA Driver API, "Tensor Map Object Management").
constexpr std::array kDataTypes = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};

using Encode = int (*)(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                       const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* elementStrides,
                       int interleave, int swizzle, int promotion, int fill);

} // namespace

std::optional<TensorMap> tensorMapOf(const launch::Argument& argument) {
  if (argument.bytes.size() != TensorMap::kBytes || argument.pointers.size() != 1 || argument.pointers[0].at != 0)
    return std::nullopt;
  std::array<std::byte, TensorMap::kBytes> bytes{};
  std::copy(argument.bytes.begin(), argument.bytes.end(), bytes.begin());
  const TensorMap map = TensorMap::decode(bytes);
  // Other structures of this size have bits that are not in any map.
  const bool isMap = map.rank <= TensorMap::kMaxDimensions && map.encode() == bytes;
  if (!isMap || map.mode != TensorMap::Mode::Box || map.interleave != 0) return std::nullopt;
  return map;
}

void encodeTensorMap(const Cuda& cuda, const TensorMap& map, std::span<std::byte> into) {
  const auto encode = reinterpret_cast<Encode>(cuda.symbol("cuTensorMapEncodeTiled"));
  if (!encode) throw Error("the CUDA driver is too old for tensor maps: it has no cuTensorMapEncodeTiled");
  struct alignas(64) Object {
    std::byte bytes[TensorMap::kBytes];
  } object{};
  std::array<std::uint32_t, TensorMap::kMaxDimensions> box{}, elementStrides{};
  std::copy(map.box.begin(), map.box.end(), box.begin());
  std::copy(map.elementStride.begin(), map.elementStride.end(), elementStrides.begin());
  constexpr int kNoInterleave = 0, kNoPromotion = 0;
  cuda.check(encode(&object, kDataTypes.at(static_cast<std::size_t>(map.type)), map.rank,
                    reinterpret_cast<void*>(map.address), map.size.data(), map.stride.data(), box.data(),
                    elementStrides.data(), kNoInterleave, static_cast<int>(map.swizzle), kNoPromotion,
                    map.fillsNan ? 1 : 0),
             "cuTensorMapEncodeTiled");
  std::memcpy(into.data(), object.bytes, std::min(into.size(), sizeof object.bytes));
}

} // namespace orias::gpu
