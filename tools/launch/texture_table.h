#pragma once

#include "encoder/isa/texture_table.h"
#include "tools/launch/texture.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The properties of textures and surfaces, other than their sizes, that the driver provides (txq, suq).

namespace orias::launch {

using isa::TextureFact;

/// The value of the property: modes are numbered in the order of the PTX manual; types and orders of channels as in
/// OpenCL, which the manual refers to.
std::uint32_t factOf(const Texture& texture, TextureFact fact);
/// Of a sampler: its modes, its filter, and whether it forces unnormalized coordinates.
std::uint32_t factOf(const Sampler& sampler, TextureFact fact);

/// The size in bytes of an entry in the driver's table. It is our choice, because programs get it from a symbol.
inline constexpr std::uint32_t kTextureEntryBytes = 0x40;

/// The tables in the format that ptxas' code reads (encoder/isa/texture_table.h). Entries are indexed by handle; there
/// is no texture 0.
std::vector<std::byte> textureTable(std::span<const Texture> textures);
/// The tables of textures and separate samplers.
std::vector<std::byte> independentTextureTable(std::span<const Texture> textures);
std::vector<std::byte> samplerTable(std::span<const Sampler> samplers);
std::vector<std::byte> surfaceTable(std::span<const Texture> textures);

} // namespace orias::launch
