#include "ori/analysis/liveness.h"

#include "ori/analysis/guarded_defs.h"

#include <algorithm>

namespace orias::ori {

namespace {
bool isPhi(const Instr& instr) {
  return instr.op == Op::PHI;
}
} // namespace

/// Follows components from their uses to their definitions, 64 at a time: those whose numbers share a word. What a
/// block does to a component is gathered beforehand, sorted by component.
class Liveness::Solver {
 public:
  explicit Solver(Liveness& out) : out_(out), cfg_(*out.cfg_), components_(out.components_), words_(cfg_.idCount()) {
    gather();
    sortSummaries();
    for (std::size_t i = 0; i < summaries_.size();) {
      std::size_t end = i;
      while (end < summaries_.size() && summaries_[end].comp / 64 == summaries_[i].comp / 64)
        ++end;
      solve(std::span(summaries_).subspan(i, end - i));
      i = end;
    }
    std::sort(out_.lifeStarts_.begin(), out_.lifeStarts_.end());
  }

 private:
  /// The current word of components in one block.
  struct Words {
    std::uint32_t word = ~0u; ///< which one the others are for; anything else means all zero
    bool isQueued = false;
    std::uint64_t kills = 0;
    std::uint64_t in = 0, out = 0;
    std::uint64_t pending = 0;                   ///< came into the block, not yet passed on to its predecessors
    std::uint64_t allowedIn = 0, allowedOut = 0; ///< while trimming: what was live without regard to definitions
  };

  /// What one block does to one component.
  struct Summary {
    CompId comp;
    BlockId block;
    bool usedFirst = false; ///< read before any definition that surely happens
    bool usedByPhi = false; ///< read by a phi of a successor
    bool kills = false;     ///< surely defined
    bool defines = false;   ///< perhaps defined
    /// The first definition of the block, when it is guarded.
    const Instr* guardedFirst = nullptr;
  };

  Summary& summary(CompId comp, BlockId block, std::size_t blockBegin) {
    // Within the block's part of summaries_, found by a table that is stamped with the block.
    if (slotStamp_[comp] != block) {
      slotStamp_[comp] = block;
      slot_[comp] = static_cast<std::uint32_t>(summaries_.size() - blockBegin);
      summaries_.push_back({comp, block});
    }
    return summaries_[blockBegin + slot_[comp]];
  }

  /// By predecessor: what the phis behind it read.
  std::vector<std::vector<CompId>> gatherPhiUses() const {
    std::vector<std::vector<CompId>> uses(cfg_.idCount());
    for (BlockId id : cfg_.reversePostOrder())
      for (const Instr& phi : *cfg_.function().block(id)) {
        if (!isPhi(phi)) break;
        for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
          components_.forEach(phi.op_(i), [&](CompId comp) { uses[phi.op_(i + 1).reg].push_back(comp); });
      }
    return uses;
  }

  void gather() {
    slotStamp_.assign(components_.count(), kNoId);
    slot_.assign(components_.count(), 0);
    const std::vector<std::vector<CompId>> phiUses = gatherPhiUses();
    ElectedDefs elected;
    for (BlockId id : cfg_.reversePostOrder()) {
      const Block& block = *cfg_.function().block(id);
      const std::size_t begin = summaries_.size();
      elected.enter();
      for (const Instr& instr : block) {
        if (!isPhi(instr))
          for (const Operand& operand : instr.refs())
            if (!operand.isDef)
              components_.forEach(operand, [&](CompId comp) {
                Summary& s = summary(comp, id, begin);
                if (!s.kills) s.usedFirst = true;
              });
        for (const Operand& operand : instr.ops())
          if (operand.isDef) {
            const bool alwaysExecutes = elected.alwaysExecutes(instr, operand);
            components_.forEach(operand, [&](CompId comp) {
              Summary& s = summary(comp, id, begin);
              if (!s.defines && instr.isGuarded()) s.guardedFirst = &instr;
              s.defines = true;
              if (!instr.isGuarded() || alwaysExecutes) s.kills = true;
              if (alwaysExecutes) out_.lifeStarts_.emplace_back(instr.id, comp);
            });
          }
        elected.step(instr);
      }
      for (CompId comp : phiUses[id])
        summary(comp, id, begin).usedByPhi = true;
    }
  }

