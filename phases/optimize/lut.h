#pragma once

// Truth tables of three inputs, as LOP3 and PLOP3 have them: bit (a << 2 | b << 1 | c) is the result.

#include "ori/function.h"

#include <array>
#include <cstdint>
#include <optional>

namespace orias::phases {

/// What is known of an input: its truth (of all its bits), and which input it is the same as (its own number if none),
/// with an inversion.
struct LutInput {
  std::optional<bool> known;
  unsigned same = 0;
  bool inverted = false;
};

/// The table where input i is what `inputs` say: rows that cannot happen get the value of the one that can.
inline std::uint8_t reduceLut(std::uint8_t lut, const std::array<LutInput, 3>& inputs) {
  std::uint8_t reduced = 0;
  for (unsigned row = 0; row < 8; ++row) {
    unsigned real = 0;
    for (unsigned i = 0; i < 3; ++i) {
      const bool bit = inputs[i].known.value_or(row >> (2 - inputs[i].same) & 1);
      real |= static_cast<unsigned>(bit != inputs[i].inverted) << (2 - i);
    }
    if (lut >> real & 1) reduced = static_cast<std::uint8_t>(reduced | 1u << row);
  }
  return reduced;
}

/// Whether a table looks at its input `i` at all.
inline bool dependsOn(unsigned lut, unsigned i) {
  const unsigned bit = 4u >> i;
  for (unsigned row = 0; row < 8; ++row)
    if ((lut >> row & 1) != (lut >> (row ^ bit) & 1)) return true;
  return false;
}

/// Whether another input `i` gives another result, whatever the other inputs are.
inline bool alwaysDependsOn(unsigned lut, unsigned i) {
  const unsigned bit = 4u >> i;
  for (unsigned row = 0; row < 8; ++row)
    if ((lut >> row & 1) == (lut >> (row ^ bit) & 1)) return false;
  return true;
}

/// What an instruction's three operands from `first` on are to its table; `known` gives the value of one.
template <typename Known> std::array<LutInput, 3> lutInputs(const ori::Instr& instr, unsigned first, Known&& known) {
  std::array<LutInput, 3> inputs;
  for (unsigned i = 0; i < 3; ++i) {
    isa::Operand o = instr.op_(first + i).value();
    inputs[i].known = known(o);
    inputs[i].inverted = !inputs[i].known && o.inverted();
    inputs[i].same = i;
    if (inputs[i].known) continue;
    if (o.inverted()) o = o.notted();
    for (unsigned k = 0; k < i; ++k) {
      isa::Operand earlier = instr.op_(first + k).value();
      if (earlier.inverted()) earlier = earlier.notted();
      if (earlier == o && !inputs[k].known) {
        inputs[i].same = inputs[k].same;
        break;
      }
    }
  }
  return inputs;
}

/// The table of input i alone.
inline constexpr std::array<std::uint8_t, 3> kInputLuts{0xf0, 0xcc, 0xaa};

} // namespace orias::phases
