#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

namespace orias::ptx {

/// Calls f(Operand) for each register that an instruction writes.
template <typename F>
void forEachResult(const Function& function, const FormTable& forms, const Instruction& i, F&& f) {
  const auto ops = function.operandsOf(i);
  if (forms.form(i).op == Op::Call) {
    const CallParts parts = callParts(function, i);
    if (parts.returns)
      for (const Operand& o : function.parts(*parts.returns))
        if (o.is(OperandKind::Register)) f(o);
    return;
  }
  const auto& patterns = forms.entry(i.opcode).patterns;
  if (patterns.empty()) return;
  for (std::size_t k = 0; k < ops.size() && k < patterns[0].size(); ++k) {
    if (!patterns[0][k].dest) continue;
    if (ops[k].is(OperandKind::Register)) f(ops[k]);
    if (ops[k].is(OperandKind::Vector)) {
      for (const Operand& part : function.parts(ops[k]))
        if (part.is(OperandKind::Register)) f(part);
      if (ops[k].vectorPair() != RegisterId::None) f(Operand::reg(ops[k].vectorPair()));
    }
    if (ops[k].is(OperandKind::Pair))
      for (const RegisterId reg : {ops[k].registerId(), ops[k].secondRegister()})
        if (reg != RegisterId::None) f(Operand::reg(reg));
  }
}

} // namespace orias::ptx
