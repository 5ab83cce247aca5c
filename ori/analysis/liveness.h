#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/components.h"
#include "ori/analysis/sparse_bits.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace orias::ori {

/// The number of registers of each file, by File.
using FileCounts = std::array<unsigned, isa::kFileCount>;

/// The changes of an update of liveness at the boundaries of a block.
struct LiveChange {
  BlockId block = kNoId;
  bool isNamed = false; ///< the block uses a register of the update, or a phi of a successor does
  std::array<int, isa::kFileCount> in{}, out{}; ///< additional live-in and live-out registers, by File
};

/// Live-in and live-out components of blocks. A snapshot, which `update` and `follow` adapt to small changes.
///
/// A component is live where its value may still be read, and some definition of it may have executed. The second
/// condition matters for guarded code: in `@P0 LDG R4; FADD .., R4` the load may not execute, so it does not end the
/// live range of R4 upwards. But if nothing above defines R4, R4 is not live there.
///
/// Within a block, a guarded definition ends a live range if its result is read under the same guard only, or if
/// another definition under the complementary guard follows (guarded_defs.h). An unguarded definition also ends it, and
/// so does one whose results are undefined where the guard is false (Instr::hasUndefinedRest; in SSA form, all but
/// those of VReg::multiDef registers).
///
/// A phi reads its sources at the end of the predecessors, and writes at the beginning of its block: its result is not
/// live into the block, its sources are live out of the predecessor only.
///
/// The time is proportional to the size of the result: each component is followed from its uses to its definitions.
class Liveness {
 public:
  explicit Liveness(const Cfg& cfg);

  /// Updates liveness after instructions were inserted, removed or moved. `registers` are all registers that they use
  /// or define; edges and blocks must be unchanged. The time is proportional to the size of the blocks that use the
  /// registers. Returns the blocks whose live-in or live-out set changed.
  std::vector<LiveChange> update(std::span<const VRegId> changed);
  /// The same. Afterwards the numbers of components and the order of `maybeUndefined` are those of a new result, too.
  std::vector<LiveChange> follow(std::span<const VRegId> changed);

  const Cfg& cfg() const { return *cfg_; }
  const Components& components() const { return components_; }
  const SparseBits& liveIn(BlockId id) const { return liveIn_[id]; }
  const SparseBits& liveOut(BlockId id) const { return liveOut_[id]; }
  bool isLiveIn(BlockId id, CompId comp) const { return liveIn_[id].contains(comp); }
  bool isLiveOut(BlockId id, CompId comp) const { return liveOut_[id].contains(comp); }

  /// Components that may be read before anything defines them: for messages.
  const std::vector<CompId>& maybeUndefined() const { return maybeUndefined_; }
  /// A guarded definition that still starts a live range: the previous value has no use.
  bool startsLife(const Instr& instr, CompId comp) const;

  /// Whether the same components are live. The snapshots of the control flow may differ.
  friend bool operator==(const Liveness& a, const Liveness& b) {
    return a.liveIn_ == b.liveIn_ && a.liveOut_ == b.liveOut_ && a.maybeUndefined_ == b.maybeUndefined_ &&
           a.lifeStarts_ == b.lifeStarts_;
  }

 private:
  class Solver;

  const Cfg* cfg_;
  Components components_;
  std::vector<SparseBits> liveIn_, liveOut_; // by block
  std::vector<CompId> maybeUndefined_;
  std::vector<std::pair<InstrId, CompId>> lifeStarts_; // sorted; guarded definitions only
};

/// Walks backwards over a block and tracks the live components between its instructions. Call enter() for each block;
/// the memory is reused.
class LiveCursor {
 public:
  explicit LiveCursor(const Liveness& liveness);

  /// Places the cursor at the end of the block.
  void enter(const Block& block);
  /// The next instruction of the backward walk; null at the beginning of the block.
  const Instr* next() const { return at_; }
  /// Steps upwards over next().
  void step();
  /// Steps upwards as if next() did not exist: it will be removed, and none of its results is live.
  void skip() { at_ = at_->prev; }

  bool isLive(CompId comp) const { return position_[comp] != kNoId; }
  /// The number of live registers here.
  const FileCounts& counts() const { return counts_; }
  /// The maximum number of live registers since enter(), including unused results.
  const FileCounts& maximum() const { return maximum_; }
  /// The live components here, in no order.
  const std::vector<CompId>& live() const { return members_; }

 private:
  void add(CompId comp);
  void remove(CompId comp);

  const Liveness& liveness_;
  const Instr* at_ = nullptr;
  std::vector<std::uint32_t> position_; // in members_; kNoId: not live
  std::vector<CompId> members_, ended_;
  FileCounts counts_{}, maximum_{};
};

} // namespace orias::ori
