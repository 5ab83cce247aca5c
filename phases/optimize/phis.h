#pragma once

#include "ori/builder.h"
#include "ori/function.h"

namespace orias::phases {

/// The first instruction of a block that is not a phi; null if there is none.
inline ori::Instr* afterPhis(const ori::Block& block) {
  ori::Instr* at = block.first;
  while (at && at->op == isa::Op::PHI)
    at = at->next;
  return at;
}

/// Inserts a detached instruction right after the phis of a block.
inline void insertAfterPhis(ori::Function& function, ori::Block& block, ori::Instr* instr) {
  if (ori::Instr* first = afterPhis(block))
    function.insertBefore(first, instr);
  else
    function.append(&block, instr);
}

/// Emits right after the phis of a block.
inline ori::Builder builderAfterPhis(ori::Function& function, ori::Block& block) {
  ori::Instr* first = afterPhis(block);
  return first ? ori::Builder::before(function, first) : ori::Builder(function, &block);
}

/// The block in which an operand is read: for a phi, the predecessor that the value comes from.
inline ori::BlockId placeOf(ori::Ref use) {
  const ori::Instr& reader = *use.owner;
  return reader.op != isa::Op::PHI ? reader.block->id : reader.op_(use.index() + 1).reg;
}

/// Replaces a phi with a copy (of a register or a constant) after the phis of its block.
inline void becomeCopy(ori::Function& function, ori::Instr& phi, const isa::Operand& value) {
  ori::Builder b = builderAfterPhis(function, *phi.block);
  b.setSource(phi.source);
  const isa::Operand result = phi.op_(0).value();
  function.erase(&phi);
  b.emit(value.isReg() ? isa::Op::COPY : isa::Op::MOV, {result, value});
}

} // namespace orias::phases
