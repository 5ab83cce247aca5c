#pragma once

#include "frontend/module.h"

#include <string>

namespace orias::ptx {

/// A function as PTX text, for dumps: one statement per line, with labels, variables and scopes. Directives that do not
/// affect the code (.loc, debug sections, initial values) are left out.
std::string print(const Module& module, const Function& function);

} // namespace orias::ptx
