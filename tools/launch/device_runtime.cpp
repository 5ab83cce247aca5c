#include "tools/launch/device_runtime.h"

#include "support/check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace orias::launch {

namespace {

// cudaError_t (driver_types.h).
constexpr std::uint64_t kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2, kInvalidConfiguration = 9,
                        kInvalidDeviceFunction = 98, kInvalidResourceHandle = 400;
// Predefined streams (driver_types.h): the block's, those of the host's API, and those that only device code has.
constexpr std::uint64_t kDefault = 0, kLegacy = 1, kPerThread = 2, kTailLaunch = 3, kFireAndForget = 4;
constexpr std::uint64_t kStreamNonBlocking = 1, kEventDisableTiming = 2;

constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxBlocksX = 0x7fffffff, kMaxBlocksYZ = 0xffff;
/// Maximum nesting of grids (CUDA C++ Programming Guide, "Device Runtime").
constexpr unsigned kMaxLevels = 24;
constexpr std::uint64_t kBufferAlignment = 64;
/// Handles of streams and events: numbers that are not addresses.
constexpr std::uint64_t kFirstHandle = 0x1000, kHandleStep = 16;

} // namespace

struct RuntimeEntry {
  DriverFunction function;
  DriverResult (DeviceRuntime::*run)(const DriverCall&);

  static const RuntimeEntry* named(std::string_view name);
  static const RuntimeEntry* of(const DriverFunction* function);
  static const auto& all() {
    using R = DeviceRuntime;
    // Parameters as CUDA's cuda_device_runtime_api.h declares them; dim3 has 12 bytes.
    static const std::array kAll{
        RuntimeEntry{{"GetParameterBuffer", {8, 8}, 8}, &R::getBuffer},
        RuntimeEntry{{"GetParameterBufferV2", {8, 12, 12, 4}, 8}, &R::getBufferFor},
        RuntimeEntry{{"LaunchDevice", {8, 8, 12, 12, 4, 8}, 4}, &R::launch},
        RuntimeEntry{{"LaunchDeviceV2", {8, 8}, 4}, &R::launchBuffer},
        RuntimeEntry{{"GetLastError", {}, 4}, &R::lastError},
        RuntimeEntry{{"PeekAtLastError", {}, 4}, &R::peekError},
        RuntimeEntry{{"StreamCreateWithFlags", {8, 4}, 4}, &R::createStream},
        RuntimeEntry{{"StreamDestroy", {8}, 4}, &R::destroyStream},
        RuntimeEntry{{"StreamWaitEvent", {8, 8, 4}, 4}, &R::waitForEvent},
        RuntimeEntry{{"EventCreateWithFlags", {8, 4}, 4}, &R::createEvent},
        RuntimeEntry{{"EventRecord", {8, 8}, 4}, &R::useEvent},
        RuntimeEntry{{"EventRecordWithFlags", {8, 8, 4}, 4}, &R::useEvent},
        RuntimeEntry{{"EventDestroy", {8}, 4}, &R::useEvent},
        RuntimeEntry{{"DeviceSynchronize", {}, 4}, &R::synchronize},
        RuntimeEntry{{"MemcpyAsync", {8, 8, 8, 4, 8}, 4}, &R::copy},
        RuntimeEntry{{"MemsetAsync", {8, 4, 8, 8}, 4}, &R::fill},
        RuntimeEntry{{"GetDevice", {8}, 4}, &R::getDevice},
        RuntimeEntry{{"GetDeviceCount", {8}, 4}, &R::countDevices},
        RuntimeEntry{{"Malloc", {8, 8}, 4}, &R::allocate},
        RuntimeEntry{{"Free", {8}, 4}, &R::free},
    };
    return kAll;
  }
};

