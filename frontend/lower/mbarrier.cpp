// Barriers in shared memory (for older chips see mbarrier_older.h), and proxy fences. Everything follows ptxas for
// sm_90. The word of a barrier counts down: its high half holds the complements of the expected arrivals of a phase and
// of those still pending in the current phase.

#include "frontend/lower/addresses.h"
#include "frontend/lower/bulk_copy.h"
#include "frontend/lower/cluster.h"
#include "frontend/lower/families.h"
#include "frontend/lower/mbarrier_copies.h"
#include "frontend/lower/mbarrier_pre_sm90.h"
#include "frontend/lower/special.h"
#include "frontend/lower/sync.h"
#include "frontend/lower/uniform_loop.h"

#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// Operands of SYNCS.ARRIVE: number of arrivals A and of bytes T; each is none, one, or given by a register.
enum class Count { Expect = 0, ArriveOne = 1, ByteOne = 2, ExpectOnly = 3, Complete = 4, ArriveMany = 5 };

constexpr std::uint32_t kMaxArrivals = 1u << 20;

Address barrierAddress(FunctionLowering& f, const Operand& operand, const Form& form) {
  Address a = sharedAddress(f, operand, form.space());
  if (a.uniform.isNone()) a.uniform = IsaOperand::zero(File::UR);
  return a;
}

IsaOperand offsetOf(const Address& a) {
  return IsaOperand::immediate(static_cast<std::int32_t>(a.offset));
}

/// The whole address in one word, for instructions that take it from a uniform register.
Value addressWord(FunctionLowering& f, const Address& a) {
  if (a.base.isZeroReg() && a.offset == 0) return Value::of(a.uniform);
  const IsaOperand sum = f.newR();
  f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), f.inReg(f.imm(a.offset)), a.uniform, a.base});
  return Value::of(sum);
}

IsaOperand shiftedLeft(FunctionLowering& f, IsaOperand word, unsigned by) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SHF, {r, word, f.imm(by), IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  return r;
}

/// Whether the form orders accesses of other CTAs of the cluster.
bool reachesCluster(const Form& form) {
  return form.scope() == Mod::Cluster && form.semantics() != Mod::Relaxed;
}

void arrive(FunctionLowering& f, const Address& a, Count count, IsaOperand state, IsaOperand operand, bool drops,
            bool wantsNothing) {
  f.emit(IsaOp::SYNCS_ARRIVE, {state, a.base, a.uniform, offsetOf(a), operand},
         {{IsaMod::Func, count}, {IsaMod::Sub3, drops ? 1 : 0}, {IsaMod::Sub2, wantsNothing ? 1 : 0}});
}

void initialise(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  LaneRegion region(f);
  const Address a = barrierAddress(f, ops[0], form);
  const Value count = f.source(ops[1], Type::U32);
  Value low, high;
  if (count.isConstant()) {
    const std::uint32_t left = kMaxArrivals - static_cast<std::uint32_t>(count.bits());
    low = Value::constant(left << 1, 1);
    high = Value::constant(left << 11, 1);
  } else {
    const IsaOperand left = f.newR();
    f.emit(IsaOp::IADD3,
           {left, IsaOperand::pt(), IsaOperand::pt(), count.word(0).negated(), f.imm(kMaxArrivals), IsaOperand::rz()});
    low = Value::of(shiftedLeft(f, left, 1));
    high = Value::of(shiftedLeft(f, left, 11));
  }
  const IsaOperand at = f.out().use(f.out().newVReg(File::UR)), word = f.out().use(f.out().newVReg(File::UR, 2));
  const std::array<UniformWord, 3> uniform{UniformWord{at, addressWord(f, a)},
                                           UniformWord{ori::component(word, 0), low},
                                           UniformWord{ori::component(word, 1), high}};
  region.forEachUniform(uniform, [&] {
    const IsaOperand guard = f.b().guard();
    f.b().setGuard(IsaOperand::pt());
    f.emit(IsaOp::FENCE_VIEW_ASYNC, {}, {{IsaMod::Sub, 0}});
    // Once for all lanes with the same value.
    if (guard.isReg(File::UP)) f.b().setGuard(guard);
    f.emit(IsaOp::SYNCS_EXCH, {IsaOperand::zero(File::UR, 2), at, f.imm(0), word});
  });
  region.end();
}

