#pragma once

#include "encoder/isa/mods.h"
#include "ori/analysis/loops.h"
#include "ori/builder.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace orias::phases {

/// The definitions of each register of a function; a snapshot. Function::forEachDef walks over all uses as well: for a
/// register that each loop reads, that would be one walk over the function for each loop.
class Definitions {
 public:
  struct Definition {
    ori::Instr* instr = nullptr;
    std::uint8_t sub = 0, width = 1; ///< the components
  };

  explicit Definitions(ori::Function& function);
  ori::Function& function() const { return *function_; }
  /// The definitions of a register; none for registers created later.
  std::span<const Definition> of(ori::VRegId reg) const {
    if (reg + 1 >= first_.size()) return {};
    return {all_.data() + first_[reg], all_.data() + first_[reg + 1]};
  }
  /// The only definition of a register, or null.
  ori::Instr* single(ori::VRegId reg) const { return of(reg).size() == 1 ? of(reg)[0].instr : nullptr; }

 private:
  ori::Function* function_;
  std::vector<std::uint32_t> first_; ///< by register, one more than there are
  std::vector<Definition> all_;
};

/// The constant that an unguarded instruction writes to a 32-bit register.
std::optional<std::uint32_t> numberSetBy(const ori::Instr& instr);

/// Whether a result is discarded.
bool isUnusedResult(const isa::Operand& result);

/// Whether an operand is a whole register of file R, without modifiers.
bool isWholeRegister(const ori::Function& function, const isa::Operand& operand);

/// In SSA form: whether the operand is an immediate, a constant at a known address, or a register that is defined
/// outside the loop or set to constants.
bool isLoopInvariant(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop,
                     const isa::Operand& operand);

/// The operand for use in the preheader: constants that are set in the loop are set there again.
isa::Operand blockBefore(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop, ori::Builder& front,
                         const isa::Operand& operand);

/// An induction variable of 32 or 64 bits, in SSA form.
struct Counter {
  isa::Operand value;                ///< in the iteration: the result of a phi of the header, or of one for each word
  isa::Operand next;                 ///< in the next iteration
  ori::Instr* step = nullptr;        ///< IADD3 or IADD64: computes `next` from `value`
  std::array<isa::Operand, 2> first; ///< the initial words
  std::optional<std::uint32_t> by;   ///< the step, if it is constant
};

/// The induction variables of a loop with one entry and one backedge, in the order of the phis.
std::vector<Counter> findCounters(const Definitions& definitions, const ori::Loops& loops, ori::LoopId loop,
                                  ori::BlockId from);

/// A comparison of a counter with a loop-invariant value that alone decides whether a lane leaves the loop, at a block
/// that each iteration executes.
struct ExitTest {
  ori::Instr* compare = nullptr;
  ori::Instr* branch = nullptr;
  bool comparesNext = false;     ///< the value of the next iteration is compared
  bool leavesWhenTaken = false;  ///< otherwise it leaves by the fall-through
  isa::ICmp stay = isa::ICmp::F; ///< the comparison that holds while a lane stays in the loop
  bool isSigned = false;
  std::optional<std::int64_t> rounds;      ///< how often a lane reaches the test, if known
  std::optional<std::uint32_t> lastTested; ///< the counter value compared last
};

/// The exit test that `compare` is part of; empty if it is not one.
std::optional<ExitTest> testOf(const Definitions& definitions, const ori::Loops& loops, const ori::DomTree& dominators,
                               ori::LoopId loop, const Counter& counter, ori::Instr& compare);

/// Whether the final value of the induction variable is known: a constant; the limit, if the test is for equality; or
/// the limit if the step is 1 or -1 towards it (then the initial value if that is already past the limit).
bool endsInOrder(const ExitTest& test, const Counter& counter);

} // namespace orias::phases
