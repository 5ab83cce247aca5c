#pragma once

#include "test/forms/statement.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Statements on textures and surfaces: what they get to work on.

namespace orias::forms {

/// Whether the statement is on a texture or surface.
bool isOnTexture(const Statement& statement);

/// The names of the parameter with the handle and of the buffer with the texels.
inline constexpr std::string_view kImage = "image", kTexels = "texels";

/// A texture that fits the statement; its buffer is number `buffer` of the launch.
launch::Texture textureFor(const Statement& statement, int buffer);

/// A sampler that does what the texture said, but for what lies outside; the texture says something else then.
launch::Sampler samplerFor(launch::Texture& texture);

/// The buffer of that texture, with values that filters weigh without rounding.
launch::Buffer texelsFor(const Statement& statement, std::uint64_t seed);

/// Values for source number `number` of the statement in `lanes` threads, as sourceValues() gives them: coordinates
/// around the texture, levels, offsets. Of surfaces each lane has its own place, but for reductions.
std::vector<std::byte> textureValues(const Statement& statement, unsigned number, unsigned lanes, std::uint64_t seed);

} // namespace orias::forms
