#include "phases/p136_late_merge_equivalent_conditional_flow.h"
#include "encoder/isa/desc.h"
#include "ori/cfg_edit.h"
#include "phases/phases.h"
#include "phases/tail_merge.h"

#include <algorithm>
#include <fmt/format.h>
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

namespace {

/// Sharing an end of the program executes one more branch. It is worth it from this many instructions on.
constexpr unsigned kMinBeforeExit = 16;
/// The most ends that a block is compared with.
constexpr std::size_t kMaxCandidates = 16;

bool areEqual(const Instr& a, const Instr& b) {
  if (a.op != b.op || a.mods != b.mods || a.mayContract != b.mayContract || a.operandCount != b.operandCount)
    return false;
  return std::equal(a.refs().begin(), a.refs().end(), b.refs().begin(),
                    [](const ori::Operand& x, const ori::Operand& y) { return x.value() == y.value(); });
}

class Merger {
 public:
  Merger(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context),
        fewest_(static_cast<unsigned>(context.knobs.get(Knob::MergeFlowMinInstructions))) {}

  bool run() {
    findPlaces();
    // By successor; blocks that end the program are under kNoId. In layout order, for determinism.
    std::vector<std::vector<Block*>> groups(function_.blockIdCount() + 1);
    for (Block* block : function_.layout())
      if (const auto next = wayOn(*block)) groups[*next == kNoId ? groups.size() - 1 : *next].push_back(block);
    const std::size_t count = groups.size();
    for (std::size_t i = 0; i < count; ++i)
      if (groups[i].size() > 1) share(groups[i], i + 1 == count ? kNoId : static_cast<BlockId>(i));
    if (hasEmptied_) {
      isNamed_.resize(function_.blockIdCount(), false);
      dropEmptyBlocks(function_, isNamed_);
    }
    return changed_;
  }

 private:
  /// Keeps blocks that instructions within other blocks refer to (BSSY).
  void findPlaces() {
    after_.assign(function_.blockIdCount(), kNoId);
    for (std::size_t i = 1; i < function_.layout().size(); ++i)
      after_[function_.layout()[i - 1]->id] = function_.layout()[i]->id;
    isNamed_.assign(function_.blockIdCount(), false);
    isNamed_[function_.entry()->id] = true;
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block) {
        if (ori::isTerminator(instr.op)) continue;
        for (const ori::Operand& o : instr.ops())
          if (o.isLabel()) isNamed_[o.reg] = true;
      }
  }

  /// The only successor of a block, kNoId for one that ends the program; nothing for all others.
  static std::optional<BlockId> wayOn(const Block& block) {
    const Instr* last = block.last;
    if (!last || !ori::isTerminator(last->op))
      return last && block.fallthrough != kNoId ? std::optional<BlockId>(block.fallthrough) : std::nullopt;
    if (isPlainExit(*last)) return kNoId;
    const Instr* branch = ori::plainBranch(block);
    return branch && !branch->isGuarded() ? std::optional(branch->op_(1).reg) : std::nullopt;
  }

  /// The last instruction that is not the branch to the successor.
  static Instr* lastOf(const Block& block) {
    return block.last && block.last->op == Op::BRA ? block.last->prev : block.last;
  }

  /// Returns how many instructions are equal at the ends of two blocks.
  static unsigned commonEnd(const Block& a, const Block& b) {
    unsigned count = 0;
    for (const Instr *x = lastOf(a), *y = lastOf(b); x && y && areEqual(*x, *y); x = x->prev, y = y->prev) {
      if (!mayBeShared(*x) && !isPlainExit(*x)) break;
      ++count;
    }
    return count;
  }

  /// Merges ends of blocks with the same successor. Only those with the same last instruction are compared.
  void share(const std::vector<Block*>& group, BlockId target) {
    std::unordered_map<std::uint64_t, std::vector<Block*>> ends;
    for (Block* block : group) {
      const Instr* last = lastOf(*block);
      if (last && isPlainExit(*last)) last = last->prev;
      if (!last || !mayBeShared(*last)) continue;
      std::vector<Block*>& others = ends[keyOf(*last)];
      Block** best = nullptr;
      unsigned most = 0;
      for (Block*& other : others)
        if (const unsigned count = commonEnd(*block, *other); count > most) {
          most = count;
          best = &other;
        }
      const unsigned wanted = isPlainExit(*block->last) ? std::max(fewest_, kMinBeforeExit) + 1 : fewest_;
      if (most >= wanted) {
        // The block before the common successor keeps the end, since it needs no branch; else the later one.
        const bool fallsThrough = target != kNoId && after_[(*best)->id] == target;
        *best = fallsThrough ? merge(block, *best, most) : merge(*best, block, most);
        continue;
      }
      if (most > 0)
        context_.remarks.missed(
            block->last, fmt::format("block tails not merged: {} instructions, minimum is {}", most, wanted), most);
      if (others.size() < kMaxCandidates) others.push_back(block);
    }
  }

  static std::uint64_t keyOf(const Instr& instr) {
    std::uint64_t key = static_cast<std::uint64_t>(instr.op);
    for (const ori::Operand& o : instr.refs())
      key = key * 1000003 + o.reg * 31u + static_cast<std::uint32_t>(o.imm);
    return key;
  }

  /// Redirects `from` to the end of `keeper`. Returns the block of the shared end.
  Block* merge(Block* from, Block* keeper, unsigned count) {
    context_.remarks.applied(keeper->last, fmt::format("merged block tails of {} instructions", count), count);
    changed_ = true;
    Instr* first = lastOf(*keeper);
    for (unsigned i = 1; i < count; ++i)
      first = first->prev;
    Block* end = keeper;
    if (first->prev) {
      end = function_.splitAfter(first->prev);
      after_.push_back(after_[keeper->id]);
    }
    if (from->last->op == Op::BRA) function_.erase(from->last);
    for (unsigned i = 0; i < count; ++i)
      function_.erase(from->last);
    from->fallthrough = end->id;
    hasEmptied_ |= from->empty();
    return end;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const unsigned fewest_;
  std::vector<bool> isNamed_;  // by block
  std::vector<BlockId> after_; // by block: the next one of the layout; for an end, that of the block it was split from
  bool changed_ = false, hasEmptied_ = false;
};

} // namespace

/// Phase 136. Blocks with the same successor and equal ends share the end: one of them branches into the other. This
/// costs no additional instructions, as the block has branched before, or falls through instead; only ends of the
/// program cost a branch. Registers are allocated, so equal instructions have equal effects. Instructions that refer to
/// code locations or other lanes are not shared, and no lane waits anywhere that it did not wait before. Then cold
/// blocks with the same computation become subroutines.
bool lateMergeEquivalentConditionalFlow(ori::Function& function, PhaseContext& context) {
  const bool haveMerged = Merger(function, context).run();
  return outlineColdBlocks(function, context) || haveMerged;
}

} // namespace orias::phases
