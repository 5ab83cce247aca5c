// Barriers of the CTA and of the warp, fences, and waiting.

#include "frontend/lower/sync.h"

#include "frontend/lower/families.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// A barrier or count as BAR accepts it: an immediate (0 too), or a register.
IsaOperand barrierOperand(const Value& v) {
  return v.isConstant() ? IsaOperand::immediate(static_cast<std::int32_t>(v.bits())) : v.word(0);
}

/// Both in one register, as the forms without immediates require: the count in the upper half (observed).
IsaOperand packed(FunctionLowering& f, IsaOperand id, IsaOperand count) {
  IsaOperand high = f.newR(), both = f.newR();
  f.emit(IsaOp::SHF, {high, count, f.imm(16), IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), both, high, f.imm(0xf), id, f.imm(0xf8), IsaOperand::pt().notted()});
  return both;
}

bool isReduction(Op op) {
  return op == Op::BarRed || op == Op::BarrierRed;
}
bool isArrival(Op op) {
  return op == Op::BarArrive || op == Op::BarrierArrive;
}

int fenceScope(Mod scope) {
  enum { Cta = 0, Gpu = 2, Sys = 3 };
  switch (scope) {
  case Mod::Cta: return Cta;
  case Mod::Sys: return Sys;
  default: return Gpu;
  }
}

} // namespace

void emitMembar(FunctionLowering& f, FenceKind kind, Mod scope) {
  f.emit(IsaOp::MEMBAR, {}, {{IsaMod::Fence, static_cast<int>(kind)}, {IsaMod::Scope, fenceScope(scope)}});
}

void emitFence(FunctionLowering& f, FenceKind kind, Mod scope, bool invalidate) {
  emitMembar(f, kind, scope);
  if (scope == Mod::Cta) return;
  // Errors of stores in flight are raised here, before others are notified of the data.
  f.emit(IsaOp::ERRBAR, {});
  if (f.target().has(isa::Capability::Clusters)) f.emit(IsaOp::CGAERRBAR, {});
  if (invalidate) f.emit(IsaOp::CCTL_IVALL, {});
}

void emitReleaseFence(FunctionLowering& f, Mod scope) {
  emitFence(f, FenceKind::All, scope, false);
}

void emitAcquireFence(FunctionLowering& f, Mod scope) {
  // All threads of the CTA share the same L1, so it suffices that the load has completed, which a fence waits for. For
  // wider scopes L1 may hold stale data.
  if (scope == Mod::Cta)
    emitFence(f, FenceKind::All, scope, false);
  else
    f.emit(IsaOp::CCTL_IVALL, {});
}

namespace {

bool isWholeWarp(const Value& mask) {
  return mask.isConstant() && static_cast<std::uint32_t>(mask.bits()) == 0xffffffffu;
}

} // namespace

void synchronizeWarp(FunctionLowering& f, const Value& mask, bool exclusive) {
  if (isWholeWarp(mask)) {
    // Nothing has split the warp since it was last converged in this block, so there is no need to converge it again.
    // Instructions that were scanned before are not scanned again.
    FunctionLowering::WholeWarp& known = f.wholeWarp();
    const ori::Block* const block = f.b().block();
    bool isWhole = false;
    for (const ori::Instr* i = block->last; i && !isWhole && i->op != IsaOp::WARPSYNC; i = i->prev)
      isWhole = (known.block == block && known.at == i) || (i->op == IsaOp::WARPSYNC_ALL && !i->isGuarded());
    if (!isWhole) f.emit(IsaOp::WARPSYNC_ALL, {})->mayContract = true;
    known = {block, block->last};
    return;
  }
  const unsigned sub = exclusive && !mask.isConstant() ? 1 : 0;
  f.emit(IsaOp::WARPSYNC, {IsaOperand::pt(), f.inReg(mask.word(0))}, {{IsaMod::Sub, sub}})->mayContract = true;
}

void lowerBarrier(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool reduction = isReduction(form.op), arrival = isArrival(form.op);
  const unsigned first = reduction ? 1 : 0;
  const bool hasCount = ops.size() > first + (reduction ? 2u : 1u);
  const Value id = f.source(ops[first], Type::U32);
  const Value count = hasCount ? f.source(ops[first + 1], Type::U32) : Value::constant(0, 1);
  // All lanes arrive together. Under a guard some of them may not get here.
  if (i.guard == RegisterId::None && !arrival) synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);

  std::vector<IsaOperand> at;
  const bool inOne = !id.isConstant() && !count.isConstant();
  if (inOne)
    at = {packed(f, id.word(0), count.word(0))};
  else
    at = {barrierOperand(id), barrierOperand(count)};
  if (arrival) {
    f.emit(inOne ? IsaOp::BAR_ARV_R : IsaOp::BAR_ARV, at, {});
  } else if (!reduction) {
    f.emit(inOne ? IsaOp::BAR_SYNC_R : IsaOp::BAR_SYNC, at, {});
  } else {
    enum { Popc, And, Or };
    const bool counts = form.has(Mod::Popc);
    const isa::ModValue func{IsaMod::Func, counts ? Popc : form.boolOp() == Mod::And ? And : Or};
    at.push_back(f.predicate(ops[ops.size() - 1]));
    f.emit(inOne ? IsaOp::BAR_RED_R : IsaOp::BAR_RED, at, std::span(&func, 1));
    if (counts)
      f.emit(IsaOp::B2R_RESULT, {f.dest(ops[0]), IsaOperand::pt()});
    else
      f.emit(IsaOp::B2R_RESULT, {IsaOperand::rz(), f.destPredicate(ops[0])});
  }
}

