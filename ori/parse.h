#pragma once

#include "ori/module.h"
#include "support/diagnostics.h"

#include <memory>
#include <string_view>

namespace orias::ori {

/// Parses the text form of print(), also when it is written by hand (ori/README.md). Returns null after errors, all of
/// which are in `diagnostics`. Checks only what is needed to build the module; the verifier checks the rest.
std::unique_ptr<Module> parse(std::string_view text, Diagnostics& diagnostics);

} // namespace orias::ori