const RuntimeEntry* RuntimeEntry::named(std::string_view name) {
  for (const std::string_view prefix : {"__cudaCDP1", "__cudaCDP2", "cuda"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (constexpr std::string_view kPerThreadForm = "_ptsz"; name.ends_with(kPerThreadForm))
      name.remove_suffix(kPerThreadForm.size());
    const auto at = std::ranges::find(all(), name, [](const RuntimeEntry& e) { return e.function.name; });
    return at == all().end() ? nullptr : &*at;
  }
  return nullptr;
}

const RuntimeEntry* RuntimeEntry::of(const DriverFunction* function) {
  const auto at = std::ranges::find(all(), function, [](const RuntimeEntry& e) { return &e.function; });
  return at == all().end() ? nullptr : &*at;
}

const DriverFunction* runtimeFunction(std::string_view name) {
  const RuntimeEntry* entry = RuntimeEntry::named(name);
  return entry ? &entry->function : nullptr;
}

bool isRuntimeFunction(const DriverFunction& function) {
  return RuntimeEntry::of(&function) != nullptr;
}

DriverResult DeviceRuntime::call(const DriverCall& call) {
  const RuntimeEntry* entry = RuntimeEntry::of(call.function);
  ORIAS_CHECK(entry);
  return (this->*entry->run)(call);
}

DriverResult DeviceRuntime::finish() {
  DriverResult result = drain();
  for (; result.failure.empty() && !tail_.empty(); tail_.pop_front())
    result = tail_.front()();
  return result;
}

RunResult DeviceRuntime::takeChildren() {
  return std::exchange(children_, RunResult());
}

DriverResult DeviceRuntime::failed(const DriverCall& call, std::uint64_t error) {
  if (error != kSuccess) errors_[call.thread] = error;
  return {error, {}, {}};
}

bool DeviceRuntime::writeWord(const DriverCall& call, std::uint64_t address, std::uint64_t value, std::size_t bytes) {
  return call.write(address, std::as_bytes(std::span(&value, 1)).first(bytes));
}

// --- launches

std::uint64_t DeviceRuntime::newBuffer(const DriverCall& call, std::uint64_t size, std::uint64_t alignment) {
  std::string name = fmt::format("parameters {} of {}", buffersOfThread_[call.thread]++, call.thread);
  return device_.global.allocate(std::move(name), std::max<std::uint64_t>(size, 1),
                                 std::max(kBufferAlignment, alignment));
}

DriverResult DeviceRuntime::getBuffer(const DriverCall& call) {
  const std::uint64_t alignment = call.arguments[0], size = call.arguments[1];
  if ((alignment & (alignment - 1)) != 0 || size > (1u << 16)) {
    failed(call, kInvalidValue);
    return {};
  }
  const std::uint64_t at = newBuffer(call, size, alignment);
  buffers_[at] = {size, std::nullopt};
  return {at, {}, {}};
}

DriverResult DeviceRuntime::getBufferFor(const DriverCall& call) {
  std::optional<Launch> grid = describe(call, call.arguments[0], 1);
  if (!grid) return {};
  std::uint64_t size = 0;
  for (const ParameterPlace& place : engine_.parametersOf(grid->kernel))
    size = std::max<std::uint64_t>(size, std::uint64_t{place.offset} + place.size);
  const std::uint64_t at = newBuffer(call, size, 1);
  buffers_[at] = {size, std::move(grid)};
  return {at, {}, {}};
}

std::optional<Launch> DeviceRuntime::describe(const DriverCall& call, std::uint64_t kernel, std::size_t at) {
  const auto word = [&](std::size_t k) { return static_cast<std::uint32_t>(call.arguments[at + k]); };
  Launch grid;
  grid.grid = {word(0), word(1), word(2)};
  grid.block = {word(3), word(4), word(5)};
  grid.dynamicShared = word(6);
  const auto name = engine_.kernelAt(kernel);
  if (!name) {
    failed(call, kInvalidDeviceFunction);
    return std::nullopt;
  }
  const bool isFit = grid.grid.count() != 0 && grid.block.count() != 0 && grid.block.count() <= kMaxThreads &&
                     grid.grid.x <= kMaxBlocksX && grid.grid.y <= kMaxBlocksYZ && grid.grid.z <= kMaxBlocksYZ;
  if (!isFit) {
    failed(call, kInvalidConfiguration);
    return std::nullopt;
  }
  grid.kernel = *name;
  grid.name = device_.launch.name;
  grid.file = device_.launch.file;
  grid.textures = device_.launch.textures;
  grid.samplers = device_.launch.samplers;
  grid.multicasts = device_.launch.multicasts;
  return grid;
}

DriverResult DeviceRuntime::launch(const DriverCall& call) {
  constexpr std::size_t kKernel = 0, kBuffer = 1, kGrid = 2, kStream = 9;
  std::optional<Launch> grid = describe(call, call.arguments[kKernel], kGrid);
  if (!grid) return {errors_[call.thread], {}, {}};
  return start(call, std::move(*grid), call.arguments[kBuffer], call.arguments[kStream]);
}

DriverResult DeviceRuntime::launchBuffer(const DriverCall& call) {
  const auto buffer = buffers_.find(call.arguments[0]);
  if (buffer == buffers_.end() || !buffer->second.grid) return failed(call, kInvalidValue);
  return start(call, *buffer->second.grid, call.arguments[0], call.arguments[1]);
}

DriverResult DeviceRuntime::start(const DriverCall& call, Launch grid, std::uint64_t buffer, std::uint64_t stream) {
  const auto places = engine_.parametersOf(grid.kernel);
  std::uint64_t size = 0;
  for (const ParameterPlace& place : places) {
    if (place.isHandle)
      return {0, fmt::format("kernel '{}' gets a texture, which launches from kernels cannot pass", grid.kernel),
              "unsupported"};
    size = std::max<std::uint64_t>(size, std::uint64_t{place.offset} + place.size);
  }
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end() && size != 0) return failed(call, kInvalidValue);
  if (found != buffers_.end() && found->second.size < size)
    return {
        0,
        fmt::format("kernel '{}' has {} bytes of parameters; its buffer has {}", grid.kernel, size, found->second.size),
        "memcheck"};
  // The launch copies the bytes: later writes to the buffer have no effect.
  std::byte* bytes = size == 0 ? nullptr : device_.global.at(buffer, size);
  for (const ParameterPlace& place : places) {
    Argument argument;
    argument.bytes.assign(bytes + place.offset, bytes + place.offset + place.size);
    grid.arguments.push_back(std::move(argument));
  }
  if (bytes) std::fill_n(bytes, size, std::byte{0});
  if (found != buffers_.end()) buffers_.erase(found);
  std::string name = fmt::format("grid {} of {}", gridsOfThread_[call.thread]++, call.thread);
  return enqueue(call, stream, [this, grid = std::move(grid), name = std::move(name)] { return runGrid(grid, name); });
}

