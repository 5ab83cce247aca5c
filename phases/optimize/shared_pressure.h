#pragma once

#include "ori/analysis/live_counter.h"
#include "phases/phase.h"

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace orias::phases {

/// How many registers are live while values come to be shared (spec/machine-level-passes, "MCSE": `rp-aware-mcse`,
/// `pred-aware-mcse`, `incremental-update-mcse`, `verify-update-mcse`). What is counted is never less than what is
/// live; if that leaves room, no exact count is made.
class SharedPressure {
 public:
  SharedPressure(ori::Function& function, const ori::Cfg& cfg, PhaseContext& context);

  /// Whether the result of `earlier` may stay live for the uses of `later`, which computes the same after it: not
  /// when more R were live somewhere than cost no warps, or more predicates than leave some for others. Counts it when
  /// it may.
  bool take(const ori::Instr& earlier, const ori::Instr& later);
  /// Knob VerifyUpdateMcse: an InternalError when more are live somewhere than have been counted.
  void verify() const;

 private:
  void measure();
  void rescan(ori::BlockId id);
  bool fits(const ori::FileCounts& more) const;
  bool takeAcross(const ori::Instr& earlier, const ori::Instr& later);
  /// Blocks that a register is live in for longer when `later` reads what `earlier` has left; false when they are too
  /// many.
  bool addCrossed(ori::CompId comp, const ori::Instr& earlier, const ori::Instr& later);

  ori::Function& function_;
  const ori::Cfg& cfg_;
  PhaseContext& context_;
  const bool isAware_, isPredicateAware_, isIncremental_, isVerified_;
  ori::FileCounts limit_{}, maximum_{};
  ori::FileCounts taken_{}; ///< more than has been measured, at most, until it is looked at closely
  bool isClose_ = false;    ///< byBlock_ is kept up to date
  const ori::Liveness* liveness_ = nullptr;
  std::optional<ori::LiveCounter> counter_; ///< of liveness_
  std::vector<ori::FileCounts> byBlock_;
  std::vector<ori::FileCounts> own_;        ///< at most what the instructions of each block keep live by liveness_
  std::unordered_set<std::uint64_t> added_; ///< register and block: live there for longer than measured
  std::vector<ori::FileCounts> addedIn_;    ///< the same, counted by block
  std::vector<std::pair<ori::BlockId, ori::CompId>> crossed_;
  std::size_t steps_ = 0;
};

} // namespace orias::phases
