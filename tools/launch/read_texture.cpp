#include "tools/launch/read_texture.h"

#include "tools/launch/element.h"
#include "tools/launch/keys.h"
#include "tools/launch/read_objects.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::launch {

namespace {

constexpr std::uint64_t kMaxSide = 1 << 20;

template <typename T, std::size_t N> T oneOf(const JsonNode& node, const std::pair<std::string_view, T> (&names)[N]) {
  const std::string text = node.text();
  std::string known;
  for (const auto& [name, value] : names) {
    if (text == name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  node.fail(fmt::format("unknown value \"{}\"; expected one of {}", text, known));
}

constexpr std::pair<std::string_view, TextureShape> kShapes[] = {
    {"1d", TextureShape::Line},          {"2d", TextureShape::Plane},        {"3d", TextureShape::Volume},
    {"a1d", TextureShape::LineLayers},   {"a2d", TextureShape::PlaneLayers}, {"cube", TextureShape::Cube},
    {"acube", TextureShape::CubeLayers}, {"2dms", TextureShape::Samples},    {"a2dms", TextureShape::SampleLayers}};
constexpr std::pair<std::string_view, AddressMode> kModes[] = {{"clamp", AddressMode::Clamp},
                                                               {"border", AddressMode::Border},
                                                               {"wrap", AddressMode::Wrap},
                                                               {"mirror", AddressMode::Mirror}};
constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
    {"less", Comparison::Less},       {"equal", Comparison::Equal},       {"lessEqual", Comparison::LessEqual},
    {"greater", Comparison::Greater}, {"notEqual", Comparison::NotEqual}, {"greaterEqual", Comparison::GreaterEqual}};
constexpr std::pair<std::string_view, bool> kFilters[] = {{"nearest", false}, {"linear", true}};

void readSize(const JsonNode& node, Texture& texture) {
  // A cube has one side.
  const unsigned dimensions = texture.isCube() ? 1 : texture.dimensions();
  const unsigned wanted = dimensions + (texture.isLayered() ? 1 : 0);
  if (node.size() != wanted) node.fail(fmt::format("expected {} numbers: sides of the texels, then layers", wanted));
  for (unsigned d = 0; d < dimensions; ++d)
    texture.size[d] = static_cast<std::uint32_t>(node.item(d).count(1, kMaxSide));
  if (texture.isCube()) texture.size[1] = texture.size[0];
  if (texture.isLayered()) texture.layers = static_cast<std::uint32_t>(node.item(dimensions).count(1, 2048));
}

/// Levels of detail, and samples.
void readParts(const JsonNode& node, Texture& texture) {
  if (const auto samples = node.find("samples")) {
    if (!texture.hasSamples()) samples->fail("only texels of 2dms and a2dms have samples");
    texture.samples = static_cast<std::uint32_t>(samples->count(1, 16));
  }
  if (const auto levels = node.find("levels")) {
    if (texture.hasSamples()) levels->fail("2dms and a2dms have one level");
    const auto sides = texture.size;
    texture.levels = static_cast<std::uint32_t>(
        levels->count(1, static_cast<std::uint64_t>(std::bit_width(*std::max_element(sides.begin(), sides.end())))));
  }
}

void readModes(const JsonNode& node, std::array<AddressMode, 3>& modes, unsigned dimensions) {
  if (!node.isArray()) {
    modes.fill(oneOf(node, kModes));
    return;
  }
  if (node.size() != dimensions) node.fail("expected one mode for each dimension");
  for (unsigned d = 0; d < node.size(); ++d)
    modes[d] = oneOf(node.item(d), kModes);
}

} // namespace

Texture readTexture(const JsonNode& node, const Launch& launch) {
  node.allowKeys(keysOf("texture"));
  Texture texture;
  texture.name = node.at("name").text();
  texture.buffer = bufferNamed(node.at("buffer"), launch);
  const Buffer& buffer = launch.buffers[static_cast<std::size_t>(texture.buffer)];
  const std::uint64_t bytes = buffer.elements * elementBytes(buffer.type);
  texture.type = buffer.type;
  if (elementBytes(texture.type) > 4 || texture.type == ElementType::BF16)
    node.at("buffer").fail("texels are integers of 8 to 32 bits, f16 or f32");
  if (const auto offset = node.find("offset")) texture.offset = offset->count(0, bytes);
  texture.shape = oneOf(node.at("shape"), kShapes);
  readSize(node.at("size"), texture);
  if (const auto channels = node.find("channels")) {
    texture.channels = static_cast<unsigned>(channels->count(1, 4));
    if (texture.channels == 3) channels->fail("expected 1, 2 or 4 channels");
  }
  readParts(node, texture);
  texture.pitch = std::uint64_t{texture.size[0]} * texture.samples * texture.texelBytes();
  if (const auto pitch = node.find("pitch")) texture.pitch = pitch->count(texture.pitch, bytes);
  if (const auto address = node.find("address")) readModes(*address, texture.address, texture.dimensions());
  if (const auto filter = node.find("filter")) texture.isLinear = oneOf(*filter, kFilters);
  if (const auto normalized = node.find("normalizedCoordinates")) texture.hasUnitCoordinates = normalized->boolean();
  if (const auto normalized = node.find("normalizedValues")) {
    texture.readsUnit = normalized->boolean();
    if (texture.readsUnit && (isFloat(texture.type) || elementBytes(texture.type) > 2))
      normalized->fail("only integers of 8 and 16 bits are read as fractions");
  }
  if (const auto comparison = node.find("comparison")) texture.comparison = oneOf(*comparison, kComparisons);
  if (texture.isLinear && !isFloat(texture.type) && !texture.readsUnit)
    node.at("filter").fail("integers are not filtered unless they are read as fractions (normalizedValues)");
  if (texture.offset + texture.bytes() > bytes)
    node.fail(
        fmt::format("the texture takes {} bytes from {}, the buffer has {}", texture.bytes(), texture.offset, bytes));
  return texture;
}

Sampler readSampler(const JsonNode& node) {
  node.allowKeys(keysOf("sampler"));
  Sampler sampler;
  sampler.name = node.at("name").text();
  if (const auto address = node.find("address"))
    readModes(*address, sampler.address, static_cast<unsigned>(sampler.address.size()));
  if (const auto filter = node.find("filter")) sampler.isLinear = oneOf(*filter, kFilters);
  if (const auto force = node.find("forceUnnormalizedCoordinates")) sampler.forcesUnnormalized = force->boolean();
  if (const auto comparison = node.find("comparison")) sampler.comparison = oneOf(*comparison, kComparisons);
  return sampler;
}

} // namespace orias::launch
