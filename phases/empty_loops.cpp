#include "phases/empty_loops.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/optimize/pure.h"
#include "phases/removable.h"

#include <algorithm>

namespace orias::phases {

using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

class EmptyLoops {
 public:
  EmptyLoops(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), loops_(function.analyses().loops()) {}

  bool run() {
    std::vector<LoopId> empty;
    LoopId around = ori::kNoId; // the last loop processed; the loops inside it follow directly
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop) {
      if (around != ori::kNoId && loops_.contains(around, loops_.loop(loop).header)) continue;
      if (!isEmpty(loop)) continue;
      empty.push_back(loop);
      around = loop;
    }
    if (empty.empty()) return false;
    for (LoopId loop : empty)
      remove(loop);
    ori::removeUnreachableBlocks(function_);
    return true;
  }

 private:
  bool isEmpty(LoopId loop) {
    const auto exits = loops_.exits(loop);
    const auto isElsewhere = [&](const auto& edge) { return edge.second != exits.front().second; };
    if (exits.empty() || std::ranges::any_of(exits, isElsewhere)) return false;
    return std::ranges::all_of(loops_.blocks(loop), [&](BlockId id) { return isEmpty(*function_.block(id)); }) &&
           !isReadAfter(loop, exits.front().second);
  }

  static bool isEmpty(const Block& block) {
    for (const Instr& instr : block)
      if (&instr != ori::plainBranch(block) && !readsFixedRegister(instr) && !computes(instr)) return false;
    return true;
  }

  /// Whether the instruction only computes a result from its operands.
  static bool computes(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    for (isa::Flag flag : {isa::Flag::Load, isa::Flag::Volatile, isa::Flag::Convergent, isa::Flag::Variadic})
      if (row.has(flag)) return false;
    return isRemovable(instr);
  }

  bool isReadAfter(LoopId loop, BlockId exit) {
    const ori::Liveness& liveness = function_.analyses().liveness();
    bool isRead = false;
    for (BlockId id : loops_.blocks(loop))
      for (const Instr& instr : *function_.block(id))
        for (const ori::Operand& o : instr.ops()) {
          if (!o.isDef || !o.isReg() || o.isZeroReg()) continue;
          if (!o.isVirtual()) return true;
          liveness.components().forEach(o, [&](ori::CompId part) { isRead |= liveness.isLiveIn(exit, part); });
        }
    return isRead;
  }

  /// Redirects the header to the exit of the loop; the other blocks become unreachable.
  void remove(LoopId loop) {
    Block& header = *function_.block(loops_.loop(loop).header);
    const BlockId exit = loops_.exits(loop).front().second;
    if (header.first) context_.remarks.applied(header.first, "removed a loop that computes nothing");
    while (header.first)
      function_.erase(header.first);
    header.fallthrough = exit;
    --header.loopDepth;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Loops& loops_;
};

} // namespace

bool removeEmptyLoops(ori::Function& function, PhaseContext& context) {
  return EmptyLoops(function, context).run();
}

} // namespace orias::phases
