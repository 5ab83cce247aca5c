#include "ori/analysis/liveness.h"

#include <algorithm>

namespace orias::ori {

namespace {
bool isPhi(const Instr& instr) {
  return instr.op == Op::PHI;
}
} // namespace

/// Follows one component after the other. What a block does to a component is gathered beforehand, sorted by component.
class Liveness::Solver {
 public:
  explicit Solver(Liveness& out)
      : out_(out), cfg_(*out.cfg_), components_(out.components_), inStamp_(cfg_.idCount(), kNone),
        outStamp_(cfg_.idCount(), kNone), summaryStamp_(cfg_.idCount(), kNone), summaryOf_(cfg_.idCount(), nullptr) {
    gather();
    sortSummaries();
    for (std::size_t i = 0; i < summaries_.size();) {
      std::size_t end = i;
      while (end < summaries_.size() && summaries_[end].comp == summaries_[i].comp)
        ++end;
      solve(std::span(summaries_).subspan(i, end - i));
      i = end;
    }
    std::sort(out_.lifeStarts_.begin(), out_.lifeStarts_.end());
  }

 private:
  static constexpr CompId kNone = ~0u;

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
    for (BlockId id : cfg_.reversePostOrder()) {
      const Block& block = *cfg_.function().block(id);
      const std::size_t begin = summaries_.size();
      for (const Instr& instr : block) {
        if (!isPhi(instr))
          for (const Operand& operand : instr.refs())
            if (!operand.isDef)
              components_.forEach(operand, [&](CompId comp) {
                Summary& s = summary(comp, id, begin);
                if (!s.kills) s.usedFirst = true;
              });
        for (const Operand& operand : instr.ops())
          if (operand.isDef)
            components_.forEach(operand, [&](CompId comp) {
              Summary& s = summary(comp, id, begin);
              if (!s.defines && instr.isGuarded()) s.guardedFirst = &instr;
              s.defines = true;
              if (!instr.isGuarded()) s.kills = true;
            });
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

  const Summary* summaryFor(BlockId id, CompId comp) const {
    return summaryStamp_[id] == comp ? summaryOf_[id] : nullptr;
  }

  void solve(std::span<const Summary> all) {
    const CompId comp = all.front().comp;
    // Most components live and die in one block.
    bool leaves = false;
    for (const Summary& s : all)
      leaves |= s.usedFirst || s.usedByPhi;
    if (!leaves) return;
    for (const Summary& s : all) {
      summaryStamp_[s.block] = comp;
      summaryOf_[s.block] = &s;
    }
    in_.clear();
    outs_.clear();
    work_.clear();
    auto reachIn = [&](BlockId id) {
      if (inStamp_[id] == comp) return;
      inStamp_[id] = comp;
      in_.push_back(id);
      work_.push_back(id);
    };
    auto reachOut = [&](BlockId id) {
      if (outStamp_[id] == comp) return;
      outStamp_[id] = comp;
      outs_.push_back(id);
      const Summary* s = summaryFor(id, comp);
      if (!s || !s->kills) reachIn(id);
    };
    for (const Summary& s : all) {
      if (s.usedFirst) reachIn(s.block);
      if (s.usedByPhi) reachOut(s.block);
    }
    while (!work_.empty()) {
      const BlockId id = work_.back();
      work_.pop_back();
      for (BlockId from : cfg_.predecessors(id))
        if (cfg_.isReachable(from)) reachOut(from);
    }
    // Physical registers may hold something on entry: the stack pointer, arguments.
    if (inStamp_[cfg_.entry()] == comp && components_.isVirtual(comp)) trim(comp, all);
    for (BlockId id : in_)
      if (inStamp_[id] == comp) out_.liveIn_[id].append(comp);
    for (BlockId id : outs_)
      if (outStamp_[id] == comp) out_.liveOut_[id].append(comp);
  }

  /// The component is live into the entry: some path reads it undefined. Keeps what definitions reach.
  void trim(CompId comp, std::span<const Summary> all) {
    out_.maybeUndefined_.push_back(comp);
    reached_.clear();
    auto reachOut = [&](BlockId id) {
      if (outStamp_[id] == comp) reached_.push_back(id);
    };
    // From here on, stamps of what definitions reach are kept, those of the rest are taken back.
    for (BlockId id : outs_)
      outStamp_[id] = kNone;
    for (BlockId id : in_)
      inStamp_[id] = kNone;
    allowedIn_.assign(in_.begin(), in_.end());
    allowedOut_.assign(outs_.begin(), outs_.end());
    std::sort(allowedIn_.begin(), allowedIn_.end());
    std::sort(allowedOut_.begin(), allowedOut_.end());
    auto allowed = [](const std::vector<BlockId>& set, BlockId id) {
      return std::binary_search(set.begin(), set.end(), id);
    };
    auto flowOut = [&](BlockId id) {
      if (outStamp_[id] == comp || !allowed(allowedOut_, id)) return;
      outStamp_[id] = comp;
      reachOut(id);
    };
    for (const Summary& s : all)
      if (s.defines) flowOut(s.block);
    while (!reached_.empty()) {
      const BlockId id = reached_.back();
      reached_.pop_back();
      for (BlockId to : cfg_.successors(id)) {
        if (inStamp_[to] == comp || !allowed(allowedIn_, to)) continue;
        inStamp_[to] = comp;
        const Summary* s = summaryFor(to, comp);
        if (!s || !s->kills) flowOut(to);
      }
    }
    for (const Summary& s : all)
      if (s.guardedFirst && inStamp_[s.block] != comp) out_.lifeStarts_.emplace_back(s.guardedFirst->id, comp);
  }

  Liveness& out_;
  const Cfg& cfg_;
  const Components& components_;
  std::vector<Summary> summaries_;
  std::vector<CompId> inStamp_, outStamp_, summaryStamp_; // by block: the component it was last true for
  std::vector<const Summary*> summaryOf_;
  std::vector<BlockId> in_, outs_, work_, reached_, allowedIn_, allowedOut_;
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