  /// By component; within one, in reverse post order. A counting sort, because this is the bulk of the work.
  void sortSummaries() {
    std::vector<std::uint32_t> start(components_.count() + 1, 0);
    for (const Summary& s : summaries_)
      ++start[s.comp + 1];
    for (CompId c = 0; c < components_.count(); ++c)
      start[c + 1] += start[c];
    std::vector<Summary> sorted(summaries_.size());
    for (const Summary& s : summaries_)
      sorted[start[s.comp]++] = s;
    summaries_ = std::move(sorted);
  }

  Words& at(BlockId id) {
    Words& words = words_[id];
    if (words.word != word_) {
      words = {};
      words.word = word_;
      touched_.push_back(id);
    }
    return words;
  }

  void queue(BlockId id, std::uint64_t bits) {
    Words& words = words_[id];
    words.pending |= bits;
    if (words.isQueued) return;
    words.isQueued = true;
    work_.push_back(id);
  }

  /// Takes a block off the work list; `bits` is what has come to it.
  BlockId next(std::uint64_t& bits) {
    const BlockId id = work_.back();
    work_.pop_back();
    bits = words_[id].pending;
    words_[id].pending = 0;
    words_[id].isQueued = false;
    return id;
  }

  void reachIn(BlockId id, std::uint64_t bits) {
    Words& words = at(id);
    bits &= ~words.in;
    words.in |= bits;
    if (bits) queue(id, bits);
  }

  void reachOut(BlockId id, std::uint64_t bits) {
    Words& words = at(id);
    bits &= ~words.out;
    words.out |= bits;
    if (bits & ~words.kills) reachIn(id, bits & ~words.kills);
  }

  static std::uint64_t bitOf(const Summary& s) { return std::uint64_t{1} << (s.comp % 64); }

  void solve(std::span<const Summary> all) {
    // Most components live and die in one block.
    std::uint64_t leaving = 0;
    for (const Summary& s : all)
      if (s.usedFirst || s.usedByPhi) leaving |= bitOf(s);
    if (!leaving) return;
    word_ = all.front().comp / 64;
    touched_.clear();
    for (const Summary& s : all)
      if (s.kills && (leaving & bitOf(s))) at(s.block).kills |= bitOf(s);
    for (const Summary& s : all) {
      if (s.usedFirst) reachIn(s.block, bitOf(s));
      if (s.usedByPhi) reachOut(s.block, bitOf(s));
    }
    while (!work_.empty()) {
      std::uint64_t bits = 0;
      for (BlockId from : cfg_.predecessors(next(bits)))
        if (cfg_.isReachable(from)) reachOut(from, bits);
    }
    // Physical registers may hold something on entry: the stack pointer, arguments.
    std::uint64_t undefined = at(cfg_.entry()).in;
    for (unsigned i = 0; i < 64; ++i)
      if (undefined >> i & 1) {
        if (components_.isVirtual(word_ * 64 + i))
          out_.maybeUndefined_.push_back(word_ * 64 + i);
        else
          undefined &= ~(std::uint64_t{1} << i);
      }
    if (undefined) trim(all, undefined);
    for (BlockId id : touched_) {
      if (words_[id].in) out_.liveIn_[id].appendWord(word_, words_[id].in);
      if (words_[id].out) out_.liveOut_[id].appendWord(word_, words_[id].out);
    }
  }

  /// These components are live into the entry: some path reads them undefined. Keeps what definitions reach.
  void trim(std::span<const Summary> all, std::uint64_t which) {
    for (BlockId id : touched_) {
      Words& words = words_[id];
      words.allowedIn = words.in & which;
      words.allowedOut = words.out & which;
      words.in &= ~which;
      words.out &= ~which;
    }
    auto flowOut = [&](BlockId id, std::uint64_t bits) {
      Words& words = at(id);
      bits &= words.allowedOut & ~words.out;
      words.out |= bits;
      if (bits) queue(id, bits);
    };
    for (const Summary& s : all)
      if (s.defines) flowOut(s.block, bitOf(s) & which);
    while (!work_.empty()) {
      std::uint64_t bits = 0;
      for (BlockId to : cfg_.successors(next(bits))) {
        Words& words = at(to);
        const std::uint64_t fresh = bits & words.allowedIn & ~words.in;
        words.in |= fresh;
        if (fresh & ~words.kills) flowOut(to, fresh & ~words.kills);
      }
    }
    for (const Summary& s : all)
      if (s.guardedFirst && (which & bitOf(s) & ~at(s.block).in))
        out_.lifeStarts_.emplace_back(s.guardedFirst->id, s.comp);
  }

