#pragma once

#include "tools/common/program.h"

#include <span>
#include <string>

namespace orias::run {

/// The whole program, without its name in `words`: reads the launch, runs it, and reports the outcome.
tools::ExitStatus runDriver(std::span<const std::string> words);

} // namespace orias::run
