#pragma once

#include "encoder/isa/operand.h"
#include "ori/function.h"

#include <vector>

namespace orias::phases {

/// Appends copies of the instructions of `from` to `to`, with the fall-through. `target` maps the ids of the blocks
/// where control continues.
template <typename Target>
void copyBlock(ori::Function& function, const ori::Block& from, ori::Block* to, const Target& target) {
  to->loopDepth = from.loopDepth;
  to->fallthrough = from.fallthrough == ori::kNoId ? ori::kNoId : target(from.fallthrough);
  std::vector<isa::Operand> operands;
  for (const ori::Instr& instr : from) {
    operands.clear();
    for (const ori::Operand& o : instr.ops())
      operands.push_back(o.isLabel() ? isa::Operand::label(target(o.reg)) : o.value());
    ori::Instr* copy = function.create(instr.op, operands, instr.source);
    copy->mods = instr.mods;
    copy->mayContract = instr.mayContract;
    function.append(to, copy);
    if (instr.isGuarded()) function.setGuard(copy, instr.guard().value());
    copy->hasUndefinedRest = instr.hasUndefinedRest;
  }
}

} // namespace orias::phases
