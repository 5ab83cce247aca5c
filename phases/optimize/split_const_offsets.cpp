// Moves constants in the sums of addresses to the end, where an instruction's offset absorbs them: the remaining sum is
// often the same for many accesses.

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// How many sums in sequence are followed on the way to an address.
constexpr unsigned kMaxSums = 4;
constexpr std::int64_t kFar = 1 << 24;

bool isPlain(const Operand& o) {
  return !o.neg() && !o.inverted() && !o.abs();
}

/// Whether a slot is a term of a one-word sum with unused carries.
bool isTermOfWords(const Instr& sum, int slot) {
  const bool isTerm = (sum.op == Op::IADD3 && slot >= 3 && slot <= 5) || (sum.op == Op::LEA && slot == 3);
  return isTerm && isUnused(sum.op_(1).value()) && (sum.op == Op::LEA || isUnused(sum.op_(2).value()));
}

/// Whether adding `more` to a sum is free: the sum is used only as an address, possibly through further sums, by
/// instructions whose offset can be larger by that amount.
bool isAddressOnly(const ori::Function& function, const Operand& sum, std::int64_t more, unsigned depth = 0) {
  if (!sum.isVirtual() || !function.hasUses(sum.reg) || more < -kFar || more > kFar) return false;
  bool is = true;
  function.forEachUse(sum.reg, [&](ori::Ref use) {
    const Instr& reader = *use.owner;
    const auto slot = static_cast<int>(use.index());
    if (!is || slot < 0 || use->sub != sum.sub || use->width != sum.width || !isPlain(*use)) {
      is = false;
      return;
    }
    const isa::InstrDesc& row = isa::desc(reader.op);
    const bool isWide = reader.op == Op::IADD64 || (reader.op == Op::IMAD_WIDE && slot == 4);
    if (isWide || isTermOfWords(reader, slot)) {
      is = depth < kMaxSums && isAddressOnly(function, reader.op_(0).value(), more, depth + 1);
      return;
    }
    const bool isOfCopy = slot == row.slotIndex(isa::SlotId::Rs);
    const int offset = isOfCopy ? row.slotIndex(isa::SlotId::sharedOffset) : row.slotIndex(isa::SlotId::offset);
    is = (isOfCopy || slot == row.slotIndex(isa::SlotId::Ra)) && offset >= 0 &&
         (row.has(Flag::Load) || row.has(Flag::Store));
    if (!is) return;
    const Operand at = reader.op_(static_cast<unsigned>(offset)).value();
    is =
        (at.isImm() || at.isNone()) && Rewriter::fitsWith(reader, static_cast<unsigned>(offset),
                                                          Operand::immediate(static_cast<std::int32_t>(at.imm + more)));
  });
  return is;
}

bool isAlignedPair(const ori::Function& function, const Operand& o) {
  return o.isReg(File::R) && o.isVirtual() && o.width == 2 && o.sub % 2 == 0 && function.vreg(o.reg).align % 2 == 0;
}

std::optional<std::int64_t> numberOf(const Rewriter& rw, const Operand& o) {
  if (!o.isReg(File::R) || o.width != 2 || !isPlain(o)) return std::nullopt;
  const auto low = rw.constantOf(ori::component(o, 0)), high = rw.constantOf(ori::component(o, 1));
  if (!low || !high) return std::nullopt;
  return static_cast<std::int64_t>(std::uint64_t{*high} << 32 | *low);
}

/// A pair that is another pair plus a constant, which is in a pair as well.
struct Numbered {
  Operand rest, place;
  std::int64_t number = 0;
};

std::optional<Numbered> split(const Rewriter& rw, const Operand& pair) {
  if (!isAlignedPair(rw.function(), pair) || !isPlain(pair)) return std::nullopt;
  const Instr* sum = rw.producer(pair, Op::IADD64);
  if (!sum) return std::nullopt;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand place = sum->op_(i).value(), rest = sum->op_(3 - i).value();
    const auto number = numberOf(rw, place);
    if (number && isPlain(rest) && isAlignedPair(rw.function(), rest) && rw.isStable(rest) && rw.isStable(place) &&
        !numberOf(rw, rest))
      return Numbered{rest, place, *number};
  }
  return std::nullopt;
}

/// Splits a one-word sum in the same way.
std::optional<Numbered> splitWord(const Rewriter& rw, const Operand& word) {
  if (!word.isReg(File::R) || !word.isVirtual() || word.width != 1 || !isPlain(word)) return std::nullopt;
  const Instr* sum = rw.producer(word, Op::IADD3);
  if (!sum || !sum->op_(5).isZeroReg()) return std::nullopt;
  for (unsigned i = 3; i <= 4; ++i) {
    const Operand place = sum->op_(i).value(), rest = sum->op_(7 - i).value();
    const auto number = isPlain(place) ? rw.constantOf(place) : std::nullopt;
    if (number && *number != 0 && isPlain(rest) && rest.isReg(File::R) && !rest.isZeroReg() && rw.isStable(rest) &&
        !rw.constantOf(rest) && (place.isImm() || rw.isStable(place)))
      return Numbered{rest, place, static_cast<std::int32_t>(*number)};
  }
  return std::nullopt;
}

