#pragma once

#include "tools/common/program.h"

#include <span>
#include <string>

namespace orias::dis {

/// The whole program, without its name in `words`: reads a cubin and prints the requested output on standard output.
tools::ExitStatus runDriver(std::span<const std::string> words);

} // namespace orias::dis
