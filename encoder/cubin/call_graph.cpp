#include "encoder/cubin/call_graph.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "encoder/cubin/byte_io.h"

namespace orias::cubin {
namespace {

/// Recognizes the relocations of function pointers. From sm_90 on they have types of their own; before, they have the
/// types of data addresses.
class FunctionPointers {
 public:
  explicit FunctionPointers(const Module& module) {
    for (const Function& function : module.functions)
      names_.insert(function.name);
    for (const ExternalFunction& function : module.externalFunctions)
      names_.insert(function.name);
    for (const Alias& alias : module.aliases)
      names_.insert(alias.name);
  }

  bool areMadeBy(const Relocation& relocation) const {
    switch (relocation.type) {
    case RelocationType::Unified64:
    case RelocationType::FunctionDescriptor64:
    case RelocationType::Unified32Lo32:
    case RelocationType::FunctionDescriptor32Lo32: return true;
    case RelocationType::Abs64:
    case RelocationType::Abs32Lo32: return names_.contains(relocation.symbol);
    default: return false;
    }
  }

 private:
  std::set<std::string> names_;
};

/// Finds the functions whose addresses are reachable through relocations, including those of variables that variables
/// refer to.
class References {
 public:
  References(const Module& module, const FunctionPointers& pointers) : pointers_(pointers) {
    for (const Variable& variable : module.variables)
      variables_[variable.name] = &variable;
  }

  std::set<std::string> from(const std::vector<Relocation>& relocations) {
    seen_.clear();
    found_.clear();
    visit(relocations);
    return std::move(found_);
  }

 private:
  void visit(const std::vector<Relocation>& relocations) {
    for (const Relocation& relocation : relocations) {
      if (pointers_.areMadeBy(relocation)) found_.insert(relocation.symbol);
      const auto variable = variables_.find(relocation.symbol);
      if (variable != variables_.end() && seen_.insert(relocation.symbol).second) visit(variable->second->relocations);
    }
  }

  const FunctionPointers& pointers_;
  std::map<std::string, const Variable*> variables_;
  std::set<std::string> seen_, found_;
};

} // namespace

CallTables callTables(const Module& module, const SymbolIndex& symbol,
                      const std::function<std::uint32_t(const std::string&)>& text) {
  constexpr std::uint32_t kCalls = ~0u, kTaken = ~1u, kPointers = ~2u, kReferences = ~3u;
  CallTables tables;
  const auto pair = [](Bytes& to, std::uint32_t first, std::uint32_t second) {
    append(to, first);
    append(to, second);
  };
  // ptxas starts with the last function.
  const auto functions = std::views::reverse(module.functions);

  std::set<std::string> kernels;
  for (const Function& function : module.functions)
    if (function.isEntry) kernels.insert(function.name);
  pair(tables.graph, 0, kCalls);
  for (const Function& function : functions)
    for (const auto& called = module.relocatable || !function.callees.empty() ? function.callees : function.externals;
         const std::string& callee : std::views::reverse(called))
      if (!kernels.contains(callee)) pair(tables.graph, symbol(function.name), symbol(callee));
  for (const Alias& alias : module.aliases)
    pair(tables.graph, symbol(alias.name), symbol(alias.function));

  const FunctionPointers pointers(module);
  std::set<std::string> taken;
  for (const Variable& variable : module.variables)
    for (const Relocation& r : variable.relocations)
      if (pointers.areMadeBy(r)) taken.insert(r.symbol);
  for (const Function& function : module.functions)
    for (const Relocation& r : function.relocations)
      if (pointers.areMadeBy(r)) taken.insert(r.symbol);

  // In whole programs the address table refers to kernels that other kernels launch.
  for (const Function& function : module.functions)
    for (const std::string& name : function.externals)
      if (kernels.contains(name)) taken.insert(name);

  std::map<std::string, std::string> prototypes;
  for (const ExternalFunction& function : module.externalFunctions)
    prototypes[function.name] = function.prototype;
  for (const Function& function : module.functions)
    if (!function.isEntry) prototypes[function.name] = function.prototype;
  for (const Alias& alias : module.aliases)
    prototypes[alias.name] = prototypes[alias.function];

  pair(tables.graph, 0, kTaken);
  for (const std::string& name : taken)
    pair(tables.graph, symbol(name), text(prototypes[name]));
  pair(tables.graph, 0, kPointers);
  for (const Function& function : functions)
    for (const std::string& prototype : function.indirectCalls)
      pair(tables.graph, symbol(function.name), text(prototype));
  pair(tables.graph, 0, kReferences);
  References references(module, pointers);
  if (module.relocatable)
    for (const Function& function : functions)
      for (const std::string& name : references.from(function.relocations))
        pair(tables.graph, symbol(function.name), symbol(name));
  if (!module.relocatable)
    for (const Function& function : functions)
      for (const std::string& name : function.externals)
        if (kernels.contains(name)) pair(tables.graph, symbol(function.name), symbol(name));

  for (const auto& [name, prototype] : prototypes)
    if (!prototype.empty() && !taken.contains(name)) pair(tables.prototypes, symbol(name), text(prototype));
  return tables;
}

} // namespace orias::cubin
