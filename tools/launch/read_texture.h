#pragma once

#include "tools/launch/json_node.h"
#include "tools/launch/launch.h"

namespace orias::launch {

/// An entry of "textures". The launch has its buffers already. Throws orias::Error naming the place.
Texture readTexture(const JsonNode& node, const Launch& launch);
/// An entry of "samplers".
Sampler readSampler(const JsonNode& node);

} // namespace orias::launch
