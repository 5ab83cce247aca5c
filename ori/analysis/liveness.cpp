#include "ori/analysis/liveness.h"

#include "ori/analysis/live_step.h"

#include "ori/analysis/guarded_defs.h"
#include "ori/results.h"

#include <algorithm>
#include <bit>

namespace orias::ori {

namespace {
bool isPhi(const Instr& instr) {
  return instr.op == Op::PHI;
}

/// Whether an instruction uses registers other than its guard. Most branches do not.
bool namesRegister(const Instr& instr) {
  return std::ranges::any_of(instr.ops(),
                             [](const Operand& o) { return (o.isReg() && !o.isZeroReg()) || o.isConst(); });
}
} // namespace

/// Follows components from their uses to their definitions. It processes the 64 components whose numbers share a word
/// at once. The effects of each block on the components of a word are collected first, sorted by word.
class Liveness::Solver {
 public:
  explicit Solver(Liveness& out)
      : out_(out), cfg_(*out.cfg_), components_(out.components_), words_(cfg_.idCount()),
        queued_(cfg_.idCount() / 64 + 1) {
    gatherPhiUses();
    gather(cfg_.reversePostOrder());
    solveAll();
  }

  /// Solves the components of these registers again, and of no others.
  Solver(Liveness& out, std::span<const VRegId> changed)
      : out_(out), cfg_(*out.cfg_), components_(out.components_), isUpdate_(true),
        selected_(components_.count() / 64 + 1), namesSelected_(cfg_.function().instrIdCount()), words_(cfg_.idCount()),
        queued_(cfg_.idCount() / 64 + 1) {
    std::vector<BlockId>& blocks = named_;
    for (const VRegId reg : changed)
      select(reg, blocks);
    // Other values of a predicate change the live ranges of registers that are written or read under it.
    for (const VRegId reg : changed)
      cfg_.function().forEachUse(reg, [&](Ref use) {
        if (!use.isGuard()) return;
        for (const Operand& o : use.owner->ops())
          if (o.isVirtual() && o.reg != isa::Operand::kNoReg) select(o.reg, blocks);
      });
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    forget();
    gather(blocks);
    solveAll();
  }

  /// The blocks whose live components have changed in an update.
  std::vector<LiveChange> changes() {
    const auto byPlace = [](const Border& a, const Border& b) {
      return std::pair(a.block, a.word) < std::pair(b.block, b.word);
    };
    std::sort(after_.begin(), after_.end(), byPlace);
    std::vector<LiveChange> changes;
    for (auto before = before_.begin(), after = after_.begin(); before != before_.end() || after != after_.end();) {
      const bool hasBefore = after == after_.end() || (before != before_.end() && !byPlace(*after, *before));
      const bool hasAfter = before == before_.end() || (after != after_.end() && !byPlace(*before, *after));
      const Border old = hasBefore ? *before++ : Border{after->block, after->word, 0, 0};
      const Border now = hasAfter ? *after++ : Border{old.block, old.word, 0, 0};
      if (old.in == now.in && old.out == now.out) continue;
      if (changes.empty() || changes.back().block != old.block)
        changes.push_back({old.block, std::binary_search(named_.begin(), named_.end(), old.block), {}, {}});
      addDifference(old.word, old.in, now.in, changes.back().in);
      addDifference(old.word, old.out, now.out, changes.back().out);
    }
    return changes;
  }

 private:
  /// The current word of components in one block.
  struct Words {
    std::uint32_t word = ~0u; ///< the word that the other fields are for; they are zero for any other word
    std::uint64_t kills = 0;
    std::uint64_t in = 0, out = 0;
    std::uint64_t pending = 0; ///< live into the block, not yet propagated to its predecessors
    std::uint64_t allowedIn = 0,
                  allowedOut = 0; ///< while trimming: the components that are live without regard to definitions
  };

  /// The live-in and live-out components of a block, in one word of selected components.
  struct Border {
    BlockId block;
    std::uint32_t word;
    std::uint64_t in, out;
  };