  Liveness& out_;
  const Cfg& cfg_;
  const Components& components_;
  std::vector<Summary> summaries_;
  std::uint32_t word_ = 0;       // components 64 * word_ to 64 * word_ + 63 are being solved
  std::vector<Words> words_;     // by block
  std::vector<BlockId> touched_; // the blocks whose words are those of word_
  std::vector<BlockId> work_;
  std::vector<BlockId> slotStamp_; // by component
  std::vector<std::uint32_t> slot_;
};

Liveness::Liveness(const Cfg& cfg)
    : cfg_(&cfg), components_(cfg.function()), liveIn_(cfg.idCount()), liveOut_(cfg.idCount()) {
  Solver solve(*this);
}

bool Liveness::startsLife(const Instr& instr, CompId comp) const {
  return std::binary_search(lifeStarts_.begin(), lifeStarts_.end(), std::pair{instr.id, comp});
}

LiveCursor::LiveCursor(const Liveness& liveness)
    : liveness_(liveness), live_(liveness.components().count()), position_(liveness.components().count()) {}

void LiveCursor::add(CompId comp) {
  if (live_[comp]) return;
  live_[comp] = true;
  position_[comp] = static_cast<std::uint32_t>(members_.size());
  members_.push_back(comp);
  ++counts_[static_cast<unsigned>(liveness_.components().file(comp))];
}

void LiveCursor::remove(CompId comp) {
  if (!live_[comp]) return;
  live_[comp] = false;
  members_[position_[comp]] = members_.back();
  position_[members_.back()] = position_[comp];
  members_.pop_back();
  --counts_[static_cast<unsigned>(liveness_.components().file(comp))];
}

void LiveCursor::keepMaximum() {
  for (unsigned f = 0; f < isa::kFileCount; ++f)
    maximum_[f] = std::max(maximum_[f], counts_[f]);
}

void LiveCursor::enter(const Block& block) {
  for (CompId comp : members_)
    live_[comp] = false;
  members_.clear();
  counts_ = {};
  maximum_ = {};
  liveness_.liveOut(block.id).forEach([&](CompId comp) { add(comp); });
  at_ = block.last;
  keepMaximum();
}

void LiveCursor::step() {
  const Instr& instr = *at_;
  const Components& components = liveness_.components();
  const bool isGuarded = instr.isGuarded();
  ended_.clear();
  for (const Operand& operand : instr.ops())
    if (operand.isDef)
      components.forEach(operand, [&](CompId comp) {
        // A result that nobody reads needs a register all the same. Under a guard, what is live behind is live before.
        if (!live_[comp] || !isGuarded || liveness_.startsLife(instr, comp)) ended_.push_back(comp);
        add(comp);
      });
  keepMaximum();
  for (CompId comp : ended_)
    remove(comp);
  if (!isPhi(instr))
    for (const Operand& operand : instr.refs())
      if (!operand.isDef) components.forEach(operand, [&](CompId comp) { add(comp); });
  keepMaximum();
  at_ = instr.prev;
}

Pressure computePressure(const Function& function, const Liveness& liveness) {
  Pressure result;
  result.byBlock.resize(function.blockIdCount());
  LiveCursor cursor(liveness);
  for (BlockId id : liveness.cfg().reversePostOrder()) {
    cursor.enter(*function.block(id));
    while (cursor.next())
      cursor.step();
    result.byBlock[id] = cursor.maximum();
    for (unsigned f = 0; f < isa::kFileCount; ++f)
      result.maximum[f] = std::max(result.maximum[f], cursor.maximum()[f]);
  }
  return result;
}

} // namespace orias::ori
