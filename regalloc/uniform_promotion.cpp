#include "regalloc/uniform_promotion.h"

#include "ori/analysis/analyses.h"

#include <algorithm>

namespace orias::regalloc {

bool UniformPromotion::take(const Web& web) {
  if (web.width > room_) return false;
  if (!divergence_) {
    divergence_ = &function_.analyses().divergence();
    known_ = function_.vregCount();
  }
  const bool isFit = std::all_of(web.members.begin(), web.members.end(),
                                 [&](const auto& member) { return isWrittenByWarp(member.first); });
  if (isFit) room_ -= web.width;
  return isFit;
}

bool UniformPromotion::isWrittenByWarp(ori::VRegId v) const {
  if (v >= known_ || divergence_->isDivergent(v)) return false;
  bool isFit = true;
  function_.forEachDef(
      v, [&](ori::Ref def) { isFit &= !def.owner->isGuarded() && divergence_->isUniformBlock(def.owner->block->id); });
  return isFit;
}

} // namespace orias::regalloc
