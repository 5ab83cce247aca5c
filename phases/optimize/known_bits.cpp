// Known bits, and removal of operations that change no bit that could be set: the zero extension of a truth value, the
// mask of a byte that was just loaded.

#include "phases/optimize/known_bits.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/module.h"
#include "phases/optimize/lut.h"
#include "phases/optimize/rewriter.h"

#include <algorithm>
#include <bit>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// How many definitions in sequence are followed.
constexpr unsigned kDepth = 4;

Bits bitsOf(const Rewriter& rw, const Operand& operand, unsigned depth);

/// Sources 2, 3 and 4 of a LOP3.
std::array<Bits, 3> logicInputs(const Rewriter& rw, const Instr& instr, unsigned depth) {
  return {bitsOf(rw, instr.op_(2).value(), depth), bitsOf(rw, instr.op_(3).value(), depth),
          bitsOf(rw, instr.op_(4).value(), depth)};
}

/// Inputs that always affect the result come first: if nothing is known of one of them, nothing is known of the result.
Bits bitsOfLogic(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto lut = static_cast<unsigned>(instr.op_(5).imm);
  std::array<Bits, 3> inputs;
  for (const bool always : {true, false})
    for (unsigned i = 0; i < 3; ++i) {
      if (!dependsOn(lut, i) || alwaysDependsOn(lut, i) != always) continue;
      inputs[i] = bitsOf(rw, instr.op_(2 + i).value(), depth);
      if (always && inputs[i].areUnknown()) return {};
    }
  Bits result{0, 0};
  for (unsigned row = 0; row < 8; ++row)
    (lut >> row & 1 ? result.canBeOne : result.canBeZero) |= bitsOfRow(inputs, row);
  return result;
}

/// Byte `i` of the result of a PRMT of two sources.
Bits permutedByte(const Bits& low, const Bits& high, unsigned order, unsigned i) {
  constexpr unsigned kReplicateSign = 8, kOtherSource = 4;
  const unsigned pick = order >> (4 * i) & 15;
  const Bits& source = pick & kOtherSource ? high : low;
  const unsigned shift = 8 * (pick & 3);
  Bits byte{source.canBeZero >> shift & 0xff, source.canBeOne >> shift & 0xff};
  if (pick & kReplicateSign) byte = {byte.canBeZero & 0x80 ? 0xffu : 0, byte.canBeOne & 0x80 ? 0xffu : 0};
  return byte;
}

Bits bitsOfPermutation(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto order = byteOrder(rw, instr);
  if (!order) return {};
  const Bits low = bitsOf(rw, instr.op_(1).value(), depth), high = bitsOf(rw, instr.op_(3).value(), depth);
  Bits result{0, 0};
  for (unsigned i = 0; i < 4; ++i) {
    const Bits byte = permutedByte(low, high, *order, i);
    result.canBeZero |= byte.canBeZero << 8 * i;
    result.canBeOne |= byte.canBeOne << 8 * i;
  }
  return result;
}

Bits bitsOfShift(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto shift = wordShiftOf(rw, instr);
  if (!shift) return {};
  const unsigned count = shift->count;
  const Bits from = bitsOf(rw, instr.op_(shift->slot).value(), depth);
  if (shift->isLeft) return {from.canBeZero << count | ((1u << count) - 1), from.canBeOne << count};
  if (!shift->isSigned) return {from.canBeZero >> count | ~(~0u >> count), from.canBeOne >> count};
  // The sign is shifted in at the top.
  const auto shifted = [&](std::uint32_t bits) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> count);
  };
  return {shifted(from.canBeZero), shifted(from.canBeOne)};
}

/// The low bits of a word, zero-extended.
Bits bitsOfField(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto length = rw.constantOf(instr.op_(2).value());
  const bool isSigned = isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::S32;
  if (!length || *length > 31 || isSigned || isa::getMod(instr.op, instr.mods, Mod::Wrap) != 0) return {};
  const std::uint32_t mask = (1u << *length) - 1;
  const Bits from = bitsOf(rw, instr.op_(1).value(), depth);
  return {from.canBeZero | ~mask, from.canBeOne & mask};
}

