#include "frontend/lower/kernel_parameters.h"

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

namespace {

constexpr std::int64_t kUnknown = -1, kOther = -2;

} // namespace

KernelParameters::KernelParameters(FunctionLowering& f) : offsets_(f.function().registers.size(), kUnknown) {
  for (const Instruction& i : f.function().instructions) {
    const auto ops = f.function().operandsOf(i);
    if (ops.empty()) continue;
    // The first operand may be a destination.
    std::int64_t value = kOther;
    if (ops.size() == 2 && i.guard == RegisterId::None && ops[0].is(OperandKind::Register) &&
        ops[1].is(OperandKind::Address) && ops[1].addressBase() == OperandKind::Variable &&
        f.module().variable(ops[1].variableId()).space == StateSpace::Param &&
        !f.variables().isCallParam(ops[1].variableId()) && f.layout().forms->form(i).op == Op::Ld)
      value = f.target().paramBase() + f.variables().paramOffset(ops[1].variableId()) + ops[1].offset();
    const auto write = [&](const Operand& o) {
      if (o.is(OperandKind::Register) || o.is(OperandKind::Pair)) note(o.registerId(), value);
      if (o.is(OperandKind::Pair)) note(o.secondRegister(), value);
    };
    if (ops[0].isGroup())
      for (const Operand& part : f.function().parts(ops[0]))
        write(part);
    else
      write(ops[0]);
  }
}

void KernelParameters::note(RegisterId reg, std::int64_t value) {
  if (reg == RegisterId::None) return;
  std::int64_t& known = offsets_[index(reg)];
  known = known == kUnknown ? value : kOther;
}

std::optional<std::uint32_t> KernelParameters::offsetOf(const Operand& registerOperand) const {
  if (!registerOperand.is(OperandKind::Register) || registerOperand.component() != Component::None) return std::nullopt;
  const std::int64_t at = offsets_[index(registerOperand.registerId())];
  if (at < 0) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

} // namespace orias::ptx
