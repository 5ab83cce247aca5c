// Bits that are known before the program runs, and operations that change no bit that could be set: the zero extension
// of a truth value, the mask of a byte that has just been loaded.

#include "phases/optimize/known_bits.h"

#include "encoder/isa/desc.h"
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

/// How many definitions are looked through, one behind the other.
constexpr unsigned kDepth = 4;

Bits bitsOf(const Rewriter& rw, const Operand& operand, unsigned depth);

/// Sources 2, 3 and 4 of a LOP3.
std::array<Bits, 3> logicInputs(const Rewriter& rw, const Instr& instr, unsigned depth) {
  return {bitsOf(rw, instr.op_(2).value(), depth), bitsOf(rw, instr.op_(3).value(), depth),
          bitsOf(rw, instr.op_(4).value(), depth)};
}

/// Calls `visit(bit, row)` for each row of the truth table that can happen at each bit.
template <typename Visit> void forEachRow(const std::array<Bits, 3>& inputs, Visit&& visit) {
  for (unsigned bit = 0; bit < 32; ++bit)
    for (unsigned row = 0; row < 8; ++row) {
      bool canBe = true;
      for (unsigned i = 0; i < 3; ++i) {
        const std::uint32_t mask = row >> (2 - i) & 1 ? inputs[i].canBeOne : inputs[i].canBeZero;
        canBe = canBe && (mask >> bit & 1);
      }
      if (canBe) visit(bit, row);
    }
}

Bits bitsOfLogic(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto lut = static_cast<unsigned>(instr.op_(5).imm);
  Bits result{0, 0};
  forEachRow(logicInputs(rw, instr, depth),
             [&](unsigned bit, unsigned row) { (lut >> row & 1 ? result.canBeOne : result.canBeZero) |= 1u << bit; });
  return result;
}

/// The selector of a PRMT that picks bytes by number, when it is known.
std::optional<unsigned> byteOrder(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::PRMT || isa::getMod(instr.op, instr.mods, Mod::PrmtMode) != 0) return std::nullopt;
  return rw.constantOf(instr.op_(2).value());
}

/// Byte `i` of what a PRMT makes of its two sources.
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

/// Shifts of one word by a known count: to the left from Ra, to the right (.HI) from Rc.
Bits bitsOfShift(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto count = rw.constantOf(instr.op_(2).value());
  if (!count || *count > 31 || isa::modAs<isa::ShiftType>(instr, Mod::ShiftType) != isa::ShiftType::U32) return {};
  const bool isLeft = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L;
  const bool isHigh = isa::getMod(instr.op, instr.mods, Mod::Hi) != 0;
  if (isLeft && !isHigh) {
    const Bits from = bitsOf(rw, instr.op_(1).value(), depth);
    return {from.canBeZero << *count | ((1u << *count) - 1), from.canBeOne << *count};
  }
  if (!isLeft && isHigh) {
    const Bits from = bitsOf(rw, instr.op_(3).value(), depth);
    return {from.canBeZero >> *count | ~(~0u >> *count), from.canBeOne >> *count};
  }
  return {};
}

/// A product by a power of two is a shift.
Bits bitsOfProduct(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const auto factor = rw.constantOf(instr.op_(2).value());
  if (!factor || !std::has_single_bit(*factor) || !instr.op_(3).isZeroReg() || instr.op_(1).neg()) return {};
  const auto count = static_cast<unsigned>(std::countr_zero(*factor));
  const Bits from = bitsOf(rw, instr.op_(1).value(), depth);
  return {from.canBeZero << count | (*factor - 1), from.canBeOne << count};
}

/// A sum or difference ends in as many zeros as all its sources do.
Bits bitsOfSum(const Rewriter& rw, const Instr& instr, unsigned depth) {
  int zeros = 32;
  for (unsigned i = 3; i < 6; ++i) {
    Operand source = instr.op_(i).value();
    source.flags &= static_cast<std::uint8_t>(~Operand::kNeg);
    zeros = std::min(zeros, std::countr_zero(bitsOf(rw, source, depth).canBeOne));
  }
  return {~0u, zeros == 32 ? 0 : ~0u << zeros};
}

