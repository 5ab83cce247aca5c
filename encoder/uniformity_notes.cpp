#include "encoder/code.h"
#include "ori/analysis/analyses.h"

#include <algorithm>

namespace orias::encoder {

namespace {

UniformityNote markOf(const ori::Instr& instr, const ori::Divergence& divergence) {
  const auto differs = [&](const ori::Operand& operand) { return !divergence.isUniform(operand); };
  const auto isResult = [](const ori::Operand& operand) { return operand.isDef && !operand.isZeroReg(); };
  bool varies = differs(instr.guard());
  if (std::ranges::any_of(instr.ops(), isResult))
    varies |= std::ranges::any_of(instr.ops(), [&](const ori::Operand& o) { return isResult(o) && differs(o); });
  else
    varies |= std::ranges::any_of(instr.ops(), differs);
  return varies ? UniformityNote::Varying : UniformityNote::Uniform;
}

} // namespace

std::vector<UniformityNote> uniformityNotes(const ori::Function& function) {
  const ori::Divergence& divergence = function.analyses().divergence();
  std::vector<UniformityNote> marks(function.instrIdCount(), UniformityNote::Unknown);
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      marks[instr.id] = markOf(instr, divergence);
  return marks;
}

} // namespace orias::encoder