/// The possible bits of words up to `most` with this many trailing zeros. The words wrap if `most` exceeds a word.
Bits bitsUpTo(std::uint64_t most, int zeros) {
  if (zeros >= 32) return Bits::of(0);
  const std::uint64_t bits = most > ~std::uint32_t{0} ? ~std::uint32_t{0} : std::bit_ceil(most + 1) - 1;
  return Bits::within(static_cast<std::uint32_t>(bits) & ~0u << zeros);
}

/// Products with an addend: trailing zeros add up, and products that cannot wrap have leading zeros.
Bits bitsOfProduct(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const Operand x = instr.op_(1).value(), y = instr.op_(2).value(), addend = instr.op_(3).value();
  const Bits c = bitsOf(rw, addend, depth);
  if (c.canBeOne == ~0u) return {}; // for any product
  const Bits a = bitsOf(rw, x, depth), b = bitsOf(rw, y, depth);
  const std::uint64_t most = std::uint64_t{a.canBeOne} * b.canBeOne + c.canBeOne;
  return bitsUpTo(most,
                  std::min(std::countr_zero(a.canBeOne) + std::countr_zero(b.canBeOne), std::countr_zero(c.canBeOne)));
}

/// A sum or difference has as many trailing zeros as all its sources have. A sum that cannot wrap has leading zeros.
Bits bitsOfSum(const Rewriter& rw, const Instr& instr, unsigned depth) {
  int zeros = 32;
  std::uint64_t most = 0;
  for (unsigned i = 3; i < 6; ++i) {
    Operand source = instr.op_(i).value();
    const bool isNegated = source.neg();
    source.flags &= static_cast<std::uint8_t>(~Operand::kNeg);
    const std::uint32_t canBeOne = bitsOf(rw, source, depth).canBeOne;
    if (canBeOne == ~0u) return {}; // for any other addends
    zeros = std::min(zeros, std::countr_zero(canBeOne));
    most += isNegated && canBeOne != 0 ? ~std::uint32_t{0} : canBeOne;
  }
  return bitsUpTo(most, zeros);
}

/// (Ra << n) + Rb, like a sum; if no bit can be one in both, the bits of both.
Bits bitsOfShiftedSum(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto count = static_cast<unsigned>(instr.op_(4).imm);
  const Bits a = bitsOf(rw, instr.op_(2).value(), depth), b = bitsOf(rw, instr.op_(3).value(), depth);
  if (count > 31) return {};
  const Bits shifted{a.canBeZero << count | ((1u << count) - 1), a.canBeOne << count};
  if ((shifted.canBeOne & b.canBeOne) == 0) return {shifted.canBeZero & b.canBeZero, shifted.canBeOne | b.canBeOne};
  const std::uint64_t most = (std::uint64_t{a.canBeOne} << count) + b.canBeOne;
  return bitsUpTo(most, std::min(std::countr_zero(shifted.canBeOne), std::countr_zero(b.canBeOne)));
}

Bits bitsOfLoad(const Instr& instr) {
  switch (isa::MemSize{isa::getMod(instr.op, instr.mods, Mod::Size)}) {
  case isa::MemSize::U8: return Bits::within(0xff);
  case isa::MemSize::U16: return Bits::within(0xffff);
  default: return {};
  }
}

Bits bitsOfConstantLoad(const Rewriter& rw, const Instr& instr) {
  const Operand bank = instr.op_(1).value(), index = instr.op_(2).value(), offset = instr.op_(3).value();
  const bool isWord = isa::modAs<isa::MemSize>(instr, Mod::Size) == isa::MemSize::B32;
  if (!isWord || !bank.isImm() || !offset.isImm() || !(index.isNone() || index.isZeroReg())) return bitsOfLoad(instr);
  return bitsUpTo(rangeOfConstant(rw.function(), static_cast<unsigned>(bank.imm), offset.imm).most, 0);
}

