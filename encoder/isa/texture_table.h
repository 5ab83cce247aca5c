#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The driver's tables of textures and surfaces, in addition to their headers. Handles are indices in them. The tables
// begin at Target::textureTableOffset() and similar. The size of an entry is a number that the driver writes into the
// code, for a weak symbol. Observed in ptxas' code for txq and suq.

namespace orias::isa {

/// The kind of a 64-bit handle, in its upper word; the lower word has the number. Observed in ptxas' code for istypep
/// and for the address of a texture.
inline constexpr std::uint32_t kTextureHandle = 0x20000000, kSamplerHandle = 0x40000000, kSurfaceHandle = 0x80000000;

/// The fields of an entry.
enum class TextureFact : std::uint8_t {
  ForceUnnormalized,
  AddressMode0,
  AddressMode1,
  AddressMode2,
  FilterMode,
  Normalized,
  ChannelType,
  ChannelOrder,
  ArraySize,
  Levels,
  Samples,
  MemoryLayout
};

struct EntryField {
  TextureFact fact;
  unsigned offset; ///< bytes
};

/// The layout of the entries of a table: the symbol of their size, and their fields.
struct EntryLayout {
  std::string_view sizeSymbol;
  std::span<const EntryField> fields;

  constexpr std::optional<unsigned> offsetOf(TextureFact fact) const {
    for (const EntryField& field : fields)
      if (field.fact == fact) return field.offset;
    return std::nullopt;
  }
};

inline constexpr EntryField kTextureFields[] = {{TextureFact::ForceUnnormalized, 0x00},
                                                {TextureFact::AddressMode0, 0x0c},
                                                {TextureFact::AddressMode1, 0x10},
                                                {TextureFact::AddressMode2, 0x14},
                                                {TextureFact::FilterMode, 0x18},
                                                {TextureFact::Normalized, 0x1c},
                                                {TextureFact::ChannelType, 0x20},
                                                {TextureFact::ChannelOrder, 0x24},
                                                {TextureFact::ArraySize, 0x28},
                                                {TextureFact::Levels, 0x2c},
                                                {TextureFact::Samples, 0x30}};
inline constexpr EntryLayout kTextureEntry{".nv.unified.texrefDescSize", kTextureFields};

// If textures and samplers are separate, each has its own tables.
inline constexpr EntryField kIndependentTextureFields[] = {
    {TextureFact::Normalized, 0x0c}, {TextureFact::ChannelType, 0x10}, {TextureFact::ChannelOrder, 0x14},
    {TextureFact::ArraySize, 0x18},  {TextureFact::Levels, 0x1c},      {TextureFact::Samples, 0x20}};
inline constexpr EntryLayout kIndependentTextureEntry{".nv.independent.texrefDescSize", kIndependentTextureFields};
inline constexpr EntryField kSamplerFields[] = {{TextureFact::AddressMode0, 0x00},
                                                {TextureFact::AddressMode1, 0x04},
                                                {TextureFact::AddressMode2, 0x08},
                                                {TextureFact::FilterMode, 0x0c},
                                                {TextureFact::ForceUnnormalized, 0x10}};
inline constexpr EntryLayout kSamplerEntry{".nv.independent.samplerrefDescSize", kSamplerFields};

inline constexpr EntryField kSurfaceFields[] = {{TextureFact::ChannelType, 0x0c},
                                                {TextureFact::ChannelOrder, 0x10},
                                                {TextureFact::MemoryLayout, 0x14},
                                                {TextureFact::ArraySize, 0x1c}};
inline constexpr EntryLayout kSurfaceEntry{".nv.surfrefDescSize", kSurfaceFields};

} // namespace orias::isa
