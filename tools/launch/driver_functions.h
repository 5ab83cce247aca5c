#pragma once

#include "tools/launch/memory.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::launch {

/// What the driver links to every program: vprintf, malloc, free, __assertfail. Other engines call them as a GPU does,
/// with arguments and a result of these sizes in bytes.
struct DriverFunction {
  std::string_view name;
  std::vector<unsigned> arguments;
  unsigned result = 0;
};
/// Null for a name that is none of them.
const DriverFunction* driverFunction(std::string_view name);

/// One thread's call.
struct DriverCall {
  const DriverFunction* function = nullptr;
  std::vector<std::uint64_t> arguments;
  std::string thread; ///< "thread (0, 0, 0) of CTA (1, 0, 0)"
  /// Copies from generic memory: 1, 2, 4 or 8 bytes at a multiple of that. False for a bad address.
  std::function<bool(std::uint64_t, std::span<std::byte>)> read;
};

struct DriverResult {
  std::uint64_t value = 0;
  std::string failure; ///< why the program ends here; empty when it goes on
};

/// Does what the function does. malloc takes from `global`, vprintf appends to `printed`.
DriverResult callDriver(const DriverCall& call, Memory& global, std::string& printed);

} // namespace orias::launch