DriverResult DeviceRuntime::enqueue(const DriverCall& call, std::uint64_t stream, Work work) {
  const bool isKnown = stream == kDefault || stream == kLegacy || stream == kPerThread || stream == kTailLaunch ||
                       stream == kFireAndForget || streams_.contains(stream);
  if (!isKnown) return failed(call, kInvalidResourceHandle);
  if (stream == kTailLaunch)
    tail_.push_back(std::move(work));
  else if (options_.childrenLast)
    waiting_.push_back(std::move(work));
  else
    return work();
  return {};
}

DriverResult DeviceRuntime::runGrid(const Launch& grid, const std::string& name) {
  Device child(grid, device_, name);
  if (child.level > kMaxLevels) return {0, fmt::format("more than {} nested grids", kMaxLevels), "driver"};
  RunOptions options = options_;
  options.stats = options.fullMachine = options.profile = false;
  options.instructionBudget -= std::min(executed_, options.instructionBudget);
  RunResult result = engine_.run(child, options);
  executed_ += result.threadInstructions;
  children_.threadInstructions += result.threadInstructions;
  children_.warpInstructions += result.warpInstructions;
  children_.trace += result.trace;
  children_.printed += result.printed;
  DriverResult end;
  if (!result.completed && !result.reports.empty()) {
    const Report& why = result.reports.front();
    end = {0, fmt::format("in kernel '{}', {}: {}: {}", grid.kernel, name, why.where, why.text), why.kind};
    result.reports.erase(result.reports.begin());
  }
  std::ranges::move(result.reports, std::back_inserter(children_.reports));
  return end;
}

DriverResult DeviceRuntime::drain() {
  DriverResult result;
  for (; result.failure.empty() && !waiting_.empty(); waiting_.pop_front())
    result = waiting_.front()();
  return result;
}

