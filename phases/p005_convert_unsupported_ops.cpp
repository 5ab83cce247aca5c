#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "phases/induction_variables.h"
#include "phases/phases.h"

#include <optional>
#include <vector>

namespace orias::phases {

namespace {

bool needsExpansion(const ori::Instr& instr) {
  switch (instr.op) {
  case isa::Op::IDIV:
  case isa::Op::IREM: return true;
  case isa::Op::FRSQRT: return isDoubleMacro(instr) || !isApproximation(instr); // phase 8 does approximations
  default: return isExactMacro(instr);
  }
}

/// The constant that a register always holds: each word has one definition, which sets it to a number.
std::optional<std::uint64_t> numberIn(const Definitions& definitions, const isa::Operand& operand) {
  if (!operand.isReg() || !operand.isVirtual()) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned w = 0; w < operand.width; ++w) {
    const unsigned word = operand.sub + w;
    const ori::Instr* only = nullptr;
    for (const Definitions::Definition& d : definitions.of(operand.reg)) {
      if (word < d.sub || word >= d.sub + d.width) continue;
      if (only) return std::nullopt;
      only = d.instr;
    }
    const std::optional<std::uint32_t> number = only ? numberSetBy(*only) : std::nullopt;
    if (!number) return std::nullopt;
    value |= std::uint64_t{*number} << 32 * w;
  }
  return value;
}

bool isDivision(const ori::Instr& instr) {
  return instr.op == isa::Op::IDIV || instr.op == isa::Op::IREM;
}

} // namespace

/// Phase 5. Expands operations that the machine does not have into sequences of those that it has. The expansions are
/// in place; floating-point ones put their rare cases into blocks at the end of the function, as macros for phase 78.
bool convertUnsupportedOps(ori::Function& function, PhaseContext& context) {
  struct Macro {
    ori::Instr* instr;
    std::optional<std::uint64_t> divisor; ///< of integers, if it is known
  };
  std::vector<Macro> macros;
  std::optional<Definitions> definitions;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block) {
      if (!needsExpansion(instr) && !hasOlderWay(context.target, instr)) continue;
      if (isDivision(instr) && !definitions) definitions.emplace(function);
      macros.push_back(
          {&instr, isDivision(instr) ? numberIn(*definitions, instr.op_(2).value()) : std::optional<std::uint64_t>()});
    }
  for (const auto& [macro, divisor] : macros) {
    if (!isa::desc(macro->op).isPseudo())
      expandForPreSm90(function, macro);
    else if (isDoubleMacro(*macro))
      expandDoubleMacro(function, macro);
    else if (isDivision(*macro))
      expandIntegerDivision(function, macro, divisor);
    else
      expandFloatMacro(function, macro);
  }
  return !macros.empty();
}

} // namespace orias::phases
