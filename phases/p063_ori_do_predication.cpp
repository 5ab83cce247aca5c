#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

/// PLOP3 of (a, b, c) is c ? a : b.
constexpr std::int32_t kSelectTable = 0xe4;
/// Iterations over the function: a converted branch becomes part of a side of the branch around it.
constexpr unsigned kMaxRounds = 4;

/// A branch with one or two short sides that join in the same block.
struct Candidate {
  Block* head = nullptr;
  Block* taken = nullptr;  ///< the side run when the guard of the branch holds; null when that path is empty
  Block* passed = nullptr; ///< the other
  Block* meet = nullptr;
};

class Predicator {
 public:
  Predicator(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), predecessors_(cfg_.idCount()),
        isGone_(function.blockIdCount(), false) {
    for (BlockId id : cfg_.reversePostOrder())
      predecessors_[id] = static_cast<unsigned>(cfg_.predecessors(id).size());
  }

  /// One iteration, inner branches first.
  bool run() {
    return changeFromEnds(function_, cfg_, isGone_, [&](Block* block) {
      const std::optional<Candidate> candidate = find(block);
      if (!candidate || !pays(*candidate)) return false;
      convert(*candidate);
      return true;
    });
  }

 private:
  static bool isPlain(const Operand& condition) {
    return condition.isNone() || (condition.isZeroReg() && !condition.inverted());
  }

  /// The only successor of a block that may become a side; kNoId when it ends in another way.
  static BlockId next(const Block& block) {
    const Instr* last = block.last;
    if (!last || !ori::isTerminator(last->op)) return block.fallthrough;
    if (last->op != Op::BRA || ori::isConditional(*last) || last->isGuarded()) return kNoId;
    return last->op_(1).reg;
  }

  bool isSide(const Block& block, const Block& head) const {
    return &block != &head && predecessors_[block.id] == 1 && block.id != cfg_.entry() &&
           !(block.first && block.first->op == Op::PHI);
  }

  std::optional<Candidate> find(Block* head) const {
    const Instr* branch = head->last;
    if (!branch || branch->op != Op::BRA || !branch->isGuarded() || !isPlain(branch->op_(0)) ||
        head->fallthrough == kNoId)
      return std::nullopt;
    const ori::Operand& guard = branch->guard();
    if (guard.file != File::P || !guard.isVirtual() || function_.vreg(guard.reg).multiDef) return std::nullopt;
    Block* taken = function_.block(branch->op_(1).reg);
    Block* passed = function_.block(head->fallthrough);
    if (taken == passed) return std::nullopt;
    const BlockId takenNext = isSide(*taken, *head) ? next(*taken) : kNoId;
    const BlockId passedNext = isSide(*passed, *head) ? next(*passed) : kNoId;
    Candidate found{head, nullptr, nullptr, nullptr};
    if (takenNext != kNoId && takenNext == passedNext) {
      found.taken = taken;
      found.passed = passed;
      found.meet = function_.block(takenNext);
    } else if (takenNext == passed->id) {
      found.taken = taken;
      found.meet = passed;
    } else if (passedNext == taken->id) {
      found.passed = passed;
      found.meet = taken;
    } else {
      return std::nullopt;
    }
    if (found.meet == head) return std::nullopt; // an infinite loop
    return found;
  }

  bool reportMissed(const Candidate& c, std::string why) const {
    context_.remarks.missed(c.head->last, "not predicated: " + why);
    return false;
  }

