// 64-bit sums with a shifted term: addresses of array elements, computed from an index and an element size.

#include "phases/optimize/shifted_sums.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"

#include <array>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool isAlignedPair(const ori::Function& function, const Operand& o) {
  return o.isReg(File::R) && o.isVirtual() && o.width == 2 && o.sub % 2 == 0 && function.vreg(o.reg).align % 2 == 0;
}

bool isLeftShift(const Instr& instr, bool isHigh) {
  return instr.op == Op::SHF && isa::getMod(instr.op, instr.mods, Mod::Wrap) == 0 &&
         isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L &&
         (isa::getMod(instr.op, instr.mods, Mod::Hi) != 0) == isHigh;
}

std::optional<ShiftedSum> shiftedTerm(const Rewriter& rw, const Operand& term, const Operand& other) {
  if (!term.isReg(File::R) || !term.isVirtual() || term.neg() || other.neg()) return std::nullopt;
  if (!other.isReg(File::R) || other.isZeroReg()) return std::nullopt;
  const Definition low = rw.definition(term, 0), high = rw.definition(term, 1);
  if (!low || !high || !isLeftShift(*low.instr, false) || !isLeftShift(*high.instr, true)) return std::nullopt;
  const Operand lowWord = low.instr->op_(1).value(), highWord = high.instr->op_(3).value();
  const auto count = rw.constantOf(low.instr->op_(2).value());
  if (!count || *count == 0 || *count > 31 || rw.constantOf(high.instr->op_(2).value()) != count) return std::nullopt;
  if (high.instr->op_(1).value() != lowWord || !lowWord.isVirtual()) return std::nullopt;
  for (const Operand& word : {lowWord, highWord})
    if (!word.isReg(File::R) || word.neg() || !rw.isStable(word)) return std::nullopt;
  return ShiftedSum{lowWord, highWord, other, static_cast<std::int32_t>(*count)};
}

/// Whether all bits of the word are the sign of the other one.
bool isSignOf(const Rewriter& rw, const Operand& word, const Operand& value) {
  const Instr* shift = rw.producer(word, Op::SHF);
  return shift && isa::modAs<isa::ShiftDir>(*shift, Mod::ShiftDir) == isa::ShiftDir::R &&
         isa::modAs<isa::ShiftType>(*shift, Mod::ShiftType) == isa::ShiftType::S32 &&
         isa::getMod(shift->op, shift->mods, Mod::Hi) != 0 && rw.constantOf(shift->op_(2).value()) == 31u &&
         shift->op_(3).value() == value;
}

bool isNumber(const Rewriter& rw, const Operand& pair) {
  return rw.constantOf(ori::component(pair, 0)) && rw.constantOf(ori::component(pair, 1));
}

/// The word that a pair extends to 64 bits.
struct Extension {
  Operand word;
  bool isUnsigned;
};
std::optional<Extension> extensionOf(const Rewriter& rw, const Operand& pair) {
  if (!isAlignedPair(rw.function(), pair) || pair.neg()) return std::nullopt;
  const Definition low = rw.definition(pair, 0);
  if (!low || low.instr->op != Op::COPY || low.instr->op_(0).width != 1) return std::nullopt;
  const Operand word = low.instr->op_(1).value();
  if (!word.isReg(File::R) || !word.isVirtual() || word.neg() || !rw.isStable(word)) return std::nullopt;
  Operand high = ori::component(pair, 1);
  if (rw.constantOf(high) == 0u) return Extension{word, true};
  if (const Instr* copy = rw.producer(high, Op::COPY)) high = copy->op_(1).value();
  return high.isReg(File::R) && isSignOf(rw, high, word) ? std::optional(Extension{word, false}) : std::nullopt;
}

/// Whether the result is used only as the 64-bit address of accesses to memory.
bool isAddressOnly(const Rewriter& rw, const Instr& instr) {
  bool isAddress = rw.function().hasUses(instr.op_(0).reg);
  rw.function().forEachUse(instr.op_(0).reg, [&](ori::Ref use) {
    const isa::InstrDesc& row = isa::desc(use.owner->op);
    const auto slot = static_cast<int>(use.index());
    const bool isMemory = row.has(isa::Flag::Load) || row.has(isa::Flag::Store);
    isAddress = isAddress && use->width == 2 && isMemory && slot == row.slotIndex(isa::SlotId::Ra);
  });
  return isAddress;
}

