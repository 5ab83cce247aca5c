#include "orias/call_order.h"

#include "ori/calls.h"
#include "ori/module.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <optional>

namespace orias {

bool hasItsOwnBody(const ori::Module& module, std::uint32_t symbol, bool isWhole) {
  const ori::Symbol& callee = module.symbols[symbol];
  return callee.kind == ori::Symbol::Kind::Function && (isWhole || callee.linkage == ori::Linkage::Local);
}

std::vector<std::vector<std::size_t>> calleesFirst(std::span<const ori::Function* const> functions, bool isWhole) {
  std::map<const ori::Function*, std::size_t> places;
  for (std::size_t i = 0; i < functions.size(); ++i)
    places.emplace(functions[i], i);
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> calls(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (!functions[i]->everHad(ori::Op::CALL_FUNCTION)) continue;
    const ori::Module& module = functions[i]->module();
    for (const ori::Block* block : functions[i]->layout())
      for (const ori::Instr& instr : *block) {
        const std::optional<std::uint32_t> callee = ori::calleeOf(instr);
        if (!callee || !hasItsOwnBody(module, *callee, isWhole)) continue;
        const auto place = places.find(module.functions[module.symbols[*callee].index].get());
        if (place != places.end()) add_edge(i, place->second, calls);
      }
  }
  std::vector<std::size_t> component(functions.size()), group(functions.size(), 0);
  const std::size_t count =
      strong_components(calls, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, calls)));
  // Components of callees have lower numbers.
  std::vector<std::vector<std::size_t>> members(count);
  for (std::size_t i = 0; i < functions.size(); ++i)
    members[component[i]].push_back(i);
  std::size_t groups = 0;
  for (const std::vector<std::size_t>& some : members) {
    std::size_t own = 0;
    for (const std::size_t i : some)
      for (const auto edge : boost::make_iterator_range(out_edges(i, calls)))
        if (const std::size_t callee = target(edge, calls); component[callee] != component[i])
          own = std::max(own, group[callee] + 1);
    for (const std::size_t i : some)
      group[i] = own;
    groups = std::max(groups, own + 1);
  }
  std::vector<std::vector<std::size_t>> order(groups);
  for (std::size_t i = 0; i < functions.size(); ++i)
    order[group[i]].push_back(i);
  return order;
}

} // namespace orias
