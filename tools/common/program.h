#pragma once

#include "support/check.h"

#include <cstdio>
#include <functional>
#include <string_view>

namespace orias::tools {

/// The exit status of a program. Skipped: a requirement is not available on this computer.
enum class ExitStatus : int { Done = 0, InputErrors = 1, UsageErrors = 2, InternalFault = 3, Skipped = 77 };

/// The command line is invalid; exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Writes text unchanged.
void print(std::FILE* to, std::string_view text);

/// "orias: error: message" on standard error.
void complain(std::string_view program, std::string_view kind, std::string_view message);

/// Runs the body of a program and turns exceptions into a message and a status. `faultNote` tells the user what to do
/// about an internal fault.
ExitStatus runProgram(std::string_view program, std::string_view faultNote, const std::function<ExitStatus()>& body);

} // namespace orias::tools
