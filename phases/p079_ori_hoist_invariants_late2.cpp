#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/equal_constants.h"
#include "phases/local_scan.h"
#include "phases/loop_preheader.h"
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

/// In deeper nests, the invariants of the outermost loops are not hoisted.
constexpr std::uint32_t kMaxLevels = 8;
/// Longer chains are not hoisted: each invariant is examined with its whole chain.
constexpr std::size_t kLongestChain = 64;
/// Constants for parts of tuples are hoisted while at most this many eighths of the uniform registers are in use.
constexpr unsigned kMaxUniformForParts = 5;

unsigned indexOf(File file) {
  return static_cast<unsigned>(file);
}

/// Whether the instruction copies a register into another of the same file. The two may be coalesced later, which costs
/// nothing.
bool isPlainCopy(const Instr& instr) {
  if (!isa::desc(instr.op).has(Flag::Copy) && instr.op != Op::MOV) return false;
  const ori::Operand &to = instr.op_(0), &from = instr.op_(1);
  return from.isReg() && from.file == to.file;
}

/// Whether the instruction reads a constant bank at an offset that may be outside of it.
bool mayReadOutside(const Instr& instr) {
  for (const ori::Operand& o : instr.ops())
    if (o.isConst() && o.reg != Operand::kNoReg) return true;
  if (!isa::desc(instr.op).has(Flag::ConstLoad) || isSafeConstantLoad(instr)) return false;
  return std::any_of(instr.ops().begin(), instr.ops().end(),
                     [](const ori::Operand& o) { return !o.isDef && o.isReg() && !o.isZeroReg(); });
}

/// Whether the instruction depends only on its operands and cannot fault, so it may run speculatively. R2UR, from the
/// lanes to the warp, counts as such; its permitted places are checked separately.
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

