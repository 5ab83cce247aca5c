#include "ori/analysis/analyses.h"
#include "phases/phases.h"
#include "phases/removable.h"

namespace orias::phases {

/// Phases 16, 33, 61, 84. Removes instructions whose results are not live behind them on any path.
bool oriPerformLiveDead(ori::Function& function, PhaseContext&) {
  bool changed = false;
  // What removed instructions read from other blocks may end lives there; what they read beside guarded definitions may
  // have kept old values alive.
  for (bool again = true; again;) {
    again = false;
    const ori::Liveness& liveness = function.analyses().liveness();
    const ori::Components& components = liveness.components();
    ori::LiveCursor cursor(liveness);
    std::vector<ori::Instr*> dead;
    for (ori::Block* block : function.layout()) {
      cursor.enter(*block);
      bool hasGuardedDefs = false;
      const std::size_t deadBefore = dead.size();
      for (ori::Instr* instr = block->last; instr; instr = instr->prev) {
        bool live = !isRemovable(*instr);
        hasGuardedDefs |= instr->isGuarded() && !ori::isTerminator(instr->op);
        for (const ori::Operand& o : instr->ops()) {
          if (live || !o.isDef || !o.isReg() || o.isZeroReg()) continue;
          components.forEach(o, [&](ori::CompId c) { live |= cursor.isLive(c); });
        }
        if (live) {
          cursor.step();
          continue;
        }
        cursor.skip();
        dead.push_back(instr);
        for (const ori::Operand& o : instr->refs())
          if (!o.isDef && !again)
            components.forEach(
                o, [&](ori::CompId c) { again |= instr->op == ori::Op::PHI || liveness.isLiveIn(block->id, c); });
      }
      again |= hasGuardedDefs && dead.size() != deadBefore;
    }
    for (ori::Instr* instr : dead)
      function.erase(instr);
    changed |= !dead.empty();
  }
  return changed;
}

} // namespace orias::phases
