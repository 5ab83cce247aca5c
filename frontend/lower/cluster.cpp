// The shared memory of a cluster: the top byte of an address says which CTA's it is.

#include "frontend/lower/cluster.h"

#include "frontend/lower/families.h"
#include "frontend/lower/special.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

Address clusterAddress(FunctionLowering& f, const Operand& operand) {
  Address a = f.address(operand, StateSpace::Shared);
  const IsaOperand generic = f.newR(2);
  const IsaOperand uniform = a.uniform.isNone() ? IsaOperand::rz() : a.uniform;
  f.emit(IsaOp::IADD3,
         {ori::component(generic, 0), IsaOperand::pt(), IsaOperand::pt(), a.base, uniform, IsaOperand::rz()});
  f.emit(IsaOp::S2R, {ori::component(generic, 1), IsaOperand::immediate(kSrSWinHi)});
  a.base = generic;
  a.uniform = IsaOperand();
  return a;
}

/// mapa: the same place in the shared memory of the CTA with this rank.
void lowerMapa(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  if (ops[1].is(OperandKind::Variable) && bitWidth(type) == 64) {
    f.unsupported("the generic address of a variable in mapa");
    return;
  }
  const IsaOperand from = f.sourceReg(ops[1], type), rank = f.sourceReg(ops[2], Type::U32), d = f.dest(ops[0]),
                   low = f.newR();
  constexpr std::int64_t kRankAbove = 0x0654; // three bytes of the address, one of the rank
  f.emit(IsaOp::PRMT, {low, rank, f.imm(kRankAbove), ori::component(from, 0)});
  if (from.width > 1) f.copy(ori::component(d, 1), Value::of(ori::component(from, 1)));
  f.copy(ori::component(d, 0), Value::of(low));
}

/// getctarank: whose shared memory an address lies in.
void lowerGetctarank(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  if (ops[1].is(OperandKind::Variable) && bitWidth(form.type()) == 64) {
    f.unsupported("the generic address of a variable in getctarank");
    return;
  }
  f.emit(IsaOp::SHF, {f.dest(ops[0]), IsaOperand::rz(), f.imm(24), ori::component(f.sourceReg(ops[1], form.type()), 0)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
}

} // namespace orias::ptx
