#include "phases/optimize/single_def_values.h"

#include "ori/analysis/analyses.h"

namespace orias::phases {

namespace {

/// The definitions of all components, and the positions of instructions in their blocks.
class Definitions {
 public:
  explicit Definitions(const ori::Function& function)
      : function_(function), cfg_(function.analyses().cfg()), tree_(function.analyses().dominators()),
        order_(function.instrIdCount()) {
    std::uint32_t at = 0;
    for (const ori::Block* block : function.layout())
      for (const ori::Instr& instr : *block)
        order_[instr.id] = at++;
  }

  bool isSingle(ori::VRegId id) {
    definitions_.assign(function_.vreg(id).width, nullptr);
    for (const ori::Ref o : function_.refs(id)) {
      if (!o->isDef) continue;
      for (unsigned k = o->sub; k < o->sub + o->width; ++k) {
        if (definitions_[k]) return false;
        definitions_[k] = o.owner;
      }
    }
    for (const ori::Ref o : function_.refs(id)) {
      if (o->isDef) continue;
      for (unsigned k = o->sub; k < o->sub + o->width; ++k)
        if (definitions_[k] && !isBefore(*definitions_[k], *o.owner)) return false;
    }
    return true;
  }

 private:
  /// Whether the definition is before `use` on every path; an instruction is not before itself.
  bool isBefore(const ori::Instr& definition, const ori::Instr& use) const {
    if (definition.block == use.block) return order_[definition.id] < order_[use.id];
    return tree_.dominates(definition.block->id, use.block->id);
  }

  const ori::Function& function_;
  const ori::Cfg& cfg_;
  const ori::DomTree& tree_;
  std::vector<std::uint32_t> order_;           // by instruction id
  std::vector<const ori::Instr*> definitions_; // by component, of the current register
};

} // namespace

std::vector<bool> singleDefValues(const ori::Function& function) {
  std::vector<bool> isSingle(function.vregCount(), true);
  if (function.ssa) {
    for (ori::VRegId id = 0; id < isSingle.size(); ++id)
      if (function.vreg(id).multiDef) isSingle[id] = false;
    return isSingle;
  }
  Definitions definitions(function);
  for (ori::VRegId id = 0; id < isSingle.size(); ++id)
    isSingle[id] = definitions.isSingle(id);
  return isSingle;
}

} // namespace orias::phases
