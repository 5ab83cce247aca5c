#include "ori/analysis/divergence.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"
#include "ori/analysis/branch_regions.h"
#include "ori/analysis/convergence.h"
#include "ori/analysis/lane_bits.h"
#include "ori/module.h"
#include "ori/results.h"

#include <algorithm>
#include <array>

namespace orias::ori {

namespace {

/// The maximum number of blocks visited for the arms of divergent branches on cycles. Beyond it, all values count as
/// divergent.
constexpr std::size_t kMaxSteps = 4'000'000;
constexpr unsigned kMaxModelled = 16; ///< operands of instructions that lane_bits.h knows; PHI may have more
constexpr std::int32_t kThreadX = 33, kThreadZ = 35;

bool isWarpFile(File file) {
  return file == File::UR || file == File::UP || file == File::B;
}

bool readsVaryingSpecial(const Function& function, const Instr& instr, unsigned slot) {
  const std::int32_t number = instr.op_(slot).imm;
  if (number > kThreadX && number <= kThreadZ && hasWholeRows(function)) return false;
  return !isa::isWarpUniform(static_cast<unsigned>(number));
}

/// Properties of an opcode that the analysis needs, computed once for each opcode.
struct OpTraits {
  bool isKnown = false;
  bool readsSpecial = false; ///< some slot is a special register
  bool mayBroadcast = false; ///< it has the modes of SHFL
  bool isData = false;       ///< neither ends a block nor waits for lanes: only its results can be divergent
  bool waits = false;        ///< waits for the lanes of a mask: lanes with different masks diverge
};

OpTraits traitsOf(const isa::InstrDesc& row) {
  OpTraits traits;
  traits.isKnown = true;
  traits.mayBroadcast = row.modIndex(isa::Mod::ShflMode) >= 0;
  // Sources of WGMMA and of accesses to tensor memory are data.
  const bool readsData = row.pipe == isa::Pipe::Mma || row.has(isa::Flag::Load) || row.has(isa::Flag::Store);
  traits.waits = row.has(isa::Flag::Convergent) && row.has(isa::Flag::Fence) && !readsData;
  traits.isData = !traits.waits && !row.has(isa::Flag::Terminator);
  for (unsigned i = 0; i < row.slotCount; ++i)
    traits.readsSpecial |= row.texts[i].style == isa::Style::SpecialReg;
  return traits;
}

/// The results are divergent for any values of the sources.
bool isSource(const Function& function, const Instr& instr, const OpTraits& traits) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(isa::Flag::Varying) || row.has(isa::Flag::Atomic)) return true;
  for (unsigned i = 0; traits.readsSpecial && i < row.slotCount; ++i)
    if (row.texts[i].style == isa::Style::SpecialReg && readsVaryingSpecial(function, instr, i)) return true;
  if (!row.has(isa::Flag::Load) || row.modIndex(isa::Mod::Order) < 0) return false;
  // A strong load is performed by each lane separately.
  const auto order = isa::modAs<isa::MemOrder>(instr, isa::Mod::Order);
  return order != isa::MemOrder::Weak && order != isa::MemOrder::Constant;
}

/// For a shuffle that broadcasts the value of one lane: the slot of that lane's number; -1 for other instructions. The
/// number must be uniform, and the warp must be one segment. (The value of an inactive lane is undefined.)
int broadcastingLane(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  constexpr std::int32_t kOneSegment = 0x1f;
  if (row.modIndex(isa::Mod::ShflMode) < 0 ||
      isa::modAs<isa::ShflMode>(instr, isa::Mod::ShflMode) != isa::ShflMode::IDX)
    return -1;
  const int lane = row.slotIndex(isa::SlotId::Rb), segments = row.slotIndex(isa::SlotId::Rc);
  if (lane < 0 || segments < 0) return -1;
  const Operand& clamp = instr.op_(static_cast<unsigned>(segments));
  return clamp.isImm() && clamp.imm == kOneSegment ? lane : -1;
}

} // namespace

