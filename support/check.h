#pragma once

#include <stdexcept>
#include <string>

namespace orias {

/// An error that the user can do something about and that has no place in a source file (those are Diagnostics):
/// a file that cannot be read, an option that makes no sense.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A fault of orias itself. The driver turns it into exit status 3.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void failCheck(const char* condition, const char* file, int line, const std::string& message = {});

} // namespace orias

/// An invariant of the program; stays on in release builds. ORIAS_CHECK(cond) or ORIAS_CHECK(cond, std::string
/// message).
#define ORIAS_CHECK(condition, ...)                                                                                    \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::orias::failCheck(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__);                                   \
  } while (false)

#define ORIAS_UNREACHABLE(message) ::orias::failCheck("unreachable", __FILE__, __LINE__, message)