Bits bitsOf(const Rewriter& rw, const Operand& operand, unsigned depth) {
  if (!operand.isReg(File::R) || operand.isZeroReg()) {
    if (const auto value = rw.constantOf(operand)) return Bits::of(*value);
    if (isPlainConstant(operand)) return bitsUpTo(rangeOfConstant(rw.function(), operand.bank, operand.imm).most, 0);
    return {};
  }
  if (operand.width != 1 || operand.half != Operand::Half::None) return {};
  if (operand.neg() || operand.abs() || operand.inverted()) return {};
  const Definition def = rw.definition(operand);
  if (!def) return {};
  const Instr& instr = *def.instr;
  // Only these instructions hold constants.
  if (instr.op == Op::MOV || instr.op == Op::COPY)
    if (const auto value = rw.constantOf(operand)) return Bits::of(*value);
  if (depth == 0 || instr.op_(def.slot).width != 1) return {};
  switch (instr.op) {
  case Op::COPY: return bitsOf(rw, instr.op_(1).value(), depth - 1);
  case Op::S2R: return bitsUpTo(rangeOfSpecial(rw.function(), instr.op_(1).imm).most, 0);
  case Op::SEL: {
    const Bits a = bitsOf(rw, instr.op_(1).value(), depth - 1);
    if (a.areUnknown()) return {};
    const Bits b = bitsOf(rw, instr.op_(2).value(), depth - 1);
    return {a.canBeZero | b.canBeZero, a.canBeOne | b.canBeOne};
  }
  case Op::LOP3: return def.slot == 1 ? bitsOfLogic(rw, instr, depth - 1) : Bits{};
  case Op::PRMT: return bitsOfPermutation(rw, instr, depth - 1);
  case Op::SHF: return bitsOfShift(rw, instr, depth - 1);
  case Op::IADD3: return def.slot == 0 ? bitsOfSum(rw, instr, depth - 1) : Bits{};
  case Op::IMAD: return bitsOfProduct(rw, instr, depth - 1);
  case Op::LEA: return def.slot == 0 ? bitsOfShiftedSum(rw, instr, depth - 1) : Bits{};
  case Op::SGXT: return bitsOfField(rw, instr, depth - 1);
  case Op::LDC: return bitsOfConstantLoad(rw, instr);
  case Op::LDG:
  case Op::LD:
  case Op::LDS:
  case Op::LDL: return bitsOfLoad(instr);
  default: return {};
  }
}

bool isCopyable(const Rewriter& rw, const Operand& o) {
  return o.isReg(File::R) && !o.neg() && !o.abs() && !o.inverted() && o.half == Operand::Half::None && rw.isStable(o);
}

/// The number of low bytes that the word is the sign extension of.
unsigned signedBytesOf(const Rewriter& rw, const Operand& operand) {
  const Definition def = rw.definition(operand);
  if (!def) return 4;
  switch (def.instr->op) {
  case Op::LDC:
  case Op::LDG:
  case Op::LD:
  case Op::LDS:
  case Op::LDL:
    switch (isa::MemSize{isa::getMod(def.instr->op, def.instr->mods, Mod::Size)}) {
    case isa::MemSize::S8: return 1;
    case isa::MemSize::S16: return 2;
    default: return 4;
    }
  default: return 4;
  }
}

