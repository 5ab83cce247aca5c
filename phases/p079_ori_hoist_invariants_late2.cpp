#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/equal_constants.h"
#include "phases/local_scan.h"
#include "phases/loop_entry.h"
#include "phases/occupancy.h"
#include "phases/phases.h"
#include "phases/removable.h"
#include "phases/speculation.h"
#include "phases/uniform/convergent_calls.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::CompId;
using ori::Instr;
using ori::LoopId;

namespace {

/// Nests deeper than this keep the invariants of their outermost loops.
constexpr std::uint32_t kMostLevels = 8;
/// What needs more instructions than this stays: each invariant is looked at with all that it needs.
constexpr std::size_t kLongestChain = 64;

unsigned indexOf(File file) {
  return static_cast<unsigned>(file);
}

/// A register moves into another one of its file: the two may become one yet, and cost nothing then.
bool isPlainCopy(const Instr& instr) {
  if (!isa::desc(instr.op).has(Flag::Copy) && instr.op != Op::MOV) return false;
  const ori::Operand &to = instr.op_(0), &from = instr.op_(1);
  return from.isReg() && from.file == to.file;
}

/// Reads a constant bank at a place that is not known to lie within it.
bool mayReadOutside(const Instr& instr) {
  for (const ori::Operand& o : instr.ops())
    if (o.isConst() && o.reg != Operand::kNoReg) return true;
  if (!isa::desc(instr.op).has(Flag::ConstLoad) || isSafeConstantLoad(instr)) return false;
  return std::any_of(instr.ops().begin(), instr.ops().end(),
                     [](const ori::Operand& o) { return !o.isDef && o.isReg() && !o.isZeroReg(); });
}

/// Computes from its operands alone, the same each time, and cannot fault: it may run where it did not run before. The
/// way from the lanes to the warp (R2UR) counts as such: where it may stand is asked for each.
bool isPure(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (Flag flag : {Flag::Load, Flag::Volatile, Flag::Variadic, Flag::Varying, Flag::WarpWide})
    if (row.has(flag)) return false;
  if (row.has(Flag::Convergent) && (instr.op != Op::R2UR || instr.op_(0).isVirtual())) return false;
  for (unsigned i = 0; i < row.slotCount; ++i)
    if (row.texts[i].style == isa::Style::SpecialReg) return false;
  return !instr.isGuarded() && isRemovable(instr) && instr.op != Op::UNDEF && !mayReadOutside(instr);
}

bool touchesWarp(const Operand& o) {
  return o.isReg() && !o.isZeroReg() && (o.file == File::UR || o.file == File::UP);
}

/// The loops of one depth: what is to move out of which, decided before anything moves. Liveness and divergence are
/// looked at when the first candidate asks: most loops have none left.
class Level {
 public:
  /// With `lanesOnly` nothing moves that reads or writes uniform registers.
  Level(ori::Function& function, PhaseContext& context, bool lanesOnly)
      : function_(function), context_(context), lanesOnly_(lanesOnly), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()), components_(function),
        definitions_(components_.count()) {}

