#include "ori/setmaxnreg.h"

#include <algorithm>

namespace orias::ori {

namespace {

unsigned countOf(const Instr& request) {
  return static_cast<unsigned>(request.op_(request.operandCount - 1U).imm);
}

bool isRequest(const Instr& instr) {
  return instr.op == Op::USETMAXREG_ALLOC || instr.op == Op::USETMAXREG_DEALLOC;
}

/// Simplifies the code after a request that always succeeds: deletes copies of its result, and branches for failure.
void assumeSuccess(Function& function, VRegId answer) {
  std::vector<Instr*> branches, copies;
  function.forEachUse(answer, [&](Ref use) {
    Instr* user = use.owner;
    if (user->op == Op::BRA && use.isGuard() && use->inverted())
      branches.push_back(user);
    else if (user->op == Op::COPY && !use->inverted())
      copies.push_back(user);
  });
  for (Instr* branch : branches)
    if (branch->block->fallthrough != kNoId) function.erase(branch);
  for (Instr* copy : copies) {
    const isa::Operand to = copy->op_(0).value();
    if (to.isVirtual() && function.singleDef(to.reg) == copy && !copy->isGuarded()) {
      assumeSuccess(function, to.reg);
      if (!function.hasUses(to.reg)) function.erase(copy);
    }
  }
  function.forEachUse(answer, [&](Ref use) {
    isa::Operand yes = isa::Operand::zero(use->file);
    if (use->inverted()) yes = yes.notted();
    function.setOperand(use, yes);
  });
}

} // namespace

bool hasRegisterRequests(const Function& function) {
  if (!function.everHad(Op::USETMAXREG_ALLOC) && !function.everHad(Op::USETMAXREG_DEALLOC)) return false;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      if (isRequest(instr)) return true;
  return false;
}

std::optional<unsigned> mostRegistersRequested(const Function& function) {
  std::optional<unsigned> most;
  if (!function.everHad(Op::USETMAXREG_ALLOC)) return most;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      if (instr.op == Op::USETMAXREG_ALLOC) most = std::max(most.value_or(0), countOf(instr));
  return most;
}

void dropRegisterRequests(Function& function) {
  for (Block* block : function.layout())
    function.forEachSafe(*block, [&](Instr& instr) {
      if (!isRequest(instr)) return;
      if (instr.op == Op::USETMAXREG_ALLOC && instr.op_(0).isVirtual()) {
        const VRegId answer = instr.op_(0).reg;
        function.erase(&instr);
        assumeSuccess(function, answer);
      } else {
        function.erase(&instr);
      }
    });
}

unsigned WarpRegisterCounts::after(const Instr& instr, unsigned before) {
  return instr.op == Op::USETMAXREG_DEALLOC ? std::min(before, countOf(instr)) : before;
}

WarpRegisterCounts::WarpRegisterCounts(const Function& function, unsigned atEntry) : start_(function.blockIdCount()) {
  std::vector<bool> isDirty(function.blockIdCount(), false);
  start_[function.entry()->id] = {atEntry, 0, true};
  isDirty[function.entry()->id] = true;
  for (bool again = true; again;) {
    again = false;
    for (const Block* block : function.layout()) {
      if (!isDirty[block->id]) continue;
      isDirty[block->id] = false;
      State now = start_[block->id];
      for (const Instr& instr : *block) {
        now.count = after(instr, now.count);
        if (instr.op == Op::USETMAXREG_ALLOC) now.asked = countOf(instr);
      }
      unsigned ways = 0;
      function.forEachSuccessor(*block, [&](BlockId) { ++ways; });
      if (ways > 1 && now.asked != 0) {
        // If the request failed, the back edge has the lower count with which the loop began.
        now.count = now.asked;
        now.asked = 0;
      }
      function.forEachSuccessor(*block, [&](BlockId to) {
        State& into = start_[to];
        State both = now;
        if (into.isKnown) both = {std::min(into.count, now.count), into.asked == now.asked ? now.asked : 0, true};
        if (into.isKnown && both.count == into.count && both.asked == into.asked) return;
        into = both;
        isDirty[to] = again = true;
      });
    }
  }
  for (State& state : start_)
    if (!state.isKnown) state.count = atEntry;
}

} // namespace orias::ori
