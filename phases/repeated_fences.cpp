#include "phases/repeated_fences.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"

namespace orias::phases {

using isa::Flag;
using isa::Op;
using ori::Instr;

namespace {

/// Whether threads may see memory differently after the instruction.
bool mayAccessMemory(const Instr& instr) {
  if (instr.op == Op::SYNCS_EXCH) return false;
  const isa::InstrDesc& row = isa::desc(instr.op);
  return row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic) || row.has(Flag::Fence) ||
         row.has(Flag::SideEffect);
}

} // namespace

bool dropRepeatedFences(ori::Function& function, PhaseContext& context) {
  if (!function.everHad(Op::FENCE_VIEW_ASYNC)) return false;
  bool changed = false;
  for (ori::Block* block : function.layout()) {
    unsigned done = 0; // a bit for each space that is fenced
    function.forEachSafe(*block, [&](Instr& instr) {
      if (instr.op != Op::FENCE_VIEW_ASYNC) {
        if (mayAccessMemory(instr)) done = 0;
        return;
      }
      const unsigned space = 1u << isa::getMod(instr.op, instr.mods, isa::Mod::Sub);
      if ((done & space) != 0) {
        context.remarks.applied(&instr, "removed: nothing accesses memory since the last fence");
        function.erase(&instr);
        changed = true;
      } else if (!instr.isGuarded()) {
        done |= space;
      }
    });
  }
  return changed;
}

} // namespace orias::phases
