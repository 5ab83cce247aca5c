#include "frontend/module_phases/function_clones.h"

#include "frontend/lower/call_graph.h"
#include "frontend/module_phases/generic_access.h"
#include "frontend/module_phases/instruction_results.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>

namespace orias::ptx {

namespace {

/// Parameters of a function, one bit each. Parameters after the 64th are ignored.
using ParameterSet = std::uint64_t;
constexpr unsigned kMaxParameters = 64;
/// A chain of calls longer than this is not followed to its end.
constexpr unsigned kMaxRounds = 16;
constexpr unsigned kPointerBits = 64;

ParameterSet bitOf(std::size_t parameter) {
  return parameter < kMaxParameters ? ParameterSet{1} << parameter : 0;
}

/// The parameters of each function whose space determines that of a generic access, a result or a useful parameter of a
/// callee.
class UsefulParameters {
 public:
  UsefulParameters(const Module& module, const FormTable& forms) : module_(module), forms_(forms) {
    useful_.assign(module.functions.size(), 0);
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
        if (!module.functions[f].hasBody || module.functions[f].isEntry) continue;
        const ParameterSet found = find(module.functions[f]);
        isMore |= found != useful_[f];
        useful_[f] = found;
      }
    }
  }

  ParameterSet of(FunctionId id) const { return useful_[index(id)]; }

 private:
  /// The flow-insensitive flow of parameter values in a function.
  struct Flow {
    std::vector<ParameterSet> registers; // by RegisterId
    std::map<VariableId, ParameterSet> passed;
    ParameterSet memory = 0; // stored in local variables
    ParameterSet useful = 0;
    bool hasChanged = false;

    void join(ParameterSet& known, ParameterSet more) {
      hasChanged |= (known | more) != known;
      known |= more;
    }
  };

  ParameterSet find(const Function& f) const {
    Flow flow;
    flow.registers.assign(f.registers.size(), 0);
    for (std::size_t k = 0; k < f.params.size(); ++k) {
      if (f.params[k].reg != RegisterId::None) flow.registers[index(f.params[k].reg)] = bitOf(k);
      flow.passed[f.params[k].variable] = bitOf(k);
    }
    do {
      flow.hasChanged = false;
      for (const Statement& s : f.statements)
        if (s.kind == StatementKind::Instruction) visit(f, f.instructions[s.index], flow);
    } while (flow.hasChanged);
    return flow.useful;
  }

  ParameterSet read(const Function& f, const Operand& o, const Flow& flow) const {
    if (o.is(OperandKind::Register)) return flow.registers[index(o.registerId())];
    if (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Register)
      return flow.registers[index(o.registerId())];
    if (o.is(OperandKind::Variable)) {
      const auto known = flow.passed.find(o.variableId());
      return known == flow.passed.end() ? 0 : known->second;
    }
    ParameterSet all = 0;
    if (o.isGroup())
      for (const Operand& part : f.parts(o))
        all |= read(f, part, flow);
    return all;
  }

  void write(const Function& f, const Instruction& i, ParameterSet value, Flow& flow) const {
    forEachResult(f, forms_, i, [&](const Operand& o) {
      if (bitWidth(f.registers[index(o.registerId())].type) == kPointerBits)
        flow.join(flow.registers[index(o.registerId())], value);
    });
  }

  void visit(const Function& f, const Instruction& i, Flow& flow) const {
    const Form& form = forms_.form(i);
    const auto ops = f.operandsOf(i);
    if (const int at = genericAddressOperand(form); at >= 0)
      flow.useful |= read(f, ops[static_cast<unsigned>(at)], flow);
    if (form.op == Op::Isspacep) flow.useful |= read(f, ops[1], flow);
    if (form.op == Op::Call) return visitCall(f, i, flow);
    if (form.op == Op::Ld) return write(f, i, loaded(form, ops[1], flow), flow);
    if (form.op == Op::St) {
      const ParameterSet value = read(f, ops[1], flow);
      if (form.space() != StateSpace::Param)
        flow.join(flow.memory, value);
      else if (ops[0].addressBase() == OperandKind::Variable)
        passOn(f, ops[0].variableId(), value, flow);
      return;
    }
    ParameterSet value = 0;
    for (const Operand& o : ops)
      value |= read(f, o, flow);
    write(f, i, value, flow);
  }

  static ParameterSet loaded(const Form& form, const Operand& address, const Flow& flow) {
    if (form.space() != StateSpace::Param) return flow.memory;
    if (address.addressBase() != OperandKind::Variable) return 0;
    const auto known = flow.passed.find(address.variableId());
    return known == flow.passed.end() ? 0 : known->second;
  }

  void passOn(const Function& f, VariableId to, ParameterSet value, Flow& flow) const {
    if (std::ranges::any_of(f.returns, [&](const Parameter& p) { return p.variable == to; })) flow.useful |= value;
    flow.join(flow.passed[to], value);
  }