  /// True when something moved: the snapshots are out of date then.
  bool hoist(std::uint32_t depth) {
    std::vector<Move> moves;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop)
      if (loops_.loop(loop).depth == depth) plan(loop, moves);
    std::vector<ori::EdgeIds> entries;
    for (const Move& move : moves)
      entries.emplace_back(move.from, move.header);
    const std::vector<ori::Block*> fronts = placesInFront(function_, cfg_, entries);
    for (std::size_t i = 0; i < moves.size(); ++i)
      apply(moves[i], fronts[i]);
    return !moves.empty();
  }

 private:
  struct Move {
    BlockId from, header; ///< the only edge into the loop
    std::vector<Instr*> instrs;
  };
  /// Who writes a component in the loop at hand.
  struct Definition {
    LoopId loop = ori::kNoId; ///< the loop that `instr` is of; others have been looked at before
    Instr* instr = nullptr;
    bool isOnlyOne = false;
  };
  struct Root {
    Instr* instr;
    std::vector<Instr*> chain;
  };

  void plan(LoopId loop, std::vector<Move>& moves) {
    noteDefinitions(loop);
    invariants_.clear();
    std::vector<Instr*> order; // definitions before uses
    for (BlockId id : loops_.blocks(loop))
      for (Instr& instr : *function_.block(id))
        if (isInvariant(loop, instr)) {
          invariants_[&instr] = false;
          order.push_back(&instr);
        }
    if (order.empty()) return;
    const BlockId header = loops_.loop(loop).header, from = onlyEntry(loops_, cfg_, loop);
    if (from == ori::kNoId) {
      context_.remarks.refused(function_.block(header)->first, "not hoisted: the loop has several entries");
      return;
    }
    choose(loop, from, order);
    Move move{from, header, {}};
    for (Instr* instr : order)
      if (invariants_[instr]) move.instrs.push_back(instr);
    if (!move.instrs.empty()) moves.push_back(std::move(move));
  }

  void noteDefinitions(LoopId loop) {
    for (BlockId id : loops_.blocks(loop))
      for (Instr& instr : *function_.block(id))
        for (const ori::Operand& o : instr.ops())
          if (o.isDef && o.isReg())
            components_.forEach(o, [&](CompId c) {
              const Definition& seen = definitions_[c];
              definitions_[c] = {loop, &instr, seen.loop != loop};
            });
  }

  /// Its operands are the same in each round, and it alone says in the loop what its results are. These are not wanted
  /// with the values that they have in front of the loop, or had in the round before: neither in the loop nor behind.
  bool isInvariant(LoopId loop, const Instr& instr) {
    if (!isPure(instr) || isPlainCopy(instr)) return false;
    bool hasResult = false, isKnown = true;
    for (const ori::Operand& o : instr.ops()) {
      if (lanesOnly_ && touchesWarp(o)) return false;
      if (!o.isReg() || o.isZeroReg()) continue;
      // Uniform predicates stay within their blocks, and barriers where they are.
      if (!o.isVirtual() || o.file == File::B || (o.isDef && o.file == File::UP)) return false;
      hasResult |= o.isDef;
      components_.forEach(o, [&](CompId c) {
        const Definition& def = definitions_[c];
        const bool isWritten = def.loop == loop;
        isKnown &=
            o.isDef ? isWritten && def.isOnlyOne : !isWritten || (def.isOnlyOne && invariants_.count(def.instr) != 0);
      });
    }
    if (!hasResult || !isKnown) return false;
    bool isOld = false;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isReg())
        components_.forEach(o, [&](CompId c) { isOld |= liveness().isLiveIn(loops_.loop(loop).header, c); });
    if (isOld) context_.remarks.refused(&instr, "not hoisted: the old value of its register is used");
    return !isOld;
  }

  /// Marks what moves: those first that spare the most instructions, while registers last.
  void choose(LoopId loop, BlockId from, const std::vector<Instr*>& order) {
    std::vector<Root> roots;
    for (Instr* instr : order)
      if (isReadByRest(*instr)) roots.push_back({instr, chainOf(loop, instr)});
    std::stable_sort(roots.begin(), roots.end(),
                     [&](const Root& a, const Root& b) { return work(a.chain) > work(b.chain); });
    ori::FileCounts used{};
    for (BlockId id : loops_.blocks(loop))
      for (unsigned file = 0; file < isa::kFileCount; ++file)
        used[file] = std::max(used[file], pressure().inBlock(id)[file]);
    for (const Root& root : roots) {
      if (work(root.chain) == 0 || root.chain.size() > kLongestChain) continue;
      ori::FileCounts wanted{};
      const char* why = nullptr;
      for (const Instr* instr : root.chain) {
        if (invariants_[instr]) continue;
        if (!why) why = whyNot(loop, from, *instr);
        if (!isReadByRest(*instr)) continue;
        // A part of a tuple of uniform registers keeps the whole tuple from others: there are few, and they are
        // aligned.
        for (const ori::Operand& o : instr->ops())
          if (o.isDef && o.isVirtual())
            wanted[indexOf(o.file)] += o.file == File::UR ? function_.vreg(o.reg).width : o.width;
      }
      if (!why) why = whyNotLasting(loop, *root.instr, used, wanted);
      if (why) {
        context_.remarks.refused(root.instr, why);
        continue;
      }
      for (unsigned file = 0; file < isa::kFileCount; ++file)
        used[file] += wanted[file];
      for (const Instr* instr : root.chain)
        invariants_[instr] = true;
    }
  }

  /// Why an instruction may not run in front of the loop; null when it may.
  const char* whyNot(LoopId loop, BlockId from, const Instr& instr) {
    const bool isForWarp = std::any_of(instr.ops().begin(), instr.ops().end(),
                                       [](const ori::Operand& o) { return o.isDef && touchesWarp(o); });
    if (!isForWarp) return nullptr;
    const ori::Divergence& lanes = divergence();
    if (!lanes.isUniformBlock(from) || lanes.branchesApart(from))
      return "not hoisted: the preheader is divergent, and the result is a uniform register";
    if (instr.op != Op::R2UR) return nullptr;
    // Those lanes that never come to it may have anything in the register.
    const BlockId block = instr.block->id;
    if (!lanes.isUniformBlock(block) || !lanes.isUniform(instr.op_(2)) || !runsBeforeAnyLeaves(loop, block))
      return "not hoisted: the value is not available in all lanes of the preheader";
    return nullptr;
  }

  /// Why there are no registers that a result could keep throughout the loop; null when there are.
  const char* whyNotLasting(LoopId loop, const Instr& instr, const ori::FileCounts& used,
                            const ori::FileCounts& wanted) {
    const auto after = [&](File file) { return used[indexOf(file)] + wanted[indexOf(file)]; };
    const auto isShort = [&](File file, unsigned most) { return wanted[indexOf(file)] != 0 && after(file) > most; };
    const auto spare = static_cast<unsigned>(context_.knobs.get(Knob::HoistLateSpareUniform));
    const unsigned uniform = context_.target.registerCount(File::UR);
    if (isShort(File::R, limit())) return "not hoisted: register pressure is too high";
    if (isShort(File::UR, uniform - std::min(spare, uniform)))
      return "not hoisted: pressure on uniform registers is too high";
    const std::int64_t predicates = context_.knobs.get(Knob::HoistLatePredicates);
    const std::int64_t adjusted = predicates == 0 ? 0 : predicates + context_.knobs.get(Knob::PredTargetAdjust);
    if (isShort(File::P, static_cast<unsigned>(std::clamp<std::int64_t>(adjusted, 0, 7))))
      return "not hoisted: pressure on predicates is too high";
    // What some rounds do without is worth no register that others may want.
    if (wanted[indexOf(File::R)] != 0 && instr.block->isAside) return "not hoisted: it is in a cold block of the loop";
    if (wanted[indexOf(File::R)] != 0 && after(File::R) > freeRegisters() && !runsInEveryRound(loop, instr.block->id))
      return "not hoisted: not every iteration executes it";
    return nullptr;
  }

  void apply(const Move& move, ori::Block* front) {
    std::map<Op, std::vector<const Instr*>> moved;
    for (Instr* instr : move.instrs) {
      context_.remarks.did(instr, fmt::format("hoisted {} out of the loop", isa::desc(instr->op).mnemonic), 1);
      std::vector<const Instr*>& alike = moved[instr->op];
      const auto same = std::ranges::find_if(alike, [&](const Instr* other) { return computeTheSame(*other, *instr); });
      if (same == alike.end()) {
        moveToEnd(function_, *instr, *front);
        alike.push_back(instr);
        continue;
      }
      const ori::VRegId from = onlyResult(*instr)->reg, to = onlyResult(**same)->reg;
      function_.erase(instr);
      function_.replaceAllRefs(from, to);
    }
  }

  /// The only result, if it is a register that nothing else writes.
  const ori::Operand* onlyResult(const Instr& instr) const {
    const ori::Operand* result = nullptr;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isVirtual()) continue;
      if (result || function_.singleDef(o.reg) != &instr || o.width != function_.vreg(o.reg).width) return nullptr;
      result = &o;
    }
    return result;
  }

  /// The arms of a loop may each have computed it for themselves: in front of the loop one is enough.
  bool computeTheSame(const Instr& a, const Instr& b) const {
    return onlyResult(a) && onlyResult(b) && isSameOperation(function_, a, b) &&
           std::ranges::none_of(a.ops(), [&](const ori::Operand& o) {
             return !o.isDef && o.isVirtual() && !function_.singleDef(o.reg);
           });
  }

  bool runsInEveryRound(LoopId loop, BlockId block) const {
    const std::vector<BlockId>& latches = loops_.loop(loop).latches;
    return std::all_of(latches.begin(), latches.end(),
                       [&](BlockId latch) { return dominators_.dominates(block, latch); });
  }

  /// Every lane that enters the loop comes here.
  bool runsBeforeAnyLeaves(LoopId loop, BlockId block) const {
    for (BlockId id : loops_.blocks(loop)) {
      const Instr* last = function_.block(id)->last;
      const bool endsLanes = last && ori::isTerminator(last->op) && last->op != Op::BRA;
      if (endsLanes && !dominators_.dominates(block, id)) return false;
    }
    const auto exits = loops_.exits(loop);
    return std::all_of(exits.begin(), exits.end(),
                       [&](const auto& exit) { return dominators_.dominates(block, exit.first); });
  }

  /// Someone reads a result who is not an invariant.
  bool isReadByRest(const Instr& instr) const {
    bool isRead = false;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual())
        function_.forEachUse(o.reg, [&](ori::Operand& use) { isRead |= invariants_.count(use.owner) == 0; });
    return isRead;
  }

  /// The invariant and those that it needs.
  std::vector<Instr*> chainOf(LoopId loop, Instr* root) const {
    std::vector<Instr*> chain{root};
    for (std::size_t i = 0; i < chain.size() && chain.size() <= kLongestChain; ++i)
      for (const ori::Operand& o : chain[i]->ops()) {
        if (o.isDef || !o.isVirtual()) continue;
        components_.forEach(o, [&](CompId c) {
          if (definitions_[c].loop != loop) return;
          Instr* def = definitions_[c].instr;
          if (std::find(chain.begin(), chain.end(), def) == chain.end()) chain.push_back(def);
        });
      }
    return chain;
  }

  /// Instructions saved in each round.
  unsigned work(const std::vector<Instr*>& chain) const {
    return static_cast<unsigned>(std::count_if(chain.begin(), chain.end(), [&](const Instr* instr) {
      return !invariants_.at(instr) && !isAsWellMadeInside(*instr);
    }));
  }

  /// A number that goes into a copy may be set there.
  bool isAsWellMadeInside(const Instr& instr) const {
    if (!isa::desc(instr.op).has(Flag::Copy) && instr.op != Op::MOV) return false;
    if (!instr.op_(1).isImm() || !instr.op_(0).isVirtual()) return false;
    bool isCopied = false;
    function_.forEachUse(instr.op_(0).reg, [&](ori::Operand& use) { isCopied |= isa::desc(use.owner->op).isPseudo(); });
    return isCopied;
  }

  const ori::Liveness& liveness() {
    if (!liveness_) liveness_ = &function_.analyses().liveness();
    return *liveness_;
  }
  const ori::RegisterPressure& pressure() {
    if (!pressure_) pressure_ = &function_.analyses().pressure();
    return *pressure_;
  }
  const ori::Divergence& divergence() {
    if (!divergence_) divergence_ = &function_.analyses().divergence();
    return *divergence_;
  }
  /// Registers of the lanes that may be live: so many that as many warps fit as before.
  unsigned limit() {
    if (!limit_) limit_ = registersUpToCliff(function_, pressure().maximum()[indexOf(File::R)], context_);
    return *limit_;
  }
  /// Registers of the lanes that cost no warps at all.
  unsigned freeRegisters() {
    if (!freeRegisters_) freeRegisters_ = registersUpToCliff(function_, 0, context_);
    return *freeRegisters_;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const bool lanesOnly_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const ori::Components components_;
  std::vector<Definition> definitions_; ///< by component
  const ori::Liveness* liveness_ = nullptr;
  const ori::RegisterPressure* pressure_ = nullptr;
  const ori::Divergence* divergence_ = nullptr;
  std::optional<unsigned> limit_, freeRegisters_;
  std::map<const Instr*, bool> invariants_; ///< of the loop at hand; whether it moves
};