/// Whether the sum has a nonconstant term other than that of the slot, and no constant.
bool hasOtherTerm(const Rewriter& rw, const Instr& sum, unsigned slot) {
  if (sum.op == Op::LEA) return !rw.constantOf(sum.op_(2).value());
  bool has = false;
  for (unsigned i = 3; i < 6; ++i) {
    if (i == slot || sum.op_(i).isZeroReg()) continue;
    if (rw.constantOf(sum.op_(i).value())) return false;
    has = true;
  }
  return has;
}

std::vector<Operand> operandsOf(const Instr& instr) {
  std::vector<Operand> operands;
  for (const ori::Operand& o : instr.ops())
    operands.push_back(o.value());
  return operands;
}

} // namespace

/// (x + constant) + y becomes (x + y) + constant, modulo 2^64.
bool splitConstOffset(Rewriter& rw, Instr& instr) {
  const bool isProduct = instr.op == Op::IMAD_WIDE;
  if ((instr.op != Op::IADD64 && !isProduct) || instr.isGuarded()) return false;
  if (isProduct && !isUnused(instr.op_(1).value())) return false;
  const Operand result = instr.op_(0).value();
  if (!isAlignedPair(rw.function(), result)) return false;
  for (unsigned i = isProduct ? 4 : 1; i <= (isProduct ? 4u : 2u); ++i) {
    const auto parts = split(rw, instr.op_(i).value());
    if (!parts) continue;
    if (!isProduct && (instr.op_(3 - i).isZeroReg() || numberOf(rw, instr.op_(3 - i).value()))) continue;
    if (!isAddressOnly(rw.function(), result, parts->number)) continue;
    const Operand sum = rw.newRegister(File::R, 2);
    std::vector<Operand> operands = operandsOf(instr);
    operands[0] = sum;
    operands[i] = parts->rest;
    rw.insertBefore(instr, instr.op, operands, &instr.mods);
    rw.rewrite(instr, Op::IADD64, {result, sum, parts->place});
    return true;
  }
  return false;
}

/// The same for words, which are the addresses of shared and local memory.
bool separateShortNumber(Rewriter& rw, Instr& instr) {
  if ((instr.op != Op::IADD3 && instr.op != Op::LEA) || instr.isGuarded()) return false;
  const Operand result = instr.op_(0).value();
  if (!result.isReg(File::R) || result.width != 1) return false;
  for (unsigned i = 3; i < (instr.op == Op::LEA ? 4u : 6u); ++i) {
    if (!isTermOfWords(instr, static_cast<int>(i))) return false;
    const auto parts = splitWord(rw, instr.op_(i).value());
    if (!parts || !hasOtherTerm(rw, instr, i) || !isAddressOnly(rw.function(), result, parts->number)) continue;
    const Operand sum = rw.newRegister(File::R, 1);
    std::vector<Operand> operands = operandsOf(instr);
    operands[0] = sum;
    operands[i] = parts->rest;
    if (!isa::fits(instr.op, instr.mods, operands)) continue;
    rw.insertBefore(instr, instr.op, operands, &instr.mods);
    rw.rewrite(instr, Op::IADD3, {result, Operand::pt(), Operand::pt(), sum, parts->place, Operand::rz()});
    return true;
  }
  return false;
}

/// Separates a product of two constants that has an address as its addend.
bool separateProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD_WIDE || instr.isGuarded() || !isUnused(instr.op_(1).value())) return false;
  const auto a = rw.constantOf(instr.op_(2).value()), b = rw.constantOf(instr.op_(3).value());
  const Operand result = instr.op_(0).value(), rest = instr.op_(4).value();
  if (!a || !b || !isAlignedPair(rw.function(), result) || !isAlignedPair(rw.function(), rest) || !isPlain(rest))
    return false;
  const bool isSigned = isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::S32;
  const auto widened = [&](std::uint32_t word) {
    return isSigned ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(word)))
                    : std::uint64_t{word};
  };
  const std::uint64_t product = widened(*a) * widened(*b);
  if (!isAddressOnly(rw.function(), result, static_cast<std::int64_t>(product))) return false;
  const Operand number = rw.newRegister(File::R, 2);
  const isa::InstrDesc& move = isa::desc(Op::MOV);
  for (unsigned w = 0; w < 2; ++w) {
    std::vector<Operand> operands{ori::component(number, w),
                                  Operand::immediate(static_cast<std::int32_t>(product >> (32 * w)))};
    for (std::size_t i = operands.size(); i < move.slotCount; ++i)
      operands.push_back(move.defaults[i]);
    rw.insertBefore(instr, Op::MOV, operands);
  }
  rw.rewrite(instr, Op::IADD64, {result, rest, number});
  return true;
}

} // namespace orias::phases
