#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orias {

/// A decision of a module phase.
struct ModuleRemark {
  std::string_view phase; ///< number, "M6"
  std::string function;
  bool done = false; ///< false: considered and not done
  std::string message;
  std::int64_t cost = 0;  ///< in the unit that the message names
  std::uint32_t line = 0; ///< of the PTX
};

} // namespace orias
