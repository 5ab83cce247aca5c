#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "phases/local_scan.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::phases {

using isa::File;
using isa::Flag;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// The most instructions of a side that are examined: long blocks have little in common at their beginnings.
constexpr unsigned kMaxInstructions = 64;

class Hoister {
 public:
  Hoister(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), definitions_(function.vregCount()) {
    for (Block* block : function.layout())
      for (Instr& instr : *block)
        for (const ori::Operand& o : instr.ops())
          if (o.isDef && o.isVirtual()) {
            Definitions& of = definitions_[o.reg];
            of = of.count == 0 ? Definitions{&instr, 1} : Definitions{nullptr, 2};
          }
  }

  bool run() {
    bool changed = false;
    const auto order = cfg_.reversePostOrder();
    for (std::size_t i = order.size(); i-- > 0;)
      changed |= hoistInto(order[i]);
    return changed;
  }

 private:
  bool hoistInto(BlockId id) {
    const auto ways = cfg_.successors(id);
    Block* head = function_.block(id);
    if (ways.size() != 2 || !head->last || !ori::isTerminator(head->last->op)) return false;
    for (BlockId way : ways)
      if (cfg_.predecessors(way).size() != 1 || way == cfg_.entry() || way == id) return false;
    Block* sides[2] = {function_.block(ways[0]), function_.block(ways[1])};
    bool changed = false, isFirstQuiet = true;
    unsigned seen = 0;
    function_.forEachSafe(*sides[0], [&](Instr& instr) {
      if (++seen > kMaxInstructions) return;
      const bool mayMove = isCandidate(instr, isFirstQuiet);
      isFirstQuiet = isFirstQuiet && isQuiet(instr);
      if (!mayMove || readsFrom(instr, *sides[0]) || readsFrom(instr, *sides[1])) return;
      Instr* twin = findTwin(instr, *sides[1]);
      if (!twin) return;
      context_.remarks.applied(&instr, fmt::format("hoisted {} from both branch arms", isa::desc(instr.op).mnemonic));
      function_.unlink(&instr);
      function_.insertBefore(head->last, &instr);
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const ori::Operand& mine = instr.op_(i);
        if (!mine.isDef || !mine.isVirtual()) continue;
        merges_.push_back({twin->op_(i).reg, mine.reg});
      }
      function_.erase(twin);
      for (const auto& [from, to] : merges_)
        function_.replaceAllRefs(from, to);
      merges_.clear();
      changed = true;
    });
    return changed;
  }

  /// Whether later loads may move before the instruction.
  static bool isQuiet(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    const Flag loud[] = {Flag::Store, Flag::Atomic, Flag::Fence, Flag::Convergent, Flag::SideEffect, Flag::Branch};
    return std::none_of(std::begin(loud), std::end(loud), [&](Flag flag) { return row.has(flag); });
  }

  /// Computations may run early. Loads run on both paths anyway, so they may be hoisted if no write precedes them.
  bool isCandidate(const Instr& instr, bool isQuietBefore) const {
    const Speculation speculation = speculationOf(function_, instr);
    if (speculation == Speculation::Never) return false;
    const isa::InstrDesc& row = isa::desc(instr.op);
    if (speculation == Speculation::Guarded) {
      if (!isQuietBefore || row.has(Flag::Store) || row.has(Flag::Atomic) || row.has(Flag::SideEffect)) return false;
      if (row.modIndex(isa::Mod::Order) >= 0) {
        const auto order = isa::modAs<isa::MemOrder>(instr, isa::Mod::Order);
        if (order != isa::MemOrder::Weak && order != isa::MemOrder::Constant) return false;
      }
    }
    bool hasResult = false;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isVirtual()) continue;
      hasResult = true;
      // A part of a register cannot move without the other parts.
      if (o.sub != 0 || o.width != function_.vreg(o.reg).width || definitions_[o.reg].count != 1) return false;
    }
    return hasResult;
  }

  /// Whether the block defines one of the sources. Outside of SSA form the other side may define it, too.
  bool readsFrom(const Instr& instr, const Block& block) const {
    return std::any_of(instr.ops().begin(), instr.ops().end(), [&](const ori::Operand& o) {
      if (o.isDef || !o.isVirtual()) return false;
      if (const Definitions& of = definitions_[o.reg]; of.count < 2) return of.only && of.only->block == &block;
      bool isThere = false;
      function_.forEachDef(o.reg, [&](ori::Ref def) { isThere |= def.owner->block == &block; });
      return isThere;
    });
  }

  Instr* findTwin(const Instr& instr, const Block& block) const {
    unsigned seen = 0;
    bool isQuietBefore = true;
    for (Instr& other : block) {
      if (++seen > kMaxInstructions) return nullptr;
      if (isSameOperation(function_, instr, other) && isCandidate(other, isQuietBefore)) return &other;
      isQuietBefore = isQuietBefore && isQuiet(other);
    }
    return nullptr;
  }

  /// The number of a register's definitions, and the definition if there is only one.
  struct Definitions {
    const Instr* only = nullptr;
    unsigned count = 0;
  };

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  std::vector<Definitions>
      definitions_; ///< by register, of the original code; those of erased twins are not queried again
  std::vector<std::pair<ori::VRegId, ori::VRegId>> merges_;
};

} // namespace

/// Phase 56. Hoists computations common to both sides of a branch before it. Value numbering does not find them, as
/// neither side dominates the other. Chains are hoisted one instruction after another.
bool speculativeHoistComInsts(ori::Function& function, PhaseContext& context) {
  return Hoister(function, context).run();
}

} // namespace orias::phases
