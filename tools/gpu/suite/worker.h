#pragma once

#include "tools/gpu/suite/plan.h"
#include "tools/gpu/suite/result.h"

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>

namespace orias::gpu {

/// A process that has opened the driver and runs items on request. After a fault of a kernel it cannot run any more
/// items; a hanging kernel is ended with the process.
class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the process, which opens the driver immediately. `withCopies`: it also times launches with
  /// Case::gridCopies.
  Worker(const Plan& plan, const std::string& library, bool withCopies);
  /// Ends the process and waits briefly for it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The content of a line from the process.
  struct Answer {
    enum class Kind : std::uint8_t {
      Ready, ///< the driver is open; `text` describes the device
      NoGpu, ///< there is none; `text` says why
      Done,  ///< `result` is that of the item
      Late,  ///< nothing came in time
      Dead,  ///< the process has ended
    } kind = Kind::Late;
    std::string text;
    Result result;
    bool isSpent = false; ///< the process cannot run any more items
  };
  /// Waits for the next line, at most until `until`.
  Answer wait(Clock::time_point until);
  /// Makes the process run an item of the plan.
  void run(std::size_t item);

 private:
  pid_t process_ = -1;
  int commands_ = -1, answers_ = -1;
  std::string pending_; ///< data without a line end yet
};

} // namespace orias::gpu
