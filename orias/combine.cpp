#include "orias/combine.h"

#include "support/check.h"

#include <algorithm>
#include <map>
#include <set>

namespace orias {

namespace {

template <typename T> void append(std::vector<T>& to, std::vector<T>& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

} // namespace

cubin::Module combine(std::vector<cubin::Module> parts) {
  cubin::Module all;
  all.abi = parts.front().abi;
  all.relocatable = true;
  all.isaClass = parts.front().isaClass;
  all.isAccelerated = parts.front().isAccelerated;
  std::map<std::string, std::size_t> variableAt;
  for (cubin::Module& part : parts) {
    ORIAS_CHECK(part.relocatable && part.addressTable.empty());
    for (cubin::Variable& variable : part.variables) {
      const auto [known, isNew] = variableAt.try_emplace(variable.name, all.variables.size());
      if (isNew) {
        all.variables.push_back(std::move(variable));
        continue;
      }
      cubin::Variable& other = all.variables[known->second];
      ORIAS_CHECK(!variable.defined || !other.defined, variable.name);
      const std::uint64_t alignment = std::max(other.alignment, variable.alignment);
      if (variable.defined) other = std::move(variable);
      other.alignment = alignment;
    }
    append(all.functions, part.functions);
    append(all.aliases, part.aliases);
    append(all.externalFunctions, part.externalFunctions);
    all.isaClass = std::max(all.isaClass, part.isaClass);
    all.hasIndependentSamplers |= part.hasIndependentSamplers;
    for (const std::string& word : part.driverPatches)
      if (std::ranges::find(all.driverPatches, word) == all.driverPatches.end()) all.driverPatches.push_back(word);
    // Variables of one name are one variable, as in linkers; the one with initial values counts.
    for (const cubin::HandleSymbol& handle : part.handles) {
      const auto known = std::ranges::find(all.handles, handle.name, &cubin::HandleSymbol::name);
      if (known == all.handles.end())
        all.handles.push_back(handle);
      else if (handle.start)
        *known = handle;
    }
  }

  std::set<std::string> defined;
  for (const cubin::Function& function : all.functions)
    defined.insert(function.name);
  for (const cubin::Alias& alias : all.aliases)
    defined.insert(alias.name);
  for (cubin::Function& function : all.functions)
    std::erase_if(function.externals, [&](const std::string& name) { return defined.contains(name); });
  std::erase_if(all.externalFunctions,
                [&](const cubin::ExternalFunction& f) { return !defined.insert(f.name).second; }); // one of each
  cubin::layOutVariables(all.variables);
  return all;
}

} // namespace orias
