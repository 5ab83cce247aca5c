#pragma once

#include "encoder/isa/mods.h"
#include "ori/analysis/loops.h"
#include "ori/builder.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace orias::phases {

/// Who writes which registers of a function, as it is when this is made. Function::forEachDef walks over all uses as
/// well, which for a register that each loop reads would be one walk over the function for each loop.
class Definitions {
 public:
  struct Definition {
    ori::Instr* instr = nullptr;
    std::uint8_t sub = 0, width = 1; ///< the components
  };

  explicit Definitions(ori::Function& function);
  ori::Function& function() const { return *function_; }
  /// Those of a register; none of one that is newer than this.
  std::span<const Definition> of(ori::VRegId reg) const {
    if (reg + 1 >= first_.size()) return {};
    return {all_.data() + first_[reg], all_.data() + first_[reg + 1]};
  }
  /// The only one of a register, or null.
  ori::Instr* single(ori::VRegId reg) const { return of(reg).size() == 1 ? of(reg)[0].instr : nullptr; }

 private:
  ori::Function* function_;
  std::vector<std::uint32_t> first_; ///< by register, one more than there are
  std::vector<Definition> all_;
};

/// The number that an instruction, without a guard, sets one word to.
std::optional<std::uint32_t> numberSetBy(const ori::Instr& instr);

/// A result that nobody can read.
bool isUnusedResult(const isa::Operand& result);

/// An operand that names all of a register of file R, without marks.
bool isWholeRegister(const ori::Function& function, const isa::Operand& operand);

/// In SSA form: a number, a constant in a known place, or a register that is written outside the loop only, or set to
/// numbers.
bool isSameInEachRound(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop,
                       const isa::Operand& operand);

/// Such an operand for an instruction in front of the loop: numbers that are set in the loop are set there again.
isa::Operand inFrontOf(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop, ori::Builder& front,
                       const isa::Operand& operand);

/// A word or pair of words that a loop in SSA form adds the same amount to in each round.
struct Counter {
  isa::Operand value;                ///< in the round: the result of a phi of the header, or of one for each word
  isa::Operand next;                 ///< in the next round
  ori::Instr* step = nullptr;        ///< IADD3 or IADD64: makes `next` of `value`
  std::array<isa::Operand, 2> first; ///< the words where the loop is entered
  std::optional<std::uint32_t> by;   ///< what the step of a word adds, where that is a number
};

/// Those of a loop with one way in and one back edge, in the order of the phis.
std::vector<Counter> findCounters(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop,
                                  ori::BlockId from);

/// A comparison of a counter with something that stays the same, which alone decides whether a lane leaves the loop at
/// a place that each round comes to.
struct CounterTest {
  ori::Instr* compare = nullptr;
  ori::Instr* branch = nullptr;
  bool comparesNext = false;     ///< the counter of the next round is compared
  bool leavesWhenTaken = false;  ///< and not when the branch falls through
  isa::ICmp stay = isa::ICmp::F; ///< holds while a lane stays
  bool isSigned = false;
  std::optional<std::int64_t> rounds;      ///< how often a lane comes to the test, where that is known
  std::optional<std::uint32_t> lastTested; ///< the counter that is compared then
};

/// The test that `compare` is part of; nothing when it is none.
std::optional<CounterTest> testOf(const Definitions& definitions, const ori::Loops& loops,
                                  const ori::DomTree& dominators, ori::LoopId loop, const Counter& counter,
                                  ori::Instr& compare);

/// Whether it is known with which value of the counter the test ends the loop: that of the limit where it asks for
/// equality, or where the step is 1 or -1 in the direction of the limit (but the first one where that is beyond), or a
/// number.
bool endsInOrder(const CounterTest& test, const Counter& counter);

} // namespace orias::phases
