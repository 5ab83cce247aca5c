#pragma once

#include "tools/common/program.h"

#include <span>
#include <string>

namespace orias::run {

/// The whole program, without its name in `words`: reads the launch, runs it, and tells how it went.
tools::ExitStatus runDriver(std::span<const std::string> words);

} // namespace orias::run
