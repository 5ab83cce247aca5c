#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/calls.h"
#include "phases/block_uniformity.h"
#include "phases/masked_votes.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"
#include "phases/removable.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// Whether the instruction is a barrier for all threads of the block, with an immediate barrier number.
bool isFullBarrier(const Instr& instr) {
  if (instr.op != Op::BAR_SYNC || instr.isGuarded() || !instr.op_(0).isImm()) return false;
  const Operand count = instr.op_(1).value();
  return count.isNone() || (count.isImm() && count.imm == 0);
}

bool isWarpSync(const Instr& instr) {
  return (instr.op == Op::WARPSYNC || instr.op == Op::WARPSYNC_ALL) && !instr.isGuarded() &&
         (instr.op_(0).isNone() || (instr.op_(0).isZeroReg() && !instr.op_(0).inverted()));
}

/// Whether the instruction is one of those that follow a fence of a scope beyond the block: error barrier and L1
/// invalidation.
bool isFenceTail(const Instr& instr) {
  return instr.op == Op::ERRBAR || instr.op == Op::CGAERRBAR || instr.op == Op::CCTL_IVALL;
}

/// Whether its position relative to a barrier is unobservable: it computes from registers and constants alone.
bool isInvisible(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (const Flag flag : {Flag::Load, Flag::Volatile, Flag::Convergent})
    if (row.has(flag)) return false;
  return isRemovable(instr);
}

/// Whether the instruction accesses no memory and does not make lanes diverge.
bool keepsLanesTogether(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return isInvisible(instr) || (row.has(Flag::Convergent) && isRemovable(instr) && !row.has(Flag::Load) &&
                                row.pipe != isa::Pipe::Cbu && !row.isPseudo());
}

