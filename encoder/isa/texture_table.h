#pragma once

#include <string_view>

// What the driver keeps of textures and surfaces beside their headers: tables whose entries are counted by the handles.
// Where they begin, Target::textureTableOffset() and surfaceTableOffset() tell; how long an entry is, is a number that
// the driver writes into the code, for a weak symbol. Observed in what ptxas makes of txq and suq.

namespace orias::isa {

/// Offsets in the entry of a texture.
namespace texture_entry {
inline constexpr std::string_view kSizeSymbol = ".nv.unified.texrefDescSize";
inline constexpr unsigned kForceUnnormalized = 0x00, kAddressModes = 0x0c, kFilterMode = 0x18, kNormalized = 0x1c,
                          kChannelType = 0x20, kChannelOrder = 0x24, kArraySize = 0x28, kLevels = 0x2c, kSamples = 0x30;
} // namespace texture_entry

/// Offsets in the entry of a surface.
namespace surface_entry {
inline constexpr std::string_view kSizeSymbol = ".nv.surfrefDescSize";
inline constexpr unsigned kChannelType = 0x0c, kChannelOrder = 0x10, kMemoryLayout = 0x14, kArraySize = 0x1c;
} // namespace surface_entry

} // namespace orias::isa
