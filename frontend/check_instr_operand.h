#pragma once

#include "frontend/instr_syntax.h"
#include "frontend/module.h"

#include <string>

namespace orias::ptx {

/// Whether a register (or another operand) of type `have` is accepted as an operand of type `want`: the manual's
/// "Operand Type Checking". `relaxed`: may be wider (ld, st, cvt). Observed in ptxas: bits match everything of their
/// width, integers match integers and bits, a float matches its own type and bits; packed halves count as 32 bits; bf16
/// matches bits only.
bool typeFits(Type want, Type have, bool relaxed);

/// Checks single operands of one function against the instruction table.
class OperandChecker {
 public:
  OperandChecker(const Module& module, const Function& function) : module_(module), function_(function) {}

  /// True if the operand fits. Otherwise gives the reason in `why`, if that is not null (an empty reason: "Arguments
  /// mismatch" is sufficient).
  bool fits(const OperandSpec& spec, const Form& form, const Operand& operand, std::string* why) const;

 private:
  bool value(const OperandSpec& spec, const Operand& operand, bool inVector, std::string* why) const;
  bool registerValue(const OperandSpec& spec, const Operand& operand, std::string* why) const;
  bool vector(const OperandSpec& spec, const Operand& operand, std::string* why) const;
  bool constant(const OperandSpec& spec, const Operand& operand, bool inVector, std::string* why) const;
  bool pair(const OperandSpec& spec, const Operand& operand, std::string* why) const;
  bool address(const OperandSpec& spec, const Form& form, const Operand& operand, std::string* why) const;
  bool addressOfVariable(const OperandSpec& spec, const Form& form, const Operand& operand, std::string* why) const;
  bool reference(const OperandSpec& spec, const Form& form, const Operand& operand, std::string* why) const;
  /// A single texture, sampler or surface by name, or its handle.
  bool object(const Operand& operand, Type wanted, std::string* why) const;
  bool bracket(const OperandSpec& spec, const Form& form, const Operand& operand, std::string* why) const;

  const Register& reg(RegisterId id) const { return function_.registers[index(id)]; }
  std::string nameOf(RegisterId id) const { return std::string(module_.text(reg(id).name)); }

  const Module& module_;
  const Function& function_;
};

} // namespace orias::ptx
