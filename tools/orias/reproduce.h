#pragma once

#include "orias/orias.h"
#include "tools/orias/command_line.h"

#include <span>
#include <string>

namespace orias::driver {

/// Writes the inputs, the options and a README with instructions to run them again into `line.reproduceDirectory`.
/// Throws orias::Error.
void writeReproducer(const CommandLine& line, std::span<const Input> inputs);

} // namespace orias::driver
