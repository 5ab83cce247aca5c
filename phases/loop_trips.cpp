#include "phases/loop_trips.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/local_scan.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Op;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

/// Blocks before a loop that are searched for the counter's first value.
constexpr unsigned kMaxBlocksBefore = 16;

bool holds(isa::ICmp comparison, bool isSigned, std::uint32_t a, std::uint32_t b) {
  const auto order = [&](auto x, auto y) {
    switch (comparison) {
    case isa::ICmp::LT: return x < y;
    case isa::ICmp::EQ: return x == y;
    case isa::ICmp::LE: return x <= y;
    case isa::ICmp::GT: return x > y;
    case isa::ICmp::NE: return x != y;
    case isa::ICmp::GE: return x >= y;
    case isa::ICmp::T: return true;
    default: return false;
    }
  };
  return isSigned ? order(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)) : order(a, b);
}

bool uses(const Instr& instr, ori::VRegId reg) {
  return std::ranges::any_of(instr.ops(),
                             [&](const ori::Operand& o) { return !o.isDef && o.isVirtual() && o.reg == reg; });
}

bool isWhole(const ori::Function& function, const ori::Operand& o) {
  return o.width == function.vreg(o.reg).width;
}

} // namespace

LoopTrips::LoopTrips(const ori::Function& function)
    : function_(function), cfg_(function.analyses().cfg()), dominators_(function.analyses().dominators()),
      loops_(function.analyses().loops()), definitions_(function.vregCount()) {}

const LoopTrips::Definitions* LoopTrips::definitionsIn(LoopId loop, ori::VRegId reg) {
  if (loop != notedLoop_) {
    ++look_;
    for (BlockId b : loops_.blocks(loop))
      for (const Instr& instr : *function_.block(b))
        for (const ori::Operand& o : instr.ops())
          if (o.isDef && o.isVirtual()) definitions_[o.reg] = {look_, &instr, definitions_[o.reg].look != look_};
  }
  notedLoop_ = loop;
  return definitions_[reg].look == look_ ? &definitions_[reg] : nullptr;
}

/// The register with the counter of the next iteration at the end of the test's block: the compared register, or the
/// one that it is copied to after the step, if the step adds to that one (code of iterators that advance before the
/// body of the loop).
ori::VRegId LoopTrips::keptCounter(ori::LoopId loop, const ori::Block& at, const CountedExit& test) {
  bool isAfterStep = test.step->block != &at, comparesNext = false;
  ori::VRegId kept = ori::kNoId;
  for (const Instr& instr : at) {
    isAfterStep |= &instr == test.step;
    comparesNext |= isAfterStep && &instr == test.compare;
    if (!isAfterStep || instr.op != Op::COPY || instr.isGuarded() || !isPlainUse(instr.op_(1), test.counter)) continue;
    const ori::Operand& to = instr.op_(0);
    if (to.isVirtual() && to.file == File::R && isWhole(function_, to) && isWhole(function_, instr.op_(1)) &&
        uses(*test.step, to.reg))
      kept = to.reg;
  }
  const Definitions* found = comparesNext && kept != ori::kNoId ? definitionsIn(loop, kept) : nullptr;
  return found && found->isOnlyOne ? kept : test.counter;
}

std::optional<CountedExit> LoopTrips::testOf(LoopId loop, const Block& at, BlockId leave) {
  CountedExit test;
  test.branch = ori::plainBranch(at);
  if (!test.branch || !test.branch->guard().isReg(File::P) || !test.branch->guard().isVirtual()) return std::nullopt;
  BlockId taken = ori::kNoId;
  for (const ori::Operand& o : test.branch->ops())
    if (o.isLabel()) taken = o.reg;
  test.leavesWhenTaken = taken == leave;
  test.stay = test.leavesWhenTaken ? at.fallthrough : taken;
  if (test.stay == leave || (!test.leavesWhenTaken && at.fallthrough != leave)) return std::nullopt;
  if (!findComparison(function_, test)) return std::nullopt;

  const Definitions* steps = definitionsIn(loop, test.counter);
  if (!steps || !steps->isOnlyOne) return std::nullopt;
  test.step = steps->last;
  test.counter = keptCounter(loop, at, test);
  const auto by =
      test.isWide() ? wideStepOf(function_, *test.step, test.counter) : stepOf(loop, *test.step, test.counter);
  if (!by || !dominators_.dominates(test.step->block->id, loops_.loop(loop).latches[0])) return std::nullopt;
  test.by = *by;
  test.stepsFirst = dominators_.dominates(test.step->block->id, at.id);
  if (test.step->block == &at) {
    const Instr* instr = test.step;
    while (instr && instr != test.compare)
      instr = instr->next;
    test.stepsFirst = instr != nullptr;
  }
  return test;
}

unsigned LoopTrips::trips(LoopId loop, const CountedExit& test, unsigned limit) const {
  const auto last = !test.isWide() && test.by.times == 0 ? constantOf(test.limit()) : std::nullopt;
  const auto first = last ? valueBefore(loops_.loop(loop), test.counter) : std::nullopt;
  if (!first) return 0;
  std::uint32_t value = *first;
  for (unsigned trip = 1; trip <= limit; ++trip, value += test.by.number) {
    const bool isTrue =
        holds(test.comparison(), test.isSigned(), test.stepsFirst ? value + test.by.number : value, *last);
    const bool isTaken = isTrue != test.branch->guard().inverted();
    if (isTaken == test.leavesWhenTaken) return trip;
  }
  return 0;
}

