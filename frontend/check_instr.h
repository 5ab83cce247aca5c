#pragma once

#include "frontend/check.h"

namespace orias::ptx {

/// Checks every instruction of a parsed module against the instruction table: existence, modifiers, operand kinds,
/// types and widths, state spaces, lowest `.version` and `.target`.
void checkInstructions(const Module& module, const FormTable& forms, const CheckOptions& options, Diagnostics& diags);

} // namespace orias::ptx
