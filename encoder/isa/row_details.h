#pragma once

// What a row says beyond InstrDesc. Only the encoder and the decoder use it.

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
  std::array<ModLimit, 3> limits{};
};

const RowDetails& detailsOf(Op op);

} // namespace orias::isa
