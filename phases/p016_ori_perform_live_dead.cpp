#include "ori/analysis/analyses.h"
#include "ori/analysis/live_counter.h"
#include "ori/results.h"
#include "phases/phases.h"
#include "phases/removable.h"
#include "phases/texel_masks.h"

#include <algorithm>
#include <vector>

namespace orias::phases {

namespace {

/// Whether some instruction reads a component that `result` writes.
bool isRead(const ori::Function& function, const ori::Operand& result) {
  bool isRead = false;
  function.forEachUse(result.reg, [&](ori::Ref use) {
    const unsigned width = use->isReg() ? use->width : 1;
    isRead |= use->sub < result.sub + result.width && result.sub < use->sub + width;
  });
  return isRead;
}

bool isUnread(const ori::Function& function, const ori::Instr& instr) {
  return isRemovableInPlace(instr) && std::ranges::none_of(ori::resultSlots(instr), [&](const ori::Operand& o) {
           return o.isDef && o.isReg() && !o.isZeroReg() && (!o.isVirtual() || isRead(function, o));
         });
}

/// Whether use lists decide liveness. In SSA form a result is live after its instruction if it has uses, except where a
/// register has several definitions, and in unreachable blocks.
bool areUseListsEnough(ori::Function& function) {
  if (!function.ssa) return false;
  const ori::Cfg& cfg = function.analyses().cfg();
  for (const ori::Block* block : function.layout()) {
    if (!cfg.isReachable(block->id)) return false;
    for (const ori::Instr& instr : *block)
      for (const ori::Operand& o : instr.ops())
        if (o.isDef && o.isReg() && !o.isZeroReg() && (!o.isVirtual() || function.vreg(o.reg).multiDef) &&
            isRemovableInPlace(instr))
          return false;
  }
  return true;
}

bool removeUnread(ori::Function& function) {
  std::vector<ori::Instr*> work;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      if (isUnread(function, instr)) work.push_back(&instr);
  const bool changed = !work.empty();
  std::vector<ori::VRegId> freed;
  while (!work.empty()) {
    ori::Instr* instr = work.back();
    work.pop_back();
    // An instruction can be visited again after it has been erased (its block is null then).
    if (!instr->block || !isUnread(function, *instr)) continue;
    freed.clear();
    for (const ori::Operand& o : instr->refs())
      if (!o.isDef && o.isVirtual()) freed.push_back(o.reg);
    function.erase(instr);
    for (const ori::VRegId reg : freed)
      function.forEachDef(reg, [&](ori::Ref o) { work.push_back(o.owner); });
  }
  return changed;
}

bool removeDead(ori::Function& function) {
  bool changed = false;
  // Removing instructions may end live ranges of their operands from other blocks. In a block with guarded definitions,
  // they may have kept old values alive.
  for (bool again = true; again;) {
    again = false;
    const ori::Liveness& liveness = function.analyses().liveness();
    const ori::Components& components = liveness.components();
    ori::LiveCounter live(liveness);
    std::vector<ori::Instr*> dead;
    for (ori::Block* block : function.layout()) {
      live.enter(*block);
      bool hasGuardedDefs = false;
      const std::size_t deadBefore = dead.size();
      for (ori::Instr* instr = block->last; instr; instr = instr->prev) {
        bool isNeeded = !isRemovableInPlace(*instr);
        hasGuardedDefs |= instr->isGuarded() && !ori::isTerminator(instr->op);
        for (const ori::Operand& o : instr->ops()) {
          if (isNeeded || !o.isDef || !o.isReg() || o.isZeroReg()) continue;
          components.forEach(o, [&](ori::CompId c) { isNeeded |= live.isLive(c); });
        }
        if (isNeeded) {
          live.step(*instr);
          continue;
        }
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

} // namespace

/// Phases 16, 33, 61, 84. Removes instructions whose results are not live after them on any path, and unused components
/// of texture fetches.
bool oriPerformLiveDead(ori::Function& function, PhaseContext& context) {
  const bool isRemoved = areUseListsEnough(function) ? removeUnread(function) : removeDead(function);
  return (function.ssa && context.optLevel > 0 && narrowTexels(function)) || isRemoved;
}

} // namespace orias::phases