/// The address x + y with an extended word x becomes x * 1 + y: one instruction instead of the extension and two sums.
bool foldExtendedTerm(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD64 || !isAlignedPair(rw.function(), instr.op_(0).value()) || !isAddressOnly(rw, instr))
    return false;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand other = instr.op_(3 - i).value();
    const auto extension = extensionOf(rw, instr.op_(i).value());
    if (!extension || !isAlignedPair(rw.function(), other) || other.neg() || other.reg == extension->word.reg) continue;
    if (isNumber(rw, other)) continue;
    const Operand result = instr.op_(0).value();
    rw.rewrite(instr, Op::IMAD_WIDE, {result, Operand::pt(), extension->word, Operand::immediate(1), other},
               {{Mod::Type, extension->isUnsigned ? isa::IntType::U32 : isa::IntType::S32}});
    return true;
  }
  return false;
}

/// The word whose sign extension a pair is, or a constant that is the sign extension of one.
std::optional<Operand> signExtended(const Rewriter& rw, const Operand& pair) {
  if (const auto extension = extensionOf(rw, pair); extension && !extension->isUnsigned) return extension->word;
  if (!pair.isReg(File::R) || !pair.isVirtual() || pair.neg() || pair.width != 2) return std::nullopt;
  const auto low = rw.constantOf(ori::component(pair, 0)), high = rw.constantOf(ori::component(pair, 1));
  if (!low || !high || *high != (*low >> 31 != 0 ? ~0U : 0U)) return std::nullopt;
  return Operand::immediate(static_cast<std::int32_t>(*low));
}

/// A product of two sign-extended words, with an addend or not: one multiplication instead of the extensions and three.
bool narrowSignedProduct(Rewriter& rw, Instr& instr) {
  const Operand result = instr.op_(0).value();
  const Operand addend = instr.op == Op::IMAD64 ? instr.op_(3).value() : Operand::rz(2);
  if (!isAlignedPair(rw.function(), result) || (!addend.isZeroReg() && !isAlignedPair(rw.function(), addend)) ||
      addend.neg())
    return false;
  auto a = signExtended(rw, instr.op_(1).value()), b = a ? signExtended(rw, instr.op_(2).value()) : std::nullopt;
  if (!b) return false;
  if (a->isImm()) std::swap(a, b);
  if (a->isImm()) return false;
  rw.rewrite(instr, Op::IMAD_WIDE, {result, Operand::pt(), *a, *b, addend}, {{Mod::Type, isa::IntType::S32}});
  return true;
}

} // namespace

std::optional<ShiftedSum> shiftedSum(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::IADD64) return std::nullopt;
  const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
  const auto sum = shiftedTerm(rw, a, b);
  return sum ? sum : shiftedTerm(rw, b, a);
}

/// (x << n) + y with an extended word x becomes x * 2^n + y: one instruction instead of the extension, two shifts and
/// two sums. Constants are left to the offset of the access.
bool foldShiftedAddress(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::IMAD64 || instr.op == Op::IMUL64) return narrowSignedProduct(rw, instr);
  const auto sum = shiftedSum(rw, instr);
  if (!sum) return foldExtendedTerm(rw, instr);
  if (!isAlignedPair(rw.function(), instr.op_(0).value()) || !isAlignedPair(rw.function(), sum->other)) return false;
  const bool isUnsigned = rw.constantOf(sum->high) == 0u;
  constexpr std::int32_t kLargestSigned = 30;
  if (isNumber(rw, sum->other) || sum->other.reg == sum->low.reg) return false;
  if (!isUnsigned && (sum->count > kLargestSigned || !isSignOf(rw, sum->high, sum->low))) return false;
  const Operand factor = Operand::immediate(static_cast<std::int32_t>(1u << sum->count));
  rw.rewrite(instr, Op::IMAD_WIDE, {instr.op_(0).value(), Operand::pt(), sum->low, factor, sum->other},
             {{Mod::Type, isUnsigned ? isa::IntType::U32 : isa::IntType::S32}});
  return true;
}

/// Folds a product of constants in a sum, while 64-bit sums are whole.
bool foldProductOfNumbers(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD_WIDE) return false;
  const auto a = rw.constantOf(instr.op_(2).value()), b = rw.constantOf(instr.op_(3).value());
  const Operand result = instr.op_(0).value(), addend = instr.op_(4).value();
  if (!a || !b || !(instr.op_(1).isNone() || instr.op_(1).isZeroReg()) || !isAlignedPair(rw.function(), result) ||
      !isAlignedPair(rw.function(), addend) || addend.neg())
    return false;
  const auto product =
      isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::U32
          ? std::uint64_t{*a} * *b
          : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(*a)} * static_cast<std::int32_t>(*b));
  const Operand pair = rw.newRegister(File::R, 2);
  constexpr unsigned kWordBits = 32;
  for (unsigned word = 0; word < 2; ++word)
    rw.insertBefore(instr, Op::COPY,
                    std::array{ori::component(pair, word),
                               Operand::immediate(static_cast<std::int32_t>(product >> (word * kWordBits)))});
  rw.rewrite(instr, Op::IADD64, {result, addend, pair});
  return true;
}

} // namespace orias::phases
