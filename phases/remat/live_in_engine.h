#pragma once

#include "ori/analysis/loops.h"
#include "ori/analysis/register_pressure.h"
#include "phases/phase.h"
#include "phases/remat/rematerializable.h"
#include "phases/remat/target.h"
#include "phases/remat/undo_log.h"

#include <fmt/format.h>
#include <map>
#include <set>
#include <vector>

namespace orias::phases {

/// The main loop of phases 54, 69 and 69d, for SSA form: values that are live into the blocks with too many live
/// registers are rematerialized in the blocks that read them.
///
/// Each of at most five iterations intersects the live-in sets of those blocks, finds which of the values can be
/// rematerialized, computes their costs (`base_cost * use_factor`), and takes the cheapest that lower the pressure,
/// until the target is reached. A clone is named "remat_", or "uclone_" where another clone of the same value dominates
/// it.
///
/// The changes are kept only if the target is reached, and for an occupancy class only if that pays for the added
/// instructions.
class LiveInEngine {
 public:
  enum class Mode : std::uint8_t {
    Early,     ///< phase 54: only against spills, and only values without operands in registers
    Full,      ///< phase 69
    WithLoads, ///< phase 69, and loads that no store can change (remat-load)
    LiveOut    ///< phase 69d: bits of and additions to values that are live anyway
  };

  LiveInEngine(ori::Function& function, PhaseContext& context, Mode mode);

  /// Returns whether values have been rematerialized. Otherwise nothing has changed.
  bool run();

 private:
  /// A value that is live into blocks above the target, and the cost of rematerializing it where it is read.
  struct Candidate {
    ori::VRegId value = 0;
    unsigned width = 0;
    std::int64_t cost = 0;
    const char* name = nullptr; ///< of the clones; null: by their position
  };
  /// An addition expressed as another one plus a constant.
  struct Factored {
    ori::VRegId base = 0;
    std::uint32_t more = 0;
  };
  /// The uses of a value in one block; a phi uses its source at the end of a predecessor.
  struct Site {
    ori::BlockId block = ori::kNoId;
    ori::Instr* before = nullptr; ///< the first use, or the terminator; null: the end of the block
    std::vector<ori::Ref> readers;
  };
  /// Instructions, weighted by `remat-loop-trip` iterations for each loop.
  struct Size {
    std::size_t instructions = 0;
    double weight = 0;
  };

  bool reach(const RematTarget& target);
  void splitPairs();
  void replace(ori::Ref use, const isa::Operand& value);
  bool iterate();
  std::vector<ori::VRegId> liveIntoFull(bool intoAll) const;
  std::vector<Candidate> candidates(const std::vector<ori::VRegId>& values);
  void findFactors();
  const char* whyNot(ori::VRegId value) const;
  const char* nameOfSimple(ori::VRegId value) const;
  bool hasOperandsAt(ori::VRegId value, const Site& site) const;
  std::vector<Site> sitesOf(ori::VRegId value) const;
  std::int64_t costOf(ori::VRegId value, const std::vector<Site>& sites) const;
  bool tryPullIn(const Candidate& candidate);
  /// Whether a load from memory among the definitions of a value would be in a deeper loop than now. The allocator
  /// avoids spills better: it spills values that the loop does not read.
  bool loadsInLoop(std::span<ori::Instr* const> defs, const Site& site) const;
  ori::VRegId cloneAt(ori::VRegId value, const Site& site, const char* prefix, unsigned depth);
  void takeBack(std::size_t mark);
  void commit();
  bool pays() const;
  bool isLiveInto(ori::BlockId block, ori::VRegId reg) const;
  bool isOutOfReach() const;
  std::uint64_t excess() const;
  Size size() const;
  void inserted(ori::Instr* instr);
  void dumpPart(const Candidate& candidate, std::size_t sites) const;
  /// Adds a line to the dump of the phase, if the level is enabled.
  template <typename... Args> void dump(std::int64_t level, fmt::format_string<Args...> line, Args&&... args) const;

  ori::Function& function_;
  PhaseContext& context_;
  const Mode mode_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  Rematerializer remat_;
  const RematTargets targets_;
  ori::IncrementalPressure pressure_;
  RematTarget target_;
  unsigned liveAtFirst_ = 0;
  std::set<ori::VRegId> tried_;
  std::map<ori::VRegId, Factored> factors_;                            ///< remat-add
  std::map<std::pair<ori::BlockId, ori::VRegId>, ori::VRegId> shared_; ///< clones of operands, by block
  std::vector<ori::VRegId> pulled_;
  Size sizeAtFirst_;
  UndoLog log_;
};

} // namespace orias::phases
