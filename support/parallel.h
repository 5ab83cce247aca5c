#pragma once

#include <cstddef>
#include <functional>

namespace orias {

/// Calls `work` with each number below `count`, on at most `threads` threads (and no more than the machine has), this
/// one among them. Numbers are handed out in order. Returns when all calls have; an exception of `work` is thrown here
/// then.
void parallelFor(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

} // namespace orias