  /// The effects of one block on the components of one word, a bit for each.
  struct Summary {
    std::uint32_t word;
    BlockId block;
    std::uint64_t usedFirst = 0; ///< read before any unconditional definition
    std::uint64_t usedByPhi = 0; ///< read by a phi of a successor
    std::uint64_t kills = 0;     ///< defined unconditionally
    std::uint64_t defines = 0;   ///< may be defined
    std::uint64_t watched = 0;   ///< written under a guard in the block
  };

  /// The entry of the current block for a word, or for a component.
  struct Slot {
    BlockId block = kNoId; ///< the block that `index` is valid for
    std::uint32_t index = 0;
  };

  /// A reference to a component at or after its first guarded definition in the block.
  struct Event {
    enum class Kind : std::uint8_t { Read, Write, GuardedRead, GuardedWrite };
    CompId comp;
    InstrId instr;
    GuardValue guard; ///< of guarded references
    Kind kind;
    bool isFirst = false; ///< no definition of the block is before it

    void applyTo(GuardedLife& life) const {
      switch (kind) {
      case Kind::Read: life.read(); break;
      case Kind::GuardedRead: life.readUnder(guard); break;
      case Kind::Write: life.write(); break;
      case Kind::GuardedWrite: life.writeUnder(guard); break;
      }
    }
  };
  struct BlockEvents {
    BlockId block;
    std::size_t begin;
  };

  static std::uint64_t bitOf(CompId comp) { return std::uint64_t{1} << comp % 64; }

  Summary& summary(std::uint32_t word, BlockId block) {
    Slot& slot = slots_[word];
    if (slot.block != block) {
      slot = {block, static_cast<std::uint32_t>(summaries_.size())};
      summaries_.push_back({word, block});
    }
    return summaries_[slot.index];
  }
  Summary& summaryOf(CompId comp, BlockId block) { return summary(comp / 64, block); }

  bool isSelected(CompId comp) const { return (selected_[comp / 64] & bitOf(comp)) != 0; }

  /// Marks the components of a register, and adds the blocks that use it.
  void select(VRegId reg, std::vector<BlockId>& blocks) {
    if (isSelected(components_.of(reg, 0))) return;
    for (CompId comp = components_.of(reg, 0), n = 0; n < cfg_.function().vreg(reg).width; ++comp, ++n)
      selected_[comp / 64] |= bitOf(comp);
    const auto add = [&](Ref ref) {
      const Instr& owner = *ref.owner;
      namesSelected_[owner.id] = true;
      if (owner.block && cfg_.isReachable(owner.block->id)) blocks.push_back(owner.block->id);
      if (ref->isDef || !isPhi(owner)) return;
      const BlockId from = owner.op_(ref.index() + 1).reg;
      if (!cfg_.isReachable(from)) return;
      blocks.push_back(from);
      components_.forEach(*ref, [&](CompId comp) { phiUses_.emplace_back(from, comp); });
    };
    cfg_.function().forEachUse(reg, add);
    cfg_.function().forEachDef(reg, add);
  }

  /// Removes the results for the selected components, except those that `changes` compares with.
  void forget() {
    for (std::uint32_t word = 0; word < selected_.size(); ++word)
      if (selected_[word] != 0) masks_.emplace_back(word, selected_[word]);
    std::vector<std::array<std::uint64_t, 2>> taken(masks_.size()); // by mask: in, out
    const auto take = [&](SparseBits& live, std::size_t side) {
      bool isAny = false;
      auto mask = masks_.begin();
      live.forEachWord([&](std::uint32_t word, std::uint64_t bits) {
        while (mask != masks_.end() && mask->first < word)
          ++mask;
        if (mask == masks_.end() || mask->first != word || (bits & mask->second) == 0) return;
        taken[static_cast<std::size_t>(mask - masks_.begin())][side] = bits & mask->second;
        isAny = true;
      });
      return isAny;
    };
    for (BlockId id = 0; id < out_.liveIn_.size(); ++id) {
      const bool isIn = take(out_.liveIn_[id], 0), isOut = take(out_.liveOut_[id], 1);
      for (std::size_t i = 0; (isIn || isOut) && i < taken.size(); ++i) {
        const auto [in, out] = std::exchange(taken[i], {});
        if ((in | out) == 0) continue;
        before_.push_back({id, masks_[i].first, in, out});
        if (in != 0) out_.liveIn_[id].takeWord(masks_[i].first, in);
        if (out != 0) out_.liveOut_[id].takeWord(masks_[i].first, out);
      }
    }
    std::erase_if(out_.lifeStarts_, [&](const auto& start) { return isSelected(start.second); });
    std::erase_if(out_.maybeUndefined_, [&](CompId comp) { return isSelected(comp); });
  }

