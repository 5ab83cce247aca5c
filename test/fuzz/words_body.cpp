#include "encoder/isa/codec.h"
#include "encoder/isa/parse.h"
#include "encoder/isa/print.h"
#include "support/check.h"
#include "test/fuzz/bodies.h"

#include <cstring>

namespace orias::fuzz {

namespace {

void roundTrip(const isa::Word& word) {
  const auto inst = isa::decode(word);
  if (!inst) return;
  const std::string text = isa::print(*inst);
  const isa::EncodeResult encoded = isa::encode(*inst);
  ORIAS_CHECK(encoded, text + ": " + encoded.error);
  ORIAS_CHECK(encoded.word == word, text);

  isa::ParseResult parsed = isa::parse(text);
  ORIAS_CHECK(parsed, text + ": " + parsed.error);
  // The text does not contain the scheduling fields. Also, two words may have the same text.
  ORIAS_CHECK(isa::print(parsed.inst) == text, text + " became " + isa::print(parsed.inst));
  parsed.inst.control = inst->control;
  ORIAS_CHECK(isa::encode(parsed.inst), text);
}

} // namespace

void fuzzWords(std::span<const std::uint8_t> input) {
  for (; input.size() >= sizeof(isa::Word); input = input.subspan(sizeof(isa::Word))) {
    isa::Word word;
    std::memcpy(&word, input.data(), sizeof word);
    roundTrip(word);
  }
}

} // namespace orias::fuzz
