#pragma once

#include <chrono>
#include <ctime>

namespace orias {

/// The processor time of this thread: measures the cost of work independently of the load of the machine.
inline std::chrono::nanoseconds threadTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The processor time of all threads of the program.
inline std::chrono::nanoseconds processTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

} // namespace orias