class Removal {
 public:
  Removal(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rewriter_(function), cfg_(function.analyses().cfg()) {}

  bool run() {
    bool areVotesLimited = false;
    for (const BlockId id : cfg_.reversePostOrder()) {
      areVotesLimited |= limitVotes(*function_.block(id));
      walk(*function_.block(id));
    }
    removeBarriers();
    for (Instr* instr : doomed_)
      function_.erase(instr);
    return areVotesLimited || !doomed_.empty();
  }

 private:
  /// Two consecutive barriers of one number, the first of which is kept.
  struct Pair {
    Instr* first;
    Instr* second;
  };

  bool limitVotes(Block& block) {
    bool changed = false;
    for (Instr& instr : block)
      if (limitVotesToMask(function_, rewriter_, instr)) {
        context_.remarks.applied(&instr, "the lanes of other masks run on beside these: votes are limited to the mask");
        changed = true;
      }
    return changed;
  }

  void walk(Block& block) {
    Instr *barrier = barrierBefore(block), *sync = nullptr, *fence = nullptr;
    for (Instr* instr = block.first; instr; instr = instr->next) {
      if (isFullBarrier(*instr)) {
        if (barrier && barrier->op_(0).imm == instr->op_(0).imm)
          pairs_.push_back({barrier, instr});
        else
          barrier = instr;
      } else if (!isInvisible(*instr) && !isWarpSync(*instr)) {
        barrier = nullptr;
      }

      if (isWarpSync(*instr)) {
        if (sync && waitForTheSame(*sync, *instr)) {
          sync->mayContract &= instr->mayContract; // it orders memory if one of them does
          drop(*instr, "redundant: the warp is already synchronized");
        } else {
          sync = instr;
        }
      } else if (!keepsLanesTogether(*instr)) {
        sync = nullptr;
      }

      if (instr->op == Op::MEMBAR) {
        if (fence && implies(*fence, *instr))
          dropFence(*instr);
        else
          fence = instr;
      } else if (!isInvisible(*instr) && !isFenceTail(*instr)) {
        fence = nullptr;
      }
    }
  }

  /// The barrier that all predecessors end with, followed only by straight-line code.
  Instr* barrierBefore(const Block& block) const {
    const auto predecessors = cfg_.predecessors(block.id);
    if (predecessors.size() != 1 || cfg_.successors(predecessors[0]).size() != 1) return nullptr;
    for (Instr* instr = function_.block(predecessors[0])->last; instr; instr = instr->prev) {
      if (isFullBarrier(*instr)) return instr;
      const bool isPlainWay = ori::isTerminator(instr->op) && !instr->isGuarded();
      if (!isPlainWay && !isInvisible(*instr) && !isWarpSync(*instr)) return nullptr;
    }
    return nullptr;
  }

  // --- warps

  bool waitForTheSame(const Instr& a, const Instr& b) const {
    // EXCLUSIVE releases lanes that wait with other masks.
    if (isExclusiveSync(b) && !isExclusiveSync(a)) return false;
    const auto known = [&](const Instr& sync) -> std::optional<std::uint32_t> {
      return sync.op == Op::WARPSYNC_ALL ? ~0u : rewriter_.constantOf(sync.op_(1).value());
    };
    const auto first = known(a), second = known(b);
    if (first || second) return first == second;
    return a.op_(1).value() == b.op_(1).value() && rewriter_.isStable(a.op_(1).value());
  }

  // --- fences

  /// Whether `first` is a fence of at least the scope and kind of the other, and is followed by everything that follows
  /// the other.
  static bool implies(const Instr& first, const Instr& second) {
    const auto kind = [](const Instr& i) { return isa::getMod(i.op, i.mods, isa::Mod::Fence); };
    const auto scope = [](const Instr& i) { return isa::getMod(i.op, i.mods, isa::Mod::Scope); };
    constexpr unsigned kSequential = 0, kAll = 1, kSystem = 3;
    if (first.isGuarded() || second.isGuarded() || kind(first) > kAll || kind(second) > kAll) return false;
    if (kind(first) != kSequential && kind(second) == kSequential) return false;
    if (scope(first) > kSystem || scope(second) > kSystem || scope(first) < scope(second)) return false;
    for (const Instr* tail = second.next; tail && isFenceTail(*tail); tail = tail->next) {
      const Instr* same = first.next;
      while (same != &second && same->op != tail->op)
        same = same->next;
      if (same == &second) return false;
    }
    return true;
  }

  void dropFence(Instr& fence) {
    drop(fence, "redundant: a fence of the same strength dominates this one, with no access in between");
    for (Instr* tail = fence.next; tail && isFenceTail(*tail); tail = tail->next)
      doomed_.push_back(tail);
  }

  // --- barriers

  /// Threads match at barriers in the order in which they arrive, regardless of where the barriers are. Removing one
  /// for some threads would make their next barrier match a different one of the others. So all threads must come to
  /// all barriers alike.
  void removeBarriers() {
    if (pairs_.empty()) return;
    const char* why = whyNotAlike();
    for (const Pair& pair : pairs_) {
      if (why)
        context_.remarks.missed(pair.second, why);
      else
        drop(*pair.second, "redundant: a barrier with no memory access after it dominates this one");
    }
  }

  const char* whyNotAlike() const {
    if (!function_.isKernel()) return "barrier not removed: the function may be called by only some of the threads";
    const BlockUniformity uniformity(cfg_);
    for (const BlockId id : cfg_.reversePostOrder())
      for (const Instr& instr : *function_.block(id)) {
        if (ori::isCall(instr)) return "barrier not removed: a callee may have a barrier";
        if (!isBlockBarrier(instr)) continue;
        if (!isFullBarrier(instr)) return "barrier not removed: only some of the threads reach it";
        if (!uniformity.isCommon(id)) return "barrier not removed: threads may reach barriers on different paths";
      }
    return nullptr;
  }

  void drop(Instr& instr, const char* why) {
    context_.remarks.applied(&instr, why);
    doomed_.push_back(&instr);
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Rewriter rewriter_;
  const ori::Cfg& cfg_;
  std::vector<Pair> pairs_;
  std::vector<Instr*> doomed_;
};

/// Whether there is anything to remove. Most functions have nothing and need no analysis.
bool synchronizes(const ori::Function& function) {
  return function.everHad(Op::BAR_SYNC) || function.everHad(Op::MEMBAR) || function.everHad(Op::WARPSYNC) ||
         function.everHad(Op::WARPSYNC_ALL);
}

} // namespace

/// Phase 26. Removes synchronization that repeats an earlier one: barriers of the whole block with neither accesses nor
/// fences between them, where all threads come to all barriers alike; WARPSYNCs for the same lanes; fences after
/// equally strong fences. A barrier orders more than memory, so instructions through which other threads' progress is
/// visible (loads, clocks, shuffles) count as accesses.
bool oriRemoveRedundantBarriers(ori::Function& function, PhaseContext& context) {
  return synchronizes(function) && Removal(function, context).run();
}

} // namespace orias::phases