/// Values only change from uniform to divergent, so the worklist terminates.
class Divergence::Solver {
 public:
  Solver(Divergence& result, const DomTree& dominators, const DomTree& postDominators, const Loops& loops)
      : r_(result), cfg_(*result.cfg_), function_(cfg_.function()), dominators_(dominators),
        postDominators_(postDominators), loops_(loops), regions_(cfg_, dominators_, postDominators_),
        frontier_(cfg_, dominators_), visitedAt_(function_.instrIdCount(), 0), bits_(function_.vregCount(), 0),
        changedAt_(function_.vregCount(), 0), joins_(cfg_.idCount()), mark_(cfg_.idCount(), 0),
        back_(cfg_.idCount(), 0) {}

  void run() {
    findMultiplyDefined();
    if (mayRunDivergent(function_))
      for (BlockId id : cfg_.reversePostOrder())
        setApart(id);
    for (BlockId id : cfg_.reversePostOrder())
      for (Instr& instr : *function_.block(id))
        visit(instr);
    for (const std::vector<BlockId>& blocks : blocksAfterYields(cfg_, postDominators_))
      for (BlockId id : blocks)
        runApart(id);
    drain();
    // Without a barrier the lanes do not reconverge.
    for (bool changed = true; changed;) {
      changed = false;
      const ConvergencePlan plan =
          planConvergence(cfg_, dominators_, postDominators_, loops_, usableBarriers(function_).count, r_.branches_);
      for (const UnsyncedReconvergence& missed : plan.missed)
        changed |= missed.until == kNoId ? poison(missed.meet) : poisonUntil(missed.meet, missed.until);
      drain();
    }
  }

 private:
  struct Constant {
    bool isKnown = false; ///< whether there is a value
    std::optional<std::uint32_t> value;
  };

