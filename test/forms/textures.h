#pragma once

#include "test/forms/statement.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The objects for statements on textures and surfaces.

namespace orias::forms {

/// Whether the statement is on a texture or surface.
bool isOnTexture(const Statement& statement);

/// The names of the parameter with the handle, and of the buffer with the texels.
inline constexpr std::string_view kImage = "image", kTexels = "texels";

/// A texture for the statement; its buffer is number `buffer` of the launch.
launch::Texture textureFor(const Statement& statement, int buffer);

/// A sampler with the settings of the texture, except for accesses outside. The settings of the texture are changed.
launch::Sampler samplerFor(launch::Texture& texture);

/// The buffer of that texture, with values whose filtering is exact.
launch::Buffer texelsFor(const Statement& statement, std::uint64_t seed);

/// Values for source number `number` of the statement in `lanes` threads, as from sourceValues(): coordinates in and
/// around the texture, levels, offsets. In surfaces each lane has its own texel, except for reductions.
std::vector<std::byte> textureValues(const Statement& statement, unsigned number, unsigned lanes, std::uint64_t seed);

} // namespace orias::forms
