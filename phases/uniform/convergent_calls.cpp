#include "phases/uniform/convergent_calls.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/calls.h"
#include "support/diagnostics.h"

namespace orias::phases {

using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// A walk from a call to its boundaries, in one direction.
class BoundaryWalk {
 public:
  enum class Way { Up, Down };

  BoundaryWalk(const ori::Function& function, const ori::Divergence& divergence, Way way, std::vector<bool>& inside)
      : function_(function), divergence_(divergence), way_(way), inside_(inside),
        isSeen_(divergence.cfg().idCount(), false) {}

  void from(const Instr& call) {
    if (!along(step(call))) return;
    goOn(*call.block);
    while (!open_.empty()) {
      const Block& block = *open_.back();
      open_.pop_back();
      if (along(way_ == Way::Up ? block.last : block.first)) goOn(block);
    }
  }

  bool isBounded() const { return isBounded_; }
  bool meetsSecondCall() const { return meetsCall_; }

 private:
  const Instr* step(const Instr& instr) const { return way_ == Way::Up ? instr.prev : instr.next; }

  /// Walks through a block; returns false when the walk ends in it.
  bool along(const Instr* instr) {
    for (; instr; instr = step(*instr)) {
      if (instr->op == isa::Op::WARPSYNC || instr->op == isa::Op::WARPSYNC_ALL) {
        isBounded_ &= divergence_.isUniformBlock(instr->block->id) && !instr->isGuarded();
        return false;
      }
      if (ori::isCall(*instr)) {
        meetsCall_ = true;
        return false;
      }
      inside_[instr->id] = true;
    }
    return true;
  }

  void goOn(const Block& block) {
    const ori::Cfg& cfg = divergence_.cfg();
    const auto next = way_ == Way::Up ? cfg.predecessors(block.id) : cfg.successors(block.id);
    if (next.empty()) isBounded_ = false; // start or end of the function
    for (const BlockId id : next) {
      if (isSeen_[id]) continue;
      isSeen_[id] = true;
      open_.push_back(function_.block(id));
    }
  }

  const ori::Function& function_;
  const ori::Divergence& divergence_;
  const Way way_;
  std::vector<bool>& inside_;
  std::vector<bool> isSeen_;
  std::vector<const Block*> open_;
  bool isBounded_ = true, meetsCall_ = false;
};

} // namespace

bool allowsConvAlloc(const Instr& instr) {
  return ori::isCall(instr) && isa::getMod(instr.op, instr.mods, isa::Mod::Sub) != 0;
}

bool hasFixedUniformLives(const ori::Function& function) {
  for (const ori::Block* block : function.layout())
    for (const Instr& instr : *block)
      if (instr.op == isa::Op::CONV_ALLOC || allowsConvAlloc(instr)) return true;
  return false;
}

std::vector<bool> convergentRegions(const ori::Function& function, const ori::Divergence& divergence,
                                    PhaseContext& context) {
  std::vector<bool> inside;
  for (const Block* block : function.layout()) {
    if (!divergence.cfg().isReachable(block->id)) continue;
    for (const Instr& call : *block) {
      if (!allowsConvAlloc(call)) continue;
      inside.resize(function.instrIdCount(), false);
      bool isBounded = true, isAlone = true;
      for (const auto way : {BoundaryWalk::Way::Up, BoundaryWalk::Way::Down}) {
        BoundaryWalk walk(function, divergence, way, inside);
        walk.from(call);
        isBounded &= walk.isBounded();
        isAlone &= !walk.meetsSecondCall();
      }
      const SourceLoc where{call.source.ptxLine, 1};
      if (!isAlone)
        context.diagnostics.error(where,
                                  "7021: Multiple functions calls within the allowConvAlloc convergent boundary");
      else if (!isBounded)
        context.diagnostics.error(
            where, "7020: Missing proper convergent boundary around func call annotated with allowConvAlloc");
    }
  }
  return inside;
}

} // namespace orias::phases
