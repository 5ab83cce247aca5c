// Barriers in shared memory before sm_90, as ptxas implements them for sm_80. The upper word starts at 2^31 minus the
// expected arrivals and counts up. On completion its top bit, the phase, flips. The lower word is 2^30 minus the
// arrivals of a phase. The next phase starts from it (ATOMS.ARRIVE does that).

#include "frontend/lower/mbarrier_pre_sm90.h"
#include "frontend/lower/addresses.h"

#include "frontend/lower/mbarrier_copies.h"
#include "frontend/lower/sync.h"

#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

constexpr std::uint32_t kLowBase = 1u << 30, kHighBase = 1u << 31;
constexpr unsigned kHighWord = 4; // bytes

IsaOperand offsetOf(const Address& a, unsigned extra = 0) {
  return IsaOperand::immediate(static_cast<std::int32_t>(a.offset + extra));
}

void add(FunctionLowering& f, IsaOperand old, const Address& a, unsigned extra, const Value& value) {
  f.emit(IsaOp::ATOMS, {old, a.base, a.uniform, offsetOf(a, extra), f.inReg(value)},
         {{IsaMod::AtomOp, isa::AtomOp::ADD}, {IsaMod::AtomType, isa::AtomType::U32}});
}

/// `base` minus the count.
IsaOperand less(FunctionLowering& f, std::uint32_t base, const Value& count) {
  const IsaOperand left = f.newR();
  f.emit(IsaOp::IADD3,
         {left, IsaOperand::pt(), IsaOperand::pt(), count.word(0).negated(), f.imm(base), IsaOperand::rz()});
  return left;
}

void initialise(FunctionLowering& f, const Address& a, const Value& count) {
  const IsaOperand word = f.newR(2);
  if (count.isConstant()) {
    const auto arrivals = static_cast<std::uint32_t>(count.bits());
    f.copy(ori::component(word, 0), Value::constant(kLowBase - arrivals, 1));
    f.copy(ori::component(word, 1), Value::constant(kHighBase - arrivals, 1));
  } else {
    f.copy(ori::component(word, 0), Value::of(less(f, kLowBase, count)));
    f.copy(ori::component(word, 1), Value::of(less(f, kHighBase, count)));
  }
  f.emit(IsaOp::STS, {a.base, a.uniform, offsetOf(a), word}, {{IsaMod::Size, isa::MemSize::B64}});
}

void arriveAt(FunctionLowering& f, const Instruction& i, const Form& form, const Address& a) {
  auto ops = f.operands(i);
  const bool drops = form.op == Op::MbarrierArriveDrop;
  const IsaOperand state = ops[0].is(OperandKind::Sink) ? IsaOperand::rz(2) : f.dest(ops[0]);
  emitReleaseFence(f, Mod::Cta);
  if (form.has(Mod::NoComplete)) {
    // The phase cannot end, so the arrival is only counted. Only the upper word of the state is used.
    const Value count = f.source(ops[2], Type::U32);
    const IsaOperand old = state.isZeroReg() ? IsaOperand::rz() : f.newR();
    if (drops) add(f, IsaOperand::rz(), a, 0, count);
    add(f, old, a, kHighWord, count);
    if (state.isZeroReg()) return;
    f.copy(ori::component(state, 0), Value::of(old));
    f.copy(ori::component(state, 1), Value::of(old));
    return;
  }
  if (drops) add(f, IsaOperand::rz(), a, 0, Value::constant(1, 1));
  const IsaOperand uniform = a.uniform.isNone() ? IsaOperand::zero(File::UR) : a.uniform; // required operand
  f.emit(IsaOp::ATOMS_ARRIVE, {state, a.base, uniform, offsetOf(a)});
}

void testWait(FunctionLowering& f, const Instruction& i, const Form& form, const Address& a) {
  auto ops = f.operands(i);
  IsaOperand asked;
  if (form.has(Mod::Parity)) {
    asked = f.newR();
    f.emit(IsaOp::SHF, {asked, f.sourceReg(ops[2], Type::U32), f.imm(31), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  } else {
    asked = ori::component(f.sourceReg(ops[2], Type::B64), 1);
  }
  const IsaOperand now = f.newR(), changed = f.newR();
  f.emit(IsaOp::LDS, {now, a.base, a.uniform, offsetOf(a, kHighWord)}, {{IsaMod::Size, isa::MemSize::B32}});
  constexpr int kDifferInMask = 0x48; // (a ^ c) & b
  f.emit(IsaOp::LOP3,
         {IsaOperand::pt(), changed, now, f.imm(kHighBase), asked, f.imm(kDifferInMask), IsaOperand::pt().notted()});
  f.emit(IsaOp::ISETP, {f.destPredicate(ops[0]), IsaOperand::pt(), changed, IsaOperand::rz(), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  emitAcquireFence(f, Mod::Cta);
}

/// Signals the barrier when the thread's copies are done. Without .noinc the barrier expects one more arrival.
void arriveAfterCopies(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  Address a = sharedAddress(f, ops[0], form.space());
  if (!form.has(Mod::Noinc)) add(f, IsaOperand::rz(), a, kHighWord, Value::constant(~0u, 1));
  emitArrivalAfterCopies(f, a, {});
  f.endUnguarded(join);
}

} // namespace

void lowerOlderMbarrier(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  switch (form.op) {
  case Op::MbarrierInit: initialise(f, sharedAddress(f, ops[0], form.space()), f.source(ops[1], Type::U32)); return;
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop: arriveAt(f, i, form, sharedAddress(f, ops[1], form.space())); return;
  case Op::MbarrierTestWait: testWait(f, i, form, sharedAddress(f, ops[1], form.space())); return;
  case Op::MbarrierInval: return; // no hardware state to invalidate
  case Op::CpAsyncMbarrierArrive: arriveAfterCopies(f, i, form); return;
  default: f.unsupported(std::string(f.opcodeText()));
  }
}

void lowerOlderPendingCount(FunctionLowering& f, IsaOperand count, IsaOperand state) {
  const IsaOperand left = f.newR();
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), left, ori::component(state, 1), f.imm(kHighBase - 1), IsaOperand::rz(),
                       f.imm(0xc0), IsaOperand::pt().notted()});
  f.emit(IsaOp::IADD3, {count, IsaOperand::pt(), IsaOperand::pt(), left.negated(), f.imm(kHighBase), IsaOperand::rz()});
}

} // namespace orias::ptx
