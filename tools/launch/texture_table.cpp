#include "tools/launch/texture_table.h"

#include "tools/launch/element.h"
#include "tools/launch/launch.h"

#include <cstring>

namespace orias::launch {

namespace {

std::uint32_t modeOf(AddressMode mode, bool hasUnitCoordinates) {
  enum { kWrap, kMirror, kClampToEdge = 3, kClampToBorder };
  switch (mode) {
  case AddressMode::Wrap: return hasUnitCoordinates ? kWrap : kClampToEdge;
  case AddressMode::Mirror: return hasUnitCoordinates ? kMirror : kClampToEdge;
  case AddressMode::Border: return kClampToBorder;
  case AddressMode::Clamp: break;
  }
  return kClampToEdge;
}

std::uint32_t channelTypeOf(const Texture& texture) {
  constexpr std::uint32_t kSignedFraction = 0x10d0, kFraction = 0x10d2, kSigned = 0x10d7, kUnsigned = 0x10da,
                          kHalf = 0x10dd, kFloat = 0x10de;
  const unsigned bytes = elementBytes(texture.type);
  if (isFloat(texture.type)) return bytes == 2 ? kHalf : kFloat;
  const std::uint32_t width = bytes == 1 ? 0 : bytes == 2 ? 1 : 2;
  if (texture.readsUnit) return (isSigned(texture.type) ? kSignedFraction : kFraction) + width;
  return (isSigned(texture.type) ? kSigned : kUnsigned) + width;
}

std::uint32_t channelOrderOf(const Texture& texture) {
  constexpr std::uint32_t kR = 0x10b0, kRg = 0x10b2, kRgba = 0x10b5;
  return texture.channels == 1 ? kR : texture.channels == 2 ? kRg : kRgba;
}

} // namespace

std::uint32_t factOf(const Texture& texture, TextureFact fact) {
  switch (fact) {
  case TextureFact::ForceUnnormalized: return 0;
  case TextureFact::AddressMode0: return modeOf(texture.address[0], texture.hasUnitCoordinates);
  case TextureFact::AddressMode1: return modeOf(texture.address[1], texture.hasUnitCoordinates);
  case TextureFact::AddressMode2: return modeOf(texture.address[2], texture.hasUnitCoordinates);
  case TextureFact::FilterMode: return texture.isLinear ? 1 : 0;
  case TextureFact::Normalized: return texture.hasUnitCoordinates ? 1 : 0;
  case TextureFact::ChannelType: return channelTypeOf(texture);
  case TextureFact::ChannelOrder: return channelOrderOf(texture);
  case TextureFact::ArraySize: return texture.layers;
  case TextureFact::Levels: return texture.levels;
  case TextureFact::Samples: return texture.samples;
  case TextureFact::MemoryLayout: return 1; // rows are consecutive
  }
  return 0;
}

std::uint32_t factOf(const Sampler& sampler, TextureFact fact) {
  switch (fact) {
  case TextureFact::AddressMode0: return modeOf(sampler.address[0], true);
  case TextureFact::AddressMode1: return modeOf(sampler.address[1], true);
  case TextureFact::AddressMode2: return modeOf(sampler.address[2], true);
  case TextureFact::FilterMode: return sampler.isLinear ? 1 : 0;
  case TextureFact::ForceUnnormalized: return sampler.forcesUnnormalized ? 1 : 0;
  default: return 0;
  }
}

namespace {

template <typename T> std::vector<std::byte> tableOf(std::span<const T> all, const isa::EntryLayout& entry) {
  std::vector<std::byte> bytes(kTextureEntryBytes * textureHandle(all.size()));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const isa::EntryField& field : entry.fields) {
      const std::uint32_t value = factOf(all[i], field.fact);
      std::memcpy(bytes.data() + kTextureEntryBytes * textureHandle(i) + field.offset, &value, sizeof value);
    }
  return bytes;
}

} // namespace

std::vector<std::byte> textureTable(std::span<const Texture> textures) {
  return tableOf(textures, isa::kTextureEntry);
}

std::vector<std::byte> independentTextureTable(std::span<const Texture> textures) {
  return tableOf(textures, isa::kIndependentTextureEntry);
}

std::vector<std::byte> samplerTable(std::span<const Sampler> samplers) {
  return tableOf(samplers, isa::kSamplerEntry);
}

std::vector<std::byte> surfaceTable(std::span<const Texture> textures) {
  return tableOf(textures, isa::kSurfaceEntry);
}

} // namespace orias::launch
