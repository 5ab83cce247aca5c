#include "orias/function_facts.h"

#include "frontend/instr_form_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>

namespace orias {

namespace {

char letterOf(ptx::Type type) {
  const unsigned bits = ptx::bitWidth(type);
  const bool isFloat = ptx::typeClass(type) == ptx::TypeClass::Float;
  switch (bits) {
  case 8: return 'b';
  case 16: return 'h';
  case 32: return isFloat && type == ptx::Type::F32 ? 'f' : 'i';
  case 64: return isFloat ? 'd' : 'l';
  case 128: return 'x';
  default: return 'b';
  }
}

std::string textOf(const ptx::Variable& v) {
  std::string text(1, letterOf(v.type));
  if (v.isArray) text += fmt::format("{}", v.elements);
  return text;
}

std::vector<ptx::VariableId> variablesOf(const std::vector<ptx::Parameter>& parameters) {
  std::vector<ptx::VariableId> variables;
  for (const ptx::Parameter& p : parameters)
    variables.push_back(p.variable);
  return variables;
}

std::string prototypeOf(const ptx::Module& module, const ptx::Function& function) {
  return prototypeText(module, variablesOf(function.params), variablesOf(function.returns));
}

/// A function and its inlined callees: it calls them by name in the PTX, but not in the code.
std::vector<const ptx::Function*> bodiesIn(const ptx::Module& module, const ptx::FormTable& forms,
                                           const ptx::Function& function, const std::vector<std::string>& called) {
  std::vector<const ptx::Function*> all{&function};
  std::set<const ptx::Function*> seen{&function};
  for (std::size_t at = 0; at < all.size(); ++at)
    for (const ptx::Instruction& i : all[at]->instructions) {
      if (forms.form(i).op != ptx::Op::Call) continue;
      const ptx::Operand& named = *callParts(*all[at], i).callee;
      if (!named.is(ptx::OperandKind::Function)) continue;
      const ptx::Function* callee = &module.function(named.functionId());
      if (callee->aliasee != ptx::FunctionId::None) callee = &module.function(callee->aliasee);
      if (callee->hasBody && std::ranges::find(called, module.text(callee->name)) == called.end() &&
          seen.insert(callee).second)
        all.push_back(callee);
    }
  return all;
}

/// What the linker needs to know about calls besides the relocations for callees.
void describeCalls(const ptx::Module& module, const ptx::FormTable& forms, const ptx::Function& function,
                   cubin::Function& out) {
  const auto add = [](std::vector<std::string>& to, std::string text) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(std::move(text));
  };
  for (const ptx::Instruction& i : function.instructions) {
    if (forms.form(i).op != ptx::Op::Call) continue;
    const ptx::CallParts parts = callParts(function, i);
    if (parts.callee->is(ptx::OperandKind::Function)) {
      // The code calls the target of an alias.
      const ptx::Function& callee = module.function(parts.callee->functionId());
      if (callee.aliasee != ptx::FunctionId::None) add(out.callees, std::string(module.text(callee.name)));
    } else if (parts.prototype != nullptr && parts.prototype->is(ptx::OperandKind::Prototype)) {
      const ptx::Prototype& prototype = module.prototypes[index(parts.prototype->prototypeId())];
      add(out.indirectCalls, prototypeText(module, prototype.params, prototype.returns));
    } else if (parts.prototype != nullptr && parts.prototype->is(ptx::OperandKind::TargetList)) {
      for (const std::uint32_t target : module.targetLists[index(parts.prototype->targetListId())].targets)
        add(out.indirectCalls, prototypeOf(module, module.function(ptx::FunctionId(target))));
    }
  }
}

cubin::Binding bindingOf(ptx::Linkage linkage) {
  switch (linkage) {
  case ptx::Linkage::None: return cubin::Binding::Local;
  case ptx::Linkage::Weak: return cubin::Binding::Weak;
  default: return cubin::Binding::Global;
  }
}

} // namespace

std::string prototypeText(const ptx::Module& module, std::span<const ptx::VariableId> params,
                          std::span<const ptx::VariableId> returns) {
  std::string text = "#";
  for (const ptx::VariableId id : returns)
    text += textOf(module.variable(id));
  if (returns.empty()) text += 'v';
  for (const ptx::VariableId id : params)
    text += textOf(module.variable(id));
  return text;
}

void addClusterFacts(cubin::Module& cubin, const ptx::Module& source) {
  for (cubin::Function& function : cubin.functions)
    function.blocksAreClusters |= std::ranges::any_of(source.functions, [&](const ptx::Function& f) {
      return f.isEntry && f.performance.blocksareclusters && source.text(f.name) == function.name;
    });
}

void addFunctionFacts(cubin::Module& cubin, const ptx::Module& source, const ptx::FormTable& forms) {
  std::map<std::string, const ptx::Function*, std::less<>> byName;
  for (const ptx::Function& function : source.functions)
    byName[std::string(source.text(function.name))] = &function;
  for (cubin::Function& function : cubin.functions) {
    const ptx::Function& from = *byName.at(function.name);
    if (!from.isEntry) function.prototype = prototypeOf(source, from);
    for (const ptx::Function* body : bodiesIn(source, forms, from, function.callees))
      describeCalls(source, forms, *body, function);
  }

  std::vector<std::string> named;
  for (const cubin::Function& function : cubin.functions)
    named.insert(named.end(), function.externals.begin(), function.externals.end());
  for (const cubin::Variable& variable : cubin.variables)
    for (const cubin::Relocation& r : variable.relocations)
      named.push_back(r.symbol);
  for (const ptx::Function& function : source.functions) {
    const std::string name(source.text(function.name));
    if (function.aliasee != ptx::FunctionId::None)
      cubin.aliases.push_back(
          {name, std::string(source.text(source.function(function.aliasee).name)), bindingOf(function.linkage)});
    else if (!function.hasBody && std::find(named.begin(), named.end(), name) != named.end())
      cubin.externalFunctions.push_back(
          {name, function.isEntry ? "" : prototypeOf(source, function), function.isEntry});
  }
}

} // namespace orias
