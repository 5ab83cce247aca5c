#pragma once

#include "ori/analysis/analyses.h"

#include <optional>
#include <vector>

namespace orias::phases {

/// Blocks where the arms of a branch meet (56b).
class Joins {
 public:
  explicit Joins(ori::Function& function);

  /// The block whose branch has arms that meet in this one, in the same loop: each lane that is in one of the two
  /// blocks gets to the other. Null: there is none.
  ori::Block* branchBlockOf(const ori::Block& join) const;

  /// The blocks from that with the branch, which is the first of them, to in front of the join. Nothing if there are
  /// more than `most`, or if there is another way into them.
  std::optional<std::vector<ori::BlockId>> blocksBetween(ori::BlockId branch, ori::BlockId join,
                                                         std::size_t most) const;

 private:
  ori::Function& function_;
  const ori::Cfg& cfg_;
  const ori::DomTree &dominators_, &postDominators_;
  const ori::Loops& loops_;
};

/// The instructions of a block that write some of what an operand reads.
std::vector<ori::Instr*> definitionsIn(const ori::Function& function, const ori::Block& block,
                                       const ori::Operand& operand);

} // namespace orias::phases