/// An arrival that returns the number of pending arrivals before this lane (.noComplete promises that the phase does
/// not end). The lanes of a warp arrive together: all get the state before the whole group, and TMASK in its low word
/// gives the lanes. The lanes before this one are counted and added to the state, as in ptxas' code.
void arriveInOrder(FunctionLowering& f, const Address& a, IsaOperand state, IsaOperand count, bool drops) {
  constexpr unsigned kPendingShift = 11; // in the high word
  const IsaOperand together = f.newR(2), before = f.newR(), inFront = f.newR(), places = f.newR();
  f.emit(IsaOp::SYNCS_ARRIVE, {together, a.base, a.uniform, offsetOf(a), count},
         {{IsaMod::Func, Count::ArriveMany}, {IsaMod::Sub, 1}, {IsaMod::Sub3, drops ? 1 : 0}});
  f.emit(IsaOp::S2R, {before, IsaOperand::immediate(kSrLtMask)});
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), inFront, ori::component(together, 0), before, IsaOperand::rz(), f.imm(0xc0),
                       IsaOperand::pt().notted()});
  f.emit(IsaOp::POPC, {places, inFront});
  f.emit(IsaOp::MOV, {ori::component(state, 0), ori::component(together, 0)});
  f.emit(IsaOp::IMAD,
         {ori::component(state, 1), shiftedLeft(f, places, kPendingShift), count, ori::component(together, 1)},
         {{IsaMod::Type, isa::IntType::U32}});
}

void arriveAt(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  if (reachesCluster(form)) emitReleaseFence(f, Mod::Cluster);
  // An arrival at a barrier of another CTA returns no state.
  const bool isRemote = isClusterShared(form), wantsState = !ops[0].is(OperandKind::Sink);
  const Address a = barrierAddress(f, ops[1], form);
  const IsaOperand state = wantsState ? f.dest(ops[0]) : IsaOperand::rz(2);
  const bool drops = form.op == Op::MbarrierArriveDrop;
  if (form.has(Mod::ExpectTx)) {
    arrive(f, a, Count::Expect, state, f.sourceReg(ops[2], Type::U32), drops, isRemote);
    return;
  }
  const Value count = ops.size() > 2 ? f.source(ops[2], Type::U32) : Value::constant(1, 1);
  if (form.has(Mod::NoComplete) && wantsState) {
    arriveInOrder(f, a, state, f.inReg(count), drops);
    return;
  }
  const bool isOne = count.isConstant() && count.bits() == 1;
  arrive(f, a, isOne ? Count::ArriveOne : Count::ArriveMany, state, isOne ? IsaOperand::rz() : f.inReg(count), drops,
         isRemote);
}

void waitFor(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Address a = barrierAddress(f, ops[1], form);
  // The phase is the top bit of the high word of a state. The time limit of try_wait is only a hint.
  const IsaOperand phase = form.has(Mod::Parity) ? shiftedLeft(f, f.sourceReg(ops[2], Type::U32), 31)
                                                 : ori::component(f.sourceReg(ops[2], Type::B64), 1);
  f.emit(IsaOp::SYNCS_PHASECHK, {f.destPredicate(ops[0]), a.base, a.uniform, offsetOf(a), phase},
         {{IsaMod::Sub, form.op == Op::MbarrierTryWait ? 1 : 0}});
  if (reachesCluster(form)) emitAcquireFence(f, Mod::Cluster);
}

} // namespace

