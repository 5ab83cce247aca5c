#pragma once

#include "encoder/isa/codec.h"
#include "encoder/isa/target.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <optional>

namespace orias::isa {

/// The instruction of an encoding on the chip; nullopt if the chip has no such encoding. Checks that it encodes to the
/// same bits.
inline std::optional<Inst> decodedOn(const Target& target, std::uint64_t lo, std::uint64_t hi) {
  const auto inst = decodeFor(target, Word{lo, hi});
  if (!inst) return std::nullopt;
  const EncodeResult again = encode(*inst, target);
  CHECK_MESSAGE(again, again.error);
  CHECK(again.word == Word{lo, hi});
  return *inst;
}

} // namespace orias::isa
