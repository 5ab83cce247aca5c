#pragma once

#include "ori/analysis/liveness.h"

#include <string>
#include <vector>

namespace orias::ori {

/// Register pressure (MRPA in the literature): the number of registers of each file that are live at once, for the
/// function, for each block, and at each instruction. Widths are counted; alignment may need more registers. The
/// sources of a phi are live out of the predecessors; its live range begins in its block.
///
/// A snapshot of counts. It does not refer to the liveness that it was made from. IncrementalPressure follows changes.
class RegisterPressure {
 public:
  explicit RegisterPressure(const Liveness& liveness);

  /// The maximum over the function.
  const FileCounts& maximum() const { return maximum_; }
  /// The maximum number of live registers in a block; unused results count, and so does the code of divisions and roots
  /// that are not expanded yet.
  const FileCounts& inBlock(BlockId id) const { return byBlock_[id]; }
  /// The numbers of live-in and of live-out registers of a block.
  const FileCounts& liveIn(BlockId id) const { return liveIn_[id]; }
  const FileCounts& liveOut(BlockId id) const { return liveOut_[id]; }

  /// Counts these blocks again after an update of liveness.
  void rescan(const Liveness& liveness, std::span<const BlockId> blocks);

  /// Follows an update of liveness, whose result is `changes`. `blocks` have changed instructions, in any order.
  void update(const Liveness& liveness, std::vector<BlockId> blocks, std::span<const LiveChange> changes);

  friend bool operator==(const RegisterPressure&, const RegisterPressure&) = default;

 private:
  /// Adds to the counts of a whole block, by File: for registers that the block does not use and that have become live
  /// through it, or no longer are.
  void shift(BlockId block, const std::array<int, isa::kFileCount>& more);

  std::vector<FileCounts> byBlock_, liveIn_, liveOut_; // by id
  FileCounts maximum_{};
};

/// For each instruction of a block, in order, the number of registers live before it.
std::vector<FileCounts> liveBefore(const Liveness& liveness, const Block& block);

/// Liveness and register pressure that are kept up to date while instructions change. Edges must not change.
class IncrementalPressure {
 public:
  /// With `isVerified`, each update is compared with a full computation; a difference is an InternalError.
  explicit IncrementalPressure(const Cfg& cfg, bool isVerified = false);
  IncrementalPressure(const IncrementalPressure&) = delete;
  IncrementalPressure& operator=(const IncrementalPressure&) = delete;

  const Liveness& liveness() const { return liveness_; }
  const RegisterPressure& pressure() const { return pressure_; }
  /// Records an instruction that was inserted, or that is about to be changed or removed: its block and the registers
  /// that it uses. Call it before and after a change of an instruction.
  void note(const Instr& instr);
  /// Applies the recorded changes. Cheap if there are none.
  void update();

 private:
  void verify() const;

  const Cfg& cfg_;
  const bool isVerified_;
  Liveness liveness_;
  RegisterPressure pressure_;
  std::vector<VRegId> registers_; // recorded
  std::vector<BlockId> blocks_;   // noted
};

/// The report of the analysis: the maximum number of live registers, the size of the function, and the live-in
/// registers of each block.
///
///   Max Live RRegs: 43	PRegs: 2
///   Function Size: 118
///   Block .L3: live-in RRegs: 12	PRegs: 0	max RRegs: 40
std::string renderPressure(const Function& function, const RegisterPressure& pressure, const Cfg& cfg);

} // namespace orias::ori
