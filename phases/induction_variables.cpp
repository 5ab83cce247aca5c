#include "phases/induction_variables.h"

#include "encoder/isa/desc.h"
#include "ori/cfg_edit.h"

#include <limits>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

std::optional<std::uint32_t> numberOf(const Operand& o) {
  if (o.isImm()) return o.neg() ? 0u - static_cast<std::uint32_t>(o.imm) : static_cast<std::uint32_t>(o.imm);
  if (o.isReg(File::R) && o.isZeroReg()) return 0;
  return std::nullopt;
}

/// The constant value of an operand, or of the register that it refers to.
std::optional<std::uint32_t> numberAfter(const Definitions& definitions, const Operand& o) {
  if (const auto number = numberOf(o)) return number;
  const ori::Function& function = definitions.function();
  if (!isWholeRegister(function, o) || function.vreg(o.reg).multiDef) return std::nullopt;
  const Instr* def = definitions.single(o.reg);
  return def ? numberSetBy(*def) : std::nullopt;
}

/// Sets `next`, `step` and `by` of a counter whose value and next value are known; false if it is not a counter.
bool findStep(const Definitions& definitions, const ori::Loops& loops, LoopId loop, Counter& counter) {
  Instr* step = definitions.single(counter.next.reg);
  if (!step || step->isGuarded() || !loops.contains(loop, step->block->id)) return false;
  const unsigned first = step->op == Op::IADD3 ? 3 : 1, terms = step->op == Op::IADD3 ? 3 : 2;
  if (step->op == Op::IADD3 && (!isUnusedResult(step->op_(1)) || !isUnusedResult(step->op_(2)))) return false;
  if (step->op != Op::IADD3 && step->op != Op::IADD64) return false;
  if (step->op_(0).width != counter.value.width) return false;
  unsigned own = 0;
  std::optional<std::uint32_t> by = 0;
  for (unsigned slot = first; slot < first + terms; ++slot) {
    const Operand o = step->op_(slot).value();
    if (o == counter.value) {
      ++own;
      continue;
    }
    if (!isLoopInvariant(definitions, loops, loop, o)) return false;
    const auto number = numberAfter(definitions, o);
    by = by && number ? std::optional(*by + *number) : std::nullopt;
  }
  counter.step = step;
  if (counter.value.width == 1) counter.by = by;
  return own == 1;
}

/// Computes how often a lane reaches the test, and the value compared last; leaves them empty if unknown.
void countTrips(ExitTest& test, std::uint32_t first, std::uint32_t by, std::uint32_t limit) {
  const isa::ICmp stay = test.stay;
  const bool isSigned = test.isSigned;
  const std::uint32_t start = test.comparesNext ? first + by : first;
  const auto step = static_cast<std::int64_t>(static_cast<std::int32_t>(by));
  if (step == 0) return;
  if (stay == isa::ICmp::NE) {
    const std::uint32_t way = step > 0 ? limit - start : start - limit;
    const std::int64_t length = step > 0 ? step : -step;
    if (way % length != 0) return;
    test.rounds = way / length + 1;
    test.lastTested = limit;
    return;
  }
  const auto number = [&](std::uint32_t bits) {
    return isSigned ? static_cast<std::int64_t>(static_cast<std::int32_t>(bits)) : static_cast<std::int64_t>(bits);
  };
  const std::int64_t lowest = isSigned ? std::numeric_limits<std::int32_t>::min() : 0;
  const std::int64_t highest =
      isSigned ? std::int64_t{std::numeric_limits<std::int32_t>::max()} : std::numeric_limits<std::uint32_t>::max();
  const bool isUp = stay == isa::ICmp::LT || stay == isa::ICmp::LE;
  if (!isUp && stay != isa::ICmp::GT && stay != isa::ICmp::GE) return;
  if (isUp != (step > 0)) return;
  std::int64_t end = number(limit);
  end += stay == isa::ICmp::LE ? 1 : stay == isa::ICmp::GE ? -1 : 0;
  const std::int64_t way = isUp ? end - number(start) : number(start) - end, length = isUp ? step : -step;
  const std::int64_t more = way <= 0 ? 0 : (way + length - 1) / length;
  const std::int64_t last = number(start) + more * step;
  if (last < lowest || last > highest) return; // the counter wraps around
  test.rounds = more + 1;
  test.lastTested = static_cast<std::uint32_t>(last);
}

} // namespace

