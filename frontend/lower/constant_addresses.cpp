#include "frontend/lower/constant_addresses.h"

#include "frontend/lower/function_lowering.h"

#include <algorithm>
#include <span>

namespace orias::ptx {

namespace {

bool isConstantPointer(const Module& module, VariableId id) {
  const Variable& v = module.variable(id);
  return v.isPointer && v.pointerSpace == StateSpace::Const;
}

/// Calls `f` for each operand, and for the parts of a vector or list.
template <typename F> void forEachPart(const Function& function, const Operand& operand, F&& f) {
  if (!operand.isGroup()) return f(operand);
  for (const Operand& part : function.parts(operand))
    f(part);
}

} // namespace

ConstantAddresses::ConstantAddresses(const Module& module, const FormTable& forms, const Function& function)
    : origins_(function.registers.size(), Unknown) {
  const auto originsOf = [&](const Instruction& i, std::span<const Operand> sources) {
    std::uint8_t origins = Unknown;
    const bool isLoad = forms.form(i).op == Op::Ld;
    for (const Operand& source : sources)
      forEachPart(function, source, [&](const Operand& o) {
        if (isLoad) {
          const bool namesVariable = o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable;
          if (namesVariable && isConstantPointer(module, o.variableId())) origins |= Pointer;
        } else if (o.is(OperandKind::Register)) {
          origins |= origins_[index(o.registerId())];
        } else if (o.is(OperandKind::Variable) && module.variable(o.variableId()).space == StateSpace::Const) {
          origins |= Variable;
        }
      });
    return origins;
  };
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (const Instruction& i : function.instructions) {
      const auto operands = function.operandsOf(i);
      if (operands.size() < 2) continue;
      const std::uint8_t origins = originsOf(i, operands.subspan(1));
      forEachPart(function, operands[0], [&](const Operand& result) {
        if (!result.is(OperandKind::Register)) return;
        std::uint8_t& known = origins_[index(result.registerId())];
        isChanged |= (origins & ~known) != 0;
        known |= origins;
      });
    }
  }
}

bool hasConstantPointers(const Module& module) {
  return std::ranges::any_of(module.functions, [&](const Function& function) {
    return function.isEntry && std::ranges::any_of(function.params, [&](const Parameter& parameter) {
             return isConstantPointer(module, parameter.variable);
           });
  });
}

ConstantAddresses::Origin FunctionLowering::constantAddress(RegisterId id) {
  if (!hasConstantPointers(module())) return ConstantAddresses::Variable;
  const auto known = constantAddresses_.try_emplace(in_, module(), *layout_.forms, *in_).first;
  return known->second.of(id);
}

} // namespace orias::ptx
