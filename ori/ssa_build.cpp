#include "ori/ssa.h"

#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "support/check.h"

#include <algorithm>
#include <bitset>
#include <vector>

namespace orias::ori {

namespace {

using Parts = std::bitset<256>; // components of one register

Parts partsOf(const isa::Operand& operand) {
  Parts parts;
  for (unsigned i = 0; i < operand.width; ++i)
    parts.set(operand.sub + i);
  return parts;
}

class SsaBuilder {
 public:
  explicit SsaBuilder(Function& function)
      : function_(function), cfg_(function.analyses().cfg()), dominators_(function.analyses().dominators()),
        liveness_(function.analyses().liveness()) {}

  void run() {
    classify();
    recordKeptParts();
    placePhis();
    rename();
    dropUndefinedCopies();
    function_.ssa = true;
    function_.noteCodeChange();
  }

 private:
  /// The current version of an original register.
  struct State {
    VRegId version = kNoId;
    BlockId openIn = kNoId; ///< the block in which other parts of the version may still be defined
    Parts defined;          ///< of the version
  };

  /// The parts of a register that stay live across a definition of other parts.
  struct KeptParts {
    InstrId instr;
    VRegId reg;
    Parts parts;
    friend bool operator<(const KeptParts& a, const KeptParts& b) {
      return a.instr != b.instr ? a.instr < b.instr : a.reg < b.reg;
    }
  };

  bool isRenamed(const isa::Operand& operand) const {
    return operand.isVirtual() && operand.reg < isRenamed_.size() && isRenamed_[operand.reg];
  }

  /// Decides which registers need renaming, and marks those that cannot be renamed.
  void classify() {
    const auto count = static_cast<VRegId>(function_.vregCount());
    isRenamed_.assign(count, false);
    std::vector<bool> maybeUndefined(count);
    for (CompId comp : liveness_.maybeUndefined())
      if (liveness_.components().isVirtual(comp)) maybeUndefined[liveness_.components().vreg(comp)] = true;
    numberInstructions();
    for (VRegId id = 0; id < count; ++id) {
      Parts once, twice;
      bool isGuarded = false;
      bool keepsOldValue = false; // a use may read the value of an earlier iteration
      function_.forEachDef(id, [&](Ref def) {
        if (!def.owner->block) return;
        const Parts parts = partsOf(*def);
        twice |= once & parts;
        once |= parts;
        if (!def.owner->isGuarded()) return;
        isGuarded = true;
        liveness_.components().forEach(*def,
                                       [&](CompId comp) { keepsOldValue |= !liveness_.startsLife(*def.owner, comp); });
      });
      VReg& reg = function_.vreg(id);
      reg.multiDef = false;
      if (isGuarded)
        reg.multiDef = twice.any() || keepsOldValue || !definitionsPrecedeUses(id);
      else
        isRenamed_[id] = twice.any() || maybeUndefined[id];
    }
  }

  void numberInstructions() {
    order_.assign(function_.instrIdCount(), 0);
    std::uint32_t next = 0;
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block)
        order_[instr.id] = next++;
  }

  /// Whether the definitions dominate all uses, for a register with one definition per component.
  bool definitionsPrecedeUses(VRegId id) const {
    std::vector<const Instr*> defs(function_.vreg(id).width, nullptr);
    function_.forEachDef(id, [&](Ref def) {
      for (unsigned i = 0; i < def->width; ++i)
        defs[def->sub + i] = def.owner;
    });
    bool all = true;
    function_.forEachUse(id, [&](Ref use) {
      const Instr& user = *use.owner;
      if (!user.block) return;
      for (unsigned i = 0; i < use->width; ++i) {
        const Instr* def = defs[use->sub + i];
        all &= def && (def->block == user.block ? order_[def->id] < order_[user.id]
                                                : dominators_.dominates(def->block->id, user.block->id));
      }
    });
    return all;
  }

  template <typename F> void forEachRenamedDef(const Instr& instr, F&& f) const {
    for (unsigned i = 0; i < instr.operandCount; ++i)
      if (instr.op_(i).isDef && isRenamed(instr.op_(i))) f(i);
  }

  /// For each definition of a part: the other parts that are live after it. Computed before renaming.
  void recordKeptParts() {
    LiveCursor cursor(liveness_);
    const Components& components = liveness_.components();
    for (const Block* block : function_.layout()) {
      bool hasPartial = false;
      for (const Instr& instr : *block)
        forEachRenamedDef(
            instr, [&](unsigned i) { hasPartial |= instr.op_(i).width < function_.vreg(instr.op_(i).reg).width; });
      if (!hasPartial) continue;
      cursor.enter(*block);
      while (const Instr* instr = cursor.next()) {
        forEachRenamedDef(*instr, [&](unsigned i) {
          const VRegId id = instr->op_(i).reg;
          const Parts defined = definedParts(*instr, id);
          KeptParts kept{instr->id, id, {}};
          for (unsigned k = 0; k < function_.vreg(id).width; ++k)
            if (!defined.test(k) && cursor.isLive(components.of(id, k))) kept.parts.set(k);
          if (kept.parts.any()) kept_.push_back(kept);
        });
        cursor.step();
      }
    }
    std::sort(kept_.begin(), kept_.end());
  }

