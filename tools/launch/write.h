#pragma once

#include "tools/launch/launch.h"

#include <string>

namespace orias::launch {

/// The launch as a launch file, which parseLaunch() reads as the same launch again: contents as lists of bits. What
/// buffers are expected to hold is written too, pointers inside of contents are not: throws orias::Error for a launch
/// that has some.
std::string writeLaunch(const Launch& launch);

} // namespace orias::launch
