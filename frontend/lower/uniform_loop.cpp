// Values that must be in uniform registers (uniform_loop.h).

#include "frontend/lower/uniform_loop.h"

#include <algorithm>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

std::uint32_t numberOf(const FunctionLowering& f, const Instruction& i) {
  return static_cast<std::uint32_t>(&i - f.body().instructions.data());
}

/// Whether the guard of the instruction is true for at most one thread of the warp (elected.h).
bool isElected(FunctionLowering& f) {
  const Instruction& i = f.current();
  const Elected* known = i.guard != RegisterId::None ? f.elected() : nullptr;
  return known && known->isByOne(numberOf(f, i));
}

/// Whether at most one thread of the warp reaches the instruction.
bool isAlone(FunctionLowering& f) {
  const Elected* known = f.elected();
  return known && known->isAlone(numberOf(f, f.current()));
}

bool isKnown(const UniformWord& w) {
  return w.value.isConstant() || w.value.reg().isConst() || w.value.reg().file == isa::File::UR;
}

void emitKnown(FunctionLowering& f, std::span<const UniformWord> words) {
  for (const UniformWord& w : words) {
    if (!isKnown(w)) continue;
    if (!w.value.isConstant() && w.value.reg().isConst()) {
      f.emit(IsaOp::ULDC, {w.uniform, w.value.reg()});
      continue;
    }
    const IsaOperand word = w.value.word(0);
    f.emit(IsaOp::UMOV, {w.uniform, word.isZeroReg() ? IsaOperand::zero(isa::File::UR) : word});
  }
}

/// Takes the values of the thread that the builder's guard selects.
void takeUnknown(FunctionLowering& f, std::span<const UniformWord> words) {
  for (const UniformWord& w : words)
    if (!isKnown(w)) f.emit(IsaOp::R2UR, {IsaOperand::pt(), w.uniform, w.value.word(0)});
}

} // namespace

void forEachUniform(FunctionLowering& f, std::span<const UniformWord> words, const std::function<void()>& emit) {
  if (std::all_of(words.begin(), words.end(), isKnown)) {
    emitKnown(f, words);
    emit();
    return;
  }
  if (isAlone(f)) {
    takeUnknown(f, words);
    emitKnown(f, words);
    emit();
    return;
  }
  ori::Block* loop = f.newBlock();
  f.enter(loop);
  // R2UR takes the value of the first active lane, and tells each lane whether its own value differs.
  IsaOperand differs;
  for (const UniformWord& w : words) {
    if (isKnown(w)) continue;
    const IsaOperand here = f.newP();
    f.emit(IsaOp::R2UR, {here, w.uniform, w.value.word(0)});
    if (differs.isNone()) {
      differs = here;
      continue;
    }
    const IsaOperand any = f.newP();
    // LUT over three predicates, the last of which is true: the OR of the first two.
    constexpr int kOr = 0xfc;
    f.emit(IsaOp::PLOP3, {any, IsaOperand::pt(), differs, here, IsaOperand::pt(), f.imm(kOr), f.imm(0)});
    differs = any;
  }
  emitKnown(f, words);
  f.b().setGuard(differs.notted());
  emit();
  f.b().setGuard(IsaOperand::pt());
  f.branchIf(differs, loop);
}

isa::Operand uniformRun(FunctionLowering& f, unsigned count) {
  const ori::VRegId id = f.out().newVReg(isa::File::UR, count);
  constexpr unsigned kQuad = 4, kOctet = 8;
  if (count > kQuad) f.out().vreg(id).align = kOctet;
  return f.out().use(id);
}

namespace {

void takeWords(FunctionLowering& f, IsaOperand guard, std::span<const LaneWord> words) {
  f.b().setGuard(guard);
  for (const LaneWord& w : words)
    if (!w.word.isZeroReg()) f.emit(IsaOp::R2UR, {IsaOperand::pt(), w.uniform, w.word});
  f.b().setGuard(IsaOperand::pt());
  for (const LaneWord& w : words)
    if (w.word.isZeroReg()) f.emit(IsaOp::UMOV, {w.uniform, IsaOperand::zero(isa::File::UR)});
}

} // namespace

void forEachLane(FunctionLowering& f, std::span<const LaneWord> words, const std::function<void()>& emit) {
  if (isAlone(f)) {
    takeWords(f, IsaOperand::pt(), words);
    emit();
    return;
  }
  ori::Block* loop = f.newBlock();
  f.enter(loop);
  const IsaOperand mine = f.newP();
  f.emit(IsaOp::ELECT, {mine, IsaOperand::zero(isa::File::UR), IsaOperand::pt()});
  takeWords(f, mine, words);
  emit();
  f.branchIf(mine.notted(), loop);
}

LaneRegion::LaneRegion(FunctionLowering& f) : f_(f), isElected_(!isAlone(f) && isElected(f)) {
  if (isElected_)
    f.b().setGuard(IsaOperand::pt());
  else
    join_ = f.beginUnguarded();
}

void LaneRegion::end() {
  f_.endUnguarded(join_);
}

void LaneRegion::forEachLane(std::span<const LaneWord> words, const std::function<void()>& prepare,
                             const std::function<void()>& emit) {
  if (!isElected_) {
    ptx::forEachLane(f_, words, [&] {
      prepare();
      emit();
    });
    return;
  }
  const IsaOperand isHere = electedIsHere();
  takeWords(f_, f_.guard(), words);
  prepare();
  f_.b().setGuard(isHere);
  emit();
  f_.b().setGuard(IsaOperand::pt());
}

void LaneRegion::forEachUniform(std::span<const UniformWord> words, const std::function<void()>& emit) {
  if (!isElected_) {
    ptx::forEachUniform(f_, words, emit);
    return;
  }
  const IsaOperand isHere = electedIsHere();
  f_.b().setGuard(f_.guard());
  takeUnknown(f_, words);
  f_.b().setGuard(IsaOperand::pt());
  emitKnown(f_, words);
  f_.b().setGuard(isHere);
  emit();
  f_.b().setGuard(IsaOperand::pt());
}

/// The elected thread may not be among the threads that reach this code.
isa::Operand LaneRegion::electedIsHere() {
  const IsaOperand isHere = f_.out().use(f_.out().newVReg(isa::File::UP));
  f_.emit(IsaOp::VOTEU, {IsaOperand::zero(isa::File::UR), isHere, f_.guard()},
          {{IsaMod::VoteMode, isa::VoteMode::ANY}});
  return isHere;
}

isa::Operand sharedWord(FunctionLowering& f, const Address& a) {
  const IsaOperand sum = f.newR();
  f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), f.inReg(f.imm(a.offset)),
                        a.uniform.isNone() ? IsaOperand::rz() : a.uniform, a.base});
  return sum;
}

} // namespace orias::ptx
