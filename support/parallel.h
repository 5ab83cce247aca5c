#pragma once

#include <cstddef>
#include <functional>

namespace orias {

/// Calls `work` with each number below `count`, on at most `threads` threads (and no more than the machine has),
/// including this one. Numbers are assigned in order. Returns when all calls have returned, and then rethrows an
/// exception of `work`.
void parallelFor(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

} // namespace orias
