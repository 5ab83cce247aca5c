#pragma once

#include "ori/module.h"
#include "support/diagnostics.h"

#include <memory>
#include <string_view>

namespace orias::ori {

/// Reads what print() writes, and what people write by hand in the same form (ori/README.md). Returns null after
/// errors, all of which are in `diagnostics`. Checks what is needed to build the module; whether it makes sense is the
/// verifier's business.
std::unique_ptr<Module> parse(std::string_view text, Diagnostics& diagnostics);

} // namespace orias::ori
