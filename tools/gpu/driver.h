#pragma once

#include "tools/common/program.h"

#include <span>
#include <string>

namespace orias::gpu {

/// The whole program, without its name in `words`.
tools::ExitStatus runDriver(std::span<const std::string> words);

} // namespace orias::gpu
