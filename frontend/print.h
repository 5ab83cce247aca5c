#pragma once

#include "frontend/module.h"

#include <string>

namespace orias::ptx {

/// A function as PTX text, for dumps: its statements one a line, with labels, variables and scopes. Directives that
/// tell nothing of the code (.loc, debug sections, initial values) are left out.
std::string print(const Module& module, const Function& function);

} // namespace orias::ptx
