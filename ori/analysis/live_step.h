#pragma once

#include "ori/analysis/liveness.h"
#include "ori/results.h"

#include <vector>

namespace orias::ori {

/// One step upwards over an instruction, for all that count or list what is live. The caller keeps the books:
/// `isLive(comp)`, `add(comp)` and `remove(comp)`, which may be live already, or no longer. `ended` is working memory.
template <typename IsLive, typename Add, typename Remove>
void stepUpwards(const Liveness& liveness, const Instr& instr, std::vector<CompId>& ended, IsLive isLive, Add add,
                 Remove remove) {
  const Components& components = liveness.components();
  const bool isGuarded = instr.isGuarded();
  ended.clear();
  for (const Operand& operand : resultSlots(instr))
    if (operand.isDef)
      components.forEach(operand, [&](CompId comp) {
        // Under a guard, what is live behind is live before.
        if (!isGuarded || !isLive(comp) || liveness.startsLife(instr, comp)) ended.push_back(comp);
        add(comp);
      });
  // All results have their registers at once, those that nobody reads, too.
  for (const CompId comp : ended)
    remove(comp);
  if (instr.op == Op::PHI) return;
  for (const Operand& operand : isGuarded ? instr.refs() : instr.ops())
    if (!operand.isDef) components.forEach(operand, add);
}

} // namespace orias::ori
