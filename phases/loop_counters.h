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

/// The constant that an unguarded instruction writes to a 32-bit register.
std::optional<std::uint32_t> numberSetBy(const ori::Instr& instr);

/// A result that is discarded.
bool isUnusedResult(const isa::Operand& result);

/// An operand that names all of a register of file R, without marks.
bool isWholeRegister(const ori::Function& function, const isa::Operand& operand);

/// In SSA form: an immediate, a constant at a known address, or a register that is defined outside the loop, or set to
/// numbers.
bool isSameInEachRound(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop,
                       const isa::Operand& operand);

/// Such an operand for an instruction in the preheader: constants set in the loop are set there again.
isa::Operand inFrontOf(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop, ori::Builder& front,
                       const isa::Operand& operand);

/// An induction variable of 32 or 64 bits, in SSA form.
struct Counter {
  isa::Operand value;                ///< in the iteration: the result of a phi of the header, or of one for each word
  isa::Operand next;                 ///< in the next iteration
  ori::Instr* step = nullptr;        ///< IADD3 or IADD64: makes `next` of `value`
  std::array<isa::Operand, 2> first; ///< the initial words
  std::optional<std::uint32_t> by;   ///< the step, if it is constant
};

/// The induction variables of a loop with one entry and one back edge, in the order of the phis.
std::vector<Counter> findCounters(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop,
                                  ori::BlockId from);

/// A comparison of a counter with something that stays the same, which alone decides whether a lane leaves the loop at
/// a block that each iteration executes.
struct CounterTest {
  ori::Instr* compare = nullptr;
  ori::Instr* branch = nullptr;
  bool comparesNext = false;     ///< the value of the next iteration is compared
  bool leavesWhenTaken = false;  ///< and not when the branch falls through
  isa::ICmp stay = isa::ICmp::F; ///< holds while a lane stays
  bool isSigned = false;
  std::optional<std::int64_t> rounds;      ///< how often a lane comes to the test, where that is known
  std::optional<std::uint32_t> lastTested; ///< the counter that is compared then
};

/// The exit test that `compare` is part of; empty if it is not one.
std::optional<CounterTest> testOf(const Definitions& definitions, const ori::Loops& loops,
                                  const ori::DomTree& dominators, ori::LoopId loop, const Counter& counter,
                                  ori::Instr& compare);

/// Whether the final value of the induction variable is known: the limit, if the test is for
/// equality, or where the step is 1 or -1 in the direction of the limit (but the first one where that is beyond), or a
/// number.
bool endsInOrder(const CounterTest& test, const Counter& counter);

} // namespace orias::phases