  /// Counts the components that are in one word and not in the other, by file.
  void addDifference(std::uint32_t word, std::uint64_t old, std::uint64_t now,
                     std::array<int, isa::kFileCount>& counts) const {
    for (std::uint64_t bits = old ^ now; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits));
      counts[static_cast<unsigned>(components_.file(64 * word + bit))] += (now >> bit & 1) != 0 ? 1 : -1;
    }
  }

  /// By predecessor: the components that phis of its successors read.
  void gatherPhiUses() {
    for (BlockId id : cfg_.reversePostOrder())
      for (const Instr& phi : *cfg_.function().block(id)) {
        if (!isPhi(phi)) break;
        for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
          components_.forEach(phi.op_(i), [&](CompId comp) { phiUses_.emplace_back(phi.op_(i + 1).reg, comp); });
      }
  }

  void gather(std::span<const BlockId> blocks) {
    slots_.assign(components_.count() / 64 + 1, {});
    std::stable_sort(phiUses_.begin(), phiUses_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    GuardValues guards(components_);
    for (BlockId id : blocks)
      gatherBlock(id, guards);
    if (isUpdate_) return;
    // Nothing is live into or out of unreachable blocks. Live ranges still start in them.
    const std::size_t reachable = summaries_.size();
    for (const Block* block : cfg_.function().layout())
      if (!cfg_.isReachable(block->id)) {
        gatherBlock(block->id, guards);
        summaries_.resize(reachable);
      }
  }

  void gatherBlock(BlockId id, GuardValues& guards) {
    const std::size_t firstEvent = events_.size();
    ElectedDefs elected;
    const bool mayElect = cfg_.function().everHad(Op::ELECT);
    const Instr* defined = cfg_.function().block(id)->first; // `guards` has advanced up to it
    for (const Instr& instr : *cfg_.function().block(id)) {
      if (!isUpdate_ || namesSelected_[instr.id]) {
        const bool hasGuardedRefs = instr.isGuarded() && namesRegister(instr);
        for (; hasGuardedRefs && defined != &instr; defined = defined->next)
          guards.define(*defined);
        gatherInstr(instr, id, hasGuardedRefs ? guards.of(instr) : 0, elected);
      }
      if (mayElect) elected.step(instr);
    }
    if (events_.size() != firstEvent) {
      blockEvents_.push_back({id, firstEvent});
      summarise(id, firstEvent);
    }
    const auto uses = std::equal_range(phiUses_.begin(), phiUses_.end(), std::pair<BlockId, CompId>{id, 0},
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto use = uses.first; use != uses.second; ++use)
      summaryOf(use->second, id).usedByPhi |= bitOf(use->second);
  }

  /// Calls f(word, bits) for the selected components that an operand refers to.
  template <typename F> void forEachOfInterest(const Operand& operand, F&& f) const {
    components_.forEachWord(operand, [&](std::uint32_t word, std::uint64_t bits) {
      if (isUpdate_) bits &= selected_[word];
      if (bits != 0) f(word, bits);
    });
  }
  template <typename F> static void forEachComp(std::uint32_t word, std::uint64_t bits, F&& f) {
    for (; bits != 0; bits &= bits - 1)
      f(64 * word + static_cast<CompId>(std::countr_zero(bits)));
  }

  /// Records the reads and writes of an instruction. `guard` is the value of its guard; 0: nothing is read or written
  /// under one.
  void gatherInstr(const Instr& instr, BlockId id, GuardValue guard, const ElectedDefs& elected) {
    if (!isPhi(instr))
      for (const Operand& operand : instr.isGuarded() ? instr.refs() : instr.ops())
        if (!operand.isDef) {
          const bool isUnderGuard = guard != 0 && &operand != &instr.guard();
          forEachOfInterest(operand, [&](std::uint32_t word, std::uint64_t bits) {
            Summary& s = summary(word, id);
            forEachComp(word, bits & s.watched, [&](CompId comp) {
              events_.push_back({comp, instr.id, guard, isUnderGuard ? Event::Kind::GuardedRead : Event::Kind::Read});
            });
            s.usedFirst |= bits & ~(s.watched | s.kills);
          });
        }
    for (const Operand& operand : resultSlots(instr))
      if (operand.isDef) {
        const bool endsOldValue = guard == 0 || elected.alwaysExecutes(instr, operand) ||
                                  leavesRestUndefined(cfg_.function(), instr, operand);
        forEachOfInterest(operand, [&](std::uint32_t word, std::uint64_t bits) {
          Summary& s = summary(word, id);
          const std::uint64_t watched = guard != 0 ? bits : bits & s.watched;
          forEachComp(word, watched, [&](CompId comp) {
            if (endsOldValue && guard != 0) out_.lifeStarts_.emplace_back(instr.id, comp);
            events_.push_back({comp, instr.id, guard, endsOldValue ? Event::Kind::Write : Event::Kind::GuardedWrite,
                               (s.defines & bitOf(comp)) == 0});
          });
          s.watched |= watched;
          s.kills |= bits & ~watched;
          s.defines |= bits;
        });
      }
  }

  /// Computes the effects of a block on components that it writes under guards.
  void summarise(BlockId id, std::size_t firstEvent) {
    lifeSlots_.resize(components_.count());
    lives_.clear();
    watched_.clear();
    for (std::size_t e = events_.size(); e-- > firstEvent;) {
      Slot& slot = lifeSlots_[events_[e].comp];
      if (slot.block != id) {
        slot = {id, static_cast<std::uint32_t>(lives_.size())};
        lives_.push_back({GuardedLife(false), GuardedLife(true)});
        watched_.push_back(events_[e].comp);
      }
      for (GuardedLife& life : lives_[slot.index])
        events_[e].applyTo(life);
    }
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      Summary& s = summaryOf(watched_[i], id);
      const std::uint64_t bit = bitOf(watched_[i]);
      if ((s.kills & bit) != 0) continue;
      if (lives_[i][0].isLive()) s.usedFirst |= bit;
      if (!lives_[i][1].isLive()) s.kills |= bit;
    }
  }

  /// Finds the guarded definitions that start live ranges, from the live components at the boundaries of their blocks.
  void findLifeStarts() {
    if (blockEvents_.empty()) return;
    std::ranges::fill(lifeSlots_, Slot());
    std::vector<GuardedLife> lives;
    for (std::size_t b = blockEvents_.size(), end = events_.size(); b-- > 0; end = blockEvents_[b].begin) {
      const BlockId id = blockEvents_[b].block;
      lives.clear();
      for (std::size_t e = end; e-- > blockEvents_[b].begin;) {
        const Event& event = events_[e];
        Slot& slot = lifeSlots_[event.comp];
        if (slot.block != id) {
          slot = {id, static_cast<std::uint32_t>(lives.size())};
          lives.emplace_back(out_.isLiveOut(id, event.comp));
        }
        GuardedLife& life = lives[slot.index];
        event.applyTo(life);
        // Where no definition reaches, nothing is live, even if it is read later.
        if (event.kind == Event::Kind::GuardedWrite &&
            (!life.isLive() || (event.isFirst && !out_.isLiveIn(id, event.comp))))
          out_.lifeStarts_.emplace_back(event.instr, event.comp);
      }
    }
  }

  void solveAll() {
    dropLocal();
    sortSummaries();
    for (std::size_t i = 0; i < summaries_.size();) {
      std::size_t end = i;
      while (end < summaries_.size() && summaries_[end].word == summaries_[i].word)
        ++end;
      solve(std::span(summaries_).subspan(i, end - i));
      i = end;
    }
    findLifeStarts();
    std::sort(out_.lifeStarts_.begin(), out_.lifeStarts_.end());
  }

  /// Most components are live in one block only. Only those that are live into some block or read by a phi are solved.
  void dropLocal() {
    std::vector<std::uint64_t> leaves(components_.count() / 64 + 1); // by word
    for (const Summary& s : summaries_)
      leaves[s.word] |= s.usedFirst | s.usedByPhi;
    std::erase_if(summaries_, [&](Summary& s) {
      s.kills &= leaves[s.word];
      s.defines &= leaves[s.word];
      return (s.usedFirst | s.usedByPhi | s.kills | s.defines) == 0;
    });
  }

  void setWord(SparseBits& bits, std::uint64_t value) const {
    if (isUpdate_)
      bits.assignWord(word_, value, value);
    else if (value)
      bits.appendWord(word_, value);
  }

  /// By word; within one, in reverse post order: a counting sort.
  void sortSummaries() {
    std::vector<std::uint32_t> start(components_.count() / 64 + 2, 0);
    for (const Summary& s : summaries_)
      ++start[s.word + 1];
    for (std::size_t word = 0; word + 1 < start.size(); ++word)
      start[word + 1] += start[word];
    std::vector<Summary> sorted(summaries_.size());
    for (const Summary& s : summaries_)
      sorted[start[s.word]++] = s;
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
    words_[id].pending |= bits;
    const std::uint32_t position = cfg_.rpoIndex(id);
    queued_[position / 64] |= std::uint64_t{1} << position % 64;
    firstQueued_ = std::min(firstQueued_, position / 64);
    lastQueued_ = std::max(lastQueued_, position / 64);
  }

  /// Removes the last or the first block in reverse post order from the work list; `bits` are its pending components.
  /// Returns kNoId if there is none.
  BlockId next(bool isLast, std::uint64_t& bits) {
    while (firstQueued_ <= lastQueued_ && queued_[isLast ? lastQueued_ : firstQueued_] == 0) {
      if (firstQueued_ == lastQueued_) {
        firstQueued_ = kNoId;
        lastQueued_ = 0;
      } else {
        isLast ? --lastQueued_ : ++firstQueued_;
      }
    }
    if (firstQueued_ > lastQueued_) return kNoId;
    const std::uint32_t at = isLast ? lastQueued_ : firstQueued_;
    const int bit = isLast ? 63 - std::countl_zero(queued_[at]) : std::countr_zero(queued_[at]);
    queued_[at] &= ~(std::uint64_t{1} << bit);
    const BlockId id = cfg_.reversePostOrder()[64 * at + static_cast<unsigned>(bit)];
    bits = std::exchange(words_[id].pending, 0);
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

  void solve(std::span<const Summary> all) {
    word_ = all.front().word;
    touched_.clear();
    for (const Summary& s : all)
      if (s.kills != 0) at(s.block).kills |= s.kills;
    for (const Summary& s : all) {
      if (s.usedFirst != 0) reachIn(s.block, s.usedFirst);
      if (s.usedByPhi != 0) reachOut(s.block, s.usedByPhi);
    }
    // Upwards: components are rarely added to a block that has been processed.
    std::uint64_t bits = 0;
    for (BlockId id = next(true, bits); id != kNoId; id = next(true, bits))
      for (BlockId from : cfg_.predecessors(id))
        if (cfg_.isReachable(from)) reachOut(from, bits);
    // Physical registers may have values at entry: the stack pointer, arguments.
    std::uint64_t undefined = at(cfg_.entry()).in;
    forEachComp(word_, undefined, [&](CompId comp) {
      if (components_.isVirtual(comp))
        out_.maybeUndefined_.push_back(comp);
      else
        undefined &= ~bitOf(comp);
    });
    if (undefined) trim(all, undefined);
    for (BlockId id : touched_) {
      const Words& words = words_[id];
      setWord(out_.liveIn_[id], words.in);
      setWord(out_.liveOut_[id], words.out);
      if (isUpdate_ && (words.in | words.out) != 0) after_.push_back({id, word_, words.in, words.out});
    }
  }

  /// Trims components that are live into the entry, because some path reads them undefined, to where definitions reach.
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
      if (s.defines != 0) flowOut(s.block, s.defines & which);
    std::uint64_t bits = 0;
    for (BlockId id = next(false, bits); id != kNoId; id = next(false, bits))
      for (BlockId to : cfg_.successors(id)) {
        Words& words = at(to);
        const std::uint64_t fresh = bits & words.allowedIn & ~words.in;
        words.in |= fresh;
        if (fresh & ~words.kills) flowOut(to, fresh & ~words.kills);
      }
  }

  Liveness& out_;
  const Cfg& cfg_;
  const Components& components_;
  const bool isUpdate_ = false;
  std::vector<std::uint64_t>
      selected_; // a bit for each component; this member and those down to after_ are for updates only
  std::vector<bool> namesSelected_;                            // by instruction: uses a selected component
  std::vector<std::pair<std::uint32_t, std::uint64_t>> masks_; // words with selected components, ascending
  std::vector<BlockId> named_;                                 // blocks that use selected registers, ascending
  std::vector<Border> before_, after_;              // only entries that are not empty; `before_` by block and word
  std::vector<std::pair<BlockId, CompId>> phiUses_; // predecessor, and the component that a phi of a successor reads
  std::vector<Summary> summaries_;
  std::uint32_t word_ = 0;            // components 64 * word_ to 64 * word_ + 63 are being solved
  std::vector<Words> words_;          // by block
  std::vector<BlockId> touched_;      // the blocks whose Words are valid for word_
  std::vector<std::uint64_t> queued_; // the work list: blocks by their position in the reverse post order
  std::uint32_t firstQueued_ = kNoId, lastQueued_ = 0; // the range of words of queued_ that may not be zero
  std::vector<Slot> slots_;                            // by word, into summaries_
  std::vector<Slot> lifeSlots_;                        // by component, into lives_; empty without events
  std::vector<Event> events_;                          // of watched components, grouped by block
  std::vector<BlockEvents> blockEvents_;
  std::vector<std::array<GuardedLife, 2>>
      lives_;                   // of the watched components of the block: if dead and if live after it
  std::vector<CompId> watched_; // by life
};

