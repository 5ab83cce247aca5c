#include "phases/hoist_loads.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/calls.h"
#include "ori/cfg_edit.h"
#include "phases/joins.h"
#include "phases/loop_preheader.h"
#include "phases/memory_access.h"
#include "phases/occupancy.h"
#include "phases/speculation.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// The most instructions in a chain: the address computation of a load, and the load.
constexpr std::size_t kLongestChain = 4;
/// Limits for the blocks between the branch and the join, and for their instructions: the loaded values occupy
/// registers meanwhile.
constexpr std::size_t kMaxBlocks = 8, kMaxInstructions = 96;

/// Limits for an arm: loads that move, and instructions that are examined.
constexpr unsigned kMaxOfArm = 4, kMaxInstructionsOfArm = 24;

class LoadHoister {
 public:
  LoadHoister(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        postDominators_(function.analyses().postDominators()), joins_(function), loops_(function.analyses().loops()),
        more_(function.blockIdCount(), 0) {}

  bool run() {
    bool changed = false;
    const auto order = cfg_.reversePostOrder();
    // From the last join on, so that hoisted loads can be hoisted further.
    for (std::size_t i = order.size(); i-- > 0;)
      changed |= hoistFrom(*function_.block(order[i]));
    for (std::size_t i = order.size(); i-- > 0;)
      changed |= hoistFromArm(*function_.block(order[i]));
    return changed;
  }

 private:
  static constexpr auto kR = static_cast<std::size_t>(File::R);

  bool hoistFrom(Block& join) {
    Block* head = joins_.branchBlockOf(join);
    if (!head) return false;

    bool changed = false, isRegionKnown = false, writes = false;
    std::vector<BlockId> between;
    std::vector<Instr*> order;
    for (Instr& instr : join)
      order.push_back(&instr);
    for (Instr* instr : order) {
      if (instr->op == isa::Op::PHI) continue;
      std::vector<Instr*> chain;
      if (isLoad(*instr) && collect(*instr, join, chain)) {
        if (!isRegionKnown) {
          if (!crosses(head->id, join.id, between, writes)) return changed;
          isRegionKnown = true;
        }
        if ((accessOf(*instr).isReadOnly || !writes) && hasRoom(between, join.id, *instr)) {
          for (Instr* moved : chain)
            moveToEnd(function_, *moved, *head);
          context_.remarks.applied(instr, fmt::format("issued before the branch of .L{}", head->id));
          changed = true;
          continue;
        }
      }
      if (isBarrier(*instr)) return changed;
      writes |= isWrite(*instr);
    }
    return changed;
  }

  /// Moves loads from the beginning of an arm before its branch, under the branch condition, if other loads are in
  /// flight there.
  bool hoistFromArm(Block& arm) {
    if (cfg_.predecessors(arm.id).size() != 1) return false;
    Block* head = function_.block(cfg_.predecessors(arm.id).front());
    const Instr* branch = ori::plainBranch(*head);
    // Only for branches with a single arm: of two arms one always runs.
    const auto ways = cfg_.successors(head->id);
    if (!branch || ways.size() != 2 || postDominators_.idom(head->id) != (ways[0] == arm.id ? ways[1] : ways[0]) ||
        loops_.innermost(head->id) != loops_.innermost(arm.id) || !branch->guard().isReg(File::P) ||
        !branch->guard().isVirtual() || function_.vreg(branch->guard().reg).multiDef || !waitsForLoad(*head, *branch))
      return false;
    const isa::Operand guard = branch->guard().value();
    BlockId taken = ori::kNoId;
    for (const ori::Operand& o : branch->ops())
      if (o.isLabel()) taken = o.reg;
    bool changed = false, writes = false;
    unsigned seen = 0, left = kMaxOfArm;
    std::vector<Instr*> order;
    for (Instr& instr : arm)
      order.push_back(&instr);
    for (Instr* instr : order) {
      if (instr->op == isa::Op::PHI || ++seen > kMaxInstructionsOfArm || left == 0) break;
      std::vector<Instr*> chain;
      if (isLoad(*instr) && collect(*instr, arm, chain) && (accessOf(*instr).isReadOnly || !writes) &&
          hasRoom({head->id}, arm.id, *instr)) {
        for (Instr* moved : chain)
          moveToEnd(function_, *moved, *head);
        function_.setGuard(instr, taken == arm.id ? guard : guard.notted());
        context_.remarks.applied(instr, fmt::format("issued before the branch of .L{}, under its condition", head->id));
        changed = true;
        --left;
        continue;
      }
      if (isBarrier(*instr)) break;
      writes |= isWrite(*instr);
    }
    return changed;
  }

  /// Whether the block has a load that its branch does not depend on.
  bool waitsForLoad(const Block& head, const Instr& branch) const {
    std::vector<const Instr*> awaited{&branch};
    for (std::size_t i = 0; i < awaited.size(); ++i)
      for (const ori::Operand& o : awaited[i]->refs()) {
        if (o.isDef || !o.isVirtual()) continue;
        function_.forEachDef(o.reg, [&](ori::Ref def) {
          if (def.owner->block == &head && std::ranges::find(awaited, def.owner) == awaited.end())
            awaited.push_back(def.owner);
        });
      }
    for (const Instr& instr : head)
      if (instr.op == isa::Op::LDG && std::ranges::find(awaited, &instr) == awaited.end()) return true;
    return false;
  }

  static bool isLoad(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    if (instr.op != isa::Op::LDG || instr.isGuarded() || !row.has(Flag::Load)) return false;
    return !accessOf(instr).isOrdered;
  }

  static bool isWrite(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    return row.has(Flag::Store) || row.has(Flag::Atomic) || row.has(Flag::SideEffect);
  }

  /// Whether no load may be hoisted across the instruction.
  static bool isBarrier(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    return row.has(Flag::Fence) || row.has(Flag::Convergent) || row.has(Flag::Volatile) || ordersMemory(instr) ||
           ori::isCall(instr) || (row.has(Flag::Terminator) && instr.op != isa::Op::BRA);
  }

  /// The load and the instructions in this block that compute its address, in order; false if one of them cannot move.
  bool collect(Instr& load, const Block& block, std::vector<Instr*>& chain) const {
    return speculationOf(function_, load) == Speculation::Guarded && !readsUniformOfLoop(function_, loops_, load) &&
           collectAll(load, block, chain, kLongestChain);
  }

  bool collectAll(Instr& instr, const Block& block, std::vector<Instr*>& chain, std::size_t depth) const {
    for (const ori::Operand& o : instr.ops()) {
      if (o.isDef || !o.isReg() || o.isZeroReg()) continue;
      if (!o.isVirtual() || function_.vreg(o.reg).multiDef) return false;
      for (Instr* def : definitionsIn(function_, block, o)) {
        if (std::ranges::find(chain, def) != chain.end()) continue;
        if (depth == 0 || def->op == isa::Op::PHI || speculationOf(function_, *def) != Speculation::Free ||
            readsUniformOfLoop(function_, loops_, *def) || issueSlots(context_.target, *def) > 2 ||
            !collectAll(*def, block, chain, depth - 1))
          return false;
      }
    }
    if (chain.size() >= kLongestChain) return false;
    chain.push_back(&instr);
    return true;
  }

  /// Whether loads may be issued before the blocks between the branch and the join. Also returns these blocks.
  bool crosses(BlockId branch, BlockId join, std::vector<BlockId>& between, bool& writes) const {
    std::optional<std::vector<BlockId>> found = joins_.blocksBetween(branch, join, kMaxBlocks);
    if (!found) return false;
    between = std::move(*found);
    std::size_t instructions = 0;
    for (const BlockId id : std::span(between).subspan(1)) {
      if (loops_.innermost(id) != loops_.innermost(branch)) return false;
      for (const Instr& instr : *function_.block(id)) {
        if (isBarrier(instr) || ++instructions > kMaxInstructions) return false;
        writes |= isWrite(instr);
      }
    }
    return true;
  }

  bool hasRoom(const std::vector<BlockId>& between, BlockId join, const Instr& load) {
    unsigned words = 0;
    for (const ori::Operand& o : load.ops())
      if (o.isDef && o.isVirtual() && o.file == File::R) words += o.width;
    if (!pressure_) {
      pressure_ = &function_.analyses().pressure();
      limit_ = registersUpToCliff(function_, pressure_->maximum()[kR], context_);
    }
    const auto fits = [&](BlockId id) { return pressure_->inBlock(id)[kR] + more_[id] + words <= limit_; };
    if (!fits(join) || !std::ranges::all_of(between, fits)) return false;
    more_[join] += words;
    for (BlockId id : between)
      more_[id] += words;
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::DomTree& postDominators_;
  const Joins joins_;
  const ori::Loops& loops_;
  const ori::RegisterPressure* pressure_ = nullptr; // computed for the first candidate, before anything moves
  unsigned limit_ = 0;
  std::vector<unsigned> more_; ///< by block: registers of moved loads that are now live through it
};

} // namespace

bool hoistLoadsOverJoins(ori::Function& function, PhaseContext& context) {
  return LoadHoister(function, context).run();
}

} // namespace orias::phases