bool hoist(ori::Function& function, PhaseContext& context, bool lanesOnly) {
  return changeFromInnermost(function, kMostLevels,
                             [&](std::uint32_t depth) { return Level(function, context, lanesOnly).hoist(depth); });
}

} // namespace

/// Phase 79. Out of SSA form, what computes the same in each round of a loop moves in front of it: what phases 45 to 74
/// have put into loops (constants that instructions cannot name, ULDC and UMOV, the bridges between the lanes and the
/// warp), and what did not fit in phase 66, when the lanes kept what is in uniform registers now. A register may have
/// several values here, so the result must be the only one that the loop writes there, and no old one may be wanted.
/// Equal numbers that meet in front of a loop become one register, and so does what is computed of the same operands.
/// Conditions move as well, while predicates last (knob HoistLatePredicates). Where parts of a warp may run on their
/// own, uniform registers live within a block, and what touches them stays.
bool oriHoistInvariantsLate2(ori::Function& function, PhaseContext& context) {
  if (!hoist(function, context, ori::mayRunApart(function))) return false;
  mergeEqualConstants(function);
  return true;
}

/// Phase 88. The same for what legalisation has left in loops. Where phase 86 has said how long uniform registers are
/// wanted, or calls have their boundaries, what touches those registers stays.
bool oriHoistInvariantsLate3(ori::Function& function, PhaseContext& context) {
  return hoist(function, context, ori::mayRunApart(function) || hasFixedUniformLives(function));
}

} // namespace orias::phases
