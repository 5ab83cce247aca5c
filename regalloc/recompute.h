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

  /// One operand of the recipe is computed first, from constants and at most one register.
  struct Step {
    ori::Instr* definition = nullptr; ///< null: there is none
    std::vector<isa::Operand> operands;
    unsigned result = 0;  ///< index of its result
    unsigned operand = 0; ///< index of the recipe's operand that takes the result
  } step;
};

/// Finds values that can be rematerialized where they are read, instead of being kept elsewhere.
///
/// The single definition of the value reads constants, or registers whose single definition dominates it: these have
/// the same value wherever the definition dominates. They must be live at each read, so no live range grows. Predicates
/// are an exception, as a spilled predicate would need a register: registers may live longer for predicates, but no
/// more of them than there are predicates. If they were more than half as many, the sources of a comparison are
/// recomputed, too: the comparisons of base + 1, base + 2, ... keep only the base live. A conjunction of a comparison
/// and a predicate becomes one comparison: ISETP.LT.AND P0, PT, R1, R2, P1.
///
/// A snapshot of one pass of the allocator. Spill code that was inserted since is ignored.
class Recomputation {
 public:
  /// `ranges` are those of the file whose registers are spilled.
  Recomputation(const ori::Function& function, isa::File file, const LiveRanges& ranges, const SpillState& state)
      : function_(function), file_(file), own_(ranges), state_(state) {}

  /// Decides which of the victims are recomputed, and moves these to the front.
  void choose(const Webs& webs, std::vector<std::uint32_t>& victims);
  /// How a chosen value is computed; nothing if it was not chosen, or if a definition has changed since.
  std::optional<Recipe> recipe(ori::VRegId value);
  /// Adds the victims to the webs of file R: the register that each is spilled to, or, if it is recomputed, the longer
  /// live ranges of its recipe's sources. For estimates: a victim counts where it is live now.
  void addTo(Webs& registers, const Webs& webs, std::span<const std::uint32_t> victims);

 private:
  /// Registers whose live ranges would grow if the recipe's operands were read at the reads of the value.
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

/// Whether an instruction may be repeated or removed: it has no effect except its results, which depend on its operands
/// only.
bool isPureComputation(const ori::Instr& instr);

} // namespace orias::regalloc
