#pragma once

#include "encoder/isa/mods.h"
#include "ori/analysis/loops.h"
#include "ori/builder.h"

#include <optional>

namespace orias::phases {

/// A constant plus a multiple of a register.
struct Amount {
  std::uint32_t number = 0; ///< sign-extended for 64-bit counters
  ori::VRegId reg = ori::kNoId;
  unsigned times = 0;
};

/// The comparison of a 32-bit or 64-bit counter that decides whether a loop continues, outside SSA form.
struct CountedExit {
  const ori::Instr *branch = nullptr, *compare = nullptr, *step = nullptr;
  const ori::Instr* low = nullptr; ///< for 64 bits: compares the low words, `compare` the high ones
  ori::VRegId counter = ori::kNoId;
  Amount by;                      ///< the step
  bool stepsFirst = false;        ///< the comparison uses the counter of the next iteration
  bool leavesWhenTaken = false;   ///< otherwise it leaves by the fall-through
  ori::BlockId stay = ori::kNoId; ///< the successor in the loop

  bool isWide() const { return low != nullptr; }
  isa::ICmp comparison() const { return isa::modAs<isa::ICmp>(*compare, isa::Mod::Cmp); }
  bool isSigned() const { return isa::modAs<isa::IntType>(*compare, isa::Mod::Type) == isa::IntType::S32; }
  /// The limit, or the high word of a 64-bit limit.
  const ori::Operand& limit() const { return compare->op_(3); }
  /// The predicate of the lanes that stay in the loop.
  isa::Operand stays() const { return leavesWhenTaken ? branch->guard().value().notted() : branch->guard().value(); }
  /// The comparison that is true for the lanes that stay.
  isa::ICmp stayComparison() const {
    return leavesWhenTaken != branch->guard().inverted() ? isa::opposite(comparison()) : comparison();
  }
};

/// The last instruction before `instr` in its block that writes a register; null if there is none.
ori::Instr* writerBefore(const ori::Instr& instr, ori::VRegId reg);

/// Whether lanes wait for each other in the loop by other means than branches. Phase 22 then does not count its
/// iterations, unless exchangesTogether().
bool synchronizes(const ori::Function& function, const ori::Loops& loops, ori::LoopId loop);

/// Whether lanes wait for each other only by SHFL and WARPSYNC.ALL, and all lanes in the loop execute the same
/// instruction of the same copy together: they do not diverge on a branch that leads to another iteration, and have
/// reconverged at each exchange.
bool exchangesTogether(const ori::Function& function, const ori::Loops& loops, ori::LoopId loop);

/// The constant value of an operand.
std::optional<std::uint32_t> constantOf(const isa::Operand& operand);

/// Whether an operand is the register, or words of it, without modifiers.
bool isPlainUse(const isa::Operand& operand, ori::VRegId reg);

/// Finds the comparison behind the guard of a branch: sets `compare`, `low` and `counter`; false if the guard is not a
/// single comparison of a counter.
bool findComparison(const ori::Function& function, CountedExit& test);

/// The amount that `step` adds to a 64-bit counter, if it is a constant of 32 bits.
std::optional<Amount> wideStepOf(const ori::Function& function, const ori::Instr& step, ori::VRegId counter);

/// The amount that an instruction copies, or that a sum forms with one register, if it does nothing else.
std::optional<Amount> copiedAmount(const ori::Function& function, const ori::Instr& instr);

/// Appends a branch like that of the test, but to another block and under another condition.
ori::Instr* branchTo(ori::Function& function, ori::Block* block, const CountedExit& test, const isa::Operand& condition,
                     ori::BlockId to);

/// Emits the same comparison of another counter: `stays` is set for the lanes that stay, if `with` is set, too.
void compareAgain(ori::Builder& builder, const CountedExit& test, const isa::Operand& counter,
                  const isa::Operand& stays, const isa::Operand& with);

/// Appends a branch to `many` for lanes that pass the test now and in all following unrolled iterations except the
/// last: `counter`, whose comparison with the limit is `stays`, is farther from the limit than `way`, the distance of
/// those iterations. The distance to the limit is less than 2^32.
ori::Instr* branchWhereManyAreLeft(ori::Function& function, ori::Block* block, const CountedExit& test,
                                   const isa::Operand& counter, const isa::Operand& way, const isa::Operand& stays,
                                   ori::BlockId many, ori::BlockId few);

} // namespace orias::phases