DriverResult DeviceRuntime::synchronize(const DriverCall&) {
  return drain();
}

// --- errors

DriverResult DeviceRuntime::peekError(const DriverCall& call) {
  const auto found = errors_.find(call.thread);
  return {found == errors_.end() ? kSuccess : found->second, {}, {}};
}

DriverResult DeviceRuntime::lastError(const DriverCall& call) {
  DriverResult result = peekError(call);
  errors_.erase(call.thread);
  return result;
}

// --- streams and events. All work is done in the order of the calls, or in that order at the end. So the work that an
// event represents is always done when somebody waits for it.

DriverResult DeviceRuntime::createStream(const DriverCall& call) {
  if (call.arguments[1] != kStreamNonBlocking) return failed(call, kInvalidValue);
  const std::uint64_t handle = kFirstHandle + kHandleStep * handles_++;
  streams_.insert(handle);
  writeWord(call, call.arguments[0], handle, 8);
  return {};
}

DriverResult DeviceRuntime::destroyStream(const DriverCall& call) {
  return failed(call, streams_.erase(call.arguments[0]) != 0 ? kSuccess : kInvalidResourceHandle);
}

DriverResult DeviceRuntime::createEvent(const DriverCall& call) {
  if (call.arguments[1] != kEventDisableTiming) return failed(call, kInvalidValue);
  const std::uint64_t handle = kFirstHandle + kHandleStep * handles_++;
  events_.insert(handle);
  writeWord(call, call.arguments[0], handle, 8);
  return {};
}

DriverResult DeviceRuntime::useEvent(const DriverCall& call) {
  const bool isDestroyed = call.function->name == "EventDestroy";
  const bool isThere = isDestroyed ? events_.erase(call.arguments[0]) != 0 : events_.contains(call.arguments[0]);
  return failed(call, isThere ? kSuccess : kInvalidResourceHandle);
}

DriverResult DeviceRuntime::waitForEvent(const DriverCall& call) {
  return failed(call, events_.contains(call.arguments[1]) ? kSuccess : kInvalidResourceHandle);
}

// --- memory

DriverResult DeviceRuntime::copy(const DriverCall& call) {
  const std::uint64_t to = call.arguments[0], from = call.arguments[1], size = call.arguments[2];
  return enqueue(call, call.arguments[4], [this, to, from, size]() -> DriverResult {
    if (size == 0) return {};
    const std::byte* source = device_.global.at(from, size);
    std::byte* target = device_.global.at(to, size);
    if (!source || !target)
      return {0, fmt::format("a copy of {} bytes from {:#x} to {:#x}, which is out of bounds", size, from, to),
              "memcheck"};
    std::memmove(target, source, size);
    device_.global.initialise(to, size);
    return {};
  });
}

DriverResult DeviceRuntime::fill(const DriverCall& call) {
  const std::uint64_t to = call.arguments[0], size = call.arguments[2];
  const auto value = static_cast<std::byte>(call.arguments[1]);
  return enqueue(call, call.arguments[3], [this, to, size, value]() -> DriverResult {
    if (size == 0) return {};
    std::byte* target = device_.global.at(to, size);
    if (!target) return {0, fmt::format("a fill of {} bytes at {:#x}, which is out of bounds", size, to), "memcheck"};
    std::fill_n(target, size, value);
    device_.global.initialise(to, size);
    return {};
  });
}

DriverResult DeviceRuntime::getDevice(const DriverCall& call) {
  writeWord(call, call.arguments[0], 0, 4);
  return {};
}

DriverResult DeviceRuntime::countDevices(const DriverCall& call) {
  writeWord(call, call.arguments[0], 1, 4);
  return {};
}

DriverResult DeviceRuntime::allocate(const DriverCall& call) {
  const std::uint64_t at = allocateOnHeap(device_.global, call.arguments[1], call.thread);
  writeWord(call, call.arguments[0], at, 8);
  return failed(call, at != 0 ? kSuccess : kMemoryAllocation);
}

DriverResult DeviceRuntime::free(const DriverCall&) {
  return {};
}

} // namespace orias::launch
