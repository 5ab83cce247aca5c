#pragma once

#include "tools/common/program.h"

#include <span>
#include <string>

namespace orias::lab {

/// The whole program, without its name in `words`. `program` is the path of the program itself, which executes the
/// jobs.
tools::ExitStatus runDriver(const std::string& program, std::span<const std::string> words);

} // namespace orias::lab