bool LoopTrips::isCounted(LoopId loop, const CountedExit& test) {
  if (test.branch->block->id != loops_.loop(loop).latches[0]) return false;
  if (!test.stepsFirst) return false;
  if (!isLimit(loop, test.limit(), test.isWide()) || (test.isWide() && !isLimit(loop, test.low->op_(3), true)))
    return false;
  const isa::ICmp stay = test.stayComparison();
  const auto by = static_cast<std::int32_t>(test.by.number);
  if (test.by.times != 0) return by == 0 && (stay == isa::ICmp::LT || stay == isa::ICmp::LE);
  if (by == 0 || by > kLargestStep || by < -kLargestStep) return false;
  switch (stay) {
  case isa::ICmp::LT:
  case isa::ICmp::LE: return by > 0;
  case isa::ICmp::GT:
  case isa::ICmp::GE: return by < 0;
  case isa::ICmp::NE:
    return true; // the remaining count is large if the limit is farther away than the unrolled iterations advance
  default: return false;
  }
}

bool LoopTrips::beginsWithConstant(LoopId loop, const CountedExit& test) const {
  return !test.isWide() && test.by.times == 0 && valueBefore(loops_.loop(loop), test.counter).has_value();
}

/// Whether a word of a limit is loop-invariant.
bool LoopTrips::isLimit(LoopId loop, const ori::Operand& word, bool isPart) {
  if (word.isZeroReg() ? !word.neg() : word.isImm() && !word.neg()) return true;
  return word.isVirtual() && isPlainUse(word, word.reg) && (isPart || function_.vreg(word.reg).width == 1) &&
         !definitionsIn(loop, word.reg);
}

/// The amount that a sum adds to the counter that it updates, alone or together with other sums of its block.
std::optional<Amount> LoopTrips::stepOf(LoopId loop, const Instr& instr, ori::VRegId counter) {
  constexpr unsigned kMaxSums = 8;
  Amount amount;
  unsigned ownUses = 0, sums = 0;
  std::vector<const Instr*> left{&instr};
  while (!left.empty()) {
    const Instr& sum = *left.back();
    left.pop_back();
    if (sum.op != Op::IADD3 || sum.isGuarded() || ++sums > kMaxSums) return std::nullopt;
    for (const ori::Operand& o : sum.ops()) {
      if (o.isNone() || o.isReg(File::P)) {
        if (!o.isNone() && !o.isZeroReg()) return std::nullopt;
        continue;
      }
      if (o.isDef) continue;
      if (const auto constant = constantOf(o)) {
        amount.number += *constant;
        continue;
      }
      if (!o.isReg(File::R) || !isPlainUse(o, o.reg) || function_.vreg(o.reg).width != 1) return std::nullopt;
      const Definitions* inLoop = definitionsIn(loop, o.reg);
      if (o.reg == counter) {
        ++ownUses;
      } else if (!inLoop) {
        if (amount.times != 0 && amount.reg != o.reg) return std::nullopt;
        amount.reg = o.reg;
        ++amount.times;
      } else if (inLoop->isOnlyOne && isBefore(*inLoop->last, sum)) {
        left.push_back(inLoop->last);
      } else {
        return std::nullopt;
      }
    }
  }
  if (ownUses != 1) return std::nullopt;
  return amount;
}

/// The value of a register where the loop is entered, if a constant is assigned shortly before.
std::optional<std::uint32_t> LoopTrips::valueBefore(const ori::Loop& loop, ori::VRegId reg) const {
  BlockId at = loop.header;
  std::uint32_t added = 0;
  for (unsigned i = 0; i < kMaxBlocksBefore; ++i) {
    // Its only definition may be before the loops around this one.
    for (;;) {
      const Instr* only = function_.singleDef(reg);
      if (!only || !dominators_.strictlyDominates(only->block->id, loop.header)) break;
      const auto value = copiedAmount(function_, *only);
      if (!value || (value->times != 0 && !function_.singleDef(value->reg))) break;
      added += value->number;
      if (value->times == 0) return added;
      reg = value->reg;
    }
    BlockId before = ori::kNoId;
    for (BlockId p : cfg_.predecessors(at)) {
      if (!cfg_.isReachable(p) || (at == loop.header && p == loop.latches[0])) continue;
      if (before != ori::kNoId) return std::nullopt;
      before = p;
    }
    if (before == ori::kNoId) return std::nullopt;
    for (const Instr* instr = function_.block(before)->last; instr; instr = instr->prev) {
      const bool isWritten = std::any_of(instr->ops().begin(), instr->ops().end(), [&](const ori::Operand& o) {
        return o.isDef && o.isReg(File::R) && o.isVirtual() && o.reg == reg;
      });
      if (!isWritten) continue;
      // The source of a copy may be a number, too. Loops that begin with their test have advanced the counter
      // already.
      const auto value = copiedAmount(function_, *instr);
      if (!value) return std::nullopt;
      added += value->number;
      if (value->times == 0) return added;
      reg = value->reg;
    }
    at = before;
  }
  return std::nullopt;
}

} // namespace orias::phases
