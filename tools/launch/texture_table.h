#pragma once

#include "encoder/isa/texture_table.h"
#include "tools/launch/texture.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// What a driver tells of textures and surfaces beside their sizes (txq, suq).

namespace orias::launch {

using isa::TextureFact;

/// The number that stands for it: the modes in the order in which the PTX manual lists them; the types and orders of
/// channels as OpenCL numbers them, which the manual refers to.
std::uint32_t factOf(const Texture& texture, TextureFact fact);
/// Of a sampler: its modes, its filter, and whether it forces coordinates that count texels.
std::uint32_t factOf(const Sampler& sampler, TextureFact fact);

/// Bytes of an entry in a driver's table: ours to choose, as programs ask for it by a symbol.
inline constexpr std::uint32_t kTextureEntryBytes = 0x40;

/// The tables as ptxas' code reads them (encoder/isa/texture_table.h). Entries are counted by handles; there is no
/// texture 0.
std::vector<std::byte> textureTable(std::span<const Texture> textures);
/// Those of textures and samplers that are apart.
std::vector<std::byte> independentTextureTable(std::span<const Texture> textures);
std::vector<std::byte> samplerTable(std::span<const Sampler> samplers);
std::vector<std::byte> surfaceTable(std::span<const Texture> textures);

} // namespace orias::launch