Definitions::Definitions(ori::Function& function) : function_(&function), first_(function.vregCount() + 2, 0) {
  const auto forEach = [&](auto&& f) {
    for (const ori::Block* block : function.layout())
      for (Instr& instr : *block)
        for (const ori::Operand& o : instr.ops())
          if (o.isDef && o.isReg() && o.isVirtual()) f(instr, o);
  };
  // Counting with an offset of two makes each sum the start of a register's entries. Filling then advances it to their
  // end.
  forEach([&](Instr&, const ori::Operand& o) { ++first_[o.reg + 2]; });
  for (std::size_t i = 2; i < first_.size(); ++i)
    first_[i] += first_[i - 1];
  all_.resize(first_.back());
  forEach([&](Instr& instr, const ori::Operand& o) { all_[first_[o.reg + 1]++] = {&instr, o.sub, o.width}; });
  first_.pop_back();
}

bool isUnusedResult(const Operand& result) {
  return result.isNone() || result.isZeroReg();
}

std::optional<std::uint32_t> numberSetBy(const Instr& instr) {
  const bool isMove = instr.op == Op::MOV || instr.op == Op::COPY;
  return isMove && !instr.isGuarded() && instr.op_(0).width == 1 ? numberOf(instr.op_(1)) : std::nullopt;
}

bool isWholeRegister(const ori::Function& function, const Operand& operand) {
  if (!operand.isReg(File::R) || !operand.isVirtual() || operand.neg() || operand.abs() || operand.inverted())
    return false;
  return operand.sub == 0 && operand.width == function.vreg(operand.reg).width;
}

bool isLoopInvariant(const Definitions& definitions, const ori::Loops& loops, LoopId loop, const Operand& operand) {
  if (operand.abs() || operand.inverted()) return false;
  if (operand.isImm()) return true;
  if (operand.isConst()) return operand.reg == Operand::kNoReg;
  if (!operand.isReg(File::R)) return false;
  if (operand.isZeroReg()) return true;
  if (!operand.isVirtual() || definitions.function().vreg(operand.reg).multiDef) return false;
  unsigned outside = 0, numbers = 0, others = 0;
  for (const auto& def : definitions.of(operand.reg))
    ++(!loops.contains(loop, def.instr->block->id) ? outside : numberSetBy(*def.instr) ? numbers : others);
  return others == 0 && (outside == 0) != (numbers == 0);
}

Operand blockBefore(const Definitions& definitions, const ori::Loops& loops, LoopId loop, ori::Builder& front,
                    const Operand& operand) {
  if (!operand.isReg() || !operand.isVirtual()) return operand;
  Operand again;
  for (const auto& def : definitions.of(operand.reg)) {
    if (!loops.contains(loop, def.instr->block->id)) continue;
    if (again.isNone()) again = front.newR(front.function().vreg(operand.reg).width);
    front.copy(ori::component(again, def.sub), def.instr->op_(1).value());
  }
  if (again.isNone()) return operand;
  Operand result = operand;
  result.reg = again.reg;
  return result;
}

