#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace orias::fuzz {

/// Takes any bytes. What the code under test may answer (diagnostics, orias::Error) is taken; anything else that it
/// throws, and a promise that it breaks, leaves the body as an exception.
using Body = void (*)(std::span<const std::uint8_t> input);

/// The PTX parser, then the checks.
void fuzzPtx(std::span<const std::uint8_t> input);
/// The parser of Ori text, then the verifier; what parses, prints to text that parses and prints the same.
void fuzzOri(std::span<const std::uint8_t> input);
/// The cubin reader; then listing and hazard checker on the code of what could be read.
void fuzzCubin(std::span<const std::uint8_t> input);
/// Words, 16 bytes each: what decodes, encodes to the same word; what prints, parses to that word again.
void fuzzWords(std::span<const std::uint8_t> input);

struct NamedBody {
  std::string_view name; ///< also the folder of its regression inputs
  Body run;
};
inline constexpr NamedBody kBodies[] = {{"ptx", fuzzPtx}, {"ori", fuzzOri}, {"cubin", fuzzCubin}, {"words", fuzzWords}};

} // namespace orias::fuzz
