#pragma once

#include <functional>

namespace orias::gpu {

/// Runs `body` in a process of its own and returns its status: after a fault of a kernel no other can run in the same
/// process. Throws orias::Error when the process cannot be made or is killed.
int inChild(const std::function<int()>& body);

} // namespace orias::gpu