  Parts definedParts(const Instr& instr, VRegId id) const {
    Parts parts;
    for (const Operand& operand : instr.ops())
      if (operand.isDef && operand.isVirtual() && operand.reg == id) parts |= partsOf(operand);
    return parts;
  }

  Parts keptParts(InstrId instr, VRegId id) const {
    const KeptParts key{instr, id, {}};
    const auto at = std::lower_bound(kept_.begin(), kept_.end(), key);
    return at != kept_.end() && !(key < *at) ? at->parts : Parts{};
  }

  void placePhis() {
    phis_.resize(cfg_.idCount());
    IteratedFrontier frontier(cfg_, dominators_);
    std::vector<BlockId> defBlocks;
    const auto count = static_cast<VRegId>(isRenamed_.size());
    for (VRegId id = 0; id < count; ++id) {
      if (!isRenamed_[id]) continue;
      defBlocks.clear();
      function_.forEachDef(id, [&](Ref def) {
        if (def.owner->block) defBlocks.push_back(def.owner->block->id);
      });
      std::sort(defBlocks.begin(), defBlocks.end());
      defBlocks.erase(std::unique(defBlocks.begin(), defBlocks.end()), defBlocks.end());
      const unsigned width = function_.vreg(id).width;
      const CompId first = liveness_.components().of(id, 0);
      auto isLiveIn = [&](BlockId block) {
        for (unsigned k = 0; k < width; ++k)
          if (liveness_.isLiveIn(block, first + k)) return true;
        return false;
      };
      for (BlockId block : frontier.compute(defBlocks, isLiveIn))
        phis_[block].push_back(id);
    }
  }

  void rename() {
    states_.resize(isRenamed_.size());
    isNameTaken_.assign(isRenamed_.size(), false);
    std::vector<std::pair<BlockId, std::size_t>> stack; // block, size of the undo log at its start
    for (BlockId id : dominators_.preorder()) {
      while (!stack.empty() && !dominators_.dominates(stack.back().first, id)) {
        undo(stack.back().second);
        stack.pop_back();
      }
      stack.emplace_back(id, undo_.size());
      renameBlock(*function_.block(id));
    }
  }

  /// A register with several definitions is undefined until the first definition with a value.
  void dropUndefinedCopies() {
    for (Block* block : function_.layout())
      function_.forEachSafe(*block, [&](Instr& instr) {
        if (instr.op != Op::COPY || instr.isGuarded() || !instr.op_(0).isVirtual() || !instr.op_(1).isVirtual()) return;
        if (!function_.vreg(instr.op_(0).reg).multiDef) return;
        const Instr* def = function_.singleDef(instr.op_(1).reg);
        if (def && def->op == Op::UNDEF) function_.erase(&instr);
      });
  }

  void undo(std::size_t size) {
    while (undo_.size() > size) {
      states_[undo_.back().first] = undo_.back().second;
      undo_.pop_back();
    }
  }

  void setState(VRegId id, const State& state) {
    undo_.emplace_back(id, states_[id]);
    states_[id] = state;
  }

  /// The version for a new definition: the register itself for the first one.
  VRegId newVersion(VRegId id) {
    if (!isNameTaken_[id]) {
      isNameTaken_[id] = true;
      return id;
    }
    const VReg original = function_.vreg(id);
    const VRegId version = function_.newVReg(original.file, original.width, original.name);
    function_.vreg(version).align = original.align;
    function_.vreg(version).divergent = original.divergent;
    return version;
  }

  void renameBlock(Block& block) {
    Instr* firstOld = block.first;
    makePhis(block, firstOld);
    for (Instr *instr = firstOld, *next; instr; instr = next) {
      next = instr->next;
      renameUses(*instr);
      renameDefs(*instr);
    }
    for (BlockId to : cfg_.successors(block.id))
      fillPhis(*function_.block(to), block.id);
  }

  /// The phis of a block may exist already, created from a predecessor that was visited before.
  void makePhis(Block& block, Instr*& firstOld) {
    ensurePhis(block);
    for (firstOld = block.first; firstOld && firstOld->op == Op::PHI;)
      firstOld = firstOld->next;
    for (const PendingPhi& phi : made_[block.id])
      setState(phi.reg, {phi.version, kNoId, phi.parts});
  }

  struct PendingPhi {
    VRegId reg, version;
    Parts parts;
    std::vector<Instr*> instrs; ///< one per part, ascending
  };

