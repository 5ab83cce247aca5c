#include "phases/block_uniformity.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"

#include <algorithm>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using ori::BlockId;
using ori::Instr;

namespace {

/// Block visits for the sides of branches. Beyond that the analysis gives up, and no block counts as uniform.
constexpr std::size_t kMaxSteps = 200'000;

/// Whether this is one of SR_CTAID.X to SR_CTAID.Z.
bool isSameForBlock(std::int32_t specialRegister) {
  return specialRegister >= 37 && specialRegister <= 39;
}

/// Whether the results differ between threads of a CTA regardless of the operands.
bool isSource(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (unsigned i = 0; i < row.slotCount; ++i)
    if (row.texts[i].style == isa::Style::SpecialReg) return !isSameForBlock(instr.op_(i).imm);
  for (const Flag flag : {Flag::Load, Flag::Atomic, Flag::Volatile, Flag::Convergent, Flag::Varying, Flag::Branch})
    if (row.has(flag)) return true;
  return instr.op == Op::UNDEF;
}

} // namespace

bool isBlockBarrier(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return row.pipe == isa::Pipe::Adu && row.has(Flag::Convergent) && row.has(Flag::Fence);
}

BlockUniformity::BlockUniformity(const ori::Cfg& cfg)
    : cfg_(cfg), varies_(cfg.function().vregCount()), hasParted_(cfg.idCount()), isApart_(cfg.idCount()) {
  const ori::Function& function = cfg.function();
  for (ori::VRegId v = 0; v < function.vregCount(); ++v)
    varies_[v] = function.vreg(v).multiDef || !function.ssa;
  while (!gaveUp_ && (spreadValues() || spreadBranches()))
    gaveUp_ = (steps_ += cfg.reversePostOrder().size()) > kMaxSteps;
}

/// One iteration over all instructions; true if a register was found to vary.
bool BlockUniformity::spreadValues() {
  const ori::Function& function = cfg_.function();
  bool changed = false;
  for (const BlockId id : cfg_.reversePostOrder())
    for (const Instr& instr : *function.block(id)) {
      const bool differs = isApart_[id] || isSource(instr) ||
                           std::any_of(instr.refs().begin(), instr.refs().end(), [&](const ori::Operand& o) {
                             if (o.isDef || !o.isReg() || o.isZeroReg()) return false;
                             return !o.isVirtual() || varies_[o.reg];
                           });
      if (!differs) continue;
      for (const ori::Operand& o : instr.ops())
        if (o.isDef && o.isVirtual() && !varies_[o.reg]) changed = varies_[o.reg] = true;
    }
  return changed;
}

/// True if a branch was found where threads diverge.
bool BlockUniformity::spreadBranches() {
  const ori::DomTree& postDominators = cfg_.function().analyses().postDominators();
  bool changed = false;
  for (const BlockId id : cfg_.reversePostOrder()) {
    const Instr* last = cfg_.function().block(id)->last;
    if (hasParted_[id] || cfg_.successors(id).size() < 2 || !last) continue;
    const bool differs = std::any_of(last->refs().begin(), last->refs().end(), [&](const ori::Operand& o) {
      return o.isReg() && !o.isZeroReg() && (!o.isVirtual() || varies_[o.reg]);
    });
    if (!differs) continue;
    hasParted_[id] = changed = true;
    partFrom(id, postDominators.idom(id));
  }
  return changed;
}

/// Marks blocks where threads are apart until they reconverge. If one side of the branch reaches no barrier any more,
/// the threads of that side do not matter: the others stay together.
void BlockUniformity::partFrom(BlockId branch, BlockId meet) {
  bool areSomeLeaving = false;
  for (const BlockId side : cfg_.successors(branch)) {
    const std::vector<BlockId> leaving = reachable(side, ori::kNoId);
    const bool isWayOut = std::none_of(leaving.begin(), leaving.end(), [&](BlockId id) { return hasBarrier(id); });
    for (const BlockId id : leaving)
      if (isWayOut) isApart_[id] = true;
    areSomeLeaving |= isWayOut;
  }
  if (areSomeLeaving && cfg_.successors(branch).size() == 2) return;
  for (const BlockId side : cfg_.successors(branch))
    for (const BlockId id : reachable(side, meet))
      isApart_[id] = true;
  // The value of a phi at the reconvergence point depends on the path of the thread.
  if (meet < cfg_.idCount())
    for (const Instr& instr : *cfg_.function().block(meet)) {
      if (instr.op != Op::PHI) break;
      varies_[instr.op_(0).reg] = true;
    }
}

bool BlockUniformity::hasBarrier(BlockId id) const {
  for (const Instr& instr : *cfg_.function().block(id))
    if (isBlockBarrier(instr)) return true;
  return false;
}

std::vector<BlockId> BlockUniformity::reachable(BlockId from, BlockId stop) {
  std::vector<BlockId> found;
  if (from == stop) return found;
  std::vector<bool> isFound(cfg_.idCount());
  found.push_back(from);
  isFound[from] = true;
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const BlockId next : cfg_.successors(found[i])) {
      if (next == stop || isFound[next]) continue;
      isFound[next] = true;
      found.push_back(next);
    }
  gaveUp_ |= (steps_ += found.size()) > kMaxSteps;
  return found;
}

} // namespace orias::phases
