#include "ori/jump_table.h"

#include "support/check.h"

namespace orias::ori {

JumpTable jumpTableOf(const Instr& brx) {
  ORIAS_CHECK(brx.op == Op::BRX && brx.operandCount > kBrxLabels, "a BRX without a table");
  JumpTable table;
  table.offset = static_cast<std::uint32_t>(brx.op_(kBrxTable).imm);
  for (unsigned i = kBrxLabels; i < brx.operandCount; ++i)
    table.targets.push_back(brx.op_(i).reg);
  return table;
}

Instr* emitJmx(Builder& builder, const isa::Operand& index, std::span<const BlockId> targets) {
  std::vector<isa::Operand> labels;
  for (const BlockId target : targets)
    labels.push_back(isa::Operand::label(target));
  Instr* jump = builder.emit(Op::JMX, {index});
  builder.function().addOperands(jump, labels);
  return jump;
}

} // namespace orias::ori
