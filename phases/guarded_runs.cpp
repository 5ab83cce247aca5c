#include "phases/guarded_runs.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/removable.h"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>
#include <unordered_set>
#include <vector>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

/// The least size of a run that justifies a branch and a convergence barrier: instructions, and memory accesses among
/// them.
constexpr std::size_t kMinInstructions = 12;
constexpr unsigned kMinAccesses = 6;

/// Whether the guard is true for few of the values that the compared operands may have.
bool isRarelyTrue(const ori::Function& function, const Operand& guard) {
  const Instr* test = guard.isVirtual() ? function.singleDef(guard.reg) : nullptr;
  if (!test || test->op != Op::ISETP || test->isGuarded() || !test->op_(0).isVirtual() ||
      test->op_(0).reg != guard.reg || test->op_(4).isVirtual())
    return false;
  const auto cmp = isa::modAs<isa::ICmp>(*test, isa::Mod::Cmp);
  return cmp == (guard.inverted() ? isa::ICmp::NE : isa::ICmp::EQ);
}

bool accessesMemory(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic);
}

/// Instructions of a block under the same guard, from the first to the last.
class Run {
 public:
  explicit Run(Instr& first) : guard_(first.guard().value()) { add(first); }

  /// Whether the run can continue after this instruction.
  bool take(Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    for (const Flag flag : {Flag::Terminator, Flag::Branch, Flag::Convergent, Flag::Fence})
      if (row.has(flag)) return false;
    if (instr.op == Op::BAR_SYNC || instr.op == Op::WARPSYNC || instr.op == Op::WARPSYNC_ALL) return false;
    if (instr.isGuarded()) {
      if (instr.guard().value() != guard_) return false;
      add(instr);
      return true;
    }
    if (!isRemovable(instr) || row.has(Flag::Load)) return false;
    for (const ori::Operand& o : instr.refs()) {
      if (!o.isVirtual()) {
        if (o.isReg() && !o.isZeroReg()) return false;
        continue;
      }
      if (o.reg == guard_.reg && o.isDef) return false;
      if (written_.contains(o.reg) || (o.isDef && read_.contains(o.reg))) return false;
    }
    others_.push_back(&instr);
    return true;
  }

  bool isWorthwhile() const { return members_.size() >= kMinInstructions && accesses_ >= kMinAccesses; }
  const std::vector<Instr*>& members() const { return members_; }

  /// Result: head: ..., @!P BRA join; body: the members; join: the rest.
  void branchAround(ori::Function& function) {
    Instr* first = members_.front();
    for (Instr* other : others_) {
      function.unlink(other);
      function.insertBefore(first, other);
    }
    ori::Block* head = first->block;
    ori::Block* join = function.splitAfter(members_.back());
    ori::Block* body = function.newBlockAfter(head);
    body->loopDepth = head->loopDepth;
    body->isCold = head->isCold;
    for (Instr* member : members_) {
      function.unlink(member);
      function.append(body, member);
      function.setGuard(member, Operand::pt());
    }
    ori::Builder b(function, head);
    b.setSource(members_.front()->source);
    b.setGuard(guard_.notted());
    b.branch(join);
    head->fallthrough = body->id;
    body->fallthrough = join->id;
  }

  /// Drops the other instructions after the last member, which need not move.
  void close() {
    const Instr* last = members_.back();
    std::unordered_set<const Instr*> after;
    for (const Instr* at = last->next; at; at = at->next)
      after.insert(at);
    std::erase_if(others_, [&](const Instr* other) { return after.contains(other); });
  }

 private:
  void add(Instr& instr) {
    members_.push_back(&instr);
    accesses_ += accessesMemory(instr);
    for (const ori::Operand& o : instr.refs())
      if (o.isVirtual()) (o.isDef ? written_ : read_).insert(o.reg);
  }

  Operand guard_;
  std::vector<Instr*> members_, others_;
  std::unordered_set<VRegId> written_, read_;
  unsigned accesses_ = 0;
};

} // namespace

bool branchAroundGuardedRuns(ori::Function& function, PhaseContext& context) {
  bool changed = false;
  const std::vector<ori::Block*> blocks = function.layout();
  for (ori::Block* block : blocks) {
    std::vector<Run> runs;
    for (Instr* instr = block->first; instr;) {
      if (!instr->isGuarded() || isa::desc(instr->op).has(Flag::Terminator) ||
          !isRarelyTrue(function, instr->guard().value())) {
        instr = instr->next;
        continue;
      }
      Run run(*instr);
      for (instr = instr->next; instr && run.take(*instr);)
        instr = instr->next;
      run.close();
      if (run.isWorthwhile()) runs.push_back(std::move(run));
    }
    // Last run first: the earlier ones remain in their block.
    for (Run& run : std::views::reverse(runs)) {
      context.remarks.applied(
          run.members().front(),
          fmt::format("{} instructions under one guard: a branch around them", run.members().size()));
      run.branchAround(function);
      changed = true;
    }
  }
  return changed;
}

} // namespace orias::phases
