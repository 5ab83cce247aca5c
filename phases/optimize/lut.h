#pragma once

// Truth tables of three inputs, as LOP3 and PLOP3 have them: bit (a << 2 | b << 1 | c) is the result.

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

/// The table of input i alone.
inline constexpr std::array<std::uint8_t, 3> kInputLuts{0xf0, 0xcc, 0xaa};

} // namespace orias::phases
