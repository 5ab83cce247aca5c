#pragma once

#include "support/diagnostics.h"

#include <cstdint>
#include <string_view>

namespace orias::ptx {

/// A token of the source text; `type` is one of the token types of grammar/PtxLexer.g4, or kEndOfFile.
struct LexToken {
  static constexpr std::uint32_t kEndOfFile = 0xffffffffu;
  std::uint32_t type = kEndOfFile;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  SourceLoc loc;
};

/// Produces the tokens that grammar/PtxLexer.g4 describes, about ten times as fast as the generated lexer and without
/// its start-up time. A unit test compares the two.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  LexToken next();

 private:
  void skipBlank();
  std::uint32_t scan(std::uint32_t& length) const;
  std::uint32_t scanNumber(std::uint32_t at, std::uint32_t& length) const;
  std::uint32_t scanWord(std::uint32_t at, std::uint32_t& length) const;
  std::uint32_t scanDot(std::uint32_t at, std::uint32_t& length) const;
  std::uint32_t scanParenthesis(std::uint32_t at, std::uint32_t& length) const;
  std::uint32_t suffixEnd(std::uint32_t at) const;
  char at(std::uint32_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool has(std::uint32_t i) const { return i < text_.size(); }

  std::string_view text_;
  std::uint32_t pos_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t lineStart_ = 0;
};

} // namespace orias::ptx