void lowerMbarrier(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (!f.target().has(isa::Capability::AsyncBarriers)) {
    lowerOlderMbarrier(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  switch (form.op) {
  case Op::MbarrierInit: initialise(f, i, form); return;
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop: arriveAt(f, i, form); return;
  case Op::MbarrierTestWait:
  case Op::MbarrierTryWait: waitFor(f, i, form); return;
  case Op::MbarrierInval: {
    const Address a = barrierAddress(f, ops[0], form);
    f.emit(IsaOp::SYNCS_CCTL_IV, {a.base, a.uniform, offsetOf(a)});
    return;
  }
  case Op::MbarrierExpectTx:
  case Op::MbarrierCompleteTx: {
    const Count count = form.op == Op::MbarrierExpectTx ? Count::ExpectOnly : Count::Complete;
    arrive(f, barrierAddress(f, ops[0], form), count, IsaOperand::rz(2), f.sourceReg(ops[1], Type::U32), false, true);
    return;
  }
  case Op::CpAsyncMbarrierArrive: {
    ori::Block* join = f.beginUnguarded();
    const Address a = barrierAddress(f, ops[0], form);
    const bool isCounted = form.has(Mod::Noinc);
    if (!isCounted) arrive(f, a, Count::ByteOne, IsaOperand::rz(2), IsaOperand::rz(), false, true);
    enum { ArrivalCount = 1, TransactionCount = 2 };
    emitArrivalAfterCopies(f, a, {{IsaMod::Sub, isCounted ? ArrivalCount : TransactionCount}});
    f.endUnguarded(join);
    return;
  }
  default: break;
  }
  f.unsupported(std::string(f.opcodeText()));
}

/// The number of pending arrivals, from the state of a barrier.
void lowerMbarrierPendingCount(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  if (!f.target().has(isa::Capability::AsyncBarriers)) {
    lowerOlderPendingCount(f, f.dest(ops[0]), f.sourceReg(ops[1], Type::B64));
    return;
  }
  const IsaOperand state = f.sourceReg(ops[1], Type::B64), shifted = f.newR(), left = f.newR();
  f.emit(IsaOp::SHF, {shifted, IsaOperand::rz(), f.imm(11), ori::component(state, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), left, shifted, f.imm(kMaxArrivals - 1), IsaOperand::rz(), f.imm(0xc0),
                       IsaOperand::pt().notted()});
  f.emit(IsaOp::IADD3,
         {f.dest(ops[0]), IsaOperand::pt(), IsaOperand::pt(), left.negated(), f.imm(kMaxArrivals), IsaOperand::rz()});
}

/// fence.proxy.async: makes writes of this thread visible to asynchronous copies and products, and vice versa.
void lowerProxyFence(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (form.op == Op::FenceMbarrierInit) return; // the signal by which others learn of a barrier orders the stores to it
  if (form.get(Slot::SyncRestrict) != Mod::None) {
    emitRestrictedFence(f, form);
    return;
  }
  const Mod proxy = form.get(Slot::Proxy);
  if (proxy == Mod::TensormapGeneric && form.semantics() == Mod::Release) {
    emitReleaseFence(f, form.scope() == Mod::Sys ? Mod::Sys : Mod::Gpu);
    return;
  }
  if (proxy == Mod::TensormapGeneric) {
    // The copy of the map must complete before the map is read again. Nothing else is ordered (observed: ptxas waits
    // for its scoreboards only).
    emitMembar(f, FenceKind::All, form.scope() == Mod::Sys ? Mod::Sys : Mod::Gpu);
    controlTensorMap(f, wholeAddress(f, addressOf(f, f.operands(i)[0], StateSpace::None)),
                     TensorMapControl::Invalidate);
    return;
  }
  enum { Shared, Global };
  const Mod space = form.get(Slot::Space);
  if (proxy == Mod::Alias) {
    // Aliases of the same memory: no L1 line cached under one of them may be read. How strong ptxas' fence is depends
    // on a word of bank 0 from the driver; this is the strongest.
    emitFence(f, FenceKind::Sc, Mod::Sys, true);
    return;
  }
  if (proxy != Mod::Async) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  if (space != Mod::Global) {
    const bool isOfThisCta = space == Mod::Shared || space == Mod::SharedCta;
    f.emit(IsaOp::MEMBAR, {}, {{IsaMod::Fence, FenceKind::All}, {IsaMod::Scope, isOfThisCta ? 0 : 2}});
    f.emit(IsaOp::FENCE_VIEW_ASYNC, {}, {{IsaMod::Sub, Shared}});
  }
  if (space == Mod::Global || space == Mod::None) f.emit(IsaOp::FENCE_VIEW_ASYNC, {}, {{IsaMod::Sub, Global}});
}

} // namespace orias::ptx
