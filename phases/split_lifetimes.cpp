#include "phases/split_lifetimes.h"

#include "ori/analysis/analyses.h"

#include <vector>

namespace orias::phases {

using isa::File;
using ori::Block;
using ori::Instr;
using ori::kNoId;
using ori::VRegId;

namespace {

class LifetimeSplitter {
 public:
  explicit LifetimeSplitter(ori::Function& function) : function_(function), open_(function.vregCount()) {}

  bool run() {
    if (!findCandidates()) return false;
    const ori::Cfg& cfg = function_.analyses().cfg();
    const ori::Liveness& liveness = function_.analyses().liveness();
    ori::LiveCursor cursor(liveness);
    for (Block* block : function_.layout())
      if (cfg.isReachable(block->id)) split(*block, liveness, cursor);
    return rename();
  }

 private:
  /// An operand that refers to a register.
  struct Reference {
    Instr* instr;
    unsigned slot;
  };
  /// The references after the current point, back to where the register was dead.
  struct Lifetime {
    std::vector<Reference> references;
    bool leavesBlock = false;
  };

  /// Finds registers with a guarded definition and more than one other definition.
  bool findCandidates() {
    const auto count = static_cast<VRegId>(function_.vregCount());
    isCandidate_.assign(count, false);
    bool isAny = false;
    for (VRegId id = 0; id < count; ++id) {
      if (function_.vreg(id).file != File::R) continue;
      unsigned guarded = 0, plain = 0;
      function_.forEachDef(id, [&](ori::Ref def) { ++(def.owner->isGuarded() ? guarded : plain); });
      isCandidate_[id] = guarded > 0 && plain > function_.vreg(id).width;
      isAny |= isCandidate_[id];
    }
    return isAny;
  }

  bool isLive(VRegId id, const ori::Liveness& liveness, const ori::LiveCursor& cursor) const {
    for (unsigned k = 0; k < function_.vreg(id).width; ++k)
      if (cursor.isLive(liveness.components().of(id, k))) return true;
    return false;
  }

  void split(Block& block, const ori::Liveness& liveness, ori::LiveCursor& cursor) {
    std::vector<VRegId> seen;
    cursor.enter(block);
    for (Instr* instr = block.last; instr; instr = instr->prev) {
      for (unsigned slot = 0; slot < instr->operandCount; ++slot) {
        const ori::Operand& o = instr->op_(slot);
        if (!o.isVirtual() || o.reg >= isCandidate_.size() || !isCandidate_[o.reg]) continue;
        Lifetime& lifetime = open_[o.reg];
        if (lifetime.references.empty()) {
          seen.push_back(o.reg);
          lifetime.leavesBlock = isLive(o.reg, liveness, cursor);
        } else if (lifetime.references.back().instr != instr && !isLive(o.reg, liveness, cursor)) {
          close(o.reg);
        }
        lifetime.references.push_back({instr, slot});
      }
      cursor.step();
    }
    for (VRegId id : seen) {
      Lifetime& lifetime = open_[id];
      if (isLive(id, liveness, cursor)) lifetime.leavesBlock = true;
      close(id);
    }
  }

  /// Completes the lifetime at its beginning.
  void close(VRegId id) {
    Lifetime& lifetime = open_[id];
    if (!lifetime.leavesBlock && !lifetime.references.empty()) closed_.push_back({id, std::move(lifetime.references)});
    lifetime = {};
  }

  bool rename() {
    bool isChanged = false;
    for (const auto& [id, references] : closed_) {
      unsigned all = 0;
      function_.forEachDef(id, [&](ori::Ref) { ++all; });
      function_.forEachUse(id, [&](ori::Ref) { ++all; });
      if (all == references.size()) continue; // the only remaining lifetime
      const ori::VReg old = function_.vreg(id);
      const VRegId fresh = function_.newVReg(old.file, old.width, old.name);
      function_.vreg(fresh).align = old.align;
      function_.vreg(fresh).divergent = old.divergent;
      for (const Reference& reference : references) {
        isa::Operand value = reference.instr->op_(reference.slot).value();
        value.reg = fresh;
        function_.setOperand(reference.instr, reference.slot, value);
      }
      isChanged = true;
    }
    return isChanged;
  }

  ori::Function& function_;
  std::vector<bool> isCandidate_; // by virtual register
  std::vector<Lifetime> open_;    // by virtual register
  std::vector<std::pair<VRegId, std::vector<Reference>>> closed_;
};

} // namespace

bool splitLocalLifetimes(ori::Function& function) {
  return LifetimeSplitter(function).run();
}

} // namespace orias::phases
