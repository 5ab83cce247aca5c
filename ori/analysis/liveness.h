#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/components.h"
#include "ori/analysis/sparse_bits.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace orias::ori {

/// How many registers of each file, by File.
using FileCounts = std::array<unsigned, isa::kFileCount>;

/// What an update of liveness has changed at the borders of a block.
struct LiveChange {
  BlockId block = kNoId;
  bool isNamed = false; ///< the block names a register of the update, or a phi behind it reads one
  std::array<int, isa::kFileCount> in{}, out{}; ///< how many more are live into it and out of it, by File
};

/// Which components are live at the borders of blocks. A snapshot, which `update` follows small changes with.
///
/// A component is live where its value may still be read, and some definition of it may have happened. The second half
/// matters for guarded code: in `@P0 LDG R4; FADD .., R4` the load does not end R4's life backwards, as it may not
/// execute; but if nothing above it defines R4, R4 is not live there.
///
/// Within a block, a guarded definition ends a life if what it writes is read under the same guard only, or if another
/// one under the complementary guard follows (guarded_defs.h). An unguarded definition also ends it, and so does one
/// whose results are undefined where the guard is false (Instr::hasUndefinedRest; in SSA form, all but those of
/// VReg::multiDef registers).
///
/// A phi reads its sources at the end of the predecessors, and writes at the beginning of its block: its result is not
/// live into the block, its sources are live out of the predecessor only.
///
/// The cost is that of the result: each component is followed from its uses to its definitions.
class Liveness {
 public:
  explicit Liveness(const Cfg& cfg);

  /// Instructions have come, gone or moved, and these registers are all that they name. Edges and blocks are as they
  /// were. Costs what the blocks that name the registers have in instructions. Returns the blocks that something else
  /// is live into or out of now.
  std::vector<LiveChange> update(std::span<const VRegId> changed);

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

  /// The same components are live, perhaps by another snapshot of the control flow.
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

/// Walks backwards over a block and knows what is live between its instructions. Reset it for each block; the memory is
/// kept.
class LiveCursor {
 public:
  explicit LiveCursor(const Liveness& liveness);

  /// Places the cursor at the end of the block.
  void enter(const Block& block);
  /// The next instruction of the backward walk; null at the beginning of the block.
  const Instr* next() const { return at_; }
  /// Goes over next(), upwards.
  void step();
  /// The same as if next() were not there: it is to be removed, and nothing that it writes is live.
  void skip() { at_ = at_->prev; }

  bool isLive(CompId comp) const { return position_[comp] != kNoId; }
  /// How many are live here.
  const FileCounts& counts() const { return counts_; }
  /// The maximum number of live registers since enter(), including unused results.
  const FileCounts& maximum() const { return maximum_; }
  /// What is live here, in no order.
  const std::vector<CompId>& live() const { return members_; }

 private:
  void add(CompId comp);
  void remove(CompId comp);

  const Liveness& liveness_;
  const Instr* at_ = nullptr;
  std::vector<std::uint32_t> position_; // in members_; kNoId for what is not live
  std::vector<CompId> members_, ended_;
  FileCounts counts_{}, maximum_{};
};

} // namespace orias::ori
