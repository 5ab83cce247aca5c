#pragma once

// Truth tables of three inputs, as in LOP3 and PLOP3: bit (a << 2 | b << 1 | c) is the result.

#include "ori/function.h"

#include <array>
#include <cstdint>
#include <optional>

namespace orias::phases {

/// The facts about an input: its truth value (of all its bits) if known, and the input that it is equal to (its own
/// index if none), possibly inverted.
struct LutInput {
  std::optional<bool> known;
  unsigned same = 0;
  bool inverted = false;
};

/// The table for inputs with these facts: rows that cannot occur get the value of the row that can.
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

/// Whether a table depends on its input `i`.
inline bool dependsOn(unsigned lut, unsigned i) {
  const unsigned bit = 4u >> i;
  for (unsigned row = 0; row < 8; ++row)
    if ((lut >> row & 1) != (lut >> (row ^ bit) & 1)) return true;
  return false;
}

/// Whether the result changes with input `i` for all values of the other inputs.
inline bool alwaysDependsOn(unsigned lut, unsigned i) {
  const unsigned bit = 4u >> i;
  for (unsigned row = 0; row < 8; ++row)
    if ((lut >> row & 1) == (lut >> (row ^ bit) & 1)) return false;
  return true;
}

/// The facts about three operands of an instruction from `first` on; `known` returns the value of one.
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

/// The table that returns input i.
inline constexpr std::array<std::uint8_t, 3> kInputLuts{0xf0, 0xcc, 0xaa};

} // namespace orias::phases
