#pragma once

#include "tools/common/program.h"

#include <span>
#include <string>

namespace orias::driver {

using tools::ExitStatus;

/// The whole program, without its name in `words`: reads, assembles, writes, and prints messages on standard error.
ExitStatus runDriver(std::span<const std::string> words);

} // namespace orias::driver