  void visitCall(const Function& f, const Instruction& i, Flow& flow) const {
    const CallParts parts = callParts(f, i);
    ParameterSet all = 0;
    if (parts.args) {
      const auto args = f.parts(*parts.args);
      const bool isDirect = parts.callee->is(OperandKind::Function);
      for (std::size_t k = 0; k < args.size(); ++k) {
        const ParameterSet value = read(f, args[k], flow);
        if (isDirect && (of(parts.callee->functionId()) & bitOf(k)) != 0) flow.useful |= value;
        all |= value;
      }
    }
    if (!parts.returns) return;
    for (const Operand& result : f.parts(*parts.returns))
      if (result.is(OperandKind::Variable)) flow.join(flow.passed[result.variableId()], all);
    write(f, i, all, flow);
  }

  const Module& module_;
  const FormTable& forms_;
  std::vector<ParameterSet> useful_; // by FunctionId
};

/// The spaces of the useful parameters in a call; None if there may be several.
using Spaces = std::vector<StateSpace>;

bool knowsAny(const Spaces& spaces) {
  return std::ranges::any_of(spaces, [](StateSpace s) { return s != StateSpace::None; });
}

std::string textOf(const Spaces& spaces) {
  std::string text;
  for (const StateSpace space : spaces)
    if (space != StateSpace::None) text += fmt::format("{}{}", text.empty() ? "" : ", ", spaceName(space));
  return text;
}

