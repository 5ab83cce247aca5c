#pragma once

#include "frontend/module.h"

namespace orias::ptx {

/// Calls f(register, isAddress) for each register that the operand uses as a value, as the base of an address, or in
/// parts. Results are operands, too.
template <typename F> void forEachNamed(const Function& function, const Operand& o, F&& f) {
  const auto name = [&](RegisterId reg, bool isAddress) {
    if (reg != RegisterId::None) f(reg, isAddress);
  };
  switch (o.kind()) {
  case OperandKind::Register: name(o.registerId(), false); break;
  case OperandKind::Address:
    if (o.addressBase() == OperandKind::Register) name(o.registerId(), true);
    break;
  case OperandKind::Pair:
    name(o.registerId(), false);
    name(o.secondRegister(), false);
    break;
  default: break;
  }
  if (!o.isGroup()) return;
  if (o.is(OperandKind::Vector)) name(o.vectorPair(), false);
  for (const Operand& part : function.parts(o))
    forEachNamed(function, part, f);
}

} // namespace orias::ptx
