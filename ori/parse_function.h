#pragma once

#include "ori/function.h"
#include "ori/scanner.h"
#include "support/diagnostics.h"

namespace orias::ori::text {

/// Parses a function from after its '{' to after its '}'. Reports errors and continues after them.
void parseFunction(Scanner& in, Function& function, Diagnostics& diagnostics);

} // namespace orias::ori::text
