#pragma once

#include "ori/analysis/loops.h"

#include <map>
#include <utility>
#include <vector>

namespace orias::ori {

/// Where the lanes that stay in a loop come together: the post-dominators of its blocks, as if no way led out of the
/// loop and its back edges were the end. Lanes that leave it early are left out of account, where ordinary
/// post-dominators put every meeting behind the loop because of them. A loop is looked at when it is first asked for.
class LoopMeetings {
 public:
  LoopMeetings(const Cfg& cfg, const Loops& loops) : cfg_(cfg), loops_(loops), number_(cfg.idCount()) {}

  /// The first block behind `block`, in a loop around it, that all lanes pass which go on to the loop's next round;
  /// kNoId where there is none but the header.
  BlockId next(LoopId loop, BlockId block);

 private:
  using Tree = std::vector<std::pair<BlockId, BlockId>>; // block, its immediate post-dominator; sorted
  Tree compute(LoopId loop);

  const Cfg& cfg_;
  const Loops& loops_;
  std::vector<std::uint32_t> number_; // scratch of compute
  std::map<LoopId, Tree> trees_;
};

} // namespace orias::ori