Bits bitsOfLoad(const Instr& instr) {
  switch (isa::MemSize{isa::getMod(instr.op, instr.mods, Mod::Size)}) {
  case isa::MemSize::U8: return Bits::within(0xff);
  case isa::MemSize::U16: return Bits::within(0xffff);
  default: return {};
  }
}

Bits bitsOf(const Rewriter& rw, const Operand& operand, unsigned depth) {
  if (const auto value = rw.constantOf(operand)) return Bits::of(*value);
  if (depth == 0 || operand.width != 1 || !operand.isReg(File::R)) return {};
  if (operand.neg() || operand.abs() || operand.inverted() || operand.half != Operand::Half::None) return {};
  const Definition def = rw.definition(operand);
  if (!def || def.instr->op_(def.slot).width != 1) return {};
  const Instr& instr = *def.instr;
  switch (instr.op) {
  case Op::COPY: return bitsOf(rw, instr.op_(1).value(), depth - 1);
  case Op::SEL: {
    const Bits a = bitsOf(rw, instr.op_(1).value(), depth - 1), b = bitsOf(rw, instr.op_(2).value(), depth - 1);
    return {a.canBeZero | b.canBeZero, a.canBeOne | b.canBeOne};
  }
  case Op::LOP3: return def.slot == 1 ? bitsOfLogic(rw, instr, depth - 1) : Bits{};
  case Op::PRMT: return bitsOfPermutation(rw, instr, depth - 1);
  case Op::SHF: return bitsOfShift(rw, instr, depth - 1);
  case Op::IADD3: return def.slot == 0 ? bitsOfSum(rw, instr, depth - 1) : Bits{};
  case Op::IMAD: return bitsOfProduct(rw, instr, depth - 1);
  case Op::LDC:
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

/// Each byte of the result is the same byte of Ra, or both are known to be zero.
bool dropPermutation(Rewriter& rw, Instr& instr) {
  const auto order = byteOrder(rw, instr);
  const Operand source = instr.op_(1).value();
  if (!order || !isCopyable(rw, source)) return false;
  const Bits low = bitsOf(rw, source, kDepth), high = bitsOf(rw, instr.op_(3).value(), kDepth);
  for (unsigned i = 0; i < 4; ++i) {
    const bool isInPlace = (*order >> (4 * i) & 15) == i;
    const bool isZero = (low.canBeOne >> (8 * i) & 0xff) == 0 && permutedByte(low, high, *order, i).canBeOne == 0;
    if (!isInPlace && !isZero) return false;
  }
  rw.becomeCopy(instr, source);
  return true;
}

/// The table gives one of its inputs for all bits that the inputs can have.
bool dropLogic(Rewriter& rw, Instr& instr) {
  if (!isUnused(instr.op_(0).value())) return false;
  const auto lut = static_cast<unsigned>(instr.op_(5).imm);
  std::array<bool, 3> isInput{true, true, true};
  forEachRow(logicInputs(rw, instr, kDepth), [&](unsigned, unsigned row) {
    for (unsigned i = 0; i < 3; ++i)
      isInput[i] = isInput[i] && (lut >> row & 1) == (row >> (2 - i) & 1);
  });
  for (unsigned i = 0; i < 3; ++i) {
    const Operand source = instr.op_(2 + i).value();
    if (!isInput[i] || !isCopyable(rw, source)) continue;
    rw.becomeCopy(instr, source, 1);
    return true;
  }
  return false;
}

} // namespace

Bits knownBits(const Rewriter& rw, const Operand& operand) {
  return bitsOf(rw, operand, kDepth);
}

Bits knownBitsOfLogic(const Rewriter& rw, const Instr& instr) {
  return bitsOfLogic(rw, instr, kDepth);
}

bool dropMasks(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::PRMT) return dropPermutation(rw, instr);
  return instr.op == Op::LOP3 && dropLogic(rw, instr);
}

} // namespace orias::phases
