#include <algorithm>
#include <map>
#include <string>

#include "encoder/cubin/module.h"
#include "support/align.h"

namespace orias::cubin {
namespace {

void place(std::vector<Variable*>& variables) {
  Packing packing;
  for (Variable* variable : variables)
    variable->offset = packing.place(variable->size, variable->alignment);
}

} // namespace

void layOutVariables(std::vector<Variable>& variables) {
  std::vector<Variable*> constants;
  std::vector<Variable*> zeros;
  std::vector<Variable*> initialised;
  for (Variable& variable : variables) {
    if (!variable.defined || variable.common || variable.space == Variable::Space::Shared) continue;
    auto& list = variable.space == Variable::Space::Constant ? constants : variable.initialised() ? initialised : zeros;
    list.push_back(&variable);
  }
  const auto bySize = [](const Variable* a, const Variable* b) {
    return a->alignment != b->alignment ? a->alignment > b->alignment : a->size < b->size;
  };
  for (auto* list : {&constants, &zeros, &initialised}) {
    std::stable_partition(list->begin(), list->end(), [](const Variable* v) { return v->binding != Binding::Local; });
    if (list != &constants) std::stable_sort(list->begin(), list->end(), bySize);
    place(*list);
  }
  // The shared variables of each kernel have a section, and those of the module have one.
  std::map<std::string, std::vector<Variable*>> shared;
  for (Variable& variable : variables)
    if (variable.defined && variable.space == Variable::Space::Shared) shared[variable.owner].push_back(&variable);
  for (auto& [owner, list] : shared) {
    std::stable_sort(list.begin(), list.end(), bySize);
    place(list);
  }
}

} // namespace orias::cubin
