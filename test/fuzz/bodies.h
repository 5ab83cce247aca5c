#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace orias::fuzz {

/// Accepts any bytes. Expected errors of the code under test (diagnostics, orias::Error) are ignored. Other exceptions
/// and violated invariants leave the body as an exception.
using Body = void (*)(std::span<const std::uint8_t> input);

/// The PTX parser, then the checks.
void fuzzPtx(std::span<const std::uint8_t> input);
/// The parser of Ori text, then the verifier. Parsed modules must print to text that parses and prints the same.
void fuzzOri(std::span<const std::uint8_t> input);
/// The cubin reader, then the listing and the hazard checker on the code of readable cubins.
void fuzzCubin(std::span<const std::uint8_t> input);
/// Words of 16 bytes each: decoded instructions must encode to the same word, and their text must parse to it.
void fuzzWords(std::span<const std::uint8_t> input);

struct NamedBody {
  std::string_view name; ///< also the folder of its regression inputs
  Body run;
};
inline constexpr NamedBody kBodies[] = {{"ptx", fuzzPtx}, {"ori", fuzzOri}, {"cubin", fuzzCubin}, {"words", fuzzWords}};

} // namespace orias::fuzz
