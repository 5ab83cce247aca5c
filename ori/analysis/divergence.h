#pragma once

#include "ori/analysis/loops.h"

#include <vector>

namespace orias::ori {

/// Computes which registers may be divergent (differ between the lanes of a warp), and which blocks may execute
/// divergently. A snapshot, for code in virtual registers, in SSA form or not.
///
/// A register is uniform if all lanes that read it together read the same value. It is divergent if
/// * its definition is a source of divergence (thread index, shuffle, atomic, local memory), or uses one in the bits in
///   which its lanes differ (lane_bits.h);
/// * it merges values from different arms of a divergent branch;
/// * it is used after a loop with a divergent exit (temporal divergence);
/// * it is written under a divergent guard.
/// Registers of the files UR and UP are always uniform.
///
/// A block is uniform if all lanes that have not exited execute it together. A block between a divergent branch and
/// its reconvergence point (the immediate post-dominator, if phase 99 can put a barrier there; see convergence.h)
/// is not uniform. Nor is a block that lanes may reach after others have yielded (blocksAfterYields). A guarded EXIT
/// does not make a warp diverge, because its lanes do not continue.
///
/// Near-linear: each divergent branch visits the blocks up to its reconvergence point. Beyond a step limit (nests of
/// hundreds of divergent branches) all but directly uniform values count as divergent.
class Divergence {
 public:
  explicit Divergence(const Cfg& cfg);
  /// `cfg` must be the control flow that the trees and loops were made from.
  Divergence(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators, const Loops& loops);

  const Cfg& cfg() const { return *cfg_; }
  bool isDivergent(VRegId reg) const { return registers_[reg]; }
  /// Lanes may leave the block on different edges.
  bool branchesApart(BlockId id) const { return branches_[id]; }
  bool isUniformBlock(BlockId id) const { return !apart_[id]; }
  /// Whether all lanes that read the operand together read the same value. Physical registers of files R and P count as
  /// divergent.
  bool isUniform(const isa::Operand& operand) const;

  /// Whether registers and blocks are equal. The snapshots of the control flow may differ.
  friend bool operator==(const Divergence& a, const Divergence& b) {
    return a.registers_ == b.registers_ && a.branches_ == b.branches_ && a.apart_ == b.apart_;
  }

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
