// Sums of 64 bits that are put together from several numbers, and products of which the upper half is not wanted.

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/rewriter.h"

#include <array>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

std::optional<std::uint64_t> numberOf(const Rewriter& rw, const Operand& pair) {
  if (!pair.isReg(File::R) || pair.width != 2) return std::nullopt;
  Operand plain = pair;
  plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
  const auto low = rw.constantOf(ori::component(plain, 0)), high = rw.constantOf(ori::component(plain, 1));
  if (!low || !high) return std::nullopt;
  const std::uint64_t number = std::uint64_t{*high} << 32 | *low;
  return pair.neg() ? 0 - number : number;
}

/// A 64-bit value and a number that is added to it.
struct NumberedSum {
  Operand rest;
  std::uint64_t number;
};

std::optional<NumberedSum> numberedSum(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::IADD64) return std::nullopt;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand rest = instr.op_(3 - i).value();
    const auto number = numberOf(rw, instr.op_(i).value());
    if (number && rest.isReg(File::R) && rest.isVirtual() && !rest.neg()) return NumberedSum{rest, *number};
  }
  return std::nullopt;
}

/// The sum has no reader that would keep it: accesses to memory take its number up, other sums of a number are made
/// from what it is made from.
bool isSpared(const Rewriter& rw, const Operand& sum) {
  bool is = true;
  rw.function().forEachUse(sum.reg, [&](const ori::Operand& use) {
    const Instr& user = *use.owner;
    const isa::InstrDesc& row = isa::desc(user.op);
    const auto slot = static_cast<int>(&use - user.operands);
    const bool isAddress = (row.has(Flag::Load) || row.has(Flag::Store)) && slot == row.slotIndex("Ra");
    is = is && (isAddress || numberedSum(rw, user));
  });
  return is;
}

} // namespace

/// (x + number) + number is x + number, modulo 2^64.
bool reassociateLongSum(Rewriter& rw, Instr& instr) {
  const auto outer = numberedSum(rw, instr);
  if (!outer) return false;
  const Instr* sum = rw.producer(outer->rest, Op::IADD64);
  if (!sum || sum == &instr) return false;
  const auto inner = numberedSum(rw, *sum);
  if (!inner || !rw.isStable(inner->rest) || !isSpared(rw, outer->rest)) return false;
  const std::uint64_t number = inner->number + outer->number;
  const Operand pair = rw.newRegister(File::R, 2);
  for (unsigned word = 0; word < 2; ++word) {
    const std::array operands{ori::component(pair, word),
                              Operand::immediate(static_cast<std::int32_t>(number >> (32 * word))),
                              isa::desc(Op::MOV).defaults[2]};
    rw.insertBefore(instr, Op::MOV, operands);
  }
  rw.rewrite(instr, Op::IADD64, {instr.op_(0).value(), inner->rest, pair});
  return true;
}

/// A product of words to a pair of which nobody reads the upper word.
bool narrowWideProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD_WIDE || instr.isGuarded() || !isUnused(instr.op_(1).value())) return false;
  const Operand result = instr.op_(0).value(), addend = instr.op_(4).value();
  if (!result.isReg(File::R) || !result.isVirtual() || !rw.isSingle(result.reg) || !addend.isReg(File::R)) return false;
  bool isLowOnly = true;
  rw.function().forEachUse(result.reg, [&](const ori::Operand& use) {
    isLowOnly = isLowOnly && (use.sub > result.sub + 1 || use.sub + use.width <= result.sub + 1);
  });
  if (!isLowOnly) return false;
  const Operand low = rw.newRegister(File::R, 1);
  const std::array operands{low, instr.op_(2).value(), instr.op_(3).value(), ori::component(addend, 0)};
  std::array<std::uint8_t, isa::kMaxMods> mods = isa::makeInst(Op::IMAD).mods;
  isa::setMod(Op::IMAD, mods, {Mod::Type, isa::modAs<isa::IntType>(instr, Mod::Type)});
  if (!isa::fits(Op::IMAD, mods, operands)) return false;
  rw.insertBefore(instr, Op::IMAD, operands, &mods);
  rw.rewrite(instr, Op::COPY, {ori::component(result, 0), low});
  return true;
}

} // namespace orias::phases
