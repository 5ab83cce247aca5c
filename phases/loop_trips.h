#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"
#include "phases/counted_exit.h"

#include <optional>
#include <vector>

namespace orias::phases {

/// Steps beyond this are not counted: multiples could exceed the counter's range.
inline constexpr std::int32_t kLargestStep = 1 << 16;

/// Finds the counters and the trip counts of loops with one back edge, outside SSA form. Valid while the code does not
/// change.
class LoopTrips {
 public:
  explicit LoopTrips(const ori::Function& function);

  /// The definitions of a register within one loop. Searching all uses of the register for each loop would take time
  /// proportional to the function's length.
  struct Definitions {
    unsigned look = 0; ///< number of the lookup that found them
    const ori::Instr* last = nullptr;
    bool isOnlyOne = false;
  };

  /// The definitions in a loop; null if there are none.
  const Definitions* definitionsIn(ori::LoopId loop, ori::VRegId reg);

  /// The exit test of `loop` at the end of the block `at`, which leaves to `leave`: the comparison of a counter.
  std::optional<CountedExit> testOf(ori::LoopId loop, const ori::Block& at, ori::BlockId leave);

  /// The number of times that a lane passes the test until it leaves there; 0 if it is unknown or exceeds `limit`.
  unsigned trips(ori::LoopId loop, const CountedExit& test, unsigned limit) const;

  /// Whether the counter and its limit tell at run time that the next iterations all run: the test is at the end of the
  /// iteration, and the counter moves monotonically to a loop-invariant limit.
  bool isCounted(ori::LoopId loop, const CountedExit& test);

  /// Whether the first value of the counter is a known constant.
  bool beginsWithConstant(ori::LoopId loop, const CountedExit& test) const;

 private:
  ori::VRegId keptCounter(ori::LoopId loop, const ori::Block& at, const CountedExit& test);
  bool isLimit(ori::LoopId loop, const ori::Operand& word, bool isPart);
  std::optional<Amount> stepOf(ori::LoopId loop, const ori::Instr& instr, ori::VRegId counter);
  std::optional<std::uint32_t> valueBefore(const ori::Loop& loop, ori::VRegId reg) const;

  const ori::Function& function_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  std::vector<Definitions> definitions_; ///< by register
  ori::LoopId notedLoop_ = ori::kNoId;   ///< the loop of the last lookup
  unsigned look_ = 0;
};

} // namespace orias::phases
