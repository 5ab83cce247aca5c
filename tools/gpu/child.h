#pragma once

#include <functional>

namespace orias::gpu {

/// Runs `body` in a separate process and returns its status: after a fault of a kernel no other can run in the same
/// process. Throws orias::Error if the process cannot be created or is killed.
int inChild(const std::function<int()>& body);

} // namespace orias::gpu
