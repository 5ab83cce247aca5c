#pragma once

#include "frontend/instr_form.h"
#include "frontend/module.h"

#include <string>

// What the instruction table cannot say: rules between several operands, or between operands and modifiers.

namespace orias::ptx {

/// `mov` between a scalar and a vector of the same number of bits: `mov.b64 %d, {%r1, %r2}`.
bool isPackingMov(const Form& form, std::span<const Operand> operands);
/// Empty if nothing is wrong.
std::string checkPackingMov(const Function& function, const Form& form, std::span<const Operand> operands);

/// Rules of a form by itself: those that hold for all its instructions. Empty if nothing is wrong.
std::string checkFormRules(const Module& module, const Form& form);

/// Has the form something that came later than the instruction, and than the module's version? Empty if not.
std::string checkFormVersion(const Module& module, const Form& form);

/// Rules of an instruction whose operands fit the table one by one. `arch` is what the module is compiled for, or
/// number 0. Empty if nothing is wrong.
std::string checkOperandRules(const Module& module, Arch arch, const Function& function, const Form& form,
                              std::span<const Operand> operands);

/// A call against the signature of what it calls. Empty if nothing is wrong.
std::string checkCall(const Module& module, const Function& function, const Instruction& instruction);

} // namespace orias::ptx
