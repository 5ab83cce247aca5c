#pragma once

#include "ori/analysis/liveness.h"

#include <string>
#include <vector>

namespace orias::ori {

/// Register pressure (MRPA in the literature): how many registers of each file are live at once, for the function, for
/// each block, and at each instruction. Widths count; alignment may need more. A phi's sources are live out of the
/// predecessors, its result begins in its block.
///
/// A snapshot of counts, which outlives the liveness that it was made from. IncrementalPressure follows changes.
class RegisterPressure {
 public:
  explicit RegisterPressure(const Liveness& liveness);

  /// The most that are live at once anywhere.
  const FileCounts& maximum() const { return maximum_; }
  /// The maximum number of live registers in a block; unused results count.
  const FileCounts& inBlock(BlockId id) const { return byBlock_[id]; }
  /// How many are live into a block, and out of it.
  const FileCounts& liveIn(BlockId id) const { return liveIn_[id]; }
  const FileCounts& liveOut(BlockId id) const { return liveOut_[id]; }

  /// Counts these blocks again, after the liveness has been updated.
  void rescan(const Liveness& liveness, std::span<const BlockId> blocks);

  /// Counts so many more in a whole block, by File: registers that it does not name have come to live through it, or
  /// gone.
  void shift(BlockId block, const std::array<int, isa::kFileCount>& more);

  friend bool operator==(const RegisterPressure&, const RegisterPressure&) = default;

 private:
  std::vector<FileCounts> byBlock_, liveIn_, liveOut_; // by id
  FileCounts maximum_{};
};

/// For each instruction of a block, in order, the number of registers live before it.
std::vector<FileCounts> liveInFrontOf(const Liveness& liveness, const Block& block);

/// Liveness and register pressure that are kept up to date while instructions change. Edges must stay as they are.
class IncrementalPressure {
 public:
  /// With `isVerified`, each update is compared with a full computation; a difference is an InternalError.
  explicit IncrementalPressure(const Cfg& cfg, bool isVerified = false);
  IncrementalPressure(const IncrementalPressure&) = delete;
  IncrementalPressure& operator=(const IncrementalPressure&) = delete;

  const Liveness& liveness() const { return liveness_; }
  const RegisterPressure& pressure() const { return pressure_; }
  /// Tells of an instruction that has been put in, or that is about to be changed or taken out: its block and the
  /// registers that it names. An instruction that changes is noted before and after.
  void note(const Instr& instr);
  /// Brings everything up to date with what has been noted. Cheap when nothing was.
  void update();

 private:
  void verify() const;

  const Cfg& cfg_;
  const bool isVerified_;
  Liveness liveness_;
  RegisterPressure pressure_;
  std::vector<VRegId> registers_; // noted
  std::vector<BlockId> blocks_;   // noted
};

/// The report of the analysis: the most registers live at once, the size of the function, and what is live into each
/// block.
///
///   Max Live RRegs: 43	PRegs: 2
///   Function Size: 118
///   Block .L3: live-in RRegs: 12	PRegs: 0	max RRegs: 40
std::string renderPressure(const Function& function, const RegisterPressure& pressure, const Cfg& cfg);

} // namespace orias::ori
