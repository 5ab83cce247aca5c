#pragma once

#include "tools/launch/memory.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::launch {

/// A function that programs call and do not have. Engines call it as a GPU does, with arguments and a result of these
/// sizes in bytes; an argument of more than 8 is as many words.
struct DriverFunction {
  std::string_view name;
  std::vector<unsigned> arguments;
  unsigned result = 0;
};
/// Of what the driver links to every program (vprintf, malloc, free, __assertfail), or of the device runtime
/// (device_runtime.h); null for any other name.
const DriverFunction* driverFunction(std::string_view name);

/// One thread's call.
struct DriverCall {
  const DriverFunction* function = nullptr;
  std::vector<std::uint64_t> arguments; ///< of those with more than 8 bytes, each word
  std::string thread;                   ///< "thread (0, 0, 0) of CTA (1, 0, 0)", and of which grid if it is a child
  /// Copies from generic memory: 1, 2, 4 or 8 bytes at a multiple of that. False for a bad address.
  std::function<bool(std::uint64_t, std::span<std::byte>)> read;
  /// The same to generic memory.
  std::function<bool(std::uint64_t, std::span<const std::byte>)> write;

  /// Takes the arguments from words in which each argument stands at a multiple of its size, or anywhere if that is
  /// more than 8.
  void takeArguments(const std::function<std::uint32_t(unsigned)>& word);
};

struct DriverResult {
  std::uint64_t value = 0;
  std::string failure; ///< why the program ends here; empty when it goes on
  std::string kind;    ///< of the report of a failure
};

/// Does what a function of the driver does. malloc takes from `global`, vprintf appends to `printed`.
DriverResult callDriver(const DriverCall& call, Memory& global, std::string& printed);
/// What malloc gives to a thread: 0 where the heap has no room.
std::uint64_t allocateOnHeap(Memory& global, std::uint64_t size, const std::string& thread);

} // namespace orias::launch