/// The loops of one depth. All moves are decided before any is made. Liveness and divergence are computed for the first
/// candidate: most loops have none left.
class Level {
 public:
  /// With `lanesOnly`, nothing moves that reads or writes uniform registers.
  Level(ori::Function& function, PhaseContext& context, bool lanesOnly)
      : function_(function), context_(context), lanesOnly_(lanesOnly), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()), components_(function),
        definitions_(components_.count()) {}

  /// Returns whether something moved: the snapshots are out of date then.
  bool hoist(std::uint32_t depth) {
    std::vector<Move> moves;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop)
      if (loops_.loop(loop).depth == depth) plan(loop, moves);
    std::vector<ori::EdgeIds> entries;
    for (const Move& move : moves)
      entries.emplace_back(move.from, move.header);
    const std::vector<ori::Block*> fronts = findOrMakePreheaders(function_, cfg_, entries);
    for (std::size_t i = 0; i < moves.size(); ++i)
      apply(moves[i], fronts[i]);
    return !moves.empty();
  }

 private:
  struct Move {
    BlockId from, header; ///< the only edge into the loop
    std::vector<Instr*> instrs;
  };
  /// The definition of a component in the current loop.
  struct Definition {
    LoopId loop = ori::kNoId; ///< the loop of `instr`; entries of other loops are outdated
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
    const BlockId header = loops_.loop(loop).header, from = uniqueEntering(loops_, cfg_, loop);
    if (from == ori::kNoId) {
      context_.remarks.missed(function_.block(header)->first, "not hoisted: the loop has several entries");
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

  /// Whether the operands are loop-invariant, and the instruction is the loop's only definition of its results. The
  /// values that the results had before the loop or in the previous iteration must not be used, neither in the loop nor
  /// after it.
  bool isInvariant(LoopId loop, const Instr& instr) {
    if (!isPure(instr) || isPlainCopy(instr)) return false;
    bool hasResult = false, isKnown = true;
    for (const ori::Operand& o : instr.ops()) {
      if (lanesOnly_ && touchesWarp(o)) return false;
      if (!o.isReg() || o.isZeroReg()) continue;
      // Uniform predicates are not live across blocks, and barriers are not moved.
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
    if (isOld) context_.remarks.missed(&instr, "not hoisted: the old value of its register is used");
    return !isOld;
  }

  /// Marks the instructions to hoist: first those that save the most instructions, while registers last.
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
        // A part of a tuple of uniform registers occupies the whole tuple: there are few, and they are aligned.
        for (const ori::Operand& o : instr->ops())
          if (o.isDef && o.isVirtual())
            wanted[indexOf(o.file)] += o.file == File::UR ? function_.vreg(o.reg).width : o.width;
      }
      if (!why) why = whyNotLasting(loop, *root.instr, used, wanted);
      if (why) {
        context_.remarks.missed(root.instr, why);
        continue;
      }
      for (unsigned file = 0; file < isa::kFileCount; ++file)
        used[file] += wanted[file];
      for (const Instr* instr : root.chain)
        invariants_[instr] = true;
    }
  }

  /// Why an instruction may not run before the loop; null when it may.
  const char* whyNot(LoopId loop, BlockId from, const Instr& instr) {
    const bool isForWarp = std::any_of(instr.ops().begin(), instr.ops().end(),
                                       [](const ori::Operand& o) { return o.isDef && touchesWarp(o); });
    if (!isForWarp) return nullptr;
    const ori::Divergence& lanes = divergence();
    if (!lanes.isUniformBlock(from) || lanes.branchesApart(from))
      return "not hoisted: the preheader is divergent, and the result is a uniform register";
    if (instr.op != Op::R2UR) return nullptr;
    // Lanes that never reach it may have any value in the register.
    const BlockId block = instr.block->id;
    if (!lanes.isUniformBlock(block) || !lanes.isUniform(instr.op_(2)) || !runsBeforeAnyLeaves(loop, block))
      return "not hoisted: the value is not available in all lanes of the preheader";
    return nullptr;
  }

  /// Whether the instruction writes a constant to a part of a tuple of uniform registers.
  bool isConstantPart(const Instr& instr) const {
    const ori::Operand& to = instr.op_(0);
    return instr.op == Op::UMOV && instr.op_(1).isImm() && to.isVirtual() && to.width < function_.vreg(to.reg).width;
  }

  /// Why no registers are available for a result throughout the loop; null when there are.
  const char* whyNotLasting(LoopId loop, const Instr& instr, const ori::FileCounts& used,
                            const ori::FileCounts& wanted) {
    const auto after = [&](File file) { return used[indexOf(file)] + wanted[indexOf(file)]; };
    const auto isShort = [&](File file, unsigned most) { return wanted[indexOf(file)] != 0 && after(file) > most; };
    const auto spare = static_cast<unsigned>(context_.knobs.get(Knob::HoistLateSpareUniform));
    const unsigned uniform = context_.target.registerCount(File::UR);
    if (isShort(File::R, limit())) return "not hoisted: register pressure is too high";
    if (isShort(File::UR, uniform - std::min(spare, uniform)))
      return "not hoisted: pressure on uniform registers is too high";
    // Tuples need aligned registers: with many of them, some are spilled, which costs far more than the constant.
    if (isConstantPart(instr) && after(File::UR) > kMaxUniformForParts * uniform / 8)
      return "not hoisted: a constant for a part of a tuple, while many uniform registers are in use";
    const std::int64_t predicates = context_.knobs.get(Knob::HoistLatePredicates);
    const std::int64_t adjusted = predicates == 0 ? 0 : predicates + context_.knobs.get(Knob::PredTargetAdjust);
    if (isShort(File::P, static_cast<unsigned>(std::clamp<std::int64_t>(adjusted, 0, 7))))
      return "not hoisted: pressure on predicates is too high";
    // An instruction that some iterations skip is not worth a register that costs warps.
    if (wanted[indexOf(File::R)] != 0 && instr.block->isCold) return "not hoisted: it is in a cold block of the loop";
    if (wanted[indexOf(File::R)] != 0 && after(File::R) > freeRegisters() &&
        !runsInEveryIteration(loop, instr.block->id))
      return "not hoisted: not every iteration executes it";
    return nullptr;
  }

  void apply(const Move& move, ori::Block* front) {
    std::map<Op, std::vector<const Instr*>> moved;
    for (Instr* instr : move.instrs) {
      context_.remarks.applied(instr, fmt::format("hoisted {} out of the loop", isa::desc(instr->op).mnemonic), 1);
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

  /// The only result, if it is a register without other definitions in the loop.
  const ori::Operand* onlyResult(const Instr& instr) const {
    const ori::Operand* result = nullptr;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isVirtual()) continue;
      if (result || function_.singleDef(o.reg) != &instr || o.width != function_.vreg(o.reg).width) return nullptr;
      result = &o;
    }
    return result;
  }

  /// The arms of a branch in the loop may compute the same value; before the loop one computation is enough.
  bool computeTheSame(const Instr& a, const Instr& b) const {
    return onlyResult(a) && onlyResult(b) && isSameOperation(function_, a, b) &&
           std::ranges::none_of(a.ops(), [&](const ori::Operand& o) {
             return !o.isDef && o.isVirtual() && !function_.singleDef(o.reg);
           });
  }

  bool runsInEveryIteration(LoopId loop, BlockId block) const {
    const std::vector<BlockId>& latches = loops_.loop(loop).latches;
    return std::all_of(latches.begin(), latches.end(),
                       [&](BlockId latch) { return dominators_.dominates(block, latch); });
  }

  /// Whether every lane that enters the loop reaches the block.
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

  /// Whether a result has a reader that is not an invariant.
  bool isReadByRest(const Instr& instr) const {
    bool isRead = false;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual())
        function_.forEachUse(o.reg, [&](ori::Ref use) { isRead |= invariants_.count(use.owner) == 0; });
    return isRead;
  }

  /// The invariant and its operands' chain.
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

  /// Instructions saved in each iteration.
  unsigned work(const std::vector<Instr*>& chain) const {
    return static_cast<unsigned>(std::count_if(chain.begin(), chain.end(), [&](const Instr* instr) {
      return !invariants_.at(instr) && !isAsWellMadeInside(*instr);
    }));
  }

  /// Whether the instruction sets a number for a copy, which can be set there.
  bool isAsWellMadeInside(const Instr& instr) const {
    if (!isa::desc(instr.op).has(Flag::Copy) && instr.op != Op::MOV) return false;
    if (!instr.op_(1).isImm() || !instr.op_(0).isVirtual()) return false;
    bool isCopied = false;
    function_.forEachUse(instr.op_(0).reg, [&](ori::Ref use) { isCopied |= isa::desc(use.owner->op).isPseudo(); });
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
  /// The most live vector registers that keep the number of warps.
  unsigned limit() {
    if (!limit_) limit_ = registersUpToCliff(function_, pressure().maximum()[indexOf(File::R)], context_);
    return *limit_;
  }
  /// The most live vector registers that cost no warps.
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
  std::map<const Instr*, bool> invariants_; ///< of the current loop; whether it moves
};