/// Drops a permutation if each byte of the result is the same byte of Ra (Rc may be the same register), or both are
/// known to be zero, or both are the sign of Ra.
bool dropPermutation(Rewriter& rw, Instr& instr) {
  const auto order = byteOrder(rw, instr);
  const Operand source = instr.op_(1).value(), other = instr.op_(3).value();
  if (!order || !isCopyable(rw, source)) return false;
  const Bits low = bitsOf(rw, source, kDepth), high = bitsOf(rw, other, kDepth);
  const unsigned signedBytes = signedBytesOf(rw, source);
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned pick = *order >> (4 * i) & 15;
    const bool isInPlace = pick == i || (pick == i + 4 && other == source);
    const bool isZero = (low.canBeOne >> (8 * i) & 0xff) == 0 && permutedByte(low, high, *order, i).canBeOne == 0;
    const bool isSign =
        i >= signedBytes && (pick & 8) != 0 && (pick & 3) + 1 >= signedBytes && ((pick & 4) == 0 || other == source);
    if (!isInPlace && !isZero && !isSign) return false;
  }
  rw.becomeCopy(instr, source);
  return true;
}

/// Drops logic if its table returns one of the inputs for all possible bits.
bool dropLogic(Rewriter& rw, Instr& instr) {
  if (!isUnused(instr.op_(0).value())) return false;
  const auto lut = static_cast<unsigned>(instr.op_(5).imm);
  const std::array<Bits, 3> inputs = logicInputs(rw, instr, kDepth);
  std::array<bool, 3> isInput{true, true, true};
  for (unsigned row = 0; row < 8; ++row) {
    if (bitsOfRow(inputs, row) == 0) continue;
    for (unsigned i = 0; i < 3; ++i)
      isInput[i] = isInput[i] && (lut >> row & 1) == (row >> (2 - i) & 1);
  }
  for (unsigned i = 0; i < 3; ++i) {
    const Operand source = instr.op_(2 + i).value();
    if (!isInput[i] || !isCopyable(rw, source)) continue;
    rw.becomeCopy(instr, source, 1);
    return true;
  }
  return false;
}

/// A shift result is zero if all possible bits are shifted out. If the sign bit is zero, a signed shift becomes
/// unsigned.
bool dropShift(Rewriter& rw, Instr& instr) {
  const Bits bits = bitsOfShift(rw, instr, kDepth);
  if (bits.canBeOne == 0) {
    rw.becomeCopy(instr, Operand::rz());
    return true;
  }
  if (bits.known(31) != false || isa::modAs<isa::ShiftType>(instr, Mod::ShiftType) != isa::ShiftType::S32) return false;
  rw.rewrite(instr, Op::SHF, {instr.op_(0).value(), instr.op_(1).value(), instr.op_(2).value(), instr.op_(3).value()},
             {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::U32}, {Mod::Hi, 1}});
  return true;
}

/// Drops the absolute value of a number that is not negative, or of an absolute value.
bool dropAbsolute(Rewriter& rw, Instr& instr) {
  const Operand source = instr.op_(1).value();
  if (!isCopyable(rw, source)) return false;
  if (!rw.producer(source, Op::IABS) && bitsOf(rw, source, kDepth).known(31) != false) return false;
  rw.becomeCopy(instr, source);
  return true;
}

/// Drops a field that is the whole word, or a zero-extended one with all bits that can be one.
bool dropField(Rewriter& rw, Instr& instr) {
  const auto length = rw.constantOf(instr.op_(2).value());
  const Operand source = instr.op_(1).value();
  if (!length || !isCopyable(rw, source) || isa::getMod(instr.op, instr.mods, Mod::Wrap) != 0) return false;
  const bool isSigned = isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::S32;
  const bool isInside = *length < 32 && !isSigned && bitsOf(rw, source, kDepth).canBeOne >> *length == 0;
  if (*length < 32 && !isInside) return false;
  rw.becomeCopy(instr, source);
  return true;
}

