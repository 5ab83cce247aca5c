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

/// The registers that changed instructions use or define, while all of them are known.
class ChangeLog {
 public:
  /// Starts with no changes.
  void begin(const Function& function);
  /// From now on the changes are unknown.
  void giveUp() { isKept_ = false; }
  bool isKept() const { return isKept_; }

  /// Notes an instruction that was inserted, or is about to be changed or removed.
  void note(const Instr& instr) {
    for (const Operand& operand : instr.refs())
      note(operand);
  }
  void note(const Operand& operand) {
    if (!isKept_ || operand.reg == isa::Operand::kNoReg) return;
    if (operand.isVirtual())
      add(operand.reg);
    else if ((operand.isReg() && !operand.isZeroReg()) || operand.isConst())
      giveUp(); // physical registers have no list of uses
  }
  std::span<const VRegId> registers() const { return registers_; }

 private:
  void add(VRegId reg) {
    if (reg >= isNoted_.size()) isNoted_.resize(reg + 64);
    if (isNoted_[reg]) return;
    if (registers_.size() == most_) return giveUp();
    isNoted_[reg] = true;
    registers_.push_back(reg);
  }

  bool isKept_ = false;
  std::size_t most_ = 0; ///< with more registers, an update would cost as much as a new result
  std::vector<VRegId> registers_;
  std::vector<bool> isNoted_; ///< by register
};

/// The cached analyses of one function. Each is computed on request and stays valid until a change that it depends on
/// is counted (ori::Changes). Control flow, dominators and loops depend on the flow; liveness and register pressure on
/// flow and code; divergence on modifiers, too.
///
/// After few changes of code, liveness and register pressure are updated from the cached results: the mutators of
/// Function report the changed registers and blocks.
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

  // The mutators of Function report each change that they count in Changes::code, once.
  /// An instruction was inserted into a block, or is about to be changed or removed.
  void noteChanged(const Instr& instr) {
    ++told_;
    noteRefs(instr);
  }
  /// A change that affects no instruction of a block.
  void noteElsewhere() { ++told_; }
  /// More registers of a change that is reported by the functions above.
  void noteRefs(const Instr& instr) {
    noteBlock(*instr.block);
    if (changed_.isKept()) changed_.note(instr);
  }
  void noteOperand(const Instr& owner, const Operand& operand) {
    noteBlock(*owner.block);
    changed_.note(operand);
  }

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

  /// One computation or update of a result, with its phase and reason. Phases are indices into the pipeline.
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
    std::unique_ptr<T> result;
    std::uint64_t flow = 0, code = 0, values = 0;
    bool isInUse = false; ///< references may exist
  };
  template <typename T, typename Make> const T& get(AnalysisKind kind, Kept<T>& kept, Make&& make);
  template <typename T> bool holds(AnalysisKind kind, const Kept<T>& kept) const;
  /// Whether the cached liveness can be updated: all changes since are in the log.
  bool mayFollow() const;
  template <typename T> T& forChange(AnalysisKind kind, Kept<T>& kept);
  template <typename T> void noteBuild(AnalysisKind kind, const Kept<T>& kept);
  void followLiveness();
  void followPressure();
  void beginLog();
  void noteBlock(const Block& block) {
    if (!followsPressure_) return;
    if (block.id >= isChanged_.size()) isChanged_.resize(block.id + 64);
    isChanged_[block.id] = true;
  }
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
  std::vector<std::unique_ptr<Cfg>> oldCfgs_;
  std::vector<std::unique_ptr<DomTree>> oldTrees_;
  std::vector<std::unique_ptr<Loops>> oldLoops_;
  std::vector<std::unique_ptr<Liveness>> oldLiveness_;
  std::vector<std::unique_ptr<RegisterPressure>> oldPressures_;
  std::vector<std::unique_ptr<Divergence>> oldDivergences_;
  // Changes since the cached liveness was valid.
  ChangeLog changed_;
  std::uint64_t logBegin_ = 0, told_ = 0; ///< Changes::code at the start; reported changes since
  // Changes since the cached register pressure was valid, while liveness was only updated.
  bool followsPressure_ = false;
  std::vector<bool> isChanged_;         ///< by block: changes of its instructions
  std::vector<LiveChange> liveChanges_; ///< of any block
  std::vector<Build> builds_;
  std::array<unsigned, kAnalysisCount> asked_{};

  template <typename T> std::vector<std::unique_ptr<T>>& old();
};

} // namespace orias::ori
