#pragma once

#include "tools/launch/driver_functions.h"
#include "tools/launch/launch.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace orias::launch {

/// Interface of an engine for the grids that a kernel launches.
class GridEngine {
 public:
  virtual ~GridEngine() = default;
  /// The kernel that this value refers to in a program; nothing for any other value.
  virtual std::optional<std::string> kernelAt(std::uint64_t value) const = 0;
  virtual std::vector<ParameterPlace> parametersOf(const std::string& kernel) = 0;
  /// Runs a grid to its end, including the grids that it launches.
  virtual RunResult run(Device& device, const RunOptions& options) = 0;
};

/// A function of CUDA's device runtime (libcudadevrt): launches, streams, events, copies and errors, for code on the
/// device. The stubs of a variant (`__cudaCDP2LaunchDevice`), the names of CUDA's headers (`cudaLaunchDevice`) and
/// those for streams of threads (`..._ptsz`) are one function each. Null for any other name.
const DriverFunction* runtimeFunction(std::string_view name);
/// Whether the function is one of these.
bool isRuntimeFunction(const DriverFunction& function);

/// The device runtime's state for one grid. CUDA guarantees the following. A child sees the writes of its parent before
/// the launch. The grids of one stream run one after another in the order of their launches. Grids in the stream for
/// tail launches run when the grid and all its other launches have ended. A grid ends when its children have ended. Two
/// orders that satisfy this are available: each child runs at its launch, or, with RunOptions::childrenLast, when the
/// threads of its parent have ended (or wait for it, where they can). A program with a different result in the other
/// order relies on more than the guarantees.
class DeviceRuntime {
 public:
  DeviceRuntime(Device& device, const RunOptions& options, GridEngine& engine)
      : device_(device), options_(options), engine_(engine) {}

  /// A call of a function that runtimeFunction knows.
  DriverResult call(const DriverCall& call);
  /// Called when the threads of the grid have ended: runs the remaining work.
  DriverResult finish();
  /// What children have executed, printed and reported since the last call.
  RunResult takeChildren();

 private:
  friend struct RuntimeEntry;
  struct Buffer {
    std::uint64_t size = 0;
    std::optional<Launch> grid; ///< known when the buffer was created
  };
  /// Returns the failure; empty if there was none.
  using Work = std::function<DriverResult()>;

  DriverResult getBuffer(const DriverCall& call);
  DriverResult getBufferFor(const DriverCall& call);
  DriverResult launch(const DriverCall& call);
  DriverResult launchBuffer(const DriverCall& call);
  DriverResult lastError(const DriverCall& call);
  DriverResult peekError(const DriverCall& call);
  DriverResult createStream(const DriverCall& call);
  DriverResult destroyStream(const DriverCall& call);
  DriverResult createEvent(const DriverCall& call);
  DriverResult useEvent(const DriverCall& call);
  DriverResult waitForEvent(const DriverCall& call);
  DriverResult synchronize(const DriverCall& call);
  DriverResult copy(const DriverCall& call);
  DriverResult fill(const DriverCall& call);
  DriverResult getDevice(const DriverCall& call);
  DriverResult countDevices(const DriverCall& call);
  DriverResult allocate(const DriverCall& call);
  DriverResult free(const DriverCall& call);

  DriverResult failed(const DriverCall& call, std::uint64_t error);
  std::uint64_t newBuffer(const DriverCall& call, std::uint64_t size, std::uint64_t alignment);
  /// The grid described by the arguments from `at` on; `kernel` is the value of its kernel. If it is invalid, returns
  /// nothing and sets the error of the thread.
  std::optional<Launch> describe(const DriverCall& call, std::uint64_t kernel, std::size_t at);
  DriverResult start(const DriverCall& call, Launch grid, std::uint64_t buffer, std::uint64_t stream);
  DriverResult enqueue(const DriverCall& call, std::uint64_t stream, Work work);
  DriverResult runGrid(const Launch& grid, const std::string& name);
  DriverResult drain();
  bool writeWord(const DriverCall& call, std::uint64_t address, std::uint64_t value, std::size_t bytes);

  Device& device_;
  const RunOptions& options_;
  GridEngine& engine_;
  std::map<std::uint64_t, Buffer> buffers_; ///< by address, until they are launched
  std::map<std::string, unsigned> buffersOfThread_, gridsOfThread_;
  std::map<std::string, std::uint64_t> errors_; ///< the last of each thread
  std::set<std::uint64_t> streams_, events_;
  std::uint64_t handles_ = 0;
  std::deque<Work> waiting_, tail_;
  RunResult children_;
  std::uint64_t executed_ = 0; ///< by all children
};

} // namespace orias::launch