  void ensurePhis(Block& block) {
    if (made_.empty()) made_.resize(cfg_.idCount());
    std::vector<PendingPhi>& made = made_[block.id];
    if (!made.empty() || phis_[block.id].empty()) return;
    std::vector<isa::Operand> operands(1);
    for (BlockId from : cfg_.predecessors(block.id)) {
      operands.emplace_back();
      operands.push_back(isa::Operand::label(from));
    }
    Instr* before = block.first;
    const Source source = before ? before->source : Source{};
    for (VRegId id : phis_[block.id]) {
      PendingPhi phi{id, newVersion(id), {}, {}};
      for (unsigned k = 0; k < function_.vreg(id).width; ++k) {
        if (!liveness_.isLiveIn(block.id, liveness_.components().of(id, k))) continue;
        phi.parts.set(k);
        operands[0] = function_.part(phi.version, k);
        Instr* instr = function_.create(Op::PHI, operands, source);
        if (before)
          function_.insertBefore(before, instr);
        else
          function_.append(&block, instr);
        phi.instrs.push_back(instr);
      }
      made.push_back(std::move(phi));
    }
  }

  void fillPhis(Block& block, BlockId from) {
    ensurePhis(block);
    if (made_[block.id].empty()) return;
    const auto predecessors = cfg_.predecessors(block.id);
    const auto which =
        static_cast<unsigned>(std::find(predecessors.begin(), predecessors.end(), from) - predecessors.begin());
    for (const PendingPhi& phi : made_[block.id]) {
      const State& state = states_[phi.reg];
      std::size_t instr = 0;
      for (unsigned k = 0; k < function_.vreg(phi.reg).width; ++k) {
        if (!phi.parts.test(k)) continue;
        if (state.version != kNoId && state.defined.test(k))
          function_.setOperand(phi.instrs[instr], 1 + 2 * which, function_.part(state.version, k));
        ++instr;
      }
    }
  }

  void renameUses(Instr& instr) {
    auto renamed = [&](const Operand& operand) {
      isa::Operand value = operand.value();
      const State& state = states_[value.reg];
      if (state.version != kNoId) {
        value.reg = state.version;
        return value;
      }
      // Undefined on every path. The definition is placed here, where it occupies no register.
      const VRegId version = newVersion(value.reg);
      Builder::before(function_, &instr).emit(Op::UNDEF, {function_.use(version)});
      setState(value.reg, {version, kNoId, Parts{}.set()});
      value.reg = version;
      return value;
    };
    if (isRenamed(instr.guard())) function_.setGuard(&instr, renamed(instr.guard()));
    for (unsigned i = 0; i < instr.operandCount; ++i)
      if (!instr.op_(i).isDef && isRenamed(instr.op_(i))) function_.setOperand(&instr, i, renamed(instr.op_(i)));
  }

  void renameDefs(Instr& instr) {
    // Operands that define parts of one register in one instruction get one version.
    renamedNow_.clear();
    forEachRenamedDef(instr, [&](unsigned i) {
      const VRegId id = instr.op_(i).reg;
      if (std::find(renamedNow_.begin(), renamedNow_.end(), id) == renamedNow_.end()) renamedNow_.push_back(id);
    });
    for (VRegId id : renamedNow_) {
      const Parts parts = definedParts(instr, id);
      const State old = states_[id];
      State state;
      if (old.version != kNoId && old.openIn == instr.block->id && (old.defined & parts).none()) {
        state = old;
        state.defined |= parts;
      } else {
        state.version = newVersion(id);
        state.openIn = instr.block->id;
        state.defined = parts | copyKept(instr, id, old, state.version);
      }
      setState(id, state);
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        if (!instr.op_(i).isDef || !instr.op_(i).isVirtual() || instr.op_(i).reg != id) continue;
        isa::Operand value = instr.op_(i).value();
        value.reg = state.version;
        function_.setOperand(&instr, i, value);
      }
    }
  }

  /// Copies the parts that stay live from the old version; adjacent parts at once.
  Parts copyKept(Instr& instr, VRegId id, const State& old, VRegId version) {
    if (old.version == kNoId) return {};
    const Parts kept = keptParts(instr.id, id) & old.defined;
    if (kept.none()) return kept;
    Builder builder = Builder::before(function_, &instr);
    const unsigned width = function_.vreg(id).width;
    for (unsigned k = 0; k < width;) {
      unsigned end = k;
      while (end < width && kept.test(end))
        ++end;
      if (end > k) builder.copy(function_.part(version, k, end - k), function_.part(old.version, k, end - k));
      k = end + (end == k ? 1 : 0);
    }
    return kept;
  }

  Function& function_;
  const Cfg& cfg_;
  const DomTree& dominators_;
  const Liveness& liveness_;
  std::vector<std::uint32_t> order_; // by instruction id: the position in the layout
  std::vector<bool> isRenamed_, isNameTaken_;
  std::vector<KeptParts> kept_;
  std::vector<std::vector<VRegId>> phis_;     // by block: the registers that need phis
  std::vector<std::vector<PendingPhi>> made_; // by block
  std::vector<State> states_;
  std::vector<std::pair<VRegId, State>> undo_;
  std::vector<VRegId> renamedNow_;
};

} // namespace

void buildSsa(Function& function) {
  ORIAS_CHECK(!function.ssa && !function.allocated);
  if (function.layout().empty()) return;
  removeUnreachableBlocks(function);
  SsaBuilder(function).run();
}

} // namespace orias::ori
