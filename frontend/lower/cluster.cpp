// The shared memory of a cluster: the top byte of an address is the rank of the CTA.

#include "frontend/lower/cluster.h"
#include "frontend/lower/addresses.h"

#include "frontend/lower/families.h"
#include "frontend/lower/special.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

Address clusterAddress(FunctionLowering& f, const Operand& operand) {
  Address a = addressOf(f, operand, StateSpace::Shared);
  const IsaOperand generic = f.newR(2);
  const IsaOperand uniform = a.uniform.isNone() ? IsaOperand::rz() : a.uniform;
  f.emit(IsaOp::IADD3,
         {ori::component(generic, 0), IsaOperand::pt(), IsaOperand::pt(), a.base, uniform, IsaOperand::rz()});
  f.emit(IsaOp::S2R, {ori::component(generic, 1), IsaOperand::immediate(kSrSWinHi)});
  a.base = generic;
  a.uniform = IsaOperand();
  return a;
}

/// mapa: the same location in the shared memory of the CTA with this rank.
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

/// getctarank: the rank of the CTA whose shared memory contains an address.
void lowerGetctarank(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  if (ops[1].is(OperandKind::Variable) && bitWidth(form.type()) == 64) {
    f.unsupported("the generic address of a variable in getctarank");
    return;
  }
  f.emit(IsaOp::SHF, {f.dest(ops[0]), IsaOperand::rz(), f.imm(24), ori::component(f.sourceReg(ops[1], form.type()), 0)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
}

/// clusterlaunchcontrol.query_cancel: decodes the result of try_cancel. As in ptxas' code: x, then y and z in halves of
/// a word, then whether there is a block.
void lowerQueryCancel(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const IsaOperand answer = f.sourceReg(ops[1], Type::B128);
  const IsaOperand shape = ori::component(answer, 1);
  constexpr std::int32_t kAnd = 0xc0;
  const auto low = [&](IsaOperand d) {
    f.emit(IsaOp::LOP3,
           {IsaOperand::pt(), d, shape, f.imm(0xffff), IsaOperand::rz(), f.imm(kAnd), IsaOperand::pt().notted()});
  };
  const auto high = [&](IsaOperand d) {
    f.emit(IsaOp::SHF, {d, IsaOperand::rz(), f.imm(16), shape},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  };
  if (form.has(Mod::IsCanceled)) {
    const IsaOperand bit = f.newR();
    f.emit(IsaOp::LOP3, {IsaOperand::pt(), bit, ori::component(answer, 2), f.imm(1), IsaOperand::rz(), f.imm(kAnd),
                         IsaOperand::pt().notted()});
    f.emit(IsaOp::ISETP, {f.destPredicate(ops[0]), IsaOperand::pt(), bit, f.imm(0), IsaOperand::pt()},
           {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
    return;
  }
  if (ops[0].is(OperandKind::Vector)) {
    const auto parts = f.parts(ops[0]);
    const auto wanted = [&](unsigned k) { return k < parts.size() && !parts[k].is(OperandKind::Sink); };
    if (wanted(0)) f.copy(f.dest(parts[0]), Value::of(ori::component(answer, 0)));
    if (wanted(1)) low(f.dest(parts[1]));
    if (wanted(2)) high(f.dest(parts[2]));
    if (wanted(3)) f.copy(f.dest(parts[3]), Value::constant(0, 1));
    return;
  }
  const IsaOperand d = f.dest(ops[0]);
  if (form.has(Mod::FirstCtaidX))
    f.copy(d, Value::of(ori::component(answer, 0)));
  else if (form.has(Mod::FirstCtaidY))
    low(d);
  else
    high(d);
}

} // namespace orias::ptx
