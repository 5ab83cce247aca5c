#include "frontend/lower/integer_helpers.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

void compare64(FunctionLowering& f, IsaOperand p, IsaOperand a, IsaOperand b, isa::ICmp cmp, isa::IntType type) {
  IsaOperand low = f.newP();
  f.emit(IsaOp::ISETP, {low, IsaOperand::pt(), ori::component(a, 0), ori::component(b, 0), IsaOperand::pt()},
         {{IsaMod::Cmp, cmp}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::ISETP_EX, {p, IsaOperand::pt(), ori::component(a, 1), ori::component(b, 1), IsaOperand::pt(), low},
         {{IsaMod::Cmp, cmp}, {IsaMod::Type, type}, {IsaMod::Bool, isa::BoolOp::AND}});
}

void multiplyHigh64(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool isSigned) {
  const ModValue u32{IsaMod::Type, isa::IntType::U32};
  const IsaOperand none = IsaOperand::pt();
  const IsaOperand a0 = ori::component(a, 0), a1 = ori::component(a, 1), b0 = ori::component(b, 0),
                   b1 = ori::component(b, 1);
  // Schoolbook multiplication on 32-bit digits. The sum of the two middle products has its own carry; the order is that
  // of ptxas. Phase 45 matches these instructions where the low half of the product is also computed.
  const IsaOperand cross = f.newR(2), middle = f.newR(2), low = f.newR(2), upper = f.newR(2),
                   high = isSigned ? f.newR(2) : d, carry = f.newP(), link = f.newP();
  f.emit(IsaOp::IMAD_WIDE, {cross, none, a1, b0, IsaOperand::rz(2)}, {u32});
  f.emit(IsaOp::IMAD_WIDE, {middle, carry, a0, b1, cross}, {u32});
  f.emit(IsaOp::IMAD_WIDE, {low, none, a0, b0, IsaOperand::rz(2)}, {u32});
  f.emit(IsaOp::IADD3, {f.newR(), link, none, ori::component(low, 1), ori::component(middle, 0), IsaOperand::rz()});
  f.copy(ori::component(upper, 0), Value::of(ori::component(middle, 1)));
  f.emit(IsaOp::IADD3_X, {ori::component(upper, 1), none, none, IsaOperand::rz(), IsaOperand::rz(), IsaOperand::rz(),
                          carry, none.notted()});
  f.emit(IsaOp::IMAD_WIDE_X, {high, none, a1, b1, upper, link}, {u32});
  if (!isSigned) return;
  // A negative number is its unsigned value minus 2^64. So the high half is reduced by b if a is negative, and by a if
  // b is.
  auto whereNegative = [&](IsaOperand sign, IsaOperand value) {
    IsaOperand mask = f.newR(), r = f.newR(2);
    f.emit(IsaOp::SHF, {mask, IsaOperand::rz(), f.imm(31), ori::component(sign, 1)},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
    for (unsigned w = 0; w < 2; ++w)
      f.emit(IsaOp::LOP3, {IsaOperand::pt(), ori::component(r, w), mask, ori::component(value, w), IsaOperand::rz(),
                           f.imm(0xc0), IsaOperand::pt().notted()});
    return r;
  };
  IsaOperand once = f.newR(2);
  f.emit(IsaOp::IADD64, {once, high, whereNegative(a, b).negated()});
  f.emit(IsaOp::IADD64, {d, once, whereNegative(b, a).negated()});
}

} // namespace orias::ptx
