#include "frontend/check_instr_operand.h"
#include "frontend/check_instr_rules.h"

#include <fmt/format.h>

#include <vector>

// Calls against the signature of their callee: number, space, type, size and alignment of arguments and results.

namespace orias::ptx {

namespace {

struct Signature {
  std::vector<VariableId> params;
  std::vector<VariableId> returns;
};

Signature signatureOf(const Function& callee) {
  Signature signature;
  for (const Parameter& p : callee.params)
    signature.params.push_back(p.variable);
  for (const Parameter& p : callee.returns)
    signature.returns.push_back(p.variable);
  return signature;
}

Signature signatureOf(const Prototype& prototype) {
  return {{prototype.params.begin(), prototype.params.end()}, {prototype.returns.begin(), prototype.returns.end()}};
}

class CallChecker {
 public:
  CallChecker(const Module& module, const Function& function) : module_(module), function_(function) {}

  std::string check(const Instruction& instruction) {
    const CallParts parts = callParts(function_, instruction);
    if (!parts.callee) return "Arguments mismatch for instruction 'call'";
    if (isUnresolved(parts)) return {};
    Signature signature;
    if (std::string problem = findSignature(parts, signature); !problem.empty()) return problem;

    const std::span<const Operand> returns =
        parts.returns ? function_.parts(*parts.returns) : std::span<const Operand>();
    const std::span<const Operand> arguments = parts.args ? function_.parts(*parts.args) : std::span<const Operand>();
    if (arguments.size() != signature.params.size() || returns.size() != signature.returns.size())
      return fmt::format("Call has wrong number of parameters: {} arguments and {} results are expected, not {} and {}",
                         signature.params.size(), signature.returns.size(), arguments.size(), returns.size());
    for (std::size_t i = 0; i < returns.size(); ++i)
      if (std::string problem = passes(returns[i], signature.returns[i], true); !problem.empty()) return problem;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (std::string problem = passes(arguments[i], signature.params[i], false); !problem.empty()) return problem;
    return {};
  }

 private:
  /// The list of targets begins with an undeclared name, which the parser has reported.
  bool isUnresolved(const CallParts& parts) const {
    if (!parts.prototype || !parts.prototype->is(OperandKind::TargetList)) return false;
    const TargetList& list = module_.targetLists[index(parts.prototype->targetListId())];
    return !list.targets.empty() && list.targets.front() == kNoId;
  }

  std::string findSignature(const CallParts& parts, Signature& signature) const {
    if (parts.callee->is(OperandKind::Function)) {
      if (parts.prototype) return "Argument of instruction 'call': must be register";
      const Function& callee = module_.function(parts.callee->functionId());
      if (callee.isEntry) return "Illegal call target, device function expected";
      signature = signatureOf(callee);
      return {};
    }
    if (!parts.callee->is(OperandKind::Register)) return "Arguments mismatch for instruction 'call'";
    const Type type = function_.registers[index(parts.callee->registerId())].type;
    if (!typeFits(Type::B64, type, false) && !typeFits(Type::B32, type, false))
      return "Arguments mismatch for instruction 'call': the address of a function is expected";
    if (!parts.prototype)
      return "Call through a register needs the name of a .callprototype or .calltargets as its last operand";
    if (parts.prototype->is(OperandKind::Prototype)) {
      signature = signatureOf(module_.prototypes[index(parts.prototype->prototypeId())]);
      return {};
    }
    if (!parts.prototype->is(OperandKind::TargetList)) return "Arguments mismatch for instruction 'call'";
    const TargetList& list = module_.targetLists[index(parts.prototype->targetListId())];
    if (!list.isCall || list.targets.empty()) return "A .calltargets list is expected as the last operand of 'call'";
    signature = signatureOf(module_.function(FunctionId(list.targets.front())));
    return {};
  }

  std::string passes(const Operand& actual, VariableId formalId, bool isResult) const {
    const Variable& formal = module_.variable(formalId);
    const std::string_view formalName = module_.text(formal.name);
    const std::string typeProblem = fmt::format("Type of argument does not match formal parameter '{}'", formalName);
    switch (actual.kind()) {
    case OperandKind::Sink:
      return isResult ? std::string() : fmt::format("Illegal argument for formal parameter '{}'", formalName);
    case OperandKind::Register: {
      const Type type = function_.registers[index(actual.registerId())].type;
      return !formal.isArray && compatible(formal.type, type) ? std::string() : typeProblem;
    }
    case OperandKind::Int:
      return !isResult && !formal.isArray && typeClass(formal.type) != TypeClass::Float ? std::string() : typeProblem;
    case OperandKind::Float32:
    case OperandKind::Float64: {
      const TypeClass kind = typeClass(formal.type);
      const bool takesFloat = kind == TypeClass::Float || kind == TypeClass::Bits;
      return !isResult && !formal.isArray && takesFloat ? std::string() : typeProblem;
    }
    case OperandKind::Variable:
      return passesVariable(module_.variable(actual.variableId()), actual, formal, typeProblem);
    default: return typeProblem;
    }
  }

  std::string passesVariable(const Variable& actual, const Operand& operand, const Variable& formal,
                             const std::string& typeProblem) const {
    const std::string_view name = module_.text(actual.name);
    if (actual.space != StateSpace::Param) return fmt::format("Call argument '{}' has illegal state space", name);
    for (const Parameter& own : function_.params)
      if (own.variable == operand.variableId())
        return fmt::format("Formal parameter '{}' declared in .param space cannot be used as argument to call", name);
    const bool sameShape = actual.isArray == formal.isArray && actual.byteSize() == formal.byteSize();
    if (!sameShape || (!formal.isArray && !compatible(formal.type, actual.type))) return typeProblem;
    if (actual.align != formal.align)
      return fmt::format("Alignment of argument does not match formal parameter '{}'", module_.text(formal.name));
    return {};
  }

  static bool compatible(Type formal, Type actual) {
    return typeFits(formal, actual, false) || typeFits(actual, formal, false);
  }

  const Module& module_;
  const Function& function_;
};

} // namespace

std::string checkCall(const Module& module, const Function& function, const Instruction& instruction) {
  return CallChecker(module, function).check(instruction);
}

} // namespace orias::ptx
