#include "ori/analysis/cfg.h"
#include "ori/analysis/liveness.h"
#include "phases/phases.h"
#include "phases/removable.h"

namespace orias::phases {

/// Phases 16, 33, 61, 84. Removes instructions whose results are not live behind them on any path.
bool oriPerformLiveDead(ori::Function& function, PhaseContext&) {
  bool changedAtAll = false;
  // Removing one may end the life of what it read, in this block or another one.
  for (bool changed = true; changed;) {
    changed = false;
    const ori::Cfg cfg(function);
    const ori::Liveness liveness(cfg);
    ori::LiveCursor cursor(liveness);
    std::vector<ori::Instr*> dead;
    for (ori::Block* block : function.layout()) {
      cursor.enter(*block);
      for (ori::Instr* instr = block->last; instr; instr = instr->prev) {
        bool live = !isRemovable(*instr);
        for (const ori::Operand& o : instr->ops()) {
          if (live || !o.isDef || !o.isReg() || o.isZeroReg()) continue;
          liveness.components().forEach(o, [&](ori::CompId c) { live |= cursor.isLive(c); });
        }
        if (!live) dead.push_back(instr);
        cursor.step();
      }
    }
    for (ori::Instr* instr : dead)
      function.erase(instr);
    changed = !dead.empty();
    changedAtAll |= changed;
  }
  return changedAtAll;
}

} // namespace orias::phases
