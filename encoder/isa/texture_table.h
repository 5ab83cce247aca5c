#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// What the driver keeps of textures and surfaces beside their headers: tables whose entries are counted by the handles.
// Where they begin, Target::textureTableOffset() and its neighbours tell; how long an entry is, is a number that
// the driver writes into the code, for a weak symbol. Observed in what ptxas makes of txq and suq.

namespace orias::isa {

/// What a handle of 64 bits names, in its upper word; the lower one has the number. Observed in what ptxas makes of
/// istypep and of the address of a texture.
inline constexpr std::uint32_t kTextureHandle = 0x20000000, kSamplerHandle = 0x40000000, kSurfaceHandle = 0x80000000;

/// What an entry tells.
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

/// The entries of a table: the symbol for how long one is, and what stands where.
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

// Where textures and samplers are apart, each has tables of its own.
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
