#include "frontend/lower/module_layout.h"

#include "frontend/lower/inline_plan.h"

namespace orias::ptx {

std::vector<const Function*> bodiesOf(const ModuleLayout& layout, const Function& function) {
  const Module& module = *layout.in;
  std::vector<const Function*> all{&function};
  std::vector<bool> isKnown(module.functions.size(), false);
  isKnown[index(module.idOf(function))] = true;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const FunctionId caller = module.idOf(*all[at]);
    // Pointers to functions with code of their own lead to that code.
    for (const FunctionId callee :
         layout.options.relocatable ? layout.plan->directCallees(caller) : layout.calls->callees(caller)) {
      const Function& body = module.function(callee);
      if (!body.hasBody || !layout.plan->isInlined(callee) || isKnown[index(callee)]) continue;
      isKnown[index(callee)] = true;
      all.push_back(&body);
    }
  }
  return all;
}

} // namespace orias::ptx
