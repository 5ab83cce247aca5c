#pragma once

#include "ori/analysis/cfg.h"

#include <vector>

namespace orias::ori {

/// Which registers may differ from lane to lane of a warp, and which blocks a part of a warp may run on its own. A
/// snapshot, for code in virtual registers, in SSA form or not.
///
/// A register is uniform when all lanes that read it together read the same value. It is divergent when
/// * an instruction makes different values (thread numbers, shuffles, atomics, private memory), or reads one;
/// * it merges values from different sides of a divergent branch;
/// * it is read behind a loop that lanes leave at different times (temporal divergence);
/// * it is written under a divergent guard.
/// Registers of the files UR and UP belong to the warp and are uniform by nature.
///
/// A block is uniform when all lanes that have not exited run it together. That holds where no divergent branch is
/// under way: between such a branch and its meeting (the immediate post-dominator, if phase 99 can put a barrier
/// there; see convergence.h) nothing is uniform. A guarded EXIT divides no warp: who takes it is gone.
///
/// Near-linear: each divergent branch costs the blocks up to its meeting. With too many steps (nests of hundreds of
/// divergent branches) everything but straight facts counts as divergent.
class Divergence {
 public:
  explicit Divergence(const Cfg& cfg);

  const Cfg& cfg() const { return *cfg_; }
  bool isDivergent(VRegId reg) const { return registers_[reg]; }
  /// Lanes may leave the block on different ways.
  bool branchesApart(BlockId id) const { return branches_[id]; }
  bool isUniformBlock(BlockId id) const { return !apart_[id]; }
  /// Whether all lanes that read the operand together read the same. Physical registers of the files R and P count as
  /// divergent.
  bool isUniform(const isa::Operand& operand) const;

 private:
  class Solver;

  const Cfg* cfg_;
  std::vector<bool> registers_; // by virtual register
  std::vector<bool> branches_;  // by block
  std::vector<bool> apart_;     // by block
};

/// Writes VReg::divergent of all registers; true when any changed.
bool storeDivergence(Function& function, const Divergence& divergence);

} // namespace orias::ori
