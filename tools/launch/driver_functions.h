#pragma once

#include "tools/launch/memory.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::launch {

/// A function that programs call without defining it. Engines call it as a GPU does, with arguments and a result of
/// these sizes in bytes. An argument of more than 8 bytes is passed as words.
struct DriverFunction {
  std::string_view name;
  std::vector<unsigned> arguments;
  unsigned result = 0;
};
/// A function that the driver links to every program (vprintf, malloc, free, __assertfail), or one of the device
/// runtime (device_runtime.h); null for any other name.
const DriverFunction* driverFunction(std::string_view name);

/// One thread's call.
struct DriverCall {
  const DriverFunction* function = nullptr;
  std::vector<std::uint64_t> arguments; ///< of more than 8 bytes: each word
  std::string thread;                   ///< "thread (0, 0, 0) of CTA (1, 0, 0)", and the grid if it is a child
  /// Copies 1, 2, 4 or 8 bytes from generic memory, at a multiple of the size. False for a bad address.
  std::function<bool(std::uint64_t, std::span<std::byte>)> read;
  /// Likewise to generic memory.
  std::function<bool(std::uint64_t, std::span<const std::byte>)> write;

  /// Reads the arguments from words. Each argument is at a multiple of its size, or at any word if it has more than 8
  /// bytes.
  void takeArguments(const std::function<std::uint32_t(unsigned)>& word);
};

struct DriverResult {
  std::uint64_t value = 0;
  std::string failure; ///< why the program ends here; empty if it continues
  std::string kind;    ///< of the report of a failure
};

/// Executes a driver function. malloc allocates from `global`, vprintf appends to `printed`.
DriverResult callDriver(const DriverCall& call, Memory& global, std::string& printed);
/// The result of malloc for a thread: 0 if the heap is full.
std::uint64_t allocateOnHeap(Memory& global, std::uint64_t size, const std::string& thread);

} // namespace orias::launch
