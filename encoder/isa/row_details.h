#pragma once

// What a row says beyond InstrDesc. Only the encoder, the decoder and the printer use it.

#include "encoder/isa/desc.h"

namespace orias::isa {

/// The values of a modifier that some of the row's chips have; they lack the others.
struct ModLimit {
  Mod kind = Mod::None;
  std::uint16_t sms = 0;
  std::uint32_t values = 0; ///< bit i: value i
};

struct RowDetails {
  std::uint16_t limitedSms = 0; ///< the chips with a limit
  bool isCoded = false;         ///< whether there are codes
  std::array<ModLimit, 3> limits{};
  /// By modifier: four bits for each value, the number that encodes it; 0: the values encode themselves.
  std::array<std::uint64_t, kMaxMods> codes{};

  constexpr bool isEmpty() const { return limitedSms == 0 && !isCoded; }
  /// The contents of the field of modifier `i`, which is described by `m`.
  unsigned encoded(const ModDesc& m, unsigned i, unsigned value) const {
    return !isCoded || codes[i] == 0 ? value - m.bias : static_cast<unsigned>(codes[i] >> 4 * value & 15);
  }
  /// The inverse: an illegal value if there is none.
  unsigned decoded(const ModDesc& m, unsigned i, unsigned field) const {
    if (!isCoded || codes[i] == 0) return field + m.bias;
    unsigned value = 0;
    while (value < 16 && (!m.isLegal(value) || encoded(m, i, value) != field))
      ++value;
    return value;
  }
};

/// Those of the row with the encoding of `format`.
const RowDetails& detailsOf(Op op, WordFormat format);

} // namespace orias::isa
