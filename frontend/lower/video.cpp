// Video instructions on two halves or four bytes: absolute differences. The others are not supported yet.

#include "frontend/lower/families.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

/// Half `which` of a word as a number of 32 bits.
IsaOperand half(FunctionLowering& f, IsaOperand word, unsigned which, bool isSigned) {
  // PRMT: 0 to 3 choose a byte of the first source, 4 a zero byte of the second; 8 more repeat a byte's sign.
  static constexpr int kSelectors[2][2] = {{0x4410, 0x4432}, {0x9910, 0xbb32}};
  const IsaOperand r = f.newR();
  f.emit(IsaOp::PRMT, {r, word, f.imm(kSelectors[isSigned ? 1 : 0][which]), IsaOperand::rz()});
  return r;
}

} // namespace

void lowerAbsoluteDifferences(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool isSigned = typeClass(form.type(1)) == TypeClass::Signed, adds = form.has(Mod::Add);
  bool selects = form.sat() || form.type(1) != form.type(2);
  for (const Operand& o : ops)
    selects |= o.is(OperandKind::Register) && o.component() != Component::None;
  if (selects) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const IsaOperand a = f.sourceReg(ops[1], Type::B32), b = f.sourceReg(ops[2], Type::B32),
                   c = adds ? f.sourceReg(ops[3], Type::B32) : IsaOperand::rz(), none = IsaOperand::pt();
  if (form.op == Op::Vabsdiff4) {
    f.emit(IsaOp::VABSDIFF4, {f.dest(ops[0]), none, a, b, c},
           {{IsaMod::Type, isSigned ? 1 : 0}, {IsaMod::Sub, adds ? 1 : 0}});
    return;
  }
  IsaOperand distance[2];
  for (unsigned which = 0; which < 2; ++which) {
    const IsaOperand difference = f.newR();
    distance[which] = f.newR();
    f.emit(IsaOp::IADD3, {difference, none, none, half(f, a, which, isSigned), half(f, b, which, isSigned).negated(),
                          IsaOperand::rz()});
    f.emit(IsaOp::IABS, {distance[which], difference});
  }
  if (adds)
    f.emit(IsaOp::IADD3, {f.dest(ops[0]), none, none, distance[0], distance[1], c});
  else
    f.emit(IsaOp::PRMT, {f.dest(ops[0]), distance[0], f.imm(0x5410), distance[1]});
}

} // namespace orias::ptx
