// Halves of registers: what takes one out of a word goes into the operations that read it.

#include "encoder/isa/desc.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kOtherSource = 4, kReplicateSign = 8; // in the selector of a byte

/// A whole register, or a part of one whose bits are those of a word.
bool isPlainWord(const Operand& o) {
  return o.isReg(File::R) && o.width == 1 && !o.neg() && !o.abs() && !o.inverted() && o.half == Operand::Half::None;
}

/// The byte selectors of a PRMT without another mode, if they are known.
std::optional<unsigned> byteOrder(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::PRMT || isa::getMod(instr.op, instr.mods, Mod::PrmtMode) != 0) return std::nullopt;
  const auto order = rw.constantOf(instr.op_(2).value());
  return order ? std::optional(*order & 0xffff) : std::nullopt;
}

/// Where a byte comes from: a word, and a selector without kOtherSource.
struct Byte {
  Operand word;
  unsigned pick;
};

/// A copy of another word's upper half, whatever the upper half of the result is.
std::optional<Operand> shiftedDown(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::SHF || rw.constantOf(instr.op_(2).value()) != 16u) return std::nullopt;
  const auto type = isa::modAs<isa::ShiftType>(instr, Mod::ShiftType);
  if (type != isa::ShiftType::U32 && type != isa::ShiftType::S32) return std::nullopt;
  if (isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) != isa::ShiftDir::R) return std::nullopt;
  if (isa::getMod(instr.op, instr.mods, Mod::Hi) == 0) return std::nullopt;
  return instr.op_(3).value();
}

/// The byte of the result that the instruction copies from one of its sources.
std::optional<Byte> copiedByte(const Rewriter& rw, const Instr& instr, unsigned at) {
  if (const auto word = shiftedDown(rw, instr)) return at < 2 ? std::optional(Byte{*word, at + 2}) : std::nullopt;
  const auto order = byteOrder(rw, instr);
  if (!order) return std::nullopt;
  const unsigned pick = *order >> (4 * at) & 15;
  return Byte{instr.op_(pick & kOtherSource ? 3 : 1).value(), pick & ~kOtherSource};
}

/// What defines the word in `use`, if it is defined once.
const Instr* wordDefinition(const Rewriter& rw, const Operand& use) {
  if (!use.isReg(File::R) || !use.isVirtual() || use.width != 1) return nullptr;
  const Definition def = rw.definition(use);
  return def && def.instr->op_(def.slot).width == 1 ? def.instr : nullptr;
}

/// Half a word: the bits of the lower half of `use`.
struct Half {
  Operand word;
  bool isUpper;
};
std::optional<Half> lowerHalf(const Rewriter& rw, const Operand& use) {
  const Instr* instr = wordDefinition(rw, use);
  if (!instr) return std::nullopt;
  const auto low = copiedByte(rw, *instr, 0), high = copiedByte(rw, *instr, 1);
  if (!low || !high || low->word != high->word || !isPlainWord(low->word) || !rw.isStable(low->word))
    return std::nullopt;
  if ((low->pick != 0 && low->pick != 2) || high->pick != low->pick + 1) return std::nullopt;
  return Half{low->word, low->pick == 2};
}

/// An operand that reads a lower half reads it where it was.
bool readInPlace(Rewriter& rw, Instr& instr) {
  bool isChanged = false;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    const Operand use = instr.op_(slot).value();
    if (instr.op_(slot).isDef || use.half != Operand::Half::H0H0) continue;
    const auto half = lowerHalf(rw, use);
    if (!half) continue;
    Operand value = half->word;
    value.flags = static_cast<std::uint8_t>(value.flags | (use.flags & (Operand::kNeg | Operand::kAbs)));
    value.half = half->isUpper ? Operand::Half::H1H1 : Operand::Half::H0H0;
    if (!Rewriter::fitsWith(instr, slot, value)) continue;
    rw.setOperand(instr, slot, value);
    isChanged = true;
  }
  return isChanged;
}

