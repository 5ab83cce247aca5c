#include "frontend/lower/call_graph.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>

namespace orias::ptx {

CallGraph::CallGraph(const Module& module, const FormTable& forms)
    : module_(module), callees_(module.functions.size()), component_(module.functions.size(), 0),
      isRecursive_(module.functions.size(), false) {
  std::vector<bool> taken(module.functions.size(), false);
  for (const Variable& v : module.variables)
    for (const InitAddress& a : v.initAddresses)
      if (a.function != FunctionId::None) taken[index(a.function)] = true;
  const auto isCall = [&](const Instruction& i) { return forms.form(i).op == ptx::Op::Call; };
  for (const Function& f : module.functions)
    for (const Instruction& i : f.instructions) {
      const Operand* callee = isCall(i) ? callParts(f, i).callee : nullptr;
      for (const Operand& o : f.operandsOf(i))
        if (o.is(OperandKind::Function) && &o != callee) taken[index(o.functionId())] = true;
    }
  for (std::uint32_t id = 0; id < taken.size(); ++id)
    if (taken[id]) addressTaken_.push_back(FunctionId(id));

  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(module.functions.size());
  for (std::uint32_t id = 0; id < module.functions.size(); ++id) {
    const Function& f = module.functions[id];
    std::vector<FunctionId>& called = callees_[id];
    for (const Instruction& i : f.instructions) {
      if (!isCall(i)) continue;
      for (const FunctionId target : targets(f, i))
        if (std::find(called.begin(), called.end(), target) == called.end()) called.push_back(target);
    }
    for (const FunctionId target : called) {
      boost::add_edge(id, index(target), graph);
      if (index(target) == id) isRecursive_[id] = true;
    }
  }
  boost::strong_components(
      graph, boost::make_iterator_property_map(component_.begin(), boost::get(boost::vertex_index, graph)));
  for (std::uint32_t a = 0; a < component_.size(); ++a)
    for (const FunctionId b : callees_[a])
      if (index(b) != a && component_[a] == component_[index(b)]) isRecursive_[a] = true;

  std::vector<unsigned> inComponent(module.functions.size(), 0);
  for (std::uint32_t id = 0; id < module.functions.size(); ++id)
    for (const Instruction& i : module.functions[id].instructions) {
      if (!isRecursive_[id] || !isCall(i)) continue;
      const Operand* callee = callParts(module.functions[id], i).callee;
      if (callee->is(OperandKind::Function) && component_[index(resolved(callee->functionId()))] == component_[id])
        ++inComponent[static_cast<std::size_t>(component_[id])];
    }
  for (const int component : component_)
    recursiveCalls_.push_back(inComponent[static_cast<std::size_t>(component)]);
}

FunctionId CallGraph::resolved(FunctionId id) const {
  const FunctionId aliasee = module_.function(id).aliasee;
  return aliasee == FunctionId::None ? id : aliasee;
}

bool CallGraph::fits(const Function& callee, const Prototype& prototype) const {
  const auto sameSizes = [&](const std::vector<Parameter>& have, std::span<const VariableId> wanted) {
    return std::equal(have.begin(), have.end(), wanted.begin(), wanted.end(), [&](const Parameter& p, VariableId v) {
      return module_.variable(p.variable).byteSize() == module_.variable(v).byteSize();
    });
  };
  return sameSizes(callee.params, prototype.params) && sameSizes(callee.returns, prototype.returns);
}

std::vector<FunctionId> CallGraph::targets(const Function& caller, const Instruction& call) const {
  const CallParts parts = callParts(caller, call);
  std::vector<FunctionId> all;
  const auto add = [&](FunctionId id) {
    id = resolved(id);
    if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
  };
  if (parts.callee->is(OperandKind::Function)) {
    add(parts.callee->functionId());
  } else if (parts.prototype != nullptr && parts.prototype->is(OperandKind::TargetList)) {
    for (const std::uint32_t id : module_.targetLists[index(parts.prototype->targetListId())].targets)
      add(FunctionId(id));
  } else if (parts.prototype != nullptr && parts.prototype->is(OperandKind::Prototype)) {
    for (const FunctionId id : addressTaken_)
      if (fits(module_.function(resolved(id)), module_.prototypes[index(parts.prototype->prototypeId())])) add(id);
  }
  return all;
}

} // namespace orias::ptx
