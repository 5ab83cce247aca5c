#pragma once

#include "tools/launch/json_node.h"
#include "tools/launch/launch.h"

namespace orias::launch {

/// An entry of "multicasts". The launch has its buffers already. Throws orias::Error naming the place.
Multicast readMulticast(const JsonNode& node, const Launch& launch);

/// The bytes of a "tensorMap": a map of the tensor in a buffer, whose address goes in front. The same of the launch and
/// of errors.
Argument readTensorMap(const JsonNode& node, const Launch& launch);

/// The index of the buffer that a node names.
int bufferNamed(const JsonNode& node, const Launch& launch);

} // namespace orias::launch
