#include "phases/counted_exit.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::ICmp;
using isa::IntType;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// Whether the instruction compares two words without a guard or a further condition.
bool isPlainTest(const Instr& compare) {
  return !compare.isGuarded() && compare.op_(0).isVirtual() && compare.op_(4).isZeroReg() &&
         !compare.op_(4).inverted() && isa::modAs<isa::BoolOp>(compare, Mod::Bool) == isa::BoolOp::AND;
}

/// Whether the operand is the given word of a register of `width` words.
bool isWordOf(const ori::Function& function, const ori::Operand& o, unsigned word, unsigned width) {
  return o.isReg(File::R) && o.isVirtual() && isPlainUse(o, o.reg) && o.sub == word && o.width == 1 &&
         function.vreg(o.reg).width == width;
}

/// The constant that a word of a register has before an instruction: it is set earlier in the same block.
std::optional<std::uint32_t> wordBefore(const Instr& instr, ori::VRegId reg, unsigned word) {
  for (const Instr* at = instr.prev; at; at = at->prev)
    for (const ori::Operand& o : at->ops()) {
      if (!o.isDef || !o.isVirtual() || o.reg != reg || word < o.sub || word >= o.sub + o.width) continue;
      const bool isNumber = (at->op == Op::MOV || at->op == Op::COPY) && !at->isGuarded() && o.width == 1;
      return isNumber ? constantOf(at->op_(1)) : std::nullopt;
    }
  return std::nullopt;
}

} // namespace

Instr* writerBefore(const Instr& instr, ori::VRegId reg) {
  const auto writes = [reg](const Instr& at) {
    return std::any_of(at.ops().begin(), at.ops().end(),
                       [reg](const ori::Operand& o) { return o.isDef && o.isVirtual() && o.reg == reg; });
  };
  Instr* at = instr.prev;
  while (at && !writes(*at))
    at = at->prev;
  return at;
}

bool synchronizes(const ori::Function& function, const ori::Loops& loops, ori::LoopId loop) {
  for (const ori::BlockId block : loops.blocks(loop))
    for (const Instr& instr : *function.block(block))
      if (isa::desc(instr.op).has(isa::Flag::Convergent) && instr.op != Op::BRA) return true;
  return false;
}

bool exchangesTogether(const ori::Function& function, const ori::Loops& loops, ori::LoopId loop) {
  const ori::Divergence& divergence = function.analyses().divergence();
  bool isDivided = false, needsUniform = false;
  for (const ori::BlockId b : loops.blocks(loop)) {
    isDivided |= divergence.branchesApart(b);
    for (const Instr& instr : *function.block(b)) {
      if (!isa::desc(instr.op).has(isa::Flag::Convergent) || instr.op == Op::BRA) continue;
      if (instr.op != Op::SHFL && instr.op != Op::WARPSYNC_ALL) return false;
      needsUniform |= !divergence.isUniformBlock(b);
    }
  }
  if (!isDivided) return true;
  const auto isTogether = [&](ori::BlockId b) { return divergence.isUniformBlock(b) && !divergence.branchesApart(b); };
  const std::vector<ori::BlockId>& latches = loops.loop(loop).latches;
  return !needsUniform && latches.size() == 1 && isTogether(latches.front()) &&
         std::ranges::all_of(loops.exits(loop), [&](const auto& exit) { return isTogether(exit.first); });
}

std::optional<std::uint32_t> constantOf(const Operand& o) {
  if (o.isImm()) return o.neg() ? -static_cast<std::uint32_t>(o.imm) : static_cast<std::uint32_t>(o.imm);
  if (o.isReg(File::R) && o.isZeroReg()) return 0;
  return std::nullopt;
}

bool isPlainUse(const Operand& o, ori::VRegId reg) {
  return o.isReg(File::R) && o.isVirtual() && o.reg == reg && !o.neg() && !o.abs() && !o.inverted();
}

bool findComparison(const ori::Function& function, CountedExit& test) {
  const Instr* compare = writerBefore(*test.branch, test.branch->guard().reg);
  if (!compare || !isPlainTest(*compare) || compare->op_(0).reg != test.branch->guard().reg) return false;
  test.compare = compare;
  const ori::Operand& counter = compare->op_(2);
  test.counter = counter.reg;
  if (compare->op == Op::ISETP) {
    for (unsigned slot = 5; slot < compare->operandCount; ++slot)
      if (!compare->op_(slot).isNone()) return false;
    return isWordOf(function, counter, 0, 1);
  }
  if (compare->op != Op::ISETP_EX || !isWordOf(function, counter, 1, 2)) return false;
  const ori::Operand& chained = compare->op_(5);
  if (!chained.isVirtual() || chained.inverted()) return false;
  test.low = writerBefore(*compare, chained.reg);
  if (!test.low || test.low->op != Op::ISETP || !isPlainTest(*test.low) || test.low->op_(0).reg != chained.reg ||
      !isWordOf(function, test.low->op_(2), 0, 2) || test.low->op_(2).reg != test.counter ||
      isa::modAs<ICmp>(*test.low, Mod::Cmp) != test.comparison() ||
      isa::modAs<IntType>(*test.low, Mod::Type) != IntType::U32)
    return false;
  // Neither the counter nor the limit may change between the two comparisons.
  for (const Instr* at = test.low; at != compare; at = at->next)
    for (const ori::Operand& o : at->ops())
      if (o.isDef && o.isVirtual() && (o.reg == test.counter || (at != test.low && o.reg == test.limit().reg)))
        return false;
  return true;
}

