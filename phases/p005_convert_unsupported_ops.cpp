#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "phases/phases.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace orias::phases {

namespace {

bool needsExpansion(const ori::Instr& instr) {
  switch (instr.op) {
  case isa::Op::IDIV:
  case isa::Op::IREM: return true;
  case isa::Op::FDIV:
  case isa::Op::FRCP:
  case isa::Op::FSQRT:
  case isa::Op::FRSQRT: return isDoubleMacro(instr) || !isApproximation(instr); // phase 8 does approximations
  default: return false;
  }
}

/// Registers of which each word has one definition, a MOV of a number.
class Constants {
 public:
  explicit Constants(const ori::Function& function) {
    for (const ori::Block* block : function.layout())
      for (const ori::Instr& instr : *block)
        for (unsigned i = 0; i < instr.operandCount; ++i) {
          const isa::Operand o = instr.op_(i).value();
          if (!instr.op_(i).isDef || !o.isVirtual()) continue;
          for (unsigned w = 0; w < std::max<unsigned>(o.width, 1); ++w)
            define(o.reg, o.sub + w, valueOf(instr));
        }
  }
  /// What the register holds wherever it holds something.
  std::optional<std::uint64_t> of(const isa::Operand& operand) const {
    if (!operand.isReg() || !operand.isVirtual() || operand.neg() || operand.abs() || operand.inverted()) return {};
    std::uint64_t value = 0;
    for (unsigned w = 0; w < std::max<unsigned>(operand.width, 1); ++w) {
      const auto found = words_.find({operand.reg, operand.sub + w});
      if (found == words_.end() || !found->second) return {};
      value |= std::uint64_t{*found->second} << 32 * w;
    }
    return value;
  }

 private:
  static std::optional<std::uint32_t> valueOf(const ori::Instr& instr) {
    if (instr.op != isa::Op::MOV || instr.isGuarded()) return {};
    const isa::Operand from = instr.op_(1).value();
    if (from.isImm()) return static_cast<std::uint32_t>(from.imm);
    return from.isReg() && from.isZeroReg() ? std::optional<std::uint32_t>(0) : std::nullopt;
  }
  void define(ori::VRegId reg, unsigned word, std::optional<std::uint32_t> value) {
    const auto [at, isFirst] = words_.try_emplace({reg, word}, value);
    if (!isFirst) at->second.reset();
  }

  std::map<std::pair<ori::VRegId, unsigned>, std::optional<std::uint32_t>> words_;
};

bool isDivision(const ori::Instr& instr) {
  return instr.op == isa::Op::IDIV || instr.op == isa::Op::IREM;
}

} // namespace

/// Phase 5. Operations that the machine does not have become sequences of those that it has. The expansions are in
/// place; those of floating point leave their rare cases to blocks at the end of the function.
bool convertUnsupportedOps(ori::Function& function, PhaseContext& context) {
  std::vector<ori::Instr*> macros;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      if (needsExpansion(instr) || hasOlderWay(context.target, instr)) macros.push_back(&instr);
  std::optional<Constants> constants;
  for (ori::Instr* macro : macros) {
    if (!isa::desc(macro->op).isPseudo())
      expandOlderWay(function, macro);
    else if (isDoubleMacro(*macro))
      expandDoubleMacro(function, macro);
    else if (isDivision(*macro)) {
      if (!constants) constants.emplace(function);
      expandIntegerDivision(function, macro, constants->of(macro->op_(2).value()));
    } else
      expandFloatMacro(function, macro);
  }
  return !macros.empty();
}

} // namespace orias::phases