bool hoist(ori::Function& function, PhaseContext& context, bool lanesOnly) {
  return changeFromInnermost(function, kMaxLevels,
                             [&](std::uint32_t depth) { return Level(function, context, lanesOnly).hoist(depth); });
}

} // namespace

/// Phase 79. Out of SSA form, hoists loop-invariant computations before the loop: code that phases 45 to 74 have put
/// into loops (constants that are not possible as operands, ULDC and UMOV, the cross-file copies between the lanes and
/// the warp), and computations that did not fit in phase 66, when vector registers held values that are in uniform
/// registers now. A register may have several values here, so the result must be the only one that the loop writes
/// there, and no old one may be used. Equal numbers hoisted before a loop become one register, and so do equal
/// computations on the same operands. Conditions move as well, while predicates last (knob HoistLatePredicates). Where
/// parts of a warp may run separately, uniform registers live within a block, and instructions that use them do not
/// move.
bool oriHoistInvariantsLate2(ori::Function& function, PhaseContext& context) {
  if (!hoist(function, context, ori::mayRunDivergent(function))) return false;
  mergeEqualConstants(function);
  return true;
}

/// Phase 88. Repeats phase 79 for code that legalization has left in loops. Instructions with uniform registers do not
/// move where phase 86 has marked their live ranges, or where calls have boundaries.
bool oriHoistInvariantsLate3(ori::Function& function, PhaseContext& context) {
  return hoist(function, context, ori::mayRunDivergent(function) || hasFixedUniformLives(function));
}

} // namespace orias::phases
