#pragma once

#include "phases/optimize/rewriter.h"

#include <array>
#include <cstdint>
#include <optional>

namespace orias::phases {

/// Whether this is one word of file R without modifiers.
inline bool isPlainR(const isa::Operand& o) {
  return o.isReg(isa::File::R) && o.width == 1 && !o.neg() && !o.abs() && !o.inverted() &&
         o.half == isa::Operand::Half::None;
}

/// For each bit of a 32-bit value: whether it can be 0, whether it can be 1.
struct Bits {
  std::uint32_t canBeZero = ~0u;
  std::uint32_t canBeOne = ~0u;

  static Bits of(std::uint32_t value) { return {~value, value}; }
  static Bits within(std::uint32_t mask) { return {~0u, mask}; }
  std::uint32_t mustBeOne() const { return ~canBeZero; }
  bool areUnknown() const { return (canBeZero & canBeOne) == ~0u; }
  std::optional<bool> known(unsigned bit) const {
    const bool zero = canBeZero >> bit & 1, one = canBeOne >> bit & 1;
    if (zero == one) return std::nullopt;
    return one;
  }
};

/// The bits at which the three inputs of a LOP3 can have the values of row `row` of its table. known_bits.cpp
std::uint32_t bitsOfRow(const std::array<Bits, 3>& inputs, unsigned row);

/// The selector of a PRMT as byte numbers, if it is known: four bits for each byte. known_bits.cpp
std::optional<unsigned> byteOrder(const Rewriter& rw, const ori::Instr& instr);

/// A shift of one word by a known count from 0 to 31: a left shift of Ra, or a right shift (.HI) of Rc.
struct WordShift {
  unsigned slot; ///< of the word
  unsigned count;
  bool isLeft;
  bool isSigned;
};
/// Nothing for shifts of pairs. known_bits.cpp
std::optional<WordShift> wordShiftOf(const Rewriter& rw, const ori::Instr& instr);

/// The known bits of a 32-bit operand. known_bits.cpp
Bits knownBits(const Rewriter& rw, const isa::Operand& operand);

/// The known bits that a LOP3 computes, whether it writes them or only tests them. known_bits.cpp
Bits knownBitsOfLogic(const Rewriter& rw, const ori::Instr& instr);

/// The range of an unsigned 32-bit value: `least` <= value <= `most`.
struct Range {
  std::uint32_t least = 0;
  std::uint32_t most = ~0u;
};

/// The range of a special register (SR index) for any launch. value_range.cpp
Range rangeOfSpecial(const ori::Function& function, std::int32_t number);
/// The range of a word of a constant bank for any launch. value_range.cpp
Range rangeOfConstant(const ori::Function& function, unsigned bank, std::int32_t offset);
/// Whether this is a word of a constant bank at a fixed offset, without modifiers.
inline bool isPlainConstant(const isa::Operand& operand) {
  return operand.isConst() && operand.width == 1 && operand.reg == isa::Operand::kNoReg && !operand.neg() &&
         !operand.abs() && !operand.inverted() && operand.half == isa::Operand::Half::None;
}

/// The range of a 32-bit operand: from its bits, from the launch bounds and from additions and multiplications that
/// cannot wrap. value_range.cpp
Range knownRange(const Rewriter& rw, const isa::Operand& operand);

/// A lower bound of an f32 operand; minus infinity if none is known. The operand may also be a NaN. float_range.cpp
float leastNumber(const Rewriter& rw, const isa::Operand& operand);

/// The constant that LDC of one or two words at a fixed address loads, as a one-word operand: the first of them.
/// Nothing for other sizes, or if a register is part of the address.
std::optional<isa::Operand> loadedConstant(const ori::Instr& load);

} // namespace orias::phases
