#pragma once

#include "ori/builder.h"
#include "ori/function.h"

namespace orias::phases {

/// The first instruction of a block that is no phi; null when there is none.
inline ori::Instr* behindPhis(const ori::Block& block) {
  ori::Instr* at = block.first;
  while (at && at->op == isa::Op::PHI)
    at = at->next;
  return at;
}

/// What a phi defines is set by a copy (of a register or a number) behind the phis of its block instead.
inline void becomeCopy(ori::Function& function, ori::Instr& phi, const isa::Operand& value) {
  ori::Instr* at = behindPhis(*phi.block);
  ori::Builder b = at ? ori::Builder::before(function, at) : ori::Builder(function, phi.block);
  b.setSource(phi.source);
  const isa::Operand result = phi.op_(0).value();
  function.erase(&phi);
  b.emit(value.isReg() ? isa::Op::COPY : isa::Op::MOV, {result, value});
}

} // namespace orias::phases
