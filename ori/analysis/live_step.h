#pragma once

#include "ori/analysis/liveness.h"
#include "ori/results.h"

#include <vector>

namespace orias::ori {

/// One step upwards over an instruction, for counters and lists of live components. The caller stores the set and gives
/// `isLive(comp)`, `add(comp)` (may be live already) and `remove(comp)` (may be dead already). `ended` is scratch
/// memory.
template <typename IsLive, typename Add, typename Remove>
void stepUpwards(const Liveness& liveness, const Instr& instr, std::vector<CompId>& ended, IsLive isLive, Add add,
                 Remove remove) {
  const Components& components = liveness.components();
  const bool isGuarded = instr.isGuarded();
  ended.clear();
  for (const Operand& operand : resultSlots(instr))
    if (operand.isDef)
      components.forEach(operand, [&](CompId comp) {
        // A guarded result that is live after the instruction is live before it.
        if (!isGuarded || !isLive(comp) || liveness.startsLife(instr, comp)) ended.push_back(comp);
        add(comp);
      });
  // All results occupy registers at the same time, including unused ones.
  for (const CompId comp : ended)
    remove(comp);
  if (instr.op == Op::PHI) return;
  for (const Operand& operand : isGuarded ? instr.refs() : instr.ops())
    if (!operand.isDef) components.forEach(operand, add);
}

} // namespace orias::ori