/// An f32 conversion of a zero-extended narrow unsigned integer becomes I2FP, which converts all 32 bits at four times
/// the rate.
bool convertWholeWord(Rewriter& rw, Instr& instr) {
  if (!rw.function().module().target().has(isa::Capability::AluIntegerToFloat)) return false;
  const Operand source = instr.op_(1).value();
  const auto rounding = isa::modAs<isa::Rnd>(instr, Mod::Rnd);
  const auto format = isa::modAs<isa::IntFmt>(instr, Mod::SrcFmt);
  if (isa::modAs<isa::Fmt>(instr, Mod::DstFmt) != isa::Fmt::F32 || !isCopyable(rw, source)) return false;
  if ((rounding != isa::Rnd::RN && rounding != isa::Rnd::RZ) || isa::getMod(instr.op, instr.mods, Mod::Byte) != 0)
    return false;
  unsigned width = 0; // for unsigned values
  switch (format) {
  case isa::IntFmt::U8: width = 8; break;
  case isa::IntFmt::S8: width = 7; break;
  case isa::IntFmt::U16: width = 16; break;
  case isa::IntFmt::S16: width = 15; break;
  default: return false;
  }
  if (bitsOf(rw, source, kDepth).canBeOne >> width != 0) return false;
  rw.rewrite(instr, Op::I2FP, {instr.op_(0).value(), source},
             {{Mod::Type, isa::IntType::U32}, {Mod::Rnd, static_cast<std::uint8_t>(rounding)}});
  return true;
}

} // namespace

std::uint32_t bitsOfRow(const std::array<Bits, 3>& inputs, unsigned row) {
  std::uint32_t bits = ~0u;
  for (unsigned i = 0; i < 3; ++i)
    bits &= row >> (2 - i) & 1 ? inputs[i].canBeOne : inputs[i].canBeZero;
  return bits;
}

std::optional<unsigned> byteOrder(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::PRMT || isa::getMod(instr.op, instr.mods, Mod::PrmtMode) != 0) return std::nullopt;
  const auto order = rw.constantOf(instr.op_(2).value());
  return order ? std::optional(*order & 0xffff) : std::nullopt;
}

std::optional<WordShift> wordShiftOf(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::SHF) return std::nullopt;
  const auto type = isa::modAs<isa::ShiftType>(instr, Mod::ShiftType);
  if (type != isa::ShiftType::U32 && type != isa::ShiftType::S32) return std::nullopt;
  const bool isLeft = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L;
  const auto count = rw.constantOf(instr.op_(2).value());
  if (isLeft == (isa::getMod(instr.op, instr.mods, Mod::Hi) != 0) || !count || *count > 31) return std::nullopt;
  return WordShift{isLeft ? 1u : 3u, *count, isLeft, type == isa::ShiftType::S32};
}

Bits knownBits(const Rewriter& rw, const Operand& operand) {
  return bitsOf(rw, operand, kDepth);
}

Bits knownBitsOfLogic(const Rewriter& rw, const Instr& instr) {
  return bitsOfLogic(rw, instr, kDepth);
}

bool dropMasks(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::PRMT) return dropPermutation(rw, instr);
  if (instr.op == Op::SHF) return dropShift(rw, instr);
  if (instr.op == Op::IABS) return dropAbsolute(rw, instr);
  if (instr.op == Op::SGXT) return dropField(rw, instr);
  if (instr.op == Op::I2F) return convertWholeWord(rw, instr);
  return instr.op == Op::LOP3 && dropLogic(rw, instr);
}

std::optional<Operand> loadedConstant(const Instr& load) {
  if (load.op != Op::LDC) return std::nullopt;
  const ori::Operand &bank = load.op_(1), &index = load.op_(2), &offset = load.op_(3);
  const auto size = isa::modAs<isa::MemSize>(load, Mod::Size);
  if (size != isa::MemSize::B32 && size != isa::MemSize::B64) return std::nullopt;
  if (!bank.isImm() || !offset.isImm() || !(index.isNone() || index.isZeroReg()) || offset.imm % 4 != 0)
    return std::nullopt;
  return Operand::constant(static_cast<unsigned>(bank.imm), offset.imm);
}

} // namespace orias::phases
