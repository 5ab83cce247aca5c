#include "phases/expansion.h"

#include "ori/module.h"
#include "support/check.h"

#include <array>
#include <bit>
#include <utility>

namespace orias::phases {

using isa::Mod;
using isa::ModValue;
using isa::Op;

namespace {

const isa::Operand kTrue = isa::Operand::pt();
const isa::Operand kFalse = isa::Operand::pt().notted();
const ModValue kU32{Mod::Type, isa::IntType::U32};

} // namespace

isa::Operand Expansion::constant(std::uint32_t bits) {
  if (!bits) return Operand::rz();
  Operand r = newR();
  b_.emit(Op::MOV, {r, imm(bits)});
  return r;
}

isa::Operand Expansion::pair(Operand lowWord, Operand highWord) {
  Operand r = newR(2);
  b_.copy(low(r), lowWord);
  b_.copy(high(r), highWord);
  return r;
}

isa::Operand Expansion::add(Operand a, Operand b) {
  Operand r = newR();
  b_.emit(Op::IADD3, {r, kTrue, kTrue, a, b, Operand::rz()});
  return r;
}

isa::Operand Expansion::multiply(Operand a, Operand b) {
  return multiplyAdd(a, b, Operand::rz());
}

isa::Operand Expansion::multiplyAdd(Operand a, Operand b, Operand c) {
  Operand r = newR();
  b_.emit(Op::IMAD, {r, a, b, c}, {kU32});
  return r;
}

isa::Operand Expansion::multiplyHigh(Operand a, Operand b, bool isSigned) {
  Operand r = newR();
  b_.emit(Op::IMAD_HI, {r, kTrue, a, b, Operand::rz()},
          {{Mod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}});
  return r;
}

isa::Operand Expansion::multiplyWide(Operand a, Operand b, Operand addend) {
  Operand r = newR(2);
  b_.emit(Op::IMAD_WIDE, {r, kTrue, a, b, addend}, {kU32});
  return r;
}

isa::Operand Expansion::logic(Operand a, Operand b, std::uint32_t lut) {
  return logic(a, b, Operand::rz(), lut);
}

isa::Operand Expansion::logic(Operand a, Operand b, Operand c, std::uint32_t lut) {
  Operand r = newR();
  b_.emit(Op::LOP3, {kTrue, r, a, b, c, Operand::immediate(static_cast<std::int32_t>(lut)), kFalse});
  return r;
}

isa::Operand Expansion::shiftRight(Operand a, unsigned count, bool isSigned) {
  Operand r = newR();
  b_.emit(Op::SHF, {r, Operand::rz(), imm(count), a},
          {{Mod::ShiftDir, isa::ShiftDir::R},
           {Mod::ShiftType, isSigned ? isa::ShiftType::S32 : isa::ShiftType::U32},
           {Mod::Hi, 1}});
  return r;
}

isa::Operand Expansion::absolute(Operand a) {
  Operand r = newR();
  b_.emit(Op::IABS, {r, a});
  return r;
}

isa::Operand Expansion::extend16(Operand a, bool isSigned) {
  Operand r = newR();
  b_.emit(Op::PRMT, {r, a, imm(isSigned ? 0x9910 : 0x5410), Operand::rz()});
  return r;
}

isa::Operand Expansion::select(Operand p, Operand a, Operand b) {
  Operand r = newR();
  b_.emit(Op::SEL, {r, a, b, p});
  return r;
}

isa::Operand Expansion::compare(isa::ICmp cmp, Operand a, Operand b, bool isSigned) {
  Operand p = b_.newP();
  b_.emit(
      Op::ISETP, {p, kTrue, a, b, kTrue},
      {{Mod::Cmp, cmp}, {Mod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
  return p;
}

isa::Operand Expansion::add64(Operand a, Operand b) {
  Operand r = newR(2);
  b_.emit(Op::IADD64, {r, a, b});
  return r;
}

isa::Operand Expansion::multiply64(Operand a, Operand b) {
  Operand r = newR(2);
  b_.emit(Op::IMUL64, {r, a, b});
  return r;
}

isa::Operand Expansion::multiplyHigh64(Operand a, Operand b) {
  // Long multiplication on 32-bit digits, as in the lowering of mul.hi.u64.
  const Operand cross = multiplyWide(high(a), low(b)), middle = newR(2), product = multiplyWide(low(a), low(b)),
                sum = newR(), upper = newR(2), result = newR(2), carry = b_.newP(), link = b_.newP();
  b_.emit(Op::IMAD_WIDE, {middle, carry, low(a), high(b), cross}, {kU32});
  b_.emit(Op::IADD3, {sum, link, kTrue, high(product), low(middle), Operand::rz()});
  b_.copy(low(upper), high(middle));
  b_.emit(Op::IADD3_X, {high(upper), kTrue, kTrue, Operand::rz(), Operand::rz(), Operand::rz(), carry, kFalse});
  b_.emit(Op::IMAD_WIDE_X, {result, kTrue, high(a), high(b), upper, link}, {kU32});
  return result;
}

isa::Operand Expansion::shiftRight64(Operand a, unsigned count) {
  if (count >= 32) return pair(shiftRight(high(a), count - 32), Operand::rz());
  Operand lowWord = newR();
  b_.emit(Op::SHF, {lowWord, low(a), imm(count), high(a)},
          {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::U64}});
  return pair(lowWord, shiftRight(high(a), count));
}

isa::Operand Expansion::notLess64(Operand a, Operand b) {
  Operand lowResult = compare(isa::ICmp::GE, low(a), low(b)), p = b_.newP();
  b_.emit(Op::ISETP_EX, {p, kTrue, high(a), high(b), kTrue, lowResult},
          {{Mod::Cmp, isa::ICmp::GE}, kU32, {Mod::Bool, isa::BoolOp::AND}});
  return p;
}

isa::Operand Expansion::select64(Operand p, Operand a, Operand b) {
  Operand r = newR(2);
  for (unsigned w = 0; w < 2; ++w)
    b_.emit(Op::SEL, {ori::component(r, w), ori::component(a, w), ori::component(b, w), p});
  return r;
}

isa::Operand Expansion::negateWhere64(Operand a, Operand mask) {
  return add64(pair(bitXor(low(a), mask), bitXor(high(a), mask)), pair(mask, mask).negated());
}

isa::Operand Expansion::source(unsigned i) {
  const Operand given = macro_->op_(i).value();
  const bool hasSign = given.neg() || given.abs();
  if (given.isReg(isa::File::R) && !hasSign) return given;
  const bool isDouble = isa::modAs<isa::MacroType>(*macro_, Mod::MacroType) == isa::MacroType::F64;
  const Operand r = newR(isDouble ? 2 : 1);
  // Adding -0 changes no number.
  if (!hasSign)
    b_.copy(r, given);
  else if (isDouble)
    b_.emit(Op::DADD, {r, Operand::rz(2).negated(), given});
  else
    b_.emit(Op::FADD, {r, given, Operand::rz().negated()});
  return r;
}

isa::Operand Expansion::mufu(isa::Mufu function, Operand a) {
  Operand r = newR();
  b_.emit(Op::MUFU, {r, a}, {{Mod::Func, function}});
  return r;
}

isa::Operand Expansion::flush(Operand a) {
  Operand r = newR();
  b_.emit(Op::FADD, {r, a, Operand::rz().negated()}, {{Mod::Ftz, 1}});
  return r;
}

isa::Operand Expansion::fma(Operand a, Operand b, Operand c, isa::Rnd rounding) {
  Operand r = newR();
  b_.emit(Op::FFMA, {r, a, b, c}, {{Mod::Rnd, rounding}});
  return r;
}

isa::Operand Expansion::fmul(Operand a, Operand b, isa::Rnd rounding) {
  Operand r = newR();
  b_.emit(Op::FMUL, {r, a, b}, {{Mod::Rnd, rounding}});
  return r;
}

isa::Operand Expansion::toF64(Operand f32) {
  Operand r = newR(2);
  b_.emit(Op::F2F_64, {r, f32}, {{Mod::DstFmt, isa::Fmt::F64}, {Mod::SrcFmt, isa::Fmt::F32}});
  return r;
}

isa::Operand Expansion::toF32(Operand f64, isa::Rnd rounding) {
  Operand r = newR();
  b_.emit(Op::F2F_64, {r, f64}, {{Mod::DstFmt, isa::Fmt::F32}, {Mod::SrcFmt, isa::Fmt::F64}, {Mod::Rnd, rounding}});
  return r;
}

isa::Operand Expansion::dmul(Operand a, Operand b, isa::Rnd rounding) {
  Operand r = newR(2);
  b_.emit(Op::DMUL, {r, a, b}, {{Mod::Rnd, rounding}});
  return r;
}

isa::Operand Expansion::dfma(Operand a, Operand b, Operand c, isa::Rnd rounding) {
  Operand r = newR(2);
  b_.emit(Op::DFMA, {r, a, b, c}, {{Mod::Rnd, rounding}});
  return r;
}

isa::Operand Expansion::dcompare(isa::FCmp cmp, Operand a, Operand b, isa::BoolOp combine, Operand other) {
  Operand p = b_.newP();
  b_.emit(Op::DSETP, {p, kTrue, a, b, other}, {{Mod::Cmp, cmp}, {Mod::Bool, combine}});
  return p;
}

isa::Operand Expansion::f64High(double value) {
  return imm(static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value) >> 32));
}

void Expansion::beginColdPath(Operand condition) {
  const Operand guard = macro_->guard().value();
  const bool isNested = !returnTo_.empty();
  if (!guard.isZeroReg() && !isNested) {
    constexpr std::int32_t kAnd = 0xc0;
    Operand both = b_.newP();
    b_.emit(Op::PLOP3, {both, kTrue, condition, guard, kTrue, Operand::immediate(kAnd), Operand::immediate(0)});
    condition = both;
  }
  ori::Block* aside = function_.newBlock();
  aside->isCold = true;
  const bool isRestCold = b_.block()->isCold;
  b_.setGuard(condition);
  ori::Instr* branch = b_.branch(aside);
  b_.setGuard(kTrue);
  returnTo_.push_back(function_.splitAfter(branch));
  returnTo_.back()->isCold = isRestCold;
  b_.setBlock(aside);
}

void Expansion::deferSlowPath(Operand result, std::initializer_list<Operand> sources) {
  ORIAS_CHECK(!returnTo_.empty(), "a slow path is in a cold block");
  std::vector<Operand> operands{result};
  operands.insert(operands.end(), sources);
  const auto mod = [&](isa::Mod kind) { return isa::ModValue(kind, isa::getMod(macro_->op, macro_->mods, kind)); };
  const std::array mods{mod(isa::Mod::MacroType), mod(isa::Mod::MacroKind), mod(isa::Mod::Ftz)};
  b_.emit(macro_->op, operands, mods);
}

void Expansion::otherwise() {
  ORIAS_CHECK(returnTo_.size() == 1 && !leftAt_, "only an outermost cold block has another way");
  leftAt_ = b_.block();
  b_ = ori::Builder::before(function_, macro_);
}

void Expansion::endColdPath() {
  if (leftAt_ && macro_->prev) returnTo_.back() = function_.splitAfter(macro_->prev);
  if (leftAt_) b_.setBlock(std::exchange(leftAt_, nullptr));
  ori::Block* next = returnTo_.back();
  returnTo_.pop_back();
  b_.branch(next);
  if (returnTo_.empty())
    b_ = ori::Builder::before(function_, macro_);
  else
    b_.setBlock(next);
}

const isa::Target& Expansion::target() const {
  return function_.module().target();
}

isa::Operand addWithCarry(ori::Builder& builder, isa::Operand a, isa::Operand b) {
  using ori::component;
  const isa::Operand sum = builder.newR(2), carry = builder.newP();
  isa::Operand high = component(b, 1);
  // -b is ~b + 1: the low words are negated, the high words inverted and added with carry.
  if (b.neg()) high.flags = static_cast<std::uint8_t>((high.flags & ~isa::Operand::kNeg) | isa::Operand::kNot);
  builder.emit(Op::IADD3, {component(sum, 0), carry, kTrue, component(a, 0), component(b, 0), isa::Operand::rz()});
  builder.emit(Op::IADD3_X,
               {component(sum, 1), kTrue, kTrue, component(a, 1), high, isa::Operand::rz(), carry, kFalse});
  return sum;
}

bool isExactMacro(const ori::Instr& instr) {
  return (instr.op == Op::FDIV || instr.op == Op::FRCP || instr.op == Op::FSQRT) && !isApproximation(instr);
}

void Expansion::give(Operand result) {
  b_.setGuard(macro_->guard().value());
  b_.copy(macro_->op_(0).value(), result);
  function_.erase(macro_);
}

} // namespace orias::phases
