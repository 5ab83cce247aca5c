#pragma once

#include "tools/gpu/cuda.h"
#include "tools/launch/launch.h"
#include "tools/launch/tensor_map.h"

#include <optional>
#include <span>

namespace orias::gpu {

/// The tensor map that an argument passes, without its address; nothing if it passes something else. Images (im2col)
/// and interleaved tensors are not recognized, because the driver's functions for them have parameters for which we
/// have no fields.
std::optional<launch::TensorMap> tensorMapOf(const launch::Argument& argument);

/// Makes the driver create the map of a tensor that starts at `map.address`: cuTensorMapEncodeTiled. Throws
/// orias::Error if the driver is too old, CudaError if it fails.
void encodeTensorMap(const Cuda& cuda, const launch::TensorMap& map, std::span<std::byte> into);

} // namespace orias::gpu
