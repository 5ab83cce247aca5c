// 64-bit sums with several constants, and products whose upper half is unused.

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

Operand plain(Operand o) {
  o.flags = static_cast<std::uint8_t>(o.flags & ~Operand::kNeg);
  return o;
}

std::optional<std::uint64_t> numberOf(const Rewriter& rw, const Operand& pair) {
  if (!pair.isReg(File::R) || pair.width != 2) return std::nullopt;
  const auto low = rw.constantOf(ori::component(plain(pair), 0)), high = rw.constantOf(ori::component(plain(pair), 1));
  if (!low || !high) return std::nullopt;
  const std::uint64_t number = std::uint64_t{*high} << 32 | *low;
  return pair.neg() ? 0 - number : number;
}

/// A 64-bit value plus a constant.
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

/// Whether the sum becomes dead: accesses to memory absorb its constant, and other sums with a constant use its operand
/// instead.
bool isSpared(const Rewriter& rw, const Operand& sum) {
  bool is = true;
  rw.function().forEachUse(sum.reg, [&](ori::Ref use) {
    const Instr& user = *use.owner;
    const isa::InstrDesc& row = isa::desc(user.op);
    const auto slot = static_cast<int>(use.index());
    const bool isAddress = (row.has(Flag::Load) || row.has(Flag::Store)) && slot == row.slotIndex(isa::SlotId::Ra);
    is = is && (isAddress || numberedSum(rw, user));
  });
  return is;
}

/// The pair at a fixed address of a constant bank that a register holds.
struct BankPair {
  std::int64_t bank, offset;
  friend bool operator==(const BankPair&, const BankPair&) = default;
};

std::optional<BankPair> bankPair(const Rewriter& rw, const Operand& pair) {
  const Instr* load =
      pair.isReg(File::R) && pair.isVirtual() && pair.width == 2 ? rw.producer(plain(pair), Op::LDC) : nullptr;
  if (!load || load->isGuarded() || isa::modAs<isa::MemSize>(*load, Mod::Size) != isa::MemSize::B64)
    return std::nullopt;
  const ori::Operand &bank = load->op_(1), &index = load->op_(2), &offset = load->op_(3);
  if (!bank.isImm() || !offset.isImm() || !(index.isNone() || index.isZeroReg())) return std::nullopt;
  return BankPair{bank.imm, offset.imm};
}

/// The other term, if the value is a sum with the pair.
std::optional<Operand> withoutTerm(const Rewriter& rw, const Operand& value, const BankPair& term) {
  const Instr* sum = value.isReg(File::R) && !value.neg() ? rw.producer(value, Op::IADD64) : nullptr;
  if (!sum || sum->isGuarded()) return std::nullopt;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand rest = sum->op_(3 - i).value(), added = sum->op_(i).value();
    const bool isPlainRest = rest.isReg(File::R) && rest.isVirtual() && !rest.neg() && rest.width == 2;
    if (!added.neg() && isPlainRest && rw.isStable(rest) && bankPair(rw, added) == term) return rest;
  }
  return std::nullopt;
}

/// (x + w) - w is x, (x + w + y) - w is x + y: an address that was made generic and is converted back to its space. `w`
/// is the same pair of a constant bank, the start of the space's window.
bool cancelWindow(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD64 || instr.isGuarded()) return false;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand subtracted = instr.op_(i).value(), value = instr.op_(3 - i).value();
    if (!subtracted.neg() || value.neg()) continue;
    const auto window = bankPair(rw, subtracted);
    if (!window) continue;
    if (const auto rest = withoutTerm(rw, value, *window)) {
      rw.becomeCopy(instr, *rest);
      return true;
    }
    const Instr* sum = value.isReg(File::R) ? rw.producer(value, Op::IADD64) : nullptr;
    for (unsigned k = 1; sum && !sum->isGuarded() && k <= 2; ++k) {
      const Operand other = sum->op_(3 - k).value();
      const auto rest = withoutTerm(rw, sum->op_(k).value(), *window);
      if (!rest || !other.isReg(File::R) || !other.isVirtual() || !rw.isStable(plain(other))) continue;
      rw.rewrite(instr, Op::IADD64, {instr.op_(0).value(), *rest, other});
      return true;
    }
    const Instr* product = value.isReg(File::R) ? rw.producer(value, Op::IMAD_WIDE) : nullptr;
    if (!product || product->isGuarded() || !isUnused(product->op_(1).value())) continue;
    const Operand a = product->op_(2).value(), b = product->op_(3).value();
    const auto rest = withoutTerm(rw, product->op_(4).value(), *window);
    const auto isMovable = [&](const Operand& o) {
      return o.isImm() || (o.isReg(File::R) && o.isVirtual() && rw.isStable(plain(o)));
    };
    if (!rest || !isMovable(a) || !isMovable(b)) continue;
    rw.rewrite(instr, Op::IMAD_WIDE, {instr.op_(0).value(), product->op_(1).value(), a, b, *rest},
               {{Mod::Type, isa::modAs<isa::IntType>(*product, Mod::Type)}});
    return true;
  }
  return false;
}

} // namespace

/// Combines (x + constant) + constant, modulo 2^64; a term that is added and subtracted again is removed.
bool reassociateLongSum(Rewriter& rw, Instr& instr) {
  if (cancelWindow(rw, instr)) return true;
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

/// Narrows a product of words to a pair whose upper word is unused.
bool narrowWideProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD_WIDE || instr.isGuarded() || !isUnused(instr.op_(1).value())) return false;
  const Operand result = instr.op_(0).value(), addend = instr.op_(4).value();
  if (!result.isReg(File::R) || !result.isVirtual() || !rw.isSingle(result.reg) || !addend.isReg(File::R)) return false;
  bool isLowOnly = true;
  rw.function().forEachUse(result.reg, [&](ori::Ref use) {
    isLowOnly = isLowOnly && (use->sub > result.sub + 1 || use->sub + use->width <= result.sub + 1);
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
