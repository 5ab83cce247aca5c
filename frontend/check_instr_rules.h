#pragma once

#include "frontend/instr_form.h"
#include "frontend/module.h"

#include <string>

// Rules that the instruction table cannot express: between several operands, or between operands and modifiers.

namespace orias::ptx {

/// `mov` between a scalar and a vector of the same number of bits: `mov.b64 %d, {%r1, %r2}`.
bool isPackingMov(const Form& form, std::span<const Operand> operands);
/// Returns an error message, or an empty string.
std::string checkPackingMov(const Function& function, const Form& form, std::span<const Operand> operands);

/// Checks the rules that hold for all instructions of a form. Returns an error message, or an empty string.
std::string checkFormRules(const Module& module, const Form& form);

/// Checks for modifiers that are newer than the instruction and than the module's version. Returns an error message, or
/// an empty string.
std::string checkFormVersion(const Module& module, const Form& form);

/// Checks the rules of an instruction whose single operands match the table. `arch` is the target of the compilation,
/// or number 0. Returns an error message, or an empty string.
std::string checkOperandRules(const Module& module, Arch arch, const Function& function, const Form& form,
                              std::span<const Operand> operands);

/// Checks a call against the signature of its callee. Returns an error message, or an empty string.
std::string checkCall(const Module& module, const Function& function, const Instruction& instruction);

} // namespace orias::ptx
