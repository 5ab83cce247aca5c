#pragma once

#include "ori/analysis/dominators.h"
#include "regalloc/live_ranges.h"
#include "regalloc/spill.h"

#include <optional>
#include <span>
#include <vector>

namespace orias::regalloc {

/// An instruction that computes a spilled value where it is read.
struct Recipe {
  ori::Instr* definition = nullptr; ///< of the value
  ori::Instr* merged = nullptr;     ///< a comparison that absorbs the AND with a predicate
  std::vector<isa::Operand> operands;
  unsigned result = 0; ///< index of the operand that takes the value

  /// One of the operands is computed first, from constants and at most one register.
  struct Step {
    ori::Instr* definition = nullptr; ///< null: there is none
    std::vector<isa::Operand> operands;
    unsigned result = 0;  ///< index of its result
    unsigned operand = 0; ///< index of the operand of the recipe that takes it
  } step;
};

/// Finds values that can be computed again where they are read, instead of being kept somewhere.
///
/// The one definition of the value reads constants, or registers with one definition that dominates it: these have
/// the same value wherever the definition dominates. They must be live at each read, so that nothing lives longer than
/// before. A predicate would wait in a register otherwise, so registers may live longer for predicates, but fewer than
/// there are predicates. Where they would be more than half as many, what a comparison reads is computed again, too:
/// the comparisons of base + 1, base + 2, ... keep the base only. A conjunction of a comparison and a predicate is one
/// comparison: ISETP.LT.AND P0, PT, R1, R2, P1.
///
/// A snapshot of one pass of the allocator. Spill code that has been put in since is passed over.
class Recomputation {
 public:
  /// `ranges` are those of the file whose registers are spilled.
  Recomputation(const ori::Function& function, isa::File file, const LiveRanges& ranges, const SpillState& state)
      : function_(function), file_(file), own_(ranges), state_(state) {}

  /// Decides which of the victims are computed again, and puts these first.
  void choose(const Webs& webs, std::vector<std::uint32_t>& victims);
  /// How a value that has been chosen is computed; nothing if it was not, or if a definition has changed since.
  std::optional<Recipe> recipe(ori::VRegId value);
  /// What becomes of victims, as webs of file R: a register in which each waits, or, if it is computed again, longer
  /// lives of what its recipe reads. For estimates: a victim counts where it is live now.
  void addTo(Webs& registers, const Webs& webs, std::span<const std::uint32_t> victims);

 private:
  /// Registers that would live longer, if any read the recipe's operands at the reads of the value.
  using Longer = std::vector<ori::VRegId>;

  std::optional<Recipe> find(ori::VRegId value);
  std::optional<Recipe> findWithStep(ori::VRegId value);
  bool fillIn(ori::Instr& definition, Recipe& recipe);
  bool mergeComparison(Recipe& recipe);
  bool isSingleAbove(const isa::Operand& operand, const ori::Instr& definition);
  bool dominatesReads(ori::VRegId value, const ori::Instr& definition);
  Longer longerLives(ori::VRegId value, const Recipe& recipe);
  bool dominates(const ori::Instr& definition, const ori::Instr& use);
  const LiveRanges& ranges(isa::File file);
  /// The instruction, or the next one after it that existed when the ranges were computed.
  const ori::Instr* placeOf(const ori::Instr& instr);

  const ori::Function& function_;
  const isa::File file_;
  const LiveRanges& own_;
  const SpillState& state_;
  std::vector<ori::VRegId> chosen_;   // sorted
  std::vector<ori::VRegId> withStep_; // of these; sorted
  const ori::Cfg* cfg_ = nullptr;
  const ori::DomTree* dominators_ = nullptr;
  std::optional<LiveRanges> ranges_[isa::kFileCount]; // of other files
};

/// Whether an instruction may run again, or not at all: it has no effect but its results, which follow from its
/// operands.
bool isPureComputation(const ori::Instr& instr);

} // namespace orias::regalloc
