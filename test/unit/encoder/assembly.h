#pragma once

// Writes small programs for tests as SASS text with their control fields.

#include "encoder/isa/codec.h"
#include "encoder/isa/parse.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace orias::test {

/// One line of a program; `wr`, `rd` are scoreboards, `wait` is the mask.
struct Line {
  std::string text;
  unsigned stall = 1;
  unsigned wr = 7, rd = 7, wait = 0;
};

inline std::vector<isa::Word> assemble(const std::vector<Line>& lines, isa::WordFormat format = isa::WordFormat::Sm90) {
  std::vector<isa::Word> words;
  for (const Line& line : lines) {
    isa::ParseOptions options;
    options.address = 16 * words.size();
    isa::ParseResult parsed = isa::parse(line.text, options);
    CAPTURE(line.text);
    REQUIRE_MESSAGE(parsed, parsed.error);
    parsed.inst.control = {static_cast<std::uint8_t>(line.stall), true, static_cast<std::uint8_t>(line.wr),
                           static_cast<std::uint8_t>(line.rd), static_cast<std::uint8_t>(line.wait)};
    const isa::EncodeResult encoded = isa::encode(parsed.inst, format);
    REQUIRE_MESSAGE(encoded, encoded.error);
    words.push_back(encoded.word);
  }
  return words;
}

} // namespace orias::test