void lowerClusterBarrier(FunctionLowering& f, const Instruction& i, const Form& form) {
  const bool arrives = form.op == Op::BarrierClusterArrive;
  ori::Block* join = f.beginUnguarded();
  // All lanes arrive together.
  if (i.guard == RegisterId::None) synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);
  ori::Block *alone = nullptr, *done = nullptr;
  if (!f.out().bounds.explicitcluster) {
    // A word of the bank tells whether the launch has clusters. A CTA without a cluster waits only for itself
    // (observed).
    if (!arrives) alone = f.newBlock();
    done = f.newBlock();
    const IsaOperand hasClusters =
        f.compared(f.inReg(IsaOperand::constant(0, static_cast<std::int32_t>(f.target().bank0().explicitCluster))),
                   isa::ICmp::EQ, 1);
    f.branchIf(hasClusters.notted(), alone != nullptr ? alone : done);
  }
  if (arrives) {
    if (form.semantics() != Mod::Relaxed) emitReleaseFence(f, Mod::Cluster);
    f.emit(IsaOp::UCGABAR_ARV, {});
  } else {
    f.emit(IsaOp::UCGABAR_WAIT, {});
    emitAcquireFence(f, Mod::Cluster);
  }
  if (done != nullptr) {
    if (alone != nullptr) {
      f.branch(done);
      f.enter(alone);
      f.emit(IsaOp::BAR_SYNC, {IsaOperand::immediate(0), IsaOperand::immediate(0)});
    }
    f.enter(done);
  }
  f.endUnguarded(join);
}

void lowerWarpBarrier(FunctionLowering& f, const Instruction& i, const Form&) {
  ori::Block* join = f.beginUnguarded();
  const Value mask = f.source(f.operands(i)[0], Type::B32);
  // bar.warp.sync also orders memory, so it is kept even if the lanes are already converged.
  if (isWholeWarp(mask))
    f.emit(IsaOp::WARPSYNC_ALL, {});
  else
    f.emit(IsaOp::WARPSYNC, {IsaOperand::pt(), f.inReg(mask.word(0))});
  f.endUnguarded(join);
}

void emitRestrictedFence(FunctionLowering& f, const Form& form) {
  // An acquire needs nothing: writes that the barrier's wait has observed are visible to loads from shared memory.
  if (form.semantics() == Mod::Acquire) return;
  enum { Shared };
  f.emit(IsaOp::MEMBAR, {}, {{IsaMod::Fence, FenceKind::All}, {IsaMod::Scope, fenceScope(Mod::Cta)}});
  f.emit(IsaOp::FENCE_VIEW_ASYNC, {}, {{IsaMod::Sub, Shared}});
}

void lowerMembar(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (form.op == Op::MembarProxy) {
    lowerProxyFence(f, i, form);
    return;
  }
  if (form.get(Slot::SyncRestrict) != Mod::None) {
    emitRestrictedFence(f, form);
    return;
  }
  // membar.gl is fence.sc.gpu. A fence without semantics is acq_rel. One-sided fences are implemented as acq_rel.
  const bool isSc = form.op == Op::Membar || form.semantics() == Mod::Sc;
  emitFence(f, isSc ? FenceKind::Sc : FenceKind::All, form.scope(), true);
}

void lowerNanosleep(FunctionLowering& f, const Instruction& i, const Form&) {
  const Value t = f.source(f.operands(i)[0], Type::U32);
  f.emit(IsaOp::NANOSLEEP,
         {IsaOperand::pt(), t.isConstant() ? IsaOperand::immediate(static_cast<std::int32_t>(t.bits())) : t.word(0)});
}

/// pmevent: triggers one of 16 event counters, or those of a mask.
void lowerPmevent(FunctionLowering& f, const Instruction& i, const Form& form) {
  const std::uint64_t events = f.source(f.operands(i)[0], Type::U32).bits();
  const std::uint64_t mask = form.has(Mod::Mask) ? events : std::uint64_t{1} << events;
  f.emit(IsaOp::PMTRIG, {IsaOperand::pt(), IsaOperand::immediate(static_cast<std::int32_t>(mask))});
}

/// Programmatic dependent launch.
void lowerGridControl(FunctionLowering& f, const Instruction&, const Form& form) {
  f.emit(form.mode() == Mod::Wait ? IsaOp::ACQBULK : IsaOp::PREEXIT, {});
}

} // namespace orias::ptx
