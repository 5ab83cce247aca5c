#pragma once

#include "tools/launch/json_node.h"
#include "tools/launch/launch.h"

namespace orias::launch {

/// Reads an entry of "multicasts". The launch already has its buffers. Throws orias::Error with the location.
Multicast readMulticast(const JsonNode& node, const Launch& launch);

/// Reads a "tensorMap": the map of the tensor in a buffer, preceded by the buffer's address. Same requirements and
/// errors.
Argument readTensorMap(const JsonNode& node, const Launch& launch);

/// The index of the buffer that a node refers to.
int bufferNamed(const JsonNode& node, const Launch& launch);

} // namespace orias::launch