  /// Registers with several reaching definitions. In SSA form there are few; the definitions of others are not
  /// compared.
  void findMultiplyDefined() {
    isMultiple_.assign(function_.vregCount(), false);
    if (function_.ssa) return findMultiplyDefinedInSsa();
    std::vector<std::uint32_t> first(function_.vregCount() + 1, 0);
    for (VRegId v = 0; v < function_.vregCount(); ++v)
      first[v + 1] = first[v] + function_.vreg(v).width;
    std::vector<bool> seen(first.back());
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block)
        for (const Operand& o : resultSlots(instr)) {
          if (!o.isDef || !o.isVirtual()) continue;
          for (unsigned i = 0; i < o.width; ++i) {
            const std::size_t c = first[o.reg] + o.sub + i;
            if (seen[c]) isMultiple_[o.reg] = true;
            seen[c] = true;
          }
        }
  }

  void findMultiplyDefinedInSsa() {
    definesMultiple_.assign(cfg_.idCount(), false);
    std::vector<bool> seen;
    for (VRegId v = 0; v < function_.vregCount(); ++v) {
      if (!function_.vreg(v).multiDef) continue;
      seen.assign(function_.vreg(v).width, false);
      function_.forEachDef(v, [&](Ref def) {
        if (!def.owner->block) return;
        definesMultiple_[def.owner->block->id] = true;
        for (std::size_t i = def->sub; i < def->sub + std::size_t{def->width}; ++i) {
          if (seen[i]) isMultiple_[v] = true;
          seen[i] = true;
        }
      });
    }
  }

  /// The constant value of a 32-bit register, if its only definition gives one.
  std::optional<std::uint32_t> constantOf(VRegId v) {
    if (isMultiple_[v]) return std::nullopt;
    if (constants_.empty()) constants_.resize(function_.vregCount());
    Constant& constant = constants_[v];
    if (!constant.isKnown) {
      constant.isKnown = true;
      if (const Instr* def = function_.vreg(v).width == 1 ? function_.singleDef(v) : nullptr)
        if (def->op == Op::MOV && !def->isGuarded() && def->op_(1).isImm())
          constant.value = static_cast<std::uint32_t>(def->op_(1).imm);
    }
    return constant.value;
  }

  void drain() {
    while (!work_.empty()) {
      const VRegId v = work_.back();
      work_.pop_back();
      // Most uses follow the definition and have been visited since it changed.
      function_.forEachUse(v, [&](Ref use) {
        if (visitedAt_[use.owner->id] <= changedAt_[v]) visit(*use.owner);
      });
    }
  }

  void diverge(VRegId v, LaneBits bits = kAllLaneBits) {
    if ((bits & ~bits_[v]) == 0 || isWarpFile(function_.vreg(v).file)) return;
    bits_[v] |= bits;
    r_.registers_[v] = true;
    changedAt_[v] = visits_;
    work_.push_back(v);
  }
  bool differsInAllBits(VRegId v) const { return bits_[v] == kAllLaneBits; }

  LaneWord wordOf(const Operand& o) {
    if (o.isZeroReg()) return {0, 0};
    if (o.isImm()) return {0, static_cast<std::uint32_t>(o.imm)};
    const bool isWord = o.isVirtual() && o.file == File::R && o.width == 1;
    if (!r_.isUniform(o)) return {isWord ? bits_[o.reg] : kAllLaneBits, std::nullopt};
    return {0, isWord ? constantOf(o.reg) : std::nullopt};
  }

  /// Whether lane_bits.h models the instruction; marks the bits in which the results differ.
  bool divergeInBits(const Instr& instr) {
    if (instr.operandCount == 0 || instr.operandCount > kMaxModelled) return false;
    std::array<LaneWord, kMaxModelled> sources{};
    for (unsigned n = 0; n < instr.operandCount; ++n)
      if (!instr.op_(n).isDef) sources[n] = wordOf(instr.op_(n));
    const auto bits = laneBitsOf(function_, instr, std::span(sources).first(instr.operandCount));
    if (!bits) return false;
    for (const Operand& o : resultSlots(instr))
      if (o.isDef && o.isVirtual() && *bits != 0) diverge(o.reg, o.file == File::R ? *bits : kAllLaneBits);
    return true;
  }

  void divergeResults(const Instr& instr) {
    for (const Operand& o : resultSlots(instr))
      if (o.isDef && o.isVirtual()) diverge(o.reg);
  }

  bool readsDivergent(const Instr& instr) const {
    return std::any_of(instr.ops().begin(), instr.ops().end(),
                       [&](const Operand& o) { return !o.isDef && !r_.isUniform(o); });
  }

  /// Whether all results differ in all bits already. May return false if some result has no register.
  bool areResultsDivergent(const Instr& instr) const {
    bool hasResults = false;
    for (const Operand& o : resultSlots(instr)) {
      if (!o.isDef) continue;
      if (!o.isVirtual() || !differsInAllBits(o.reg)) return false;
      hasResults = true;
    }
    return hasResults;
  }

  void visit(const Instr& instr) {
    visitedAt_[instr.id] = ++visits_;
    OpTraits& traits = traits_[static_cast<std::size_t>(instr.op)];
    if (!traits.isKnown) traits = traitsOf(isa::desc(instr.op));
    if (traits.isData && areResultsDivergent(instr)) return;
    if (!cfg_.isReachable(instr.block->id)) return;
    const bool isGuardDivergent = !r_.isUniform(instr.guard());
    if (const int lane = traits.mayBroadcast ? broadcastingLane(instr) : -1; lane >= 0 && !isGuardDivergent) {
      if (!r_.isUniform(instr.op_(static_cast<unsigned>(lane)))) divergeResults(instr);
      return;
    }
    const bool reads = readsDivergent(instr);
    const isa::InstrDesc& row = isa::desc(instr.op);
    if (isGuardDivergent || isSource(function_, instr, traits) || (reads && !row.has(isa::Flag::WarpWide)))
      if (isGuardDivergent || !divergeInBits(instr)) divergeResults(instr);
    if (instr.op == Op::PHI && joins_[instr.block->id]) divergeMerge(instr);
    if ((isGuardDivergent || reads) && isTerminator(instr.op)) branchApart(instr.block->id);
    if (reads && traits.waits) poison(instr.block->id);
  }

  /// Whether all sources of a phi are the same value.
  void divergeMerge(const Instr& phi) {
    for (unsigned i = 3; i + 1 < phi.operandCount; i += 2)
      if (phi.op_(i).value() != phi.op_(1).value()) return divergeResults(phi);
  }

  // --- control

  void branchApart(BlockId b) {
    if (r_.branches_[b] || cfg_.successors(b).size() < 2) return;
    r_.branches_[b] = true;
    if (regions_.mayBeOnCycle(b)) return branchApartOnCycle(b);
    const BranchRegions::Found& found = regions_.add(b);
    for (BlockId id : found.region)
      setApart(id);
    for (BlockId id : found.joins)
      setJoin(id);
  }

  void branchApartOnCycle(BlockId b) {
    if (steps_ > kMaxSteps) return giveUp();

    const BlockId meet = postDominators_.idom(b);
    const std::vector<BlockId> region = reachable(cfg_.successors(b), meet);
    steps_ += region.size();
    const bool isCyclic = mark_[b] == stamp_;
    std::vector<BlockId> merging;
    if (isCyclic) {
      // Lanes of several iterations are active at once, so any two edges may carry lanes of each.
      for (BlockId id : region)
        if (entriesFromRegion(id, b) > 1) merging.push_back(id);
      if (meet < cfg_.idCount() && entriesFromRegion(meet, b) > 1) merging.push_back(meet);
    } else {
      // Blocks after the reconvergence point are not visited: lanes are converged there. Otherwise a sequence of
      // branches would take quadratic time.
      merging = frontier_.compute(sidesOf(b, meet), [&](BlockId id) { return mark_[id] == stamp_; });
      if (meet < cfg_.idCount()) merging.push_back(meet);
    }
    if (isCyclic) divergeAfterCycle(b, region);
    for (BlockId id : region)
      setApart(id);
    for (BlockId id : merging)
      setJoin(id);
  }

  std::vector<BlockId> sidesOf(BlockId b, BlockId meet) const {
    std::vector<BlockId> sides;
    for (BlockId side : cfg_.successors(b))
      if (side != meet) sides.push_back(side);
    return sides;
  }

  /// The blocks that can be reached from `from` without passing `stop`; marks them with a new stamp.
  std::vector<BlockId> reachable(std::span<const BlockId> from, BlockId stop) {
    ++stamp_;
    std::vector<BlockId> found;
    auto add = [&](BlockId id) {
      if (id == stop || mark_[id] == stamp_) return;
      mark_[id] = stamp_;
      found.push_back(id);
    };
    for (BlockId id : from)
      add(id);
    for (std::size_t i = 0; i < found.size(); ++i)
      for (BlockId next : cfg_.successors(found[i]))
        add(next);
    return found;
  }

  unsigned entriesFromRegion(BlockId id, BlockId branch) const {
    unsigned count = 0;
    for (BlockId p : cfg_.predecessors(id))
      if (p == branch || mark_[p] == stamp_) ++count;
    return count;
  }

  /// Lanes execute the cycle through `b` different numbers of times: values defined in the cycle are divergent for uses
  /// after it (temporal divergence).
  void divergeAfterCycle(BlockId b, const std::vector<BlockId>& region) {
    std::vector<BlockId> cycle{b};
    back_[b] = stamp_;
    for (std::size_t i = 0; i < cycle.size(); ++i)
      for (BlockId p : cfg_.predecessors(cycle[i])) {
        if (mark_[p] != stamp_ || back_[p] == stamp_) continue;
        back_[p] = stamp_;
        cycle.push_back(p);
      }
    steps_ += region.size();
    for (BlockId id : cycle)
      for (const Instr& instr : *function_.block(id))
        for (const Operand& def : resultSlots(instr)) {
          if (!def.isDef || !def.isVirtual() || differsInAllBits(def.reg)) continue;
          bool isReadAfter = false;
          function_.forEachUse(def.reg, [&](Ref use) { isReadAfter |= back_[use.owner->block->id] != stamp_; });
          if (isReadAfter) diverge(def.reg);
        }
  }

  void setApart(BlockId id) {
    if (r_.apart_[id]) return;
    r_.apart_[id] = true;
    if (function_.ssa && !definesMultiple_[id]) return;
    for (const Instr& instr : *function_.block(id))
      for (const Operand& def : resultSlots(instr))
        if (def.isDef && def.isVirtual() && isMerged(def.reg, id)) diverge(def.reg);
  }

  /// Registers in SSA form are merged by phis. Others may be read by lanes that did not write them, unless their only
  /// definition dominates all uses.
  bool isMerged(VRegId v, BlockId definedIn) const {
    if (isMultiple_[v] || function_.vreg(v).multiDef) return true;
    if (function_.ssa) return false;
    bool isDominated = true;
    function_.forEachUse(v, [&](Ref use) { isDominated &= dominators_.dominates(definedIn, use.owner->block->id); });
    return !isDominated;
  }

  void setJoin(BlockId id) {
    if (joins_[id]) return;
    joins_[id] = true;
    for (const Instr& instr : *function_.block(id)) {
      if (instr.op != Op::PHI) break;
      divergeMerge(instr);
    }
  }

  /// Lanes may reach the block at any time.
  void runApart(BlockId id) {
    setApart(id);
    if (cfg_.predecessors(id).size() > 1) setJoin(id);
  }

  /// From here on lanes are divergent and never reconverge.
  bool poison(BlockId from) {
    if (isPoisoned_.empty()) isPoisoned_.assign(cfg_.idCount(), false);
    if (isPoisoned_[from]) return false;
    bool changed = false;
    std::vector<BlockId> work{from};
    isPoisoned_[from] = true;
    while (!work.empty()) {
      const BlockId id = work.back();
      work.pop_back();
      changed |= !r_.apart_[id];
      runApart(id);
      for (BlockId next : cfg_.successors(id))
        if (!isPoisoned_[next]) {
          isPoisoned_[next] = true;
          work.push_back(next);
        }
    }
    return changed;
  }

  /// Lanes are divergent from `from` to `until`, where all of them reconverge.
  bool poisonUntil(BlockId from, BlockId until) {
    bool changed = false;
    std::vector<BlockId> between = reachable(std::span(&from, 1), until);
    steps_ += between.size();
    if (steps_ > kMaxSteps) return poison(from);
    for (BlockId id : between) {
      changed |= !r_.apart_[id];
      runApart(id);
    }
    setJoin(until);
    return changed;
  }

  /// All values that other blocks read count as divergent.
  void giveUp() {
    if (hasGivenUp_) return;
    hasGivenUp_ = true;
    for (BlockId id : cfg_.reversePostOrder()) {
      setApart(id);
      setJoin(id);
      for (const Instr& instr : *function_.block(id))
        for (const Operand& def : instr.ops()) {
          if (!def.isDef || !def.isVirtual()) continue;
          function_.forEachUse(def.reg, [&](Ref use) {
            if (use.owner->block->id != id) diverge(def.reg);
          });
        }
    }
  }

  Divergence& r_;
  const Cfg& cfg_;
  const Function& function_;
  const DomTree &dominators_, &postDominators_;
  const Loops& loops_;
  BranchRegions regions_;
  IteratedFrontier frontier_;
  std::array<OpTraits, static_cast<std::size_t>(Op::kCount)> traits_{};
  std::uint32_t visits_ = 0;
  std::vector<std::uint32_t> visitedAt_; // by instruction: the number of the last visit
  std::vector<LaneBits> bits_; // by register: the bits in which a word may differ; for other registers all or none
  std::vector<std::uint32_t> changedAt_; // by register: the number of the visit that changed its bits
  std::vector<Constant> constants_;      // by register; empty until requested
  std::vector<bool> definesMultiple_;    // by block, in SSA form: writes registers with several definitions
  std::vector<bool> isMultiple_;         // by register
  std::vector<bool> joins_;              // by block: its phis merge the arms of a divergent branch
  std::vector<bool> isPoisoned_;         // by block
  std::vector<std::uint32_t> mark_, back_;
  std::uint32_t stamp_ = 0;
  std::size_t steps_ = 0;
  bool hasGivenUp_ = false;
  std::vector<VRegId> work_;
};

Divergence::Divergence(const Cfg& cfg)
    : cfg_(&cfg), registers_(cfg.function().vregCount()), branches_(cfg.idCount()), apart_(cfg.idCount()) {
  const DomTree dominators = DomTree::dominators(cfg), postDominators = DomTree::postDominators(cfg);
  Solver(*this, dominators, postDominators, Loops(cfg, dominators)).run();
}

Divergence::Divergence(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators, const Loops& loops)
    : cfg_(&cfg), registers_(cfg.function().vregCount()), branches_(cfg.idCount()), apart_(cfg.idCount()) {
  Solver(*this, dominators, postDominators, loops).run();
}

bool Divergence::isUniform(const isa::Operand& operand) const {
  if (!operand.isReg() || isWarpFile(operand.file) || operand.isZeroReg()) return true;
  return operand.isVirtual() && !registers_[operand.reg];
}

bool storeDivergence(Function& function, const Divergence& divergence) {
  bool changed = false;
  for (VRegId v = 0; v < function.vregCount(); ++v) {
    VReg& reg = function.vreg(v);
    changed |= reg.hasRefs() && reg.divergent != divergence.isDivergent(v);
    reg.divergent = divergence.isDivergent(v);
  }
  return changed;
}

} // namespace orias::ori
