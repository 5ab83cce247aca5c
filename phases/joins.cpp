#include "phases/joins.h"

#include <algorithm>

namespace orias::phases {

using ori::BlockId;

Joins::Joins(ori::Function& function)
    : function_(function), cfg_(function.analyses().cfg()), dominators_(function.analyses().dominators()),
      postDominators_(function.analyses().postDominators()), loops_(function.analyses().loops()) {}

ori::Block* Joins::branchBlockOf(const ori::Block& join) const {
  if (cfg_.predecessors(join.id).size() < 2) return nullptr;
  const BlockId above = dominators_.idom(join.id);
  if (above == ori::kNoId || loops_.innermost(above) != loops_.innermost(join.id)) return nullptr;
  ori::Block* head = function_.block(above);
  const bool meets = postDominators_.idom(above) == join.id && head->last && head->last->op == isa::Op::BRA;
  return meets ? head : nullptr;
}

std::optional<std::vector<BlockId>> Joins::blocksBetween(BlockId branch, BlockId join, std::size_t most) const {
  std::vector<BlockId> found{branch};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const BlockId next : cfg_.successors(found[i])) {
      if (next == join || std::ranges::find(found, next) != found.end()) continue;
      if (found.size() == most || !dominators_.dominates(branch, next)) return std::nullopt;
      found.push_back(next);
    }
  return found;
}

std::vector<ori::Instr*> definitionsIn(const ori::Function& function, const ori::Block& block,
                                       const ori::Operand& operand) {
  std::vector<ori::Instr*> definitions;
  function.forEachDef(operand.reg, [&](ori::Ref def) {
    const bool isRead = def->sub < operand.sub + operand.width && operand.sub < def->sub + def->width;
    if (isRead && def.owner->block == &block) definitions.push_back(def.owner);
  });
  return definitions;
}

} // namespace orias::phases
