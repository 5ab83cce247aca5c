#pragma once

#include "ori/function.h"
#include "ori/scanner.h"
#include "support/diagnostics.h"

namespace orias::ori::text {

/// Reads a function from behind its '{' to behind its '}'. Reports faults and goes on after them.
void parseFunction(Scanner& in, Function& function, Diagnostics& diagnostics);

} // namespace orias::ori::text
