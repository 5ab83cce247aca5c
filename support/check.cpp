#include "support/check.h"

#include <fmt/format.h>

namespace orias {

void failCheck(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(
      fmt::format("{}:{}: check failed: {}{}{}", file, line, condition, message.empty() ? "" : ": ", message));
}

} // namespace orias
