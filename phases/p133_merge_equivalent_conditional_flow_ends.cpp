#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/p133_merge_equivalent_conditional_flow.h"
#include "phases/tail_merge.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;
using ori::VRegId;

namespace {

/// The most ends that a block is compared with, and the most instructions of each.
constexpr std::size_t kMaxCandidates = 16, kMaxCompared = 64;
/// Sharing an end of the program executes one more branch. It is worth it from this many instructions on.
constexpr unsigned kMinBeforeExit = 16;
/// One of two equal blocks is deleted, at the cost of a branch where it was the fall-through.
constexpr int kMinOfWhole = 2;

/// A block's successors and the condition of its branch.
struct Ways {
  BlockId taken = kNoId, fallthrough = kNoId;
  bool isConditional = false, isExit = false;
  auto operator<=>(const Ways&) const = default;
};

/// The equal ends of two blocks.
struct Common {
  Block* from = nullptr;
  Block* keeper = nullptr;
  std::vector<std::pair<Instr*, Instr*>> pairs;  ///< last ones first
  std::vector<std::pair<VRegId, VRegId>> inputs; ///< registers that differ and are defined before the ends
};

/// Whether both operands are the same, apart from the register.
bool isAlike(const Operand& a, const Operand& b) {
  if (a == b) return true;
  if (!a.isReg() || !b.isReg() || !a.isVirtual() || !b.isVirtual()) return false;
  Operand other = b;
  other.reg = a.reg;
  return a == other;
}

bool isCopyOfNumber(const Instr& instr) {
  return isa::desc(instr.op).has(Flag::Copy) && !instr.op_(1).isReg();
}

class TailMerger {
 public:
  TailMerger(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        isAsItWas_(function.blockIdCount(), true),
        fewest_(static_cast<unsigned>(context.knobs.get(Knob::MergeFlowMinInstructions))),
        mostInputs_(static_cast<std::size_t>(context.knobs.get(Knob::MergeFlowMaxInputs))) {}

  bool run() {
    std::map<Ways, std::vector<Block*>> groups;
    std::vector<Ways> order; // in layout order, for determinism
    for (Block* block : function_.layout()) {
      const std::optional<Ways> ways = waysOf(*block);
      if (!ways || block == function_.entry()) continue;
      std::vector<Block*>& group = groups[*ways];
      if (group.empty()) order.push_back(*ways);
      group.push_back(block);
    }
    for (const Ways& ways : order)
      if (groups[ways].size() > 1) share(groups[ways], ways);
    if (hasEmptied_) tidy();
    return changed_;
  }

 private:
  static std::optional<Ways> waysOf(const Block& block) {
    const Instr* last = block.last;
    if (!last) return std::nullopt;
    Ways ways;
    ways.fallthrough = block.fallthrough;
    if (!ori::isTerminator(last->op)) return block.fallthrough == kNoId ? std::nullopt : std::optional(ways);
    if (isPlainExit(*last)) {
      ways.isExit = true;
      return ways;
    }
    const Instr* branch = ori::plainBranch(block);
    if (!branch) return std::nullopt;
    if (!branch->isGuarded()) {
      ways.fallthrough = branch->op_(1).reg; // as if it fell through
      return ways;
    }
    ways.taken = branch->op_(1).reg;
    ways.isConditional = true;
    return ways;
  }

  /// The last instruction of an end. An unconditional branch to the successor does not count, a conditional one does.
  static Instr* lastOf(const Block& block) {
    return block.last && block.last->op == Op::BRA && !block.last->isGuarded() ? block.last->prev : block.last;
  }

  /// Whether the instruction may be shared. A guarded branch has the same target as the other block's.
  static bool mayStand(const Instr& instr) {
    return mayBeShared(instr) || isPlainExit(instr) || (instr.op == Op::BRA && instr.isGuarded());
  }

  void share(const std::vector<Block*>& group, const Ways& ways) {
    std::unordered_map<std::uint32_t, std::vector<Block*>> ends;
    for (Block* block : group) {
      const Instr* last = lastOf(*block);
      if (last && (isPlainExit(*last) || last->op == Op::BRA)) last = last->prev;
      if (!last || !mayBeShared(*last)) continue;
      std::vector<Block*>& others = ends[static_cast<std::uint32_t>(last->op)];
      Common best;
      std::size_t at = 0;
      for (std::size_t i = 0; i < others.size(); ++i) {
        Common common = compare(block, others[i]);
        if (gain(common) <= gain(best)) continue;
        best = std::move(common);
        at = i;
      }
      if (best.from && pays(best, ways)) {
        others[at] = merge(best);
        continue;
      }
      if (others.size() < kMaxCandidates) others.push_back(block);
    }
  }

  static int gain(const Common& common) {
    return static_cast<int>(common.pairs.size()) - static_cast<int>(common.inputs.size());
  }

  bool pays(const Common& common, const Ways& ways) {
    // The branch and EXIT do not count as saved instructions.
    const int count = gain(common) - (ways.isConditional || ways.isExit ? 1 : 0);
    const auto reportMissed = [&](std::string why) {
      context_.remarks.missed(common.from->last, "block tails not merged: " + why, count);
      return false;
    };
    const bool isWhole = !common.pairs.back().first->prev && !common.pairs.back().second->prev;
    const bool areSides = haveOneBranch(*common.from, *common.keeper);
    int wanted = static_cast<int>(ways.isExit ? std::max(fewest_, kMinBeforeExit) : fewest_);
    if (isWhole && common.inputs.empty()) wanted = areSides ? 1 : std::min(wanted, kMinOfWhole);
    if (count < wanted) return reportMissed(fmt::format("{} instructions, at least {}", count, wanted));
    if (common.from->loopDepth != common.keeper->loopDepth) return reportMissed("one of them is in a loop");
    for (const auto& [a, b] : common.inputs)
      if (isNumberIn(*common.from, a) || isNumberIn(*common.keeper, b))
        return reportMissed("an operand is constant in one of them");
    if (!areSides && std::any_of(common.pairs.begin(), common.pairs.end(),
                                 [](const auto& pair) { return isSeenByOthers(*pair.first); }))
      return reportMissed("a lane would wait before code that other lanes may wait for");
    return true;
  }

  /// Whether both are the sides of one branch: the end is executed on either side.
  bool haveOneBranch(const Block& a, const Block& b) const {
    if (!isAsItWas_[a.id] || !isAsItWas_[b.id]) return false;
    const auto toA = cfg_.predecessors(a.id), toB = cfg_.predecessors(b.id);
    return toA.size() == 1 && toB.size() == 1 && toA[0] == toB[0];
  }

  /// Whether the instruction writes memory. A lane of the same warp may wait for this write elsewhere, and never reach
  /// the shared end.
  static bool isSeenByOthers(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    return !ori::isTerminator(instr.op) && (row.has(Flag::Store) || row.has(Flag::Atomic) || row.has(Flag::SideEffect));
  }

  /// Whether the block sets the register to a number: users of it may be simplified there.
  static bool isNumberIn(const Block& block, VRegId reg) {
    std::size_t left = kMaxCompared;
    for (const Instr* instr = block.last; instr && left-- > 0; instr = instr->prev)
      for (const ori::Operand& o : instr->ops())
        if (o.isDef && o.isVirtual() && o.reg == reg && isCopyOfNumber(*instr)) return true;
    return false;
  }

  // --- comparison

  /// Returns the longest ends that are equal up to renaming of local registers, and of some registers that they read.
  Common compare(Block* from, Block* keeper) const {
    Common common{from, keeper, {}, {}};
    std::map<VRegId, VRegId> there, back;
    for (Instr *x = lastOf(*from), *y = lastOf(*keeper); x && y && common.pairs.size() < kMaxCompared;
         x = x->prev, y = y->prev) {
      if (x->op != y->op || x->mods != y->mods || x->mayContract != y->mayContract ||
          x->operandCount != y->operandCount || !mayStand(*x) || !match(*x, *y, there, back))
        break;
      common.pairs.emplace_back(x, y);
    }
    cut(common, there);
    return common;
  }

  /// Whether the operands are equal under a one-to-one mapping of registers. Extends the mapping.
  bool match(const Instr& x, const Instr& y, std::map<VRegId, VRegId>& there, std::map<VRegId, VRegId>& back) const {
    std::vector<std::pair<VRegId, VRegId>> added;
    bool isEqual = true;
    for (std::size_t i = 0; isEqual && i < x.refs().size(); ++i) {
      const Operand a = x.refs()[i].value(), b = y.refs()[i].value();
      isEqual = isAlike(a, b);
      if (!isEqual || !a.isVirtual()) continue;
      const ori::VReg &ra = function_.vreg(a.reg), &rb = function_.vreg(b.reg);
      isEqual = ra.width == rb.width && ra.align == rb.align;
      const bool isNew = isEqual && there.emplace(a.reg, b.reg).second;
      if (isNew && !back.emplace(b.reg, a.reg).second) {
        there.erase(a.reg);
        isEqual = false;
      } else if (isNew) {
        added.emplace_back(a.reg, b.reg);
      }
      isEqual = isEqual && there[a.reg] == b.reg && back[b.reg] == a.reg;
    }
    if (isEqual) return true;
    for (const auto& [a, b] : added) {
      there.erase(a);
      back.erase(b);
    }
    return false;
  }

  /// Shortens the ends until all registers that differ are local, or a few that are defined before.
  void cut(Common& common, const std::map<VRegId, VRegId>& names) const {
    for (bool isDone = false; !isDone && !common.pairs.empty();) {
      isDone = true;
      common.inputs.clear();
      std::size_t length = common.pairs.size();
      for (const auto& [a, b] : names) {
        if (a == b) continue;
        const Reach reachA = reachOf(a, common, [](const auto& pair) { return pair.first; });
        const Reach reachB = reachOf(b, common, [](const auto& pair) { return pair.second; });
        if (!reachA.isNamed && !reachB.isNamed) continue;
        if (!reachA.isDefined && !reachB.isDefined) {
          const isa::File file = function_.vreg(a).file;
          if (file != isa::File::R && file != isa::File::P) length = std::min(length, reachA.nearestUse);
          common.inputs.emplace_back(a, b);
        } else if (!reachA.isOwn || !reachB.isOwn) {
          length = std::min({length, reachA.nearest, reachB.nearest});
        }
      }
      if (length == common.pairs.size() && common.inputs.size() > mostInputs_) --length;
      if (length == common.pairs.size()) break;
      common.pairs.resize(length);
      isDone = false;
    }
    if (common.pairs.empty()) common.inputs.clear();
  }

  /// How an end uses a register.
  struct Reach {
    bool isNamed = false, isDefined = false;
    bool isOwn = false;                       ///< no uses elsewhere, and always set before it is read
    std::size_t nearest = ~std::size_t{0};    ///< place of the last definition, counted from the end
    std::size_t nearestUse = ~std::size_t{0}; ///< likewise of the last instruction that refers to it
  };

  template <typename InstrOf> Reach reachOf(VRegId reg, const Common& common, InstrOf&& instrOf) const {
    Reach reach;
    std::size_t named = 0, lastUse = 0; // references in the end; the use furthest from its last instruction
    bool isPlain = true;
    for (std::size_t i = 0; i < common.pairs.size(); ++i) {
      const Instr& instr = *instrOf(common.pairs[i]);
      for (const ori::Operand& o : instr.refs()) {
        if (!o.isVirtual() || o.reg != reg) continue;
        ++named;
        reach.isNamed = true;
        reach.nearestUse = std::min(reach.nearestUse, i);
        if (!o.isDef) {
          lastUse = std::max(lastUse, i + 1);
          continue;
        }
        reach.isDefined = true;
        reach.nearest = std::min(reach.nearest, i);
        isPlain &= !instr.isGuarded();
      }
    }
    std::size_t all = 0;
    for ([[maybe_unused]] const ori::Ref o : function_.refs(reg))
      if (++all > named) break;
    reach.isOwn = reach.isDefined && isPlain && all == named && lastUse <= reach.nearest;
    return reach;
  }

  // --- transformation

  /// Redirects `from` to the end of `keeper`. Returns the block of the shared end.
  Block* merge(const Common& common) {
    Block *from = common.from, *keeper = common.keeper;
    context_.remarks.applied(keeper->last, fmt::format("merged block tails of {} instructions", common.pairs.size()),
                             gain(common));
    changed_ = true;
    isAsItWas_[keeper->id] = isAsItWas_[from->id] = false;
    isAsItWas_.resize(function_.blockIdCount() + 1, false); // an end that is split off is a new block
    for (const auto& [x, y] : common.pairs)
      y->mayContract &= x->mayContract;
    Instr* first = common.pairs.back().second;
    Block* end = keeper;
    if (first->prev || !common.inputs.empty()) {
      if (!first->prev) {
        // Only the copies added below precede the end.
        end = function_.newBlockAfter(keeper);
        end->loopDepth = keeper->loopDepth;
        function_.forEachSafe(*keeper, [&](Instr& instr) {
          function_.unlink(&instr);
          function_.append(end, &instr);
        });
        end->fallthrough = keeper->fallthrough;
        keeper->fallthrough = end->id;
      } else {
        end = function_.splitAfter(first->prev);
      }
    }
    for (const auto& [x, y] : common.pairs)
      function_.erase(x);
    if (from->last && ori::isTerminator(from->last->op)) function_.erase(from->last);
    from->fallthrough = end->id;
    for (const auto& [a, b] : common.inputs)
      takeInput(*from, a, *keeper, b, *end);
    hasEmptied_ |= from->empty();
    return end;
  }

  /// Makes a register that both sides set, for a value that the end reads.
  void takeInput(Block& from, VRegId a, Block& keeper, VRegId b, Block& end) {
    const ori::VReg old = function_.vreg(b);
    const VRegId made = function_.newVReg(old.file, old.width, old.name);
    function_.vreg(made).align = old.align;
    for (auto [block, reg] : {std::pair(&from, a), std::pair(&keeper, b)}) {
      ori::Builder builder(function_, block);
      if (end.first) builder.setSource(end.first->source);
      builder.copy(function_.use(made), function_.use(reg));
    }
    for (Instr& instr : end) {
      for (unsigned i = 0; i < instr.operandCount; ++i)
        if (!instr.op_(i).isDef && instr.op_(i).isVirtual() && instr.op_(i).reg == b)
          function_.setOperand(&instr, i, renamed(instr.op_(i).value(), made));
      if (instr.guard().isVirtual() && instr.guard().reg == b)
        function_.setGuard(&instr, renamed(instr.guard().value(), made));
    }
  }

  static Operand renamed(Operand operand, VRegId to) {
    operand.reg = to;
    return operand;
  }

  /// Redirects branches to deleted blocks, and deletes branches whose two targets have become the same.
  void tidy() {
    std::vector<bool> isNamed(function_.blockIdCount(), false);
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block) {
        if (ori::isTerminator(instr.op)) continue;
        for (const ori::Operand& o : instr.ops())
          if (o.isLabel()) isNamed[o.reg] = true;
      }
    dropEmptyBlocks(function_, isNamed);
    for (Block* block : function_.layout()) {
      Instr* branch = ori::plainBranch(*block);
      if (!branch || !branch->isGuarded() || branch->op_(1).reg != block->fallthrough) continue;
      context_.remarks.applied(branch, "removed a branch with identical arms");
      function_.erase(branch);
    }
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;         // before any merge
  std::vector<bool> isAsItWas_; // by block: the predecessors have not changed
  const unsigned fewest_;
  const std::size_t mostInputs_;
  bool changed_ = false, hasEmptied_ = false;
};

} // namespace

bool mergeTails(ori::Function& function, PhaseContext& context) {
  return TailMerger(function, context).run();
}

} // namespace orias::phases
