#include "tools/launch/read_objects.h"

#include "tools/launch/element.h"
#include "tools/launch/generate.h"
#include "tools/launch/keys.h"
#include "tools/launch/tensor_map.h"

#include <algorithm>
#include <fmt/format.h>

// Objects that the host creates from buffers: multicast objects and tensor maps.

namespace orias::launch {

namespace {

using Type = TensorMap::Type;

constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"u8", Type::U8},           {"u16", Type::U16}, {"u32", Type::U32},   {"s32", Type::S32},
    {"u64", Type::U64},         {"s64", Type::S64}, {"f16", Type::F16},   {"f32", Type::F32},
    {"f32.ftz", Type::F32Ftz},  {"f64", Type::F64}, {"bf16", Type::BF16}, {"tf32", Type::TF32},
    {"tf32.ftz", Type::TF32Ftz}};
constexpr std::pair<std::string_view, unsigned> kSwizzles[] = {{"none", 0}, {"32B", 1}, {"64B", 2}, {"128B", 3}};
constexpr std::pair<std::string_view, TensorMap::Mode> kModes[] = {{"im2col", TensorMap::Mode::Image},
                                                                   {"im2col::w", TensorMap::Mode::Width},
                                                                   {"im2col::w::128", TensorMap::Mode::Width128}};
constexpr std::pair<std::string_view, bool> kFills[] = {{"zeros", false}, {"nan", true}};

template <typename T, std::size_t N>
T oneOf(const JsonNode& node, std::string_view text, const std::pair<std::string_view, T> (&names)[N]) {
  std::string known;
  for (const auto& [name, value] : names) {
    if (text == name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  node.fail(fmt::format("unknown value \"{}\"; expected one of {}", text, known));
}

/// A list of `wanted` numbers from `least` to `most`.
template <typename T, std::size_t N>
void readNumbers(const JsonNode& node, std::size_t wanted, std::uint64_t least, std::uint64_t most,
                 std::array<T, N>& into) {
  if (node.size() != wanted) node.fail(fmt::format("expected {} numbers", wanted));
  for (std::size_t i = 0; i < wanted; ++i)
    into[i] = static_cast<T>(node.item(i).count(least, most));
}

void readCorner(const JsonNode& node, unsigned spatial, std::array<int, TensorMap::kMaxSpatial>& into) {
  if (node.size() != spatial) node.fail(fmt::format("expected {} numbers", spatial));
  for (unsigned i = 0; i < spatial; ++i) {
    std::byte bytes[2];
    readElement(node.item(i), ElementType::S16, bytes);
    into[i] = static_cast<std::int16_t>(std::to_integer<unsigned>(bytes[0]) | std::to_integer<unsigned>(bytes[1]) << 8);
  }
}

void readImage(const JsonNode& node, TensorMap& map) {
  node.allowKeys(keysOf("tensorImage"));
  if (map.rank < 3) node.fail("an image has at least three dimensions");
  map.mode = TensorMap::Mode::Image;
  if (const auto mode = node.find("mode")) map.mode = oneOf(*mode, mode->text(), kModes);
  map.channels = static_cast<unsigned>(node.at("channels").count(1, 256));
  map.pixels = static_cast<unsigned>(node.at("pixels").count(1, 1024));
  if (const auto lower = node.find("lower")) readCorner(*lower, map.rank - 2, map.lower);
  if (const auto upper = node.find("upper")) readCorner(*upper, map.rank - 2, map.upper);
}

} // namespace

int bufferNamed(const JsonNode& node, const Launch& launch) {
  const std::string name = node.text();
  for (std::size_t i = 0; i < launch.buffers.size(); ++i)
    if (launch.buffers[i].name == name) return static_cast<int>(i);
  node.fail(fmt::format("unknown buffer \"{}\"", name));
}

Multicast readMulticast(const JsonNode& node, const Launch& launch) {
  node.allowKeys(keysOf("multicast"));
  Multicast object;
  object.name = node.at("name").text();
  const JsonNode buffers = node.at("buffers");
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    object.buffers.push_back(bufferNamed(buffers.item(i), launch));
    const Buffer& buffer = launch.buffers[static_cast<std::size_t>(object.buffers.back())];
    const std::uint64_t bytes = buffer.elements * elementBytes(buffer.type);
    if (i != 0 && bytes != size) buffers.item(i).fail("all buffers of an object must have the same size");
    size = bytes;
  }
  if (object.buffers.empty()) buffers.fail("expected at least one buffer");
  return object;
}

Argument readTensorMap(const JsonNode& node, const Launch& launch) {
  node.allowKeys(keysOf("tensorMap"));
  const int index = bufferNamed(node.at("buffer"), launch);
  const Buffer& buffer = launch.buffers[static_cast<std::size_t>(index)];
  TensorMap map;
  const auto typeNode = node.find("type");
  map.type = oneOf(typeNode ? *typeNode : node.at("buffer"),
                   typeNode ? typeNode->text() : std::string(elementName(buffer.type)), kTypes);
  const JsonNode size = node.at("size");
  if (size.size() < 1 || size.size() > TensorMap::kMaxDimensions) size.fail("expected one to five numbers");
  map.rank = static_cast<unsigned>(size.size());
  constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 32, kMaxBox = 256, kMaxSteps = 8;
  readNumbers(size, map.rank, 1, kMaxElements, map.size);
  std::uint64_t bytes = map.size[0] * map.elementBytes();
  for (unsigned d = 1; d < map.rank; ++d) {
    map.stride[d - 1] = bytes;
    bytes *= map.size[d];
  }
  if (const auto strides = node.find("strides"))
    readNumbers(*strides, map.rank - 1, 0, std::uint64_t{1} << 40, map.stride);
  for (unsigned d = 1; d < map.rank; ++d)
    if (map.stride[d - 1] % 16 != 0) node.fail("strides are multiples of 16 bytes");
  if (const auto box = node.find("box")) readNumbers(*box, map.rank, 1, kMaxBox, map.box);
  if (const auto steps = node.find("elementStrides")) readNumbers(*steps, map.rank, 1, kMaxSteps, map.elementStride);
  if (const auto swizzle = node.find("swizzle")) map.swizzle = oneOf(*swizzle, swizzle->text(), kSwizzles);
  if (const auto fill = node.find("fill")) map.fillsNan = oneOf(*fill, fill->text(), kFills);
  if (const auto image = node.find("image")) readImage(*image, map);
  Argument argument;
  const auto encoded = map.encode();
  argument.bytes.assign(encoded.begin(), encoded.end());
  Pointer pointer{0, index, 0};
  if (const auto offset = node.find("offset"))
    pointer.offset = static_cast<std::int64_t>(offset->count(0, buffer.elements * elementBytes(buffer.type)));
  argument.pointers.push_back(pointer);
  return argument;
}

} // namespace orias::launch
