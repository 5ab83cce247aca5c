#include "phases/remat/cold_calls.h"

#include "ori/analysis/analyses.h"
#include "ori/analysis/liveness.h"
#include "ori/calls.h"
#include "phases/remat/rematerializable.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace orias::phases {

namespace {

using ori::Instr;
using ori::VRegId;

/// The values that one cold block reads after its calls.
class ColdBlock {
 public:
  ColdBlock(ori::Function& function, Rematerializer& remat, const ori::Liveness& liveness, ori::Block& block)
      : function_(function), remat_(remat), liveness_(liveness), block_(block) {}

  unsigned run() {
    function_.forEachSafe(block_, [&](Instr& instr) {
      if (isAfterCall_) reloadSources(instr);
      if (ori::isCall(instr)) {
        isAfterCall_ = true;
        here_.clear();
        reloaded_.clear();
      }
      for (const ori::Operand& o : instr.ops())
        if (o.isDef && o.isVirtual()) here_.insert(o.reg);
    });
    return count_;
  }

 private:
  void reloadSources(Instr& instr) {
    for (const ori::Operand& o : instr.refs()) {
      if (o.isDef || !o.isReg(isa::File::R) || !o.isVirtual() || here_.contains(o.reg)) continue;
      const VRegId value = o.reg;
      if (const auto found = reloaded_.find(value); found != reloaded_.end()) {
        replaceUses(function_, &instr, value, found->second);
        continue;
      }
      if (!mayReload(value, instr)) continue;
      const VRegId copy = remat_.clone(value, &instr, "remat_");
      replaceUses(function_, &instr, value, copy);
      reloaded_[value] = copy;
      here_.insert(copy);
      ++count_;
    }
  }

  bool mayReload(VRegId value, const Instr& where) const {
    return !isLiveOut(value) && !remat_.whyNot(value) && remat_.operands(value).empty() &&
           remat_.isDefinedAt(value, where);
  }

  bool isLiveOut(VRegId value) const {
    const ori::Components& components = liveness_.components();
    for (unsigned i = 0; i < function_.vreg(value).width; ++i)
      if (liveness_.isLiveOut(block_.id, components.of(value, i))) return true;
    return false;
  }

  ori::Function& function_;
  Rematerializer& remat_;
  const ori::Liveness& liveness_;
  ori::Block& block_;
  bool isAfterCall_ = false;
  std::set<VRegId> here_;             // written since the last call
  std::map<VRegId, VRegId> reloaded_; // since the last call
  unsigned count_ = 0;
};

} // namespace

unsigned reloadAfterColdCalls(ori::Function& function, PhaseContext& context) {
  if (!ori::hasCalls(function)) return 0;
  const ori::Liveness& liveness = function.analyses().liveness();
  Rematerializer remat(function, function.analyses().dominators(), {});
  unsigned count = 0;
  for (ori::Block* block : function.layout())
    if (block->isCold) count += ColdBlock(function, remat, liveness, *block).run();
  if (count != 0)
    context.remarks.applied(nullptr, fmt::format("reloaded {} constants after calls in cold blocks", count), count);
  return count;
}

} // namespace orias::phases
