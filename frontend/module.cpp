#include "frontend/module.h"

#include <fmt/format.h>

namespace orias::ptx {

std::string archName(Arch arch) {
  return fmt::format("sm_{}{}", arch.number, arch.suffix ? std::string(1, arch.suffix) : "");
}

CallParts callParts(const Function& function, const Instruction& instruction) {
  CallParts parts;
  std::span<const Operand> operands = function.operandsOf(instruction);
  std::size_t i = 0;
  if (i < operands.size() && operands[i].is(OperandKind::List)) parts.returns = &operands[i++];
  if (i < operands.size()) parts.callee = &operands[i++];
  if (i < operands.size() && operands[i].is(OperandKind::List)) parts.args = &operands[i++];
  if (i < operands.size()) parts.prototype = &operands[i++];
  return parts;
}

} // namespace orias::ptx
