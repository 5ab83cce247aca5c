#include "orias/symbol_resolution.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace orias {

namespace {

using ptx::Function;
using ptx::Linkage;
using ptx::Module;
using ptx::Variable;

/// A name of module scope in one of the inputs: a variable or a function.
struct Named {
  const ProgramInput* input = nullptr;
  Variable* variable = nullptr;
  Function* function = nullptr;

  Linkage linkage() const { return variable ? variable->linkage : function->linkage; }
  bool isDefinition() const {
    if (variable) return variable->linkage != Linkage::Extern;
    return function->hasBody || function->aliasee != ptx::FunctionId::None;
  }
  /// Kernels are what a program is made for, with `.visible` or without.
  bool isOwn() const { return linkage() == Linkage::None && !(function && function->isEntry); }
  SourceLoc loc() const { return variable ? variable->loc : function->loc; }
  void rename(std::string_view name) const {
    (variable ? variable->name : function->name) = input->module->names.intern(name);
  }
  void error(std::string message, std::string hint = {}) const {
    input->diags->error(loc(), std::move(message), std::move(hint));
  }
};

bool areAlike(const Module& a, const std::vector<ptx::Parameter>& as, const Module& b,
              const std::vector<ptx::Parameter>& bs) {
  return std::equal(as.begin(), as.end(), bs.begin(), bs.end(), [&](ptx::Parameter x, ptx::Parameter y) {
    const Variable &v = a.variable(x.variable), &w = b.variable(y.variable);
    return v.type == w.type && v.byteSize() == w.byteSize() && v.align == w.align;
  });
}

/// Whether both may be the same symbol.
bool fit(const Named& a, const Named& b) {
  if ((a.variable == nullptr) != (b.variable == nullptr)) return false;
  if (a.variable) {
    const Variable &v = *a.variable, &w = *b.variable;
    return v.space == w.space && v.type == w.type && v.vectorSize == w.vectorSize && v.isArray == w.isArray &&
           (v.incomplete || w.incomplete || v.elements == w.elements);
  }
  const Function &f = *a.function, &g = *b.function;
  const Module &m = *a.input->module, &n = *b.input->module;
  return f.isEntry == g.isEntry && areAlike(m, f.params, n, g.params) && areAlike(m, f.returns, n, g.returns);
}

using ByName = std::map<std::string, std::vector<Named>>;

/// The names of module scope, those of the first input first.
ByName namesOf(std::span<const ProgramInput> inputs) {
  ByName names;
  for (const ProgramInput& input : inputs) {
    Module& module = *input.module;
    for (Function& function : module.functions)
      names[std::string(module.text(function.name))].push_back({&input, nullptr, &function});
    for (Variable& v : module.variables)
      if (v.owner == ptx::FunctionId::None && v.space != ptx::StateSpace::Param && v.space != ptx::StateSpace::Reg)
        names[std::string(module.text(v.name))].push_back({&input, &v, nullptr});
  }
  return names;
}

/// Checks all symbols of one name, in the order of the inputs. False, and an error, if they do not match.
bool checkShared(const std::string& name, const std::vector<Named>& all) {
  const Named *first = nullptr, *definition = nullptr;
  for (const Named& one : all) {
    if (one.isOwn()) {
      if (first == nullptr || !one.isDefinition()) continue;
      one.error(fmt::format("'{}' is also a symbol of '{}', but this definition is local to its input", name,
                            first->input->name),
                "make it .visible if the other input refers to it");
      return false;
    }
    if (first != nullptr && !fit(*first, one)) {
      one.error(fmt::format("conflicting declarations of '{}' here and in '{}'", name, first->input->name),
                "a shared symbol must have the same type, size and parameters in all inputs");
      return false;
    }
    if (first == nullptr) first = &one;
    if (!one.isDefinition()) continue;
    if (definition != nullptr) {
      one.error(fmt::format("duplicate definition of '{}', first defined in '{}'", name, definition->input->name));
      return false;
    }
    definition = &one;
  }
  if (definition == nullptr) return true;
  for (const Named& one : all)
    if (one.function && !one.isOwn() && !one.isDefinition()) one.function->linkage = Linkage::Extern;
  return true;
}

} // namespace

void resolveSymbols(std::span<const ProgramInput> inputs) {
  const ByName names = namesOf(inputs);
  std::set<std::string> given;
  for (const auto& [name, all] : names) {
    if (all.size() < 2 || !checkShared(name, all)) continue;
    // The first keeps the name, unless it is visible to others.
    bool isTaken = std::any_of(all.begin(), all.end(), [](const Named& one) { return !one.isOwn(); });
    for (const Named& one : all) {
      if (!one.isOwn()) continue;
      if (isTaken) {
        auto n = static_cast<std::size_t>(one.input - inputs.data()) + 1;
        std::string own = fmt::format("{}${}", name, n);
        while (names.contains(own) || given.contains(own))
          own = fmt::format("{}${}", name, ++n);
        given.insert(own);
        one.rename(own);
      }
      isTaken = true;
    }
  }
}

bool needLinking(std::span<const ProgramInput> inputs) {
  // Dynamic shared memory belongs to each kernel.
  const auto isShared = [](const Named& one) {
    return !one.isOwn() && !(one.variable && one.variable->space == ptx::StateSpace::Shared && !one.isDefinition());
  };
  for (const auto& [name, all] : namesOf(inputs))
    if (std::count_if(all.begin(), all.end(), isShared) > 1) return true;
  std::size_t withPlaces = 0;
  for (const ProgramInput& input : inputs) {
    const Module& module = *input.module;
    if (!module.prototypes.empty() || std::any_of(module.targetLists.begin(), module.targetLists.end(),
                                                  [](const ptx::TargetList& list) { return list.isCall; }))
      return true;
    const bool hasVariables = std::any_of(module.variables.begin(), module.variables.end(), [](const Variable& v) {
      return v.space == ptx::StateSpace::Global || v.space == ptx::StateSpace::Const;
    });
    const bool callsDriver = std::any_of(module.functions.begin(), module.functions.end(), [](const Function& f) {
      return !f.hasBody && f.aliasee == ptx::FunctionId::None;
    });
    withPlaces += hasVariables || callsDriver;
  }
  return withPlaces > 1;
}

} // namespace orias
