#include "phases/phases.h"
#include "phases/removable.h"

#include <vector>

namespace orias::phases {

namespace {

bool isDead(const ori::Function& function, const ori::Instr& instr) {
  if (!isRemovableInPlace(instr)) return false;
  for (const ori::Operand& o : instr.ops())
    if (o.isDef && o.isReg() && !o.isZeroReg() && (!o.isVirtual() || function.hasUses(o.reg))) return false;
  return true;
}

} // namespace

/// Phase 10. Removes instructions whose results have no uses, and then those that only they used. Considers only use
/// lists, not control flow: a quick pass for dead code that lowering leaves.
bool earlyOriSimpleLiveDead(ori::Function& function, PhaseContext&) {
  std::vector<ori::Instr*> work;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      work.push_back(&instr);
  // An instruction can be visited again after it has been erased (its block is null then).
  bool changed = false;
  std::vector<ori::VRegId> freed;
  while (!work.empty()) {
    ori::Instr* instr = work.back();
    work.pop_back();
    if (!instr->block || !isDead(function, *instr)) continue;
    freed.clear();
    for (const ori::Operand& o : instr->refs())
      if (!o.isDef && o.isReg() && o.isVirtual()) freed.push_back(o.reg);
    function.erase(instr);
    changed = true;
    for (ori::VRegId v : freed)
      if (!function.hasUses(v)) function.forEachDef(v, [&](ori::Ref o) { work.push_back(o.owner); });
  }
  return changed;
}

} // namespace orias::phases
