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

/// The cached analyses of one function. Each is computed on request and stays valid until a change that it depends on
/// is counted (ori::Changes). Control flow, dominators and loops depend on the flow; liveness and register pressure on
/// flow and code; divergence on modifiers, too.
///
/// A result that a phase has requested does not change until the next phase begins, even if the function does: a phase
/// may keep a reference as a snapshot. A request after a change returns a new result.
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

  /// Declares that since `before` instructions have only moved within their blocks, and that each reads the same
  /// values. Results that were valid then and do not depend on the order of instructions are valid again.
  void noteReordered(const Changes& before);
  /// Frees the results that are out of date. No references to them may exist. The phase manager calls it between
  /// phases; a phase that requests an analysis many times may call it, too.
  void dropStale();
  /// Frees only stale liveness and register pressure, for the allocator, which requests them after each spilling pass.
  void dropStaleLiveness();
  /// Frees everything.
  void clear();
  /// From now on, compares each cached result that is requested with a new one. A difference is an InternalError: a
  /// change has not been counted.
  void setVerified(bool isVerified) { isVerified_ = isVerified; }

  /// One computation of a result, with its phase and reason. Phases are indices into the pipeline.
  struct Build {
    AnalysisKind kind;
    bool isFirst;               ///< nothing was cached
    std::uint16_t phase;        ///< that requested it
    std::uint16_t changedPhase; ///< that made the cached result out of date; 0: nothing was cached
  };
  const std::vector<Build>& builds() const { return builds_; }
  /// The number of requests.
  unsigned asked(AnalysisKind kind) const { return asked_[static_cast<std::size_t>(kind)]; }

 private:
  /// A result with the counts of changes at which it is valid.
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
  // Out of date, but perhaps still in use. A result is freed before those that it was made from.
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
