#pragma once

#include "ori/analysis/analyses.h"

#include <optional>
#include <vector>

namespace orias::phases {

/// Reconvergence points of branches (56b).
class Joins {
 public:
  explicit Joins(ori::Function& function);

  /// The block whose branch reconverges in this one, in the same loop: each lane that executes one of the two blocks
  /// executes the other. Null if there is none.
  ori::Block* branchBlockOf(const ori::Block& join) const;

  /// The blocks from that with the branch, which comes first, up to but not including the join. Nothing if there are
  /// more than `most`, or if there is another entry to them.
  std::optional<std::vector<ori::BlockId>> blocksBetween(ori::BlockId branch, ori::BlockId join,
                                                         std::size_t most) const;

 private:
  ori::Function& function_;
  const ori::Cfg& cfg_;
  const ori::DomTree &dominators_, &postDominators_;
  const ori::Loops& loops_;
};

/// The instructions of a block that write components of the operand.
std::vector<ori::Instr*> definitionsIn(const ori::Function& function, const ori::Block& block,
                                       const ori::Operand& operand);

} // namespace orias::phases