  /// Whether the sides may move, and take fewer slots than a branch costs.
  bool pays(const Candidate& c) const {
    unsigned slots = 0;
    bool loads = false;
    for (const Block* side : {c.taken, c.passed}) {
      if (!side) continue;
      for (const Instr& instr : *side) {
        if (&instr == side->last && ori::isTerminator(instr.op)) continue;
        if (isChosenConstant(instr, *c.meet)) continue;
        const Speculation speculation = speculationOf(function_, instr);
        if (speculation == Speculation::Never)
          return reportMissed(c, fmt::format("{} may not be predicated", isa::desc(instr.op).mnemonic));
        if (isa::desc(instr.op).guardFile() != File::P) return reportMissed(c, "a uniform guard would be needed");
        loads |= waitsLong(instr);
        // Loaded values are live until the select: wide loads take many registers.
        slots += speculation == Speculation::Guarded ? std::max(1u, (resultWords(instr) + 1) / 2)
                                                     : issueSlots(context_.target, instr);
      }
    }
    for (const Instr& phi : *c.meet) {
      if (phi.op != Op::PHI) break;
      const ori::Operand& result = phi.op_(0);
      if (result.file != File::R && result.file != File::P)
        return reportMissed(c, "a uniform value is merged after it");
      if (function_.vreg(result.reg).multiDef)
        return reportMissed(c, "a value with several definitions is merged after it");
      const Operand* values[2] = {ori::phiValueFrom(phi, sourceOf(c, c.taken)),
                                  ori::phiValueFrom(phi, sourceOf(c, c.passed))};
      if (!values[0] || !values[1] || values[0]->isNone() || values[1]->isNone() || *values[0] == *values[1]) continue;
      slots += result.width;
      // SEL takes one of two constants from a register.
      if (isConstantOfSide(c, *values[0]) && isConstantOfSide(c, *values[1])) ++slots;
    }
    const auto most = static_cast<unsigned>(context_.knobs.get(Knob::PredicationMaxSlots));
    if (!divergence_) divergence_ = &function_.analyses().divergence();
    const bool isDivergent = divergence_->branchesApart(c.head->id);
    const unsigned sixths = sixthsOf(c, loads);
    const unsigned limit = (isDivergent ? most : most / 2) * sixths / 6;
    if (slots > limit)
      return reportMissed(c, fmt::format("{} issue slots, maximum is {} for a {} branch", slots, limit,
                                         isDivergent ? "divergent" : "uniform"));
    context_.remarks.applied(c.head->last, "predicated a branch", slots);
    return true;
  }

  /// Whether the instruction sets a constant for a phi after the sides only: an operand of SEL.
  bool isChosenConstant(const Instr& instr, const Block& meet) const {
    if (instr.op != Op::MOV || instr.isGuarded() || !instr.op_(1).isImm()) return false;
    const ori::Operand& result = instr.op_(0);
    if (!result.isVirtual() || result.file != File::R || function_.vreg(result.reg).multiDef) return false;
    unsigned uses = 0;
    bool isMerged = true;
    function_.forEachUse(result.reg, [&](ori::Ref use) {
      ++uses;
      isMerged &= use.owner->op == Op::PHI && use.owner->block == &meet;
    });
    return isMerged && uses == 1;
  }
  /// Whether the value is such a constant, set in one of the sides.
  bool isConstantOfSide(const Candidate& c, const Operand& value) const {
    if (!value.isVirtual() || !value.isReg(File::R)) return false;
    const Instr* source = function_.singleDef(value.reg);
    return source && (source->block == c.taken || source->block == c.passed) && isChosenConstant(*source, *c.meet);
  }

  /// The cost of a branch, in sixths of the limit. An arm without loads is often a rare path. Loads overlap with those
  /// of other arms; a load from a loaded address waits twice as long. Of two arms one runs in any case.
  static unsigned sixthsOf(const Candidate& c, bool loads) {
    if (c.taken && c.passed) return 10;
    if (!loads) return 6;
    return loadsByLoaded(c.taken ? *c.taken : *c.passed) ? 12 : 9;
  }

  /// Loads from local memory have a short latency.
  static bool waitsLong(const Instr& instr) { return isa::desc(instr.op).has(isa::Flag::Load) && instr.op != Op::LDL; }

  /// Whether the arm has a load whose address comes from another load in it.
  static bool loadsByLoaded(const Block& arm) {
    std::vector<ori::VRegId> loaded;
    for (const Instr& instr : arm) {
      const bool fromLoaded = std::ranges::any_of(instr.refs(), [&](const ori::Operand& o) {
        return !o.isDef && o.isVirtual() && std::ranges::find(loaded, o.reg) != loaded.end();
      });
      const bool isLoad = waitsLong(instr);
      if (isLoad && fromLoaded) return true;
      if (!isLoad && !fromLoaded) continue;
      for (const ori::Operand& o : instr.refs())
        if (o.isDef && o.isVirtual()) loaded.push_back(o.reg);
    }
    return false;
  }