/// A half that is shifted to the upper one: where it has been there before, the lower one only has to be cleared.
bool shiftInPlace(Rewriter& rw, Instr& instr) {
  const bool isPlainLeft = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L &&
                           isa::modAs<isa::ShiftType>(instr, Mod::ShiftType) == isa::ShiftType::U32 &&
                           isa::getMod(instr.op, instr.mods, Mod::Hi) == 0 && instr.op_(3).isZeroReg();
  if (!isPlainLeft || rw.constantOf(instr.op_(2).value()) != 16u || !isPlainWord(instr.op_(1).value())) return false;
  const auto half = lowerHalf(rw, instr.op_(1).value());
  if (!half) return false;
  if (half->isUpper) {
    constexpr int kAnd = 0xc0;
    rw.rewrite(instr, Op::LOP3,
               {Operand::pt(), instr.op_(0).value(), half->word,
                Operand::immediate(static_cast<std::int32_t>(0xffff0000)), Operand::rz(), Operand::immediate(kAnd),
                Operand::pt().notted()});
  } else {
    rw.setOperand(instr, 1, half->word);
  }
  return true;
}

/// A source whose bytes are copies of another word's bytes is that word.
bool permuteSource(Rewriter& rw, Instr& instr, unsigned order, unsigned slot) {
  const Instr* inner = wordDefinition(rw, instr.op_(slot).value());
  if (!inner || inner == &instr || !isPlainWord(instr.op_(slot).value())) return false;
  std::optional<Operand> word;
  unsigned changed = order;
  for (unsigned at = 0; at < 4; ++at) {
    const unsigned pick = order >> (4 * at) & 15;
    if (((pick & kOtherSource) != 0) != (slot == 3)) continue;
    const auto byte = copiedByte(rw, *inner, pick & 3);
    if (!byte || (word && *word != byte->word)) return false;
    word = byte->word;
    const unsigned composed = byte->pick | (pick & (kOtherSource | kReplicateSign));
    changed = (changed & ~(15u << (4 * at))) | composed << (4 * at);
  }
  if (!word || !isPlainWord(*word) || !rw.isStable(*word)) return false;
  std::vector<Operand> operands;
  for (const ori::Operand& o : instr.ops())
    operands.push_back(o.value());
  operands[slot] = *word;
  operands[2] = Operand::immediate(static_cast<std::int32_t>(changed));
  if ((changed & 0x1111 * kOtherSource) == 0) operands[3] = Operand::rz(); // no byte comes from there any more
  if (!isa::fits(instr.op, instr.mods, operands)) return false;
  for (const unsigned i : {1u, 2u, 3u})
    if (instr.op_(i).value() != operands[i]) rw.setOperand(instr, i, operands[i]);
  return true;
}

/// Two numbers that are converted one by one, and packed then, are converted together.
bool convertTogether(Rewriter& rw, Instr& instr, unsigned order) {
  if (order != 0x5410 && order != 0x1054) return false;
  const Operand lower = instr.op_(order == 0x5410 ? 1 : 3).value(), upper = instr.op_(order == 0x5410 ? 3 : 1).value();
  if (!isPlainWord(lower) || !isPlainWord(upper)) return false;
  const Instr* first = rw.producer(lower, Op::F2FP);
  const Instr* second = rw.producer(upper, Op::F2FP);
  if (!first || !second || first->mods != second->mods) return false;
  const Operand low = first->op_(2).value(), high = second->op_(2).value();
  for (const Operand& o : {low, high})
    if (!o.isReg(File::R) || (!o.isZeroReg() && !rw.isStable(o))) return false;
  const std::vector<Operand> operands{instr.op_(0).value(), high, low};
  if (!isa::fits(Op::F2FP, first->mods, operands)) return false;
  const auto mods = first->mods;
  rw.rewrite(instr, Op::F2FP, {operands[0], operands[1], operands[2]});
  instr.mods = mods;
  return true;
}

} // namespace

/// Halves are read where they are, instead of being taken out of a word, or put into one, before.
bool foldHalves(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::SHF) return shiftInPlace(rw, instr);
  if (const auto order = byteOrder(rw, instr))
    return convertTogether(rw, instr, *order) || permuteSource(rw, instr, *order, 1) ||
           permuteSource(rw, instr, *order, 3);
  return readInPlace(rw, instr);
}

} // namespace orias::phases
