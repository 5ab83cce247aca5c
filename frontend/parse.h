#pragma once

#include "frontend/module.h"
#include "support/diagnostics.h"

#include <memory>
#include <string_view>

namespace orias::ptx {

/// Parses a whole PTX file. Resolves names, so undeclared and redeclared names are reported here. Always returns a
/// module; it is complete only if `diags` has no errors afterwards. Never throws because of the input. See limits.h.
std::unique_ptr<Module> parse(std::string_view text, Diagnostics& diags);

} // namespace orias::ptx
