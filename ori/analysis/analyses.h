#pragma once

#include "ori/analysis/divergence.h"
#include "ori/analysis/dominators.h"
#include "ori/analysis/liveness.h"
#include "ori/analysis/loops.h"
#include "ori/analysis/register_pressure.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace orias::ori {

enum class AnalysisKind : std::uint8_t {
  ControlFlow,
  Dominators,
  PostDominators,
  Loops,
  Liveness,
  Pressure,
  Divergence,
  kCount
};
inline constexpr std::size_t kAnalysisCount = static_cast<std::size_t>(AnalysisKind::kCount);
std::string_view analysisName(AnalysisKind kind);

/// The analyses of one function. Each is computed when it is asked for, and kept as long as the changes that it depends
/// on have not been counted (ori::Changes): control flow, dominators and loops depend on the flow; liveness and
/// register pressure on flow and code; divergence on modifiers, too.
///
/// What a phase has asked for stays as it was until the next phase begins, even if the function changes: a phase may
/// keep a reference as a snapshot. Asking again after a change gives a new result.
class Analyses {
 public:
  explicit Analyses(const Function& function) : function_(function) {}
  Analyses(const Analyses&) = delete;
  Analyses& operator=(const Analyses&) = delete;

  const Cfg& cfg();
  const DomTree& dominators();
  const DomTree& postDominators();
  const Loops& loops();
  const Liveness& liveness();
  const RegisterPressure& pressure();
  const Divergence& divergence();

  /// Since `before`, instructions have only changed places within their blocks, and each reads what it read: what held
  /// then and does not depend on the order of instructions still holds.
  void noteReordered(const Changes& before);
  /// Frees the results that are out of date. Nobody may hold references to them: the phase manager calls it between
  /// phases, and a phase may that asks again and again.
  void dropStale();
  /// Frees the stale liveness and register pressure only: for the allocator, which asks after each pass of spilling.
  void dropStaleLiveness();
  /// Frees everything.
  void clear();
  /// From now on, each kept result that is asked for is compared with a new one; a difference is an InternalError. It
  /// means that a change has not been counted.
  void setVerified(bool isVerified) { isVerified_ = isVerified; }

  /// One computation: in which phase, and why. The phases are indices into the pipeline.
  struct Build {
    AnalysisKind kind;
    bool isFirst;               ///< nothing was kept
    std::uint16_t phase;        ///< that asked
    std::uint16_t changedPhase; ///< that had made the kept result out of date; 0 when there was none
  };
  const std::vector<Build>& builds() const { return builds_; }
  /// How often it was asked for.
  unsigned asked(AnalysisKind kind) const { return asked_[static_cast<std::size_t>(kind)]; }

 private:
  /// A result with the counts of changes that it holds for.
  template <typename T> struct Kept {
    std::unique_ptr<const T> result;
    std::uint64_t flow = 0, code = 0, values = 0;
  };
  template <typename T, typename Make> const T& get(AnalysisKind kind, Kept<T>& kept, Make&& make);
  template <typename T> bool holds(AnalysisKind kind, const Kept<T>& kept) const;
  std::uint16_t lastChange(AnalysisKind kind, std::uint64_t flow, std::uint64_t code) const;

  const Function& function_;
  bool isVerified_ = false;
  Kept<Cfg> cfg_;
  Kept<DomTree> dominators_, postDominators_;
  Kept<Loops> loops_;
  Kept<Liveness> liveness_;
  Kept<RegisterPressure> pressure_;
  Kept<Divergence> divergence_;
  // Out of date, but perhaps still in use. Those made from others are freed before them.
  std::vector<std::unique_ptr<const Cfg>> oldCfgs_;
  std::vector<std::unique_ptr<const DomTree>> oldTrees_;
  std::vector<std::unique_ptr<const Loops>> oldLoops_;
  std::vector<std::unique_ptr<const Liveness>> oldLiveness_;
  std::vector<std::unique_ptr<const RegisterPressure>> oldPressures_;
  std::vector<std::unique_ptr<const Divergence>> oldDivergences_;
  std::vector<Build> builds_;
  std::array<unsigned, kAnalysisCount> asked_{};

  template <typename T> std::vector<std::unique_ptr<const T>>& old();
};

} // namespace orias::ori
