#include "frontend/lower/constant_addresses.h"

#include <algorithm>
#include <span>

namespace orias::ptx {

namespace {

bool isConstantPointer(const Variable& v) {
  return v.isPointer && v.pointerSpace == StateSpace::Const;
}

/// Calls `f` for each operand, and for the parts of a vector or list.
template <typename F> void forEachPart(const Function& function, const Operand& operand, F&& f) {
  if (!operand.isGroup()) return f(operand);
  for (const Operand& part : function.parts(operand))
    f(part);
}

bool namesVariable(const Operand& address) {
  return address.is(OperandKind::Address) && address.addressBase() == OperandKind::Variable;
}

} // namespace

/// Iterates over all instructions until no origin changes.
class ConstantAddresses::Solver {
 public:
  Solver(const Module& module, const FormTable& forms, ConstantAddresses& result)
      : module_(module), forms_(forms), result_(result) {}

  void run() {
    do {
      isChanged_ = false;
      for (std::size_t f = 0; f < module_.functions.size(); ++f) {
        function_ = &module_.functions[f];
        registers_ = &result_.registers_[f];
        for (const Instruction& i : function_->instructions)
          visit(i);
      }
    } while (isChanged_);
  }

 private:
  void visit(const Instruction& i) {
    const Form& form = forms_.form(i);
    const auto operands = function_->operandsOf(i);
    if (form.op == Op::Call) return visitCall(i);
    if (operands.size() < 2) return;
    if (form.op == Op::St) {
      if (form.space() == StateSpace::Param && namesVariable(operands[0]))
        add(result_.variables_[index(operands[0].variableId())], originsOf(operands.subspan(1)));
      return;
    }
    std::uint8_t origins = Unknown;
    if (form.op != Op::Ld)
      origins = originsOf(operands.subspan(1));
    else if (form.space() == StateSpace::Param && namesVariable(operands[1]))
      origins = result_.variables_[index(operands[1].variableId())];
    write(operands[0], origins);
  }

  /// An indirect call may reach each of these functions.
  void visitCall(const Instruction& i) {
    const CallParts parts = callParts(*function_, i);
    if (parts.callee && parts.callee->is(OperandKind::Function)) {
      pass(parts, index(parts.callee->functionId()));
      return;
    }
    for (std::size_t f = 0; f < module_.functions.size(); ++f)
      if (!module_.functions[f].isEntry) pass(parts, f);
  }

  void pass(const CallParts& parts, std::size_t callee) {
    const Function& function = module_.functions[callee];
    const auto argumentsOf = [&](const Operand* list) {
      return list ? function_->parts(*list) : std::span<const Operand>();
    };
    const auto arguments = argumentsOf(parts.args), results = argumentsOf(parts.returns);
    for (std::size_t k = 0; k < std::min(arguments.size(), function.params.size()); ++k)
      add(place(callee, function.params[k]), originsOf(arguments.subspan(k, 1)));
    for (std::size_t k = 0; k < std::min(results.size(), function.returns.size()); ++k)
      write(results[k], place(callee, function.returns[k]));
  }

  std::uint8_t& place(std::size_t function, const Parameter& parameter) {
    return parameter.reg != RegisterId::None ? result_.registers_[function][index(parameter.reg)]
                                             : result_.variables_[index(parameter.variable)];
  }

  std::uint8_t originsOf(std::span<const Operand> sources) {
    std::uint8_t origins = Unknown;
    for (const Operand& source : sources)
      forEachPart(*function_, source, [&](const Operand& o) {
        if (o.is(OperandKind::Register)) origins |= (*registers_)[index(o.registerId())];
        if (!o.is(OperandKind::Variable)) return;
        const ptx::Variable& v = module_.variable(o.variableId());
        origins |= v.space == StateSpace::Const ? std::uint8_t{Variable} : result_.variables_[index(o.variableId())];
      });
    return origins;
  }

  void write(const Operand& results, std::uint8_t origins) {
    forEachPart(*function_, results, [&](const Operand& o) {
      if (o.is(OperandKind::Register)) add((*registers_)[index(o.registerId())], origins);
      if (o.is(OperandKind::Variable)) add(result_.variables_[index(o.variableId())], origins);
    });
  }

  void add(std::uint8_t& known, std::uint8_t origins) {
    isChanged_ |= (origins & ~known) != 0;
    known |= origins;
  }

  const Module& module_;
  const FormTable& forms_;
  ConstantAddresses& result_;
  const Function* function_ = nullptr;
  std::vector<std::uint8_t>* registers_ = nullptr;
  bool isChanged_ = false;
};

ConstantAddresses::ConstantAddresses(const Module& module, const FormTable& forms)
    : module_(&module), variables_(module.variables.size(), Unknown) {
  for (const Function& function : module.functions)
    registers_.emplace_back(function.registers.size(), Unknown);
  for (std::size_t v = 0; v < module.variables.size(); ++v)
    if (isConstantPointer(module.variables[v])) variables_[v] = Pointer;
  Solver(module, forms, *this).run();
}

ConstantAddresses::Origin ConstantAddresses::of(const Function& function, RegisterId id) const {
  const auto f = static_cast<std::size_t>(&function - module_->functions.data());
  return static_cast<Origin>(registers_[f][index(id)]);
}

bool hasConstantPointers(const Module& module) {
  return std::ranges::any_of(module.variables, isConstantPointer);
}

} // namespace orias::ptx
