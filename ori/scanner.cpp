#include "ori/scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace orias::ori::text {

namespace {
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isWordChar(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
int hexValue(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
} // namespace

void Scanner::fail(std::string message, std::string hint) {
  skipSpace();
  failAt(at_, std::move(message), std::move(hint));
}

void Scanner::failAt(std::size_t at, std::string message, std::string hint) {
  throw ParseError{at, std::move(message), std::move(hint)};
}

void Scanner::skipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool Scanner::atEnd() {
  skipSpace();
  return at_ >= text_.size();
}

char Scanner::peek() {
  skipSpace();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::take(std::string_view token) {
  skipSpace();
  if (text_.substr(at_, token.size()) != token) return false;
  const std::size_t end = at_ + token.size();
  if (isWordChar(token.back()) && end < text_.size() && isWordChar(text_[end])) return false;
  at_ = end;
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!take(token)) fail(fmt::format("expected '{}'", token));
}

std::string_view Scanner::peekWord() {
  skipSpace();
  std::size_t end = at_;
  while (end < text_.size() && isWordChar(text_[end]))
    ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::word() {
  const std::string_view found = peekWord();
  at_ += found.size();
  return found;
}

std::string_view Scanner::mnemonic() {
  skipSpace();
  std::size_t end = at_;
  while (end < text_.size() && (isWordChar(text_[end]) || text_[end] == '.'))
    ++end;
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

std::optional<std::uint32_t> Scanner::digitsHere() {
  std::uint64_t value = 0;
  std::size_t end = at_;
  while (end < text_.size() && isDigit(text_[end]) && value <= 0xffffffff)
    value = value * 10 + static_cast<unsigned>(text_[end++] - '0');
  if (end == at_ || value > 0xffffffff) return std::nullopt;
  at_ = end;
  return static_cast<std::uint32_t>(value);
}

bool Scanner::takeHere(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

Scanner::Number Scanner::number() {
  skipSpace();
  const std::size_t start = at_;
  std::size_t at = at_;
  const bool isNegative = at < text_.size() && text_[at] == '-';
  if (isNegative) ++at;
  Number result;
  if (text_.substr(at, 2) == "0x") {
    at += 2;
    std::uint64_t value = 0;
    const std::size_t digits = at;
    while (at < text_.size() && hexValue(text_[at]) >= 0) {
      if (value >> 59) failAt(start, "this number is too large");
      value = value * 16 + static_cast<unsigned>(hexValue(text_[at++]));
    }
    if (at == digits) failAt(start, "expected a hexadecimal number");
    result.integer = static_cast<std::int64_t>(value);
  } else {
    const std::size_t digits = at;
    bool isReal = false;
    while (at < text_.size()) {
      const char c = text_[at];
      const bool isExponentSign = (c == '+' || c == '-') && at > digits && text_[at - 1] == 'e';
      // A dot without a following digit begins a suffix.
      const bool isPoint = c == '.' && at + 1 < text_.size() && isDigit(text_[at + 1]);
      if (!isDigit(c) && !isPoint && c != 'e' && !isExponentSign) break;
      isReal |= !isDigit(c);
      ++at;
    }
    if (at == digits || !isDigit(text_[digits])) failAt(start, "expected a number");
    const std::string literal(text_.substr(digits, at - digits));
    const char suffix = at < text_.size() ? text_[at] : '\0';
    if (suffix == 'f' || suffix == 'd') {
      ++at;
      char* end = nullptr;
      result.kind = suffix == 'f' ? Number::Kind::Float : Number::Kind::Double;
      result.real =
          suffix == 'f' ? static_cast<double>(std::strtof(literal.c_str(), &end)) : std::strtod(literal.c_str(), &end);
      if (*end != '\0') failAt(start, "this is not a floating-point number");
      if (isNegative) result.real = -result.real;
    } else if (isReal || literal.size() > 18) {
      failAt(start, isReal ? "a floating-point number ends in 'f' or 'd'" : "this number is too large");
    } else {
      result.integer = std::strtoll(literal.c_str(), nullptr, 10);
    }
  }
  if (at < text_.size() && isWordChar(text_[at])) failAt(start, "this is not a number");
  if (isNegative) result.integer = -result.integer;
  at_ = at;
  return result;
}

std::int64_t Scanner::integer(std::int64_t least, std::int64_t most) {
  skipSpace();
  const std::size_t start = at_;
  const Number value = number();
  if (value.kind != Number::Kind::Integer) failAt(start, "expected an integer");
  if (value.integer < least || value.integer > most)
    failAt(start, fmt::format("{} is out of range", value.integer), fmt::format("from {} to {}", least, most));
  return value.integer;
}

std::string Scanner::quoted() {
  skipSpace();
  const std::size_t start = at_;
  if (!takeHere('"')) fail("expected a string in quotes");
  std::string result;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\n') failAt(start, "this string does not end");
    if (c == '\\' && at_ < text_.size()) {
      c = text_[at_++];
      if (c == 'x') {
        const int high = at_ < text_.size() ? hexValue(text_[at_]) : -1;
        const int low = at_ + 1 < text_.size() ? hexValue(text_[at_ + 1]) : -1;
        if (high < 0 || low < 0) failAt(at_, "expected two hexadecimal digits");
        c = static_cast<char>(high * 16 + low);
        at_ += 2;
      }
    }
    result += c;
  }
  if (!takeHere('"')) failAt(start, "this string does not end");
  return result;
}

void Scanner::recover() {
  while (!atEnd()) {
    const char c = text_[at_];
    if (c == '}') return;
    ++at_;
    if (c == ';') return;
  }
}

SourceLoc Scanner::locate(std::size_t at) const {
  at = std::min(at, text_.size());
  const std::string_view before = text_.substr(0, at);
  const auto lines = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {lines + 1, static_cast<std::uint32_t>(at - lineStart) + 1};
}

} // namespace orias::ori::text