Liveness::Liveness(const Cfg& cfg)
    : cfg_(&cfg), components_(cfg.function()), liveIn_(cfg.idCount()), liveOut_(cfg.idCount()) {
  Solver solve(*this);
}

std::vector<LiveChange> Liveness::update(std::span<const VRegId> changed) {
  components_.extend(cfg_->function());
  return Solver(*this, changed).changes();
}

std::vector<LiveChange> Liveness::follow(std::span<const VRegId> changed) {
  const CompId physical = components_.virtualCount();
  components_ = Components(cfg_->function());
  if (const CompId more = components_.virtualCount() - physical; more != 0) {
    for (std::vector<SparseBits>* live : {&liveIn_, &liveOut_})
      for (SparseBits& bits : *live)
        bits.raise(physical, more);
    for (auto& [instr, comp] : lifeStarts_)
      if (comp >= physical) comp += more;
  }
  std::vector<LiveChange> changes = Solver(*this, changed).changes();
  std::sort(maybeUndefined_.begin(), maybeUndefined_.end());
  return changes;
}

bool Liveness::startsLife(const Instr& instr, CompId comp) const {
  return std::binary_search(lifeStarts_.begin(), lifeStarts_.end(), std::pair{instr.id, comp});
}

LiveCursor::LiveCursor(const Liveness& liveness) : liveness_(liveness) {}

