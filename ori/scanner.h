#pragma once

#include "support/diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orias::ori::text {

/// Thrown by Scanner::fail to abandon a statement; the parser reports it and resumes after the next ';'.
struct ParseError {
  std::size_t at;
  std::string message;
  std::string hint;
};

/// A position in a text, and functions that read tokens there. White space and `//` comments are skipped before each.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string message, std::string hint = {});
  [[noreturn]] void failAt(std::size_t at, std::string message, std::string hint = {});

  bool atEnd();
  /// The next character, 0 at the end.
  char peek();
  /// Consumes `token` if it comes next. A token that ends in a letter must not be followed by another letter.
  bool take(std::string_view token);
  void expect(std::string_view token);
  /// Letters, digits and underscores; empty if there are none.
  std::string_view word();
  /// The result of word(), without advancing.
  std::string_view peekWord();
  /// A mnemonic: letters, digits, underscores, dots, without white space.
  std::string_view mnemonic();
  /// Digits at the current position, without skipping white space; no value if there are none, or if they exceed 32
  /// bits.
  std::optional<std::uint32_t> digitsHere();
  /// Whether the character is at the current position.
  bool takeHere(char c);

  /// A decimal or 0x hexadecimal number, possibly negative, in the given range.
  std::int64_t integer(std::int64_t least, std::int64_t most);
  std::uint32_t unsigned32() { return static_cast<std::uint32_t>(integer(0, 0xffffffff)); }
  /// A string in quotes.
  std::string quoted();

  struct Number {
    enum class Kind : std::uint8_t { Integer, Float, Double } kind = Kind::Integer;
    std::int64_t integer = 0;
    double real = 0;
  };
  /// 5, -0x10, 1.5f, 1.5d.
  Number number();

  /// Advances past the next ';' or to the next '}', whichever comes first; for error recovery.
  void recover();
  std::size_t position() const { return at_; }
  void moveTo(std::size_t at) { at_ = at; }
  SourceLoc locate(std::size_t at) const;

 private:
  void skipSpace();
  std::string_view text_;
  std::size_t at_ = 0;
};

} // namespace orias::ori::text
