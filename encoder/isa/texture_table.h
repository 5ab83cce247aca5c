#pragma once

#include <cstdint>
#include <string_view>

// What the driver keeps of textures and surfaces beside their headers: tables whose entries are counted by the handles.
// Where they begin, Target::textureTableOffset() and its neighbours tell; how long an entry is, is a number that
// the driver writes into the code, for a weak symbol. Observed in what ptxas makes of txq and suq.

namespace orias::isa {

/// What a handle of 64 bits names, in its upper word; the lower one has the number. Observed in what ptxas makes of
/// istypep and of the address of a texture.
inline constexpr std::uint32_t kTextureHandle = 0x20000000, kSamplerHandle = 0x40000000, kSurfaceHandle = 0x80000000;

/// Offsets in the entry of a texture.
namespace texture_entry {
inline constexpr std::string_view kSizeSymbol = ".nv.unified.texrefDescSize";
inline constexpr unsigned kForceUnnormalized = 0x00, kAddressModes = 0x0c, kFilterMode = 0x18, kNormalized = 0x1c,
                          kChannelType = 0x20, kChannelOrder = 0x24, kArraySize = 0x28, kLevels = 0x2c, kSamples = 0x30;
} // namespace texture_entry

/// Where textures and samplers are apart, each has tables of its own.
namespace independent_texture_entry {
inline constexpr std::string_view kSizeSymbol = ".nv.independent.texrefDescSize";
inline constexpr unsigned kNormalized = 0x0c, kChannelType = 0x10, kChannelOrder = 0x14, kArraySize = 0x18,
                          kLevels = 0x1c, kSamples = 0x20;
} // namespace independent_texture_entry
namespace sampler_entry {
inline constexpr std::string_view kSizeSymbol = ".nv.independent.samplerrefDescSize";
inline constexpr unsigned kAddressModes = 0x00, kFilterMode = 0x0c, kForceUnnormalized = 0x10;
} // namespace sampler_entry

/// Offsets in the entry of a surface.
namespace surface_entry {
inline constexpr std::string_view kSizeSymbol = ".nv.surfrefDescSize";
inline constexpr unsigned kChannelType = 0x0c, kChannelOrder = 0x10, kMemoryLayout = 0x14, kArraySize = 0x1c;
} // namespace surface_entry

} // namespace orias::isa
