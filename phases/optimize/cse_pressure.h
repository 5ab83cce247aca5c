#pragma once

#include "ori/analysis/live_counter.h"
#include "phases/phase.h"

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace orias::phases {

/// Tracks the register pressure while values are shared (spec/machine-level-passes, "MCSE": `rp-aware-mcse`,
/// `pred-aware-mcse`, `incremental-update-mcse`, `verify-update-mcse`). The count is never below the actual pressure.
/// If it stays within the limit, no exact count is made.
class CsePressure {
 public:
  CsePressure(ori::Function& function, const ori::Cfg& cfg, PhaseContext& context);

  /// Whether the result of `earlier` may stay live for the uses of `later`, which computes the same value later. False
  /// if more registers of R would be live than fit without losing warps, or more predicates than the limit. If true,
  /// the result is counted.
  bool take(const ori::Instr& earlier, const ori::Instr& later);
  /// Knob VerifyUpdateMcse: throws an InternalError if more registers are live somewhere than were counted.
  void verify() const;

 private:
  void measure();
  void rescan(ori::BlockId id);
  bool fits(const ori::FileCounts& more) const;
  bool takeAcross(const ori::Instr& earlier, const ori::Instr& later);
  /// Adds the blocks in which a register becomes live if `later` uses the result of `earlier`; false if there are too
  /// many.
  bool addCrossed(ori::CompId comp, const ori::Instr& earlier, const ori::Instr& later);

  ori::Function& function_;
  const ori::Cfg& cfg_;
  PhaseContext& context_;
  const bool isAware_, isPredicateAware_, isIncremental_, isVerified_;
  ori::FileCounts limit_{}, maximum_{};
  ori::FileCounts taken_{}; ///< upper bound of the increase since the measurement, until byBlock_ is kept up to date
  bool isClose_ = false;    ///< byBlock_ is kept up to date
  const ori::Liveness* liveness_ = nullptr;
  std::optional<ori::LiveCounter> counter_; ///< of liveness_
  std::vector<ori::FileCounts> byBlock_;
  std::vector<ori::FileCounts> own_;        ///< by liveness_: upper bound for the instructions of each block
  std::unordered_set<std::uint64_t> added_; ///< register and block: newly live there since the measurement
  std::vector<ori::FileCounts> addedIn_;    ///< the number of entries of added_, by block
  std::vector<std::pair<ori::BlockId, ori::CompId>> crossed_;
  std::size_t steps_ = 0;
};

} // namespace orias::phases