std::vector<Counter> findCounters(const Definitions& definitions, const ori::Loops& loops, LoopId loop, BlockId from) {
  ori::Function& function = definitions.function();
  std::vector<Counter> counters;
  const BlockId latch = loops.loop(loop).latches[0];
  for (const Instr& phi : *function.block(loops.loop(loop).header)) {
    if (phi.op != Op::PHI) break;
    const Operand result = phi.op_(0).value();
    if (!result.isReg(File::R) || !result.isVirtual() || result.sub != 0 || result.width != 1) continue;
    const unsigned width = function.vreg(result.reg).width;
    if (width > 2 || function.vreg(result.reg).multiDef) continue;
    Counter counter;
    counter.value = function.use(result.reg);
    bool isWhole = true;
    unsigned phis = 0;
    for (const auto& def : definitions.of(result.reg)) {
      const Instr* of = def.instr;
      const Operand* first = of->op == Op::PHI && of->block == phi.block ? ori::phiValueFrom(*of, from) : nullptr;
      const Operand* next = first ? ori::phiValueFrom(*of, latch) : nullptr;
      isWhole &= next && !first->isNone() && def.width == 1 && next->isReg(File::R) && next->isVirtual() &&
                 next->sub == def.sub && function.vreg(next->reg).width == width &&
                 (phis++ == 0 || counter.next.reg == next->reg);
      if (!isWhole) break;
      counter.next = function.use(next->reg);
      counter.first[def.sub] = *first;
    }
    if (isWhole && phis == width && findStep(definitions, loops, loop, counter)) counters.push_back(counter);
  }
  return counters;
}

std::optional<ExitTest> testOf(const Definitions& definitions, const ori::Loops& loops, const ori::DomTree& dominators,
                               LoopId loop, const Counter& counter, Instr& compare) {
  const ori::Function& function = definitions.function();
  if (counter.value.width != 1 || compare.op != Op::ISETP || compare.isGuarded() || !compare.op_(0).isVirtual() ||
      !isUnusedResult(compare.op_(1)) || isa::modAs<isa::BoolOp>(compare, Mod::Bool) != isa::BoolOp::AND)
    return std::nullopt;
  const Operand tested = compare.op_(2).value(), limit = compare.op_(3).value(), with = compare.op_(4).value();
  if (!with.isZeroReg() || with.inverted() || limit.neg() || !isLoopInvariant(definitions, loops, loop, limit) ||
      (tested != counter.value && tested != counter.next))
    return std::nullopt;

  ExitTest test;
  test.compare = &compare;
  test.comparesNext = tested == counter.next;
  const Operand condition = compare.op_(0).value();
  if (function.vreg(condition.reg).multiDef) return std::nullopt;
  unsigned readers = 0;
  function.forEachUse(condition.reg, [&](ori::Ref use) {
    ++readers;
    test.branch = use.owner;
  });
  if (readers != 1 || !test.branch->block || test.branch != ori::plainBranch(*test.branch->block) ||
      test.branch->guard().reg != condition.reg)
    return std::nullopt;
  const ori::Block& block = *test.branch->block;
  if (loops.innermost(block.id) != loop || block.fallthrough == ori::kNoId ||
      !dominators.dominates(block.id, loops.loop(loop).latches[0]))
    return std::nullopt;
  for (const ori::Operand& o : test.branch->ops())
    if (o.isLabel()) test.leavesWhenTaken = !loops.contains(loop, o.reg);
  if (loops.contains(loop, block.fallthrough) != test.leavesWhenTaken) return std::nullopt;

  const bool staysWhenTrue = test.leavesWhenTaken == test.branch->guard().inverted();
  const auto written = isa::modAs<isa::ICmp>(compare, Mod::Cmp);
  const isa::ICmp stay = staysWhenTrue ? written : isa::opposite(written);
  test.stay = stay;
  test.isSigned = isa::modAs<isa::IntType>(compare, Mod::Type) == isa::IntType::S32;
  const auto first = numberAfter(definitions, counter.first[0]), end = numberAfter(definitions, limit);
  if (first && end && counter.by) countTrips(test, *first, *counter.by, *end);
  return test;
}

bool endsInOrder(const ExitTest& test, const Counter& counter) {
  if (test.rounds || test.stay == isa::ICmp::NE) return true;
  return (test.stay == isa::ICmp::LT && counter.by == 1u) || (test.stay == isa::ICmp::GT && counter.by == ~0u);
}

} // namespace orias::phases
