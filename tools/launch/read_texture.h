#pragma once

#include "tools/launch/json_node.h"
#include "tools/launch/launch.h"

namespace orias::launch {

/// Reads an entry of "textures". The launch already has its buffers. Throws orias::Error with the location.
Texture readTexture(const JsonNode& node, const Launch& launch);
/// Reads an entry of "samplers".
Sampler readSampler(const JsonNode& node);

} // namespace orias::launch