  static unsigned resultWords(const Instr& instr) {
    unsigned words = 0;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isReg(File::R) && !o.isZeroReg()) words += o.width;
    return words;
  }

  /// The predecessor that the phis of the join use for a side.
  static BlockId sourceOf(const Candidate& c, const Block* side) { return side ? side->id : c.head->id; }

  void convert(const Candidate& c) {
    Instr* branch = c.head->last;
    const Operand condition = branch->guard().value();
    const bool inverted = condition.inverted();
    Operand holds = condition;
    holds.flags &= static_cast<std::uint8_t>(~Operand::kNot);
    move(c.taken, branch, inverted ? holds.notted() : holds);
    move(c.passed, branch, inverted ? holds : holds.notted());

    ori::Builder b = ori::Builder::before(function_, branch);
    b.setSource(branch->source);
    for (Instr& phi : *c.meet) {
      if (phi.op != Op::PHI) break;
      const Operand* yes = ori::phiValueFrom(phi, sourceOf(c, c.taken));
      const Operand* no = ori::phiValueFrom(phi, sourceOf(c, c.passed));
      const Operand merged = select(b, phi.op_(0).value(), *yes, *no, inverted ? holds.notted() : holds);
      const BlockId kept = sourceOf(c, c.taken);
      for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
        if (phi.op_(i + 1).reg == kept) {
          function_.setOperand(&phi, i, merged);
          break;
        }
    }
    ori::removePhiSource(function_, c.meet, sourceOf(c, c.passed));
    if (sourceOf(c, c.taken) != c.head->id) function_.renamePhiSource(c.meet, c.taken->id, c.head->id);
    function_.erase(branch);
    c.head->fallthrough = c.meet->id;
    --predecessors_[c.meet->id];
    for (Block* side : {c.taken, c.passed})
      if (side) isGone_[side->id] = true;
  }

  /// Moves the instructions of a side before the branch. Memory accesses are guarded by the condition of the side.
  void move(Block* side, Instr* branch, const Operand& guard) {
    if (!side) return;
    if (side->last && ori::isTerminator(side->last->op)) function_.erase(side->last);
    function_.forEachSafe(*side, [&](Instr& instr) {
      const bool needsGuard = speculationOf(function_, instr) == Speculation::Guarded;
      function_.unlink(&instr);
      function_.insertBefore(branch, &instr);
      if (needsGuard) function_.setGuard(&instr, guard);
    });
    side->fallthrough = kNoId;
  }

  /// Returns `holds ? yes : no` as an operand. If one of them is undefined, the other is used.
  Operand select(ori::Builder& b, const Operand& result, const Operand& yes, const Operand& no, const Operand& holds) {
    if (yes.isNone() || yes == no) return no;
    if (no.isNone()) return yes;
    const Operand to = function_.use(function_.newVReg(result.file, result.width, function_.vreg(result.reg).name));
    if (result.file == File::P) {
      b.emit(Op::PLOP3, {to, Operand::pt(), yes, no, holds, Operand::immediate(kSelectTable), Operand::immediate(0)});
      return to;
    }
    for (unsigned w = 0; w < result.width; ++w) {
      Operand first = ori::component(yes, w), second = ori::component(no, w), which = holds;
      if (!first.isReg()) { // the first source is a register
        std::swap(first, second);
        which.flags ^= Operand::kNot;
      }
      if (!first.isReg()) {
        const Operand held = b.newR();
        b.emit(Op::MOV, {held, first});
        first = held;
      }
      b.emit(Op::SEL, {ori::component(to, w), first, second, which});
    }
    return to;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  mutable const ori::Divergence* divergence_ = nullptr; ///< before anything changes
  std::vector<unsigned> predecessors_;                  // by block; kept up to date
  std::vector<bool> isGone_;                            // by block
};

} // namespace

/// Phase 63. If-converts short branches: computations run in all lanes, memory accesses under the condition of the
/// branch, and SEL (PLOP3 for predicates) selects between the values of the two paths. In SSA form each guarded
/// definition is the only one: for lanes that do not run it the value is undefined, and the SEL does not select it.
/// Divergent branches are worth more slots (knob PredicationMaxSlots) than uniform ones, which need no barrier and skip
/// the path not taken. 0 disables the phase.
bool oriDoPredication(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::PredicationMaxSlots) == 0) return false;
  bool changed = false;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    if (!Predicator(function, context).run()) break;
    ori::mergeBlocks(function);
    changed = true;
  }
  return changed;
}

} // namespace orias::phases