class Cloning {
 public:
  Cloning(Module& module, const FormTable& forms, const MemorySpaceOptions& options)
      : module_(module), forms_(forms), options_(options), originOf_(module.functions.size()) {
    std::uint64_t size = 0;
    for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
      originOf_[f] = FunctionId(f);
      size += module.functions[f].instructions.size();
    }
    instructionsLeft_ = size * options.cloning.growthPercent / 100;
    clonesLeft_ = options.cloning.most;
  }

  std::vector<PhaseRemark> run() {
    for (unsigned round = 0; round < kMaxRounds; ++round)
      if (!cloneOnce()) break;
    return std::move(remarks_);
  }

 private:
  struct Site {
    FunctionId caller = FunctionId::None;
    std::uint32_t instruction = 0;
  };

  /// Performs one iteration. Returns whether the callee of a call has changed.
  bool cloneOnce() {
    const UsefulParameters useful(module_, forms_);
    const auto count = static_cast<std::uint32_t>(module_.functions.size());
    bool hasCandidate = false;
    for (std::uint32_t f = 0; f < count; ++f)
      hasCandidate |= useful.of(FunctionId(f)) != 0;
    if (!hasCandidate) return false;
    const PointerSpaces spaces(module_, forms_, options_.assumptions);
    const CallGraph calls(module_, forms_);
    std::vector<std::map<Spaces, std::vector<Site>>> sites(count);
    std::vector<std::vector<Spaces>> order(count); // in the order of the text
    for (std::uint32_t f = 0; f < count; ++f) {
      for (const CallFacts& call : spaces.facts(FunctionId(f)).calls) {
        const ParameterSet wanted = useful.of(call.callee);
        if (wanted == 0) continue;
        Spaces key(module_.function(call.callee).params.size(), StateSpace::None);
        for (std::size_t k = 0; k < key.size() && k < call.passed.size(); ++k)
          if ((wanted & bitOf(k)) != 0) key[k] = call.passed[k].space();
        std::vector<Site>& group = sites[index(call.callee)][key];
        if (group.empty()) order[index(call.callee)].push_back(key);
        group.push_back({FunctionId(f), call.instruction});
      }
    }
    bool hasChanged = false;
    for (std::uint32_t f = 0; f < count; ++f)
      hasChanged |= cloneFor(FunctionId(f), spaces.isClosed(FunctionId(f)), calls, sites[f], order[f]);
    return hasChanged;
  }

  bool cloneFor(FunctionId id, bool isClosed, const CallGraph& calls, const std::map<Spaces, std::vector<Site>>& sites,
                const std::vector<Spaces>& order) {
    if (order.empty() || std::ranges::none_of(order, knowsAny) || (isClosed && order.size() < 2)) return false;
    if (const std::string_view why = obstacle(id, isClosed, calls); !why.empty()) {
      trace(fmt::format("avoid cloning of {}: {}", nameOf(id), why));
      return false;
    }
    // The original keeps the calls whose spaces are not known, else the first combination.
    const bool hasUnknown = std::ranges::any_of(order, [](const Spaces& s) { return !knowsAny(s); });
    const bool keepsFirst = isClosed && !hasUnknown;
    bool hasChanged = false;
    for (const Spaces& key : order) {
      if (!knowsAny(key) || (keepsFirst && key == order.front())) continue;
      const FunctionId clone = cloneOf(id, key);
      if (clone == FunctionId::None) return hasChanged;
      for (const Site& site : sites.at(key))
        redirect(site, clone);
      hasChanged = true;
    }
    if (hasChanged) trace(fmt::format("{}: callees are affected", nameOf(id)));
    return hasChanged;
  }

  std::string_view obstacle(FunctionId id, bool isClosed, const CallGraph& calls) const {
    const Function& f = module_.function(id);
    if (!f.hasBody || f.isEntry) return "it has no body here";
    if (calls.isRecursive(id)) return "it is recursive";
    if (!isClosed && f.linkage == Linkage::Weak) return "another module may replace it";
    for (const Function& other : module_.functions)
      if (other.aliasee == id) return "it has an alias";
    for (const Statement& s : f.statements)
      if (s.kind == StatementKind::Variable && module_.variables[s.index].space != StateSpace::Local &&
          module_.variables[s.index].space != StateSpace::Param)
        return "it has a variable outside the frame";
    return {};
  }

  /// The clone for these spaces, created if needed. None if the limits are reached.
  FunctionId cloneOf(FunctionId id, const Spaces& spaces) {
    const FunctionId origin = originOf_[index(id)];
    FunctionId& clone = clones_.try_emplace({origin, spaces}, FunctionId::None).first->second;
    if (clone != FunctionId::None) return clone;
    const std::uint64_t size = module_.function(id).instructions.size();
    if (clonesLeft_ == 0 || size > instructionsLeft_) {
      trace(fmt::format("avoid cloning of {}: {}", nameOf(id),
                        clonesLeft_ == 0 ? "the limit of clones is reached" : "the module would grow too much"));
      return FunctionId::None;
    }
    if (clonesLeft_ > 0) --clonesLeft_;
    instructionsLeft_ -= size;
    clone = copy(id);
    originOf_.push_back(origin);
    trace(fmt::format("{} is cloned: {} ({})", nameOf(id), nameOf(clone), textOf(spaces)));
    remarks_.push_back(
        {id, module_.function(id).loc.line, true,
         fmt::format("'{}' is cloned for addresses in {} memory: '{}'", nameOf(id), textOf(spaces), nameOf(clone))});
    return clone;
  }

  FunctionId copy(FunctionId id) {
    const auto made = static_cast<FunctionId>(module_.functions.size());
    Function f = module_.function(id);
    f.name = freeName(module_.function(originOf_[index(id)]));
    f.linkage = Linkage::None;
    std::map<VariableId, VariableId> moved;
    const auto move = [&](VariableId& variable) {
      const auto [at, isNew] = moved.try_emplace(variable, VariableId::None);
      if (isNew) {
        at->second = static_cast<VariableId>(module_.variables.size());
        Variable v = module_.variable(variable);
        v.owner = made;
        module_.variables.push_back(v);
      }
      variable = at->second;
    };
    for (Parameter& p : f.params)
      move(p.variable);
    for (Parameter& p : f.returns)
      move(p.variable);
    for (Statement& s : f.statements) {
      if (s.kind != StatementKind::Variable) continue;
      auto variable = static_cast<VariableId>(s.index);
      move(variable);
      s.index = index(variable);
    }
    for (Operand& o : f.operands) {
      const bool isAddress = o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable;
      if (!isAddress && !o.is(OperandKind::Variable)) continue;
      const auto at = moved.find(o.variableId());
      if (at == moved.end()) continue;
      o = isAddress ? Operand::address(at->second, o.offset()) : Operand::variable(at->second, o.offset());
    }
    module_.functions.push_back(std::move(f));
    return made;
  }

  NameId freeName(const Function& origin) {
    const std::string base(module_.text(origin.name));
    for (unsigned n = 1;; ++n) {
      const std::string name = fmt::format("{}$ipmsp{}", base, n);
      if (module_.names.find(name) == NameId::None) return module_.names.intern(name);
    }
  }

  void redirect(const Site& site, FunctionId to) {
    Function& caller = module_.functions[index(site.caller)];
    const Operand* callee = callParts(caller, caller.instructions[site.instruction]).callee;
    caller.operands[static_cast<std::size_t>(callee - caller.operands.data())] = Operand::function(to);
  }

  std::string_view nameOf(FunctionId id) const { return module_.text(module_.function(id).name); }

  void trace(std::string_view line) {
    if (options_.trace) *options_.trace += fmt::format("{}\n", line);
  }

  Module& module_;
  const FormTable& forms_;
  const MemorySpaceOptions& options_;
  std::vector<FunctionId> originOf_; // by FunctionId: the original of a clone
  std::map<std::pair<FunctionId, Spaces>, FunctionId> clones_;
  std::int64_t clonesLeft_ = 0;
  std::uint64_t instructionsLeft_ = 0;
  std::vector<PhaseRemark> remarks_;
};

} // namespace

std::vector<PhaseRemark> cloneForSpaces(Module& module, const FormTable& forms, const MemorySpaceOptions& options) {
  return Cloning(module, forms, options).run();
}

} // namespace orias::ptx
