#pragma once

#include "tools/launch/launch.h"

#include <string>

namespace orias::launch {

/// The launch as a launch file, which parseLaunch() reads as the same launch again; contents are lists of bits.
/// Expected contents of buffers are written, too. Pointers inside of contents are not supported: throws orias::Error if
/// the launch has any.
std::string writeLaunch(const Launch& launch);

} // namespace orias::launch
