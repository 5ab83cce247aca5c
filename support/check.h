#pragma once

#include <stdexcept>
#include <string>

namespace orias {

/// A user error without a location in a source file (those are Diagnostics): an unreadable file, an invalid option.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A bug in orias. The driver converts it to exit status 3.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void failCheck(const char* condition, const char* file, int line, const std::string& message = {});

} // namespace orias

/// An invariant of the program, also checked in release builds. ORIAS_CHECK(cond) or ORIAS_CHECK(cond, std::string
/// message).
#define ORIAS_CHECK(condition, ...)                                                                                    \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::orias::failCheck(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__);                                   \
  } while (false)

#define ORIAS_UNREACHABLE(message) ::orias::failCheck("unreachable", __FILE__, __LINE__, message)
