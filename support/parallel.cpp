#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace orias {

void parallelFor(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex lock;
  std::exception_ptr fault;
  auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        std::lock_guard guard(lock);
        if (!fault) fault = std::current_exception();
      }
    }
  };
  std::size_t most = std::min<std::size_t>(count, threads);
  if (most > 1) // hardware_concurrency() reads a file
    most = std::min<std::size_t>(most, std::max(1U, std::thread::hardware_concurrency()));
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < most; ++i)
      others.emplace_back(take);
    take();
  }
  if (fault) std::rethrow_exception(fault);
}

} // namespace orias
