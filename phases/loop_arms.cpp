#include "phases/loop_arms.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/speculation.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;
using ori::LoopId;
using ori::VRegId;

namespace {

/// The most issue slots of an arm: as many as phase 63 allows for a uniform branch.
constexpr unsigned kMaxSlots = 6;

/// A block that a branch may skip.
struct Arm {
  Block *head, *block, *join;
  bool isTaken; ///< the branch is taken to this block, and falls through to the join
};

class ArmPredicator {
 public:
  ArmPredicator(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), loops_(function.analyses().loops()) {}

  bool run() {
    std::vector<Arm> arms;
    for (LoopId id = 0; id < loops_.all().size(); ++id) {
      const std::vector<Arm> found = armsOf(id);
      // Each arm leaves its join, which is merged into its head.
      if (!found.empty() && loops_.loop(id).blockCount == 1 + 2 * found.size())
        arms.insert(arms.end(), found.begin(), found.end());
    }
    for (const Arm& arm : arms)
      convert(arm);
    return !arms.empty();
  }

 private:
  std::vector<Arm> armsOf(LoopId id) const {
    std::vector<Arm> arms;
    for (const BlockId b : loops_.blocks(id)) {
      if (loops_.innermost(b) != id) return {};
      Block* head = function_.block(b);
      const Instr* branch = ori::plainBranch(*head);
      if (!branch || !branch->guard().isReg(File::P) || !branch->guard().isVirtual() || head->fallthrough == kNoId)
        continue;
      Block* taken = function_.block(branch->op_(1).reg);
      Block* passed = function_.block(head->fallthrough);
      if (isArm(*taken, *head, *passed))
        arms.push_back({head, taken, passed, true});
      else if (isArm(*passed, *head, *taken))
        arms.push_back({head, passed, taken, false});
    }
    return arms;
  }

  /// Whether the block is an arm: it leads only to the join, the join has no other predecessors than the block and its
  /// head, and its instructions may be executed in all lanes.
  bool isArm(const Block& block, const Block& head, const Block& join) const {
    if (&block == &join || &block == &head || &join == &head || cfg_.predecessors(block.id).size() != 1 ||
        cfg_.predecessors(join.id).size() != 2 || cfg_.successors(block.id).size() != 1 ||
        cfg_.successors(block.id)[0] != join.id)
      return false;
    unsigned slots = 0;
    for (const Instr& instr : block) {
      if (instr.op == Op::BRA && !instr.isGuarded()) continue;
      if (speculationOf(function_, instr) != Speculation::Free || instr.isGuarded()) return false;
      slots += issueSlots(context_.target, instr);
      for (const ori::Operand& o : instr.ops()) {
        if (!o.isDef || !o.isVirtual()) continue;
        if (o.width != function_.vreg(o.reg).width) return false;
        const bool isResult = isReadOutside(block, o.reg);
        if (o.isReg(File::R))
          slots += isResult ? o.width : 0;
        else if (!o.isReg(File::P) || isResult)
          return false;
      }
    }
    return slots <= kMaxSlots;
  }

  bool isReadOutside(const Block& block, VRegId reg) const {
    bool isRead = false;
    function_.forEachUse(reg, [&](ori::Ref o) { isRead |= o.owner->block != &block; });
    return isRead;
  }

  void convert(const Arm& arm) {
    Instr* branch = arm.head->last;
    Operand isExecuted = branch->guard().value();
    if (!arm.isTaken) isExecuted = isExecuted.notted();
    std::unordered_map<VRegId, VRegId> renamed;
    std::vector<VRegId> results;
    const auto renameIn = [&](Instr& instr, bool defs) {
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const ori::Operand& o = instr.op_(i);
        if (o.isDef != defs || !o.isVirtual()) continue;
        if (defs) {
          const ori::VReg old = function_.vreg(o.reg);
          if (!renamed.contains(o.reg) && isReadOutside(*arm.block, o.reg)) results.push_back(o.reg);
          renamed[o.reg] = function_.newVReg(old.file, old.width, old.name);
        }
        const auto found = renamed.find(o.reg);
        if (found == renamed.end()) continue;
        Operand other = o.value();
        other.reg = found->second;
        function_.setOperand(&instr, i, other);
      }
    };
    context_.remarks.applied(branch, "predicated a branch in a loop", 0);
    function_.forEachSafe(*arm.block, [&](Instr& instr) {
      if (instr.op == Op::BRA) return function_.erase(&instr);
      renameIn(instr, false);
      renameIn(instr, true);
      function_.unlink(&instr);
      function_.insertBefore(branch, &instr);
    });
    ori::Builder b = ori::Builder::before(function_, branch);
    b.setSource(branch->source);
    for (const VRegId result : results)
      for (unsigned w = 0; w < function_.vreg(result).width; ++w)
        b.emit(Op::SEL, {ori::component(function_.use(result), w), ori::component(function_.use(renamed[result]), w),
                         ori::component(function_.use(result), w), isExecuted});
    function_.erase(branch);
    arm.head->fallthrough = arm.join->id;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Loops& loops_;
};

} // namespace

bool predicateLoopArms(ori::Function& function, PhaseContext& context) {
  if (!ArmPredicator(function, context).run()) return false;
  ori::removeUnreachableBlocks(function);
  ori::mergeBlocks(function);
  return true;
}

} // namespace orias::phases
