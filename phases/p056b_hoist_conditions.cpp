#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/calls.h"
#include "phases/hoist_loads.h"
#include "phases/joins.h"
#include "phases/loop_preheader.h"
#include "phases/occupancy.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace orias::phases {

using isa::File;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// The most instructions that compute one condition.
constexpr std::size_t kLongestChain = 5;
/// The most blocks between the branch and the join.
constexpr std::size_t kMaxBlocks = 24;
/// The most predicates that may be live between them, including the new one. There are seven.
constexpr unsigned kMaxPredicates = 4;

class ConditionHoister {
 public:
  ConditionHoister(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), joins_(function),
        more_(function.blockIdCount()) {}

  bool run() {
    bool changed = false;
    for (BlockId id : cfg_.reversePostOrder())
      changed |= hoistFrom(*function_.block(id));
    return changed;
  }

 private:
  /// Values that have been hoisted above a block, and are live through it now.
  struct More {
    unsigned registers = 0, predicates = 0;
  };

  /// Computes the register pressure, before anything moves.
  void measure() {
    if (pressure_) return;
    pressure_ = &function_.analyses().pressure();
    limit_ = registersUpToCliff(function_, pressure_->maximum()[static_cast<std::size_t>(File::R)], context_);
  }
  unsigned live(BlockId id, File file) const { return pressure_->inBlock(id)[static_cast<std::size_t>(file)]; }

  bool hoistFrom(Block& join) {
    const Instr* branch = join.last;
    if (!branch || branch->op != isa::Op::BRA || !branch->isGuarded()) return false;
    Block* head = joins_.branchBlockOf(join);
    if (!head) return false;

    std::vector<Instr*> chain;
    if (!collect(branch->guard(), join, chain) || chain.empty() || waitsForLoads(chain, *head)) return false;
    const std::optional<std::vector<BlockId>> between = joins_.blocksBetween(head->id, join.id, kMaxBlocks);
    if (!between) return false;
    measure();
    const unsigned registers = wordsReadElsewhere(chain);
    for (BlockId id : *between)
      if (hasCall(id) || live(id, File::P) + more_[id].predicates >= kMaxPredicates ||
          (registers != 0 && live(id, File::R) + more_[id].registers + registers > limit_))
        return false;
    for (BlockId id : *between) {
      ++more_[id].predicates;
      more_[id].registers += registers;
    }
    context_.remarks.applied(branch, fmt::format("computed the condition before the branch of .L{}", head->id));
    for (Instr* instr : chain)
      moveToEnd(function_, *instr, *head);
    return true;
  }

  /// Collects the instructions of this block that compute the value, in order; false if some of them cannot move.
  bool collect(const ori::Operand& value, const Block& block, std::vector<Instr*>& chain) const {
    if (!value.isVirtual()) return true;
    if (function_.vreg(value.reg).multiDef) return false;
    for (Instr* def : definitionsIn(function_, block, value)) {
      if (std::ranges::find(chain, def) != chain.end()) continue;
      if (def->isGuarded() || def->op == isa::Op::PHI || speculationOf(function_, *def) != Speculation::Free ||
          issueSlots(context_.target, *def) > 1 || isa::desc(def->op).has(isa::Flag::ConstLoad) ||
          chain.size() >= kLongestChain)
        return false;
      for (const ori::Operand& o : def->ops())
        if (!o.isDef && !collect(o, block, chain)) return false;
      if (chain.size() >= kLongestChain) return false;
      chain.push_back(def);
    }
    return true;
  }

  /// Whether the condition would have to wait at the end of the block for a load in it, or in an arm that it merges.
  bool waitsForLoads(const std::vector<Instr*>& chain, const Block& head) const {
    return std::ranges::any_of(chain, [&](const Instr* instr) {
      return std::ranges::any_of(
          instr->ops(), [&](const ori::Operand& o) { return !o.isDef && isJustLoaded(o, head, kLongestChain); });
    });
  }

  bool isJustLoaded(const ori::Operand& value, const Block& head, std::size_t depth) const {
    if (!value.isVirtual()) return false;
    bool isLoaded = false;
    function_.forEachDef(value.reg, [&](ori::Ref def) {
      const Instr& instr = *def.owner;
      if (isa::desc(instr.op).has(isa::Flag::Load)) {
        isLoaded |= instr.block == &head || depth == 0;
      } else if (instr.block == &head && depth != 0) {
        const std::size_t next = instr.op == isa::Op::PHI ? 0 : depth - 1;
        isLoaded |= std::ranges::any_of(instr.ops(),
                                        [&](const ori::Operand& o) { return !o.isDef && isJustLoaded(o, head, next); });
      }
    });
    return isLoaded;
  }

  /// Predicates do not survive calls.
  bool hasCall(BlockId id) const {
    for (const Instr& instr : *function_.block(id))
      if (ori::isCall(instr)) return true;
    return false;
  }

  /// Registers of file R that stay live for other users.
  unsigned wordsReadElsewhere(const std::vector<Instr*>& chain) const {
    unsigned words = 0;
    for (const Instr* instr : chain)
      for (const ori::Operand& o : instr->ops()) {
        if (!o.isDef || !o.isVirtual() || o.file != File::R) continue;
        bool isRead = false;
        function_.forEachUse(o.reg,
                             [&](ori::Ref use) { isRead |= std::ranges::find(chain, use.owner) == chain.end(); });
        words += isRead ? o.width : 0;
      }
    return words;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const Joins joins_;
  const ori::RegisterPressure* pressure_ = nullptr; // measured where a condition may move
  unsigned limit_ = 0;
  std::vector<More> more_; // by block
};

} // namespace

/// Phase 56b. Hoists the condition of a branch at a join before the branch whose arms join there, if nothing in the
/// arms contributes to it. A branch waits for its condition, and hoisting overlaps the wait with other work. All lanes
/// execute both places, so nothing is executed more often. Loads are hoisted likewise (hoistLoadsOverJoins).
bool hoistConditions(ori::Function& function, PhaseContext& context) {
  const bool changed = ConditionHoister(function, context).run();
  return hoistLoadsOverJoins(function, context) || changed;
}

} // namespace orias::phases
