#pragma once

#include <chrono>
#include <ctime>

namespace orias {

/// Processor time that this thread has used: tells what work costs, however busy the machine is.
inline std::chrono::nanoseconds threadTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The same for all threads of the program.
inline std::chrono::nanoseconds processTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

} // namespace orias
