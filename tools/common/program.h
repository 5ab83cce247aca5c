#pragma once

#include "support/check.h"

#include <cstdio>
#include <functional>
#include <string_view>

namespace orias::tools {

/// What a program's exit status says.
/// Skipped: what is needed is not on this computer.
enum class ExitStatus : int { Done = 0, InputErrors = 1, UsageErrors = 2, InternalFault = 3, Skipped = 77 };

/// The command line makes no sense; exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Writes text as it is.
void print(std::FILE* to, std::string_view text);

/// "orias: error: message" on standard error.
void complain(std::string_view program, std::string_view kind, std::string_view message);

/// Runs the body of a program and turns what it throws into a complaint and a status. `faultNote` tells the user what
/// to do about a fault of ours.
ExitStatus runProgram(std::string_view program, std::string_view faultNote, const std::function<ExitStatus()>& body);

} // namespace orias::tools
