#include "ori/module.h"

#include <algorithm>

namespace orias::ori {

Function& Module::newFunction(std::string name, bool isKernel) {
  functions.push_back(std::make_unique<Function>(*this, std::move(name), isKernel));
  return *functions.back();
}

Function* Module::findFunction(std::string_view name) const {
  for (const auto& function : functions)
    if (function->name() == name) return function.get();
  return nullptr;
}

std::uint32_t Module::addressSlot(std::uint32_t symbol) {
  const auto at = std::find(addressSlots.begin(), addressSlots.end(), symbol);
  const auto slot = static_cast<std::uint32_t>(at - addressSlots.begin());
  if (at == addressSlots.end()) addressSlots.push_back(symbol);
  return 8 * slot;
}

} // namespace orias::ori
