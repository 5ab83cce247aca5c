#pragma once

#include "encoder/isa/mods.h"
#include "ori/analysis/loops.h"
#include "ori/builder.h"

#include <optional>

namespace orias::phases {

/// A number, and so many times what a register holds.
struct Amount {
  std::uint32_t number = 0; ///< of 64-bit counters as well, sign-extended then
  ori::VRegId reg = ori::kNoId;
  unsigned times = 0;
};

/// The comparison of a counter of 32 or 64 bits on which a loop goes on or ends, outside SSA form.
struct RoundTest {
  const ori::Instr *branch = nullptr, *compare = nullptr, *step = nullptr;
  const ori::Instr* low = nullptr; ///< of 64 bits: the comparison of the low words, `compare` is that of the high ones
  ori::VRegId counter = ori::kNoId;
  Amount by;                    ///< what the step adds
  bool stepsFirst = false;      ///< the counter that is compared is that of the next round
  bool leavesWhenTaken = false; ///< and not when the branch falls through

  bool isWide() const { return low != nullptr; }
  isa::ICmp comparison() const { return isa::modAs<isa::ICmp>(*compare, isa::Mod::Cmp); }
  bool isSigned() const { return isa::modAs<isa::IntType>(*compare, isa::Mod::Type) == isa::IntType::S32; }
  /// The limit, or the high word of a limit of 64 bits.
  const ori::Operand& limit() const { return compare->op_(3); }
  /// The predicate of the lanes that stay.
  isa::Operand stays() const { return leavesWhenTaken ? branch->guard().value().notted() : branch->guard().value(); }
  /// Holds for the lanes that stay.
  isa::ICmp stayComparison() const {
    return leavesWhenTaken != branch->guard().inverted() ? isa::opposite(comparison()) : comparison();
  }
};

/// What wrote a register last before an instruction of the same block; null if nothing did.
ori::Instr* writerBefore(const ori::Instr& instr, ori::VRegId reg);

/// Whether lanes wait for each other in the loop, other than by branches. Phase 22 does not count its iterations then,
/// unless they exchange together.
bool synchronizes(const ori::Function& function, const ori::Loops& loops, ori::LoopId loop);

/// Whether lanes wait for each other by SHFL and WARPSYNC.ALL only, and all that are in the loop exchange values by the
/// same instruction of the same copy of it: no branch divides them, or none that leads on to another iteration, and
/// they are together again where they exchange.
bool exchangesTogether(const ori::Function& function, const ori::Loops& loops, ori::LoopId loop);

/// The number that an operand stands for.
std::optional<std::uint32_t> constantOf(const isa::Operand& operand);

/// Whether an operand is the register, or words of it, without marks.
bool isPlainUse(const isa::Operand& operand, ori::VRegId reg);

/// What a guard of a branch was compared from: sets `compare`, `low` and `counter`; false when it is something else
/// than one comparison of a counter.
bool findComparison(const ori::Function& function, RoundTest& test);

/// What `step` adds to a 64-bit counter, if it is a number of 32 bits.
std::optional<Amount> wideStepOf(const ori::Function& function, const ori::Instr& step, ori::VRegId counter);

/// What an instruction copies, or adds to a register once, as the only thing that it does.
std::optional<Amount> copiedAmount(const ori::Function& function, const ori::Instr& instr);

/// Appends a branch like that of the test, but to another block and for other lanes.
ori::Instr* branchTo(ori::Function& function, ori::Block* block, const RoundTest& test, const isa::Operand& condition,
                     ori::BlockId to);

/// Emits the comparison of another counter: `stays` is set for the lanes that stay, where `with` is set, too.
void compareAgain(ori::Builder& builder, const RoundTest& test, const isa::Operand& counter, const isa::Operand& stays,
                  const isa::Operand& with);

/// Appends a branch to `many` where the test holds now and in the rounds that follow, all but the last of those written
/// out: `counter`, which is `stays` of its limit, is farther from it than those rounds go, which is `way`. Their
/// distance is less than 2^32.
ori::Instr* branchWhereManyAreLeft(ori::Function& function, ori::Block* block, const RoundTest& test,
                                   const isa::Operand& counter, const isa::Operand& way, const isa::Operand& stays,
                                   ori::BlockId many, ori::BlockId few);

} // namespace orias::phases