std::optional<Amount> wideStepOf(const ori::Function& function, const Instr& step, ori::VRegId counter) {
  if (step.op != Op::IADD64 || step.isGuarded() || step.op_(0).width != 2) return std::nullopt;
  const bool isFirst = isPlainUse(step.op_(1), counter);
  if (isFirst == isPlainUse(step.op_(2), counter)) return std::nullopt;
  const ori::Operand& added = step.op_(isFirst ? 2 : 1);
  if (!added.isVirtual() || !isPlainUse(added, added.reg) || added.width != 2 || function.vreg(added.reg).width != 2)
    return std::nullopt;
  const auto low = wordBefore(step, added.reg, 0), high = wordBefore(step, added.reg, 1);
  constexpr std::uint32_t kSignBit = 1U << 31;
  if (!low || !high || *high != ((*low & kSignBit) != 0 ? ~0U : 0U)) return std::nullopt;
  return Amount{*low, ori::kNoId, 0};
}

std::optional<Amount> copiedAmount(const ori::Function& function, const Instr& instr) {
  const bool isCopy = instr.op == Op::MOV || instr.op == Op::COPY;
  if (instr.isGuarded() || (!isCopy && instr.op != Op::IADD3) || instr.op_(0).width != 1) return std::nullopt;
  for (unsigned slot = 1; !isCopy && slot < instr.operandCount; ++slot)
    if ((slot < 3 || slot > 5) && !instr.op_(slot).isNone() && !instr.op_(slot).isZeroReg()) return std::nullopt;
  Amount amount;
  const unsigned first = isCopy ? 1 : 3, terms = isCopy ? 1 : 3;
  for (unsigned slot = first; slot < first + terms; ++slot) {
    const ori::Operand& o = instr.op_(slot);
    if (const auto number = constantOf(o)) {
      amount.number += *number;
      continue;
    }
    if (!o.isReg(File::R) || amount.times++ != 0 || !isPlainUse(o, o.reg) || function.vreg(o.reg).width != 1)
      return std::nullopt;
    amount.reg = o.reg;
  }
  return amount;
}

Instr* branchTo(ori::Function& function, ori::Block* block, const CountedExit& test, const Operand& condition,
                ori::BlockId to) {
  std::vector<Operand> operands;
  for (const ori::Operand& o : test.branch->ops())
    operands.push_back(o.isLabel() ? Operand::label(to) : o.value());
  Instr* branch = function.create(Op::BRA, operands, test.branch->source);
  branch->mods = test.branch->mods;
  function.append(block, branch);
  function.setGuard(branch, condition);
  return branch;
}

void compareAgain(ori::Builder& b, const CountedExit& test, const Operand& counter, const Operand& stays,
                  const Operand& with) {
  const auto type = isa::modAs<IntType>(*test.compare, Mod::Type);
  const auto emit = [&](Op op, IntType as, std::initializer_list<Operand> operands) {
    b.emit(op, operands, {{Mod::Cmp, test.stayComparison()}, {Mod::Type, as}, {Mod::Bool, isa::BoolOp::AND}});
  };
  if (!test.isWide()) {
    emit(Op::ISETP, type, {stays, Operand::pt(), counter, test.limit().value(), with});
    return;
  }
  const Operand low = b.newP();
  emit(Op::ISETP, IntType::U32,
       {low, Operand::pt(), ori::component(counter, 0), test.low->op_(3).value(), Operand::pt()});
  emit(Op::ISETP_EX, type, {stays, Operand::pt(), ori::component(counter, 1), test.limit().value(), with, low});
}

Instr* branchWhereManyAreLeft(ori::Function& function, ori::Block* block, const CountedExit& test,
                              const Operand& counter, const Operand& way, const Operand& stays, ori::BlockId many,
                              ori::BlockId few) {
  const bool isDown = static_cast<std::int32_t>(test.by.number) < 0;
  const ICmp comparison = test.stayComparison();
  const bool includesLimit = comparison == ICmp::LE || comparison == ICmp::GE;
  const Operand isMany = function.use(function.newVReg(File::P));
  Instr* branch = branchTo(function, block, test, isMany, many);
  block->fallthrough = few;
  ori::Builder b = ori::Builder::before(function, branch);
  b.setSource(branch->source);
  const auto farther = [&](Op op, std::initializer_list<Operand> operands) {
    b.emit(op, operands,
           {{Mod::Cmp, includesLimit ? ICmp::GE : ICmp::GT}, {Mod::Type, IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
  };
  if (test.isWide()) {
    Operand limit = b.newR(2);
    b.copy(ori::component(limit, 0), test.low->op_(3).value());
    b.copy(ori::component(limit, 1), test.limit().value());
    const Operand distance = b.newR(2), low = b.newP();
    b.emit(Op::IADD64, {distance, isDown ? counter : limit, isDown ? limit.negated() : counter.negated()});
    farther(Op::ISETP, {low, Operand::pt(), ori::component(distance, 0), way, Operand::pt()});
    farther(Op::ISETP_EX, {isMany, Operand::pt(), ori::component(distance, 1), Operand::rz(), stays, low});
    return branch;
  }
  Operand limit = test.limit().isZeroReg() ? Operand::immediate(0) : test.limit().value();
  const Operand distance = b.newR();
  if (isDown)
    limit = limit.isImm() ? Operand::immediate(static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(limit.imm)))
                          : limit.negated();
  b.emit(Op::IADD3,
         {distance, Operand::pt(), Operand::pt(), isDown ? counter : counter.negated(), limit, Operand::rz()});
  farther(Op::ISETP, {isMany, Operand::pt(), distance, way, stays});
  return branch;
}

} // namespace orias::phases
