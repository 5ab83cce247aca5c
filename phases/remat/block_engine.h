#pragma once

#include "phases/remat/pull_in.h"
#include "phases/remat/target.h"
#include "phases/remat/undo_log.h"

#include <fmt/format.h>
#include <vector>

namespace orias::phases {

/// The iterative engine of phase 69b: where too many registers are live, values are rematerialized after that point
/// instead of staying live across it.
///
/// Each iteration measures the pressure, and examines each block above the target. It finds the values that are live at
/// the block's point of highest pressure, those of them that can be rematerialized (MULTIDEF, roles, recursively their
/// operands), those that become so when some operands are kept live for several of them (second chance), and their
/// costs. The cheapest are pulled in until the block is at its target. Dead definitions and their dead operands are
/// removed.
///
/// For an occupancy class, the changes are kept only if the class is reached and the warps gained are worth the added
/// instructions.
class BlockEngine {
 public:
  BlockEngine(ori::Function& function, PhaseContext& context);

  /// The targets to try, the best first. After a target that was not reached, another engine tries the next one.
  std::vector<RematTarget> targets() const;
  /// Returns whether values have been rematerialized. Otherwise nothing has changed.
  bool run(const RematTarget& target);
  /// Reverts the changes of run().
  void undo() { log_.undo(); }
  /// The current instruction for one from before run(): a reverted removal may create a new object.
  ori::Instr* now(ori::Instr* instr) const { return log_.now(instr); }

 private:
  struct Candidates {
    std::vector<PullIn> good;
    std::vector<PullIn> waiting; ///< need operands kept live: second chance
  };

  /// Whether all changes are reverted unless the target is reached.
  bool needsTarget() const;
  /// Whether values that are never rematerialized need more registers than the target at the point of highest pressure.
  bool isFull();
  /// Whether the block of highest pressure cannot reach the target before anything has been rematerialized.
  bool isPeakOutOfReach();
  bool iterate();
  bool pullInto(ori::BlockId block);
  PressurePoint pointOf(ori::BlockId block, std::vector<ori::VRegId>& live) const;
  void setRulesFor(ori::BlockId block);
  Candidates classify(const PressurePoint& point, const std::vector<ori::VRegId>& live);
  /// Whether the block cannot reach the target with any set of pulled-in values, if only the target counts.
  bool isOutOfReach(const Candidates& candidates, unsigned excess) const;
  unsigned giveSecondChance(Candidates& candidates) const;
  std::vector<PullIn> select(std::vector<PullIn> good, unsigned excess) const;
  bool isAffordable(const PullIn& pullIn) const;
  /// `isCurrent`: the code has not changed since the plan was made.
  bool execute(const PullIn& chosen, const PressurePoint& point, bool isCurrent);
  void apply(const PullIn& plan, unsigned width, const PressurePoint& point);
  void replaceReader(ori::Ref reader, ori::VRegId value);
  void noteOverfull();
  bool isWorthIt() const;
  double weightOf(const ori::Block& block) const;
  /// Adds a line to the dump of the phase, if enabled.
  template <typename... Args> void dump(fmt::format_string<Args...> line, Args&&... args) const;
  bool hasMode(unsigned mode) const { return (modes_ & mode) != 0; }
  unsigned excessIn(ori::BlockId id) const { return targets_.excessIn(id, pressure_.pressure(), target_); }
  unsigned maxLive() const { return pressure_.pressure().maximum()[static_cast<std::size_t>(isa::File::R)]; }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const unsigned modes_;
  Rematerializer remat_;
  RematTargets targets_;
  ori::IncrementalPressure pressure_;
  PullInPlanner planner_;
  RematTarget target_;
  unsigned liveAtFirst_ = 0;
  std::vector<bool> isOver_;            ///< by block id
  std::vector<unsigned> liveOutBlocks_; ///< by virtual register: the blocks that it was live out of originally
  double weightAtFirst_ = 0, added_ = 0;
  unsigned values_ = 0, clones_ = 0;
  std::uint64_t work_ = 0;  ///< instructions examined
  bool isHopeless_ = false; ///< some block cannot reach the target
  UndoLog log_;
};

/// Whether the block engine may rematerialize values of the function (knobs NvRematBlock and NoMiRemat).
bool allowsBlockRemat(const ori::Function& function, const PhaseContext& context);

} // namespace orias::phases
