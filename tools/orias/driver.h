#pragma once

#include <span>
#include <string>

namespace orias::driver {

/// What the program's exit status says.
enum class ExitStatus : int { Done = 0, InputErrors = 1, UsageErrors = 2, InternalFault = 3 };

/// The whole program, without its name in `words`: reads, assembles, writes, and tells about it on standard error.
ExitStatus runDriver(std::span<const std::string> words);

} // namespace orias::driver