void LiveCursor::add(CompId comp) {
  if (isLive(comp)) return;
  position_[comp] = static_cast<std::uint32_t>(members_.size());
  members_.push_back(comp);
  const auto file = static_cast<unsigned>(liveness_.components().file(comp));
  maximum_[file] = std::max(maximum_[file], ++counts_[file]);
}

void LiveCursor::remove(CompId comp) {
  if (!isLive(comp)) return;
  members_[position_[comp]] = members_.back();
  position_[members_.back()] = position_[comp];
  position_[comp] = kNoId;
  members_.pop_back();
  --counts_[static_cast<unsigned>(liveness_.components().file(comp))];
}

void LiveCursor::enter(const Block& block) {
  position_.resize(liveness_.components().count(), kNoId);
  for (CompId comp : members_)
    position_[comp] = kNoId;
  members_.clear();
  counts_ = {};
  maximum_ = {};
  liveness_.liveOut(block.id).forEach([&](CompId comp) { add(comp); });
  at_ = block.last;
}

void LiveCursor::step() {
  const Instr& instr = *at_;
  stepUpwards(
      liveness_, instr, ended_, [&](CompId comp) { return isLive(comp); }, [&](CompId comp) { add(comp); },
      [&](CompId comp) { remove(comp); });
  at_ = instr.prev;
}

} // namespace orias::ori
