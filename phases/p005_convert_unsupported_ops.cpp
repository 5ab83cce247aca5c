#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "phases/phases.h"

#include <vector>

namespace orias::phases {

namespace {

bool needsExpansion(const ori::Instr& instr) {
  switch (instr.op) {
  case isa::Op::IDIV:
  case isa::Op::IREM: return true;
  case isa::Op::FDIV:
  case isa::Op::FRCP:
  case isa::Op::FSQRT:
  case isa::Op::FRSQRT: return isDoubleMacro(instr) || !isApproximation(instr); // phase 8 does approximations
  default: return false;
  }
}

} // namespace

/// Phase 5. Operations that the machine does not have become sequences of those that it has. The expansions are in
/// place; those of floating point leave their rare cases to blocks at the end of the function.
bool convertUnsupportedOps(ori::Function& function, PhaseContext& context) {
  std::vector<ori::Instr*> macros;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      if (needsExpansion(instr) || hasOlderWay(context.target, instr)) macros.push_back(&instr);
  for (ori::Instr* macro : macros) {
    if (!isa::desc(macro->op).isPseudo())
      expandOlderWay(function, macro);
    else if (isDoubleMacro(*macro))
      expandDoubleMacro(function, macro);
    else if (macro->op == isa::Op::IDIV || macro->op == isa::Op::IREM)
      expandIntegerDivision(function, macro);
    else
      expandFloatMacro(function, macro);
  }
  return !macros.empty();
}

} // namespace orias::phases
