#include "frontend/lexer.h"

#include "PtxParser.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

namespace {

using T = PtxParser;

enum CharClass : std::uint8_t { kLetter = 1, kDigit = 2, kHex = 4, kIdStart = 8, kSuffix = 16 };

constexpr std::array<std::uint8_t, 256> kClass = [] {
  std::array<std::uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c)
    table[c] |= kLetter | kSuffix;
  for (int c = 'A'; c <= 'Z'; ++c)
    table[c] |= kLetter | kSuffix;
  for (int c = '0'; c <= '9'; ++c)
    table[c] |= kDigit | kHex | kSuffix;
  for (int c = 'a'; c <= 'f'; ++c)
    table[c] |= kHex;
  for (int c = 'A'; c <= 'F'; ++c)
    table[c] |= kHex;
  table['_'] |= kIdStart | kSuffix;
  table['$'] |= kIdStart | kSuffix;
  table['%'] |= kIdStart;
  return table;
}();

bool is(char c, unsigned classes) {
  return (kClass[static_cast<unsigned char>(c)] & classes) != 0;
}

constexpr std::size_t hashWord(std::string_view word) {
  std::size_t h = word.size();
  for (char c : word)
    h = h * 31 + static_cast<unsigned char>(c);
  return h;
}

struct Keyword {
  std::string_view text;
  std::uint32_t type = 0;
};

constexpr Keyword kDirectives[] = {
    {".version", T::VERSION},
    {".target", T::TARGET},
    {".address_size", T::ADDRESS_SIZE},
    {".file", T::FILE},
    {".loc", T::LOC},
    {".section", T::SECTION},
    {".pragma", T::PRAGMA},
    {".alias", T::ALIAS},
    {".entry", T::ENTRY},
    {".func", T::FUNC},
    {".callprototype", T::CALLPROTOTYPE},
    {".calltargets", T::CALLTARGETS},
    {".branchtargets", T::BRANCHTARGETS},
    {".maxntid", T::MAXNTID},
    {".reqntid", T::REQNTID},
    {".minnctapersm", T::MINNCTAPERSM},
    {".maxnctapersm", T::MAXNCTAPERSM},
    {".maxnreg", T::MAXNREG},
    {".reqnctapercluster", T::REQNCTAPERCLUSTER},
    {".explicitcluster", T::EXPLICITCLUSTER},
    {".maxclusterrank", T::MAXCLUSTERRANK},
    {".blocksareclusters", T::BLOCKSARECLUSTERS},
    {".noreturn", T::NORETURN},
    {".abi_preserve", T::ABI_PRESERVE},
    {".abi_preserve_control", T::ABI_PRESERVE_CONTROL},
    {".extern", T::EXTERN},
    {".visible", T::VISIBLE},
    {".weak", T::WEAK},
    {".common", T::COMMON},
    {".reg", T::REG},
    {".sreg", T::SREG},
    {".const", T::CONST},
    {".global", T::GLOBAL},
    {".local", T::LOCAL},
    {".param", T::PARAM},
    {".shared", T::SHARED},
    {".tex", T::TEX},
    {".align", T::ALIGN},
    {".ptr", T::PTR},
    {".attribute", T::ATTRIBUTE},
    {".v2", T::VECTOR},
    {".v4", T::VECTOR},
    {".v8", T::VECTOR},
};
constexpr std::string_view kTypeWords[] = {".pred", ".b8",    ".b16", ".b32", ".b64",    ".b128",       ".u8",
                                           ".u16",  ".u32",   ".u64", ".s8",  ".s16",    ".s32",        ".s64",
                                           ".f16",  ".f16x2", ".f32", ".f64", ".texref", ".samplerref", ".surfref"};

/// Directives and types, open addressing.
constexpr std::array<Keyword, 256> kKeywords = [] {
  std::array<Keyword, 256> table{};
  const auto add = [&](Keyword keyword) {
    std::size_t slot = hashWord(keyword.text) % table.size();
    while (!table[slot].text.empty())
      slot = (slot + 1) % table.size();
    table[slot] = keyword;
  };
  for (const Keyword& keyword : kDirectives)
    add(keyword);
  for (const std::string_view word : kTypeWords)
    add({word, T::TYPE});
  return table;
}();

constexpr std::string_view kCastTypes[] = {"s64", "u64", "f64", "s32", "u32", "f32"};

} // namespace

LexToken Lexer::next() {
  skipBlank();
  LexToken token;
  token.offset = pos_;
  token.loc = {line_, pos_ - lineStart_ + 1};
  if (!has(pos_)) return token;
  token.type = scan(token.length);
  if (token.type == T::STRING || token.type == T::UNTERMINATED_STRING || token.type == T::UNTERMINATED_COMMENT ||
      token.type == T::UNKNOWN) {
    for (std::uint32_t i = pos_; i < pos_ + token.length; ++i) {
      if (text_[i] != '\n') continue;
      ++line_;
      lineStart_ = i + 1;
    }
  }
  pos_ += token.length;
  return token;
}

/// Skips white space, comments and line markers.
void Lexer::skipBlank() {
  const auto size = static_cast<std::uint32_t>(text_.size());
  const char* text = text_.data();
  std::uint32_t p = pos_;
  while (p < size) {
    const char c = text[p];
    if (c == '\n') {
      ++line_;
      lineStart_ = ++p;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      ++p;
    } else if (c == '/' && p + 1 < size && text[p + 1] == '/') {
      p = static_cast<std::uint32_t>(std::min<std::size_t>(text_.find('\n', p), size));
    } else if (c == '/' && p + 1 < size && text[p + 1] == '*') {
      const std::size_t end = text_.find("*/", p + 2);
      if (end == std::string_view::npos) break; // an UNTERMINATED_COMMENT
      for (; p < end + 2; ++p) {
        if (text[p] == '\n') {
          ++line_;
          lineStart_ = p + 1;
        }
      }
    } else if (c == '#') {
      std::uint32_t digit = p + 1;
      while (digit < size && (text[digit] == ' ' || text[digit] == '\t'))
        ++digit;
      if (digit == size || !is(text[digit], kDigit)) break;
      while (p < size && text[p] != '\n')
        ++p;
    } else {
      break;
    }
  }
  pos_ = p;
}

std::uint32_t Lexer::scan(std::uint32_t& length) const {
  const std::uint32_t p = pos_;
  const char c = text_[p];
  if (is(c, kLetter | kIdStart)) return scanWord(p, length);
  if (is(c, kDigit)) return scanNumber(p, length);
  const auto two = [&](char second, std::uint32_t yes, std::uint32_t no) {
    length = at(p + 1) == second && has(p + 1) ? 2 : 1;
    return length == 2 ? yes : no;
  };
  length = 1;
  switch (c) {
  case '.': return scanDot(p, length);
  case '(': return scanParenthesis(p, length);
  case ',': return T::COMMA;
  case ';': return T::SEMICOLON;
  case '[': return T::LBRACKET;
  case ']': return T::RBRACKET;
  case '{': return T::LBRACE;
  case '}': return T::RBRACE;
  case ')': return T::RPAREN;
  case '@': return T::AT;
  case ':': return T::COLON;
  case '?': return T::QUESTION;
  case '~': return T::TILDE;
  case '+': return T::PLUS;
  case '-': return T::MINUS;
  case '*': return T::STAR;
  case '^': return T::XOR;
  case '=': return two('=', T::EQ, T::ASSIGN);
  case '!': return two('=', T::NE, T::NOT);
  case '&': return two('&', T::LAND, T::AND);
  case '|': return two('|', T::LOR, T::OR);
  case '<': return at(p + 1) == '<' ? two('<', T::SHL, T::LT) : two('=', T::LE, T::LT);
  case '>': return at(p + 1) == '>' ? two('>', T::SHR, T::GT) : two('=', T::GE, T::GT);
  case '/':
    if (at(p + 1) != '*') return T::SLASH;
    length = static_cast<std::uint32_t>(text_.size()) - p;
    return T::UNTERMINATED_COMMENT;
  case '"': {
    const std::size_t end = text_.find('"', p + 1);
    length = static_cast<std::uint32_t>(end == std::string_view::npos ? text_.size() - p : end + 1 - p);
    return end == std::string_view::npos ? T::UNTERMINATED_STRING : T::STRING;
  }
  default: return T::UNKNOWN;
  }
}

/// The end of `SUFFIX` at `from`, or `from` if there is none.
std::uint32_t Lexer::suffixEnd(std::uint32_t from) const {
  std::uint32_t end = from;
  while (has(end) && is(text_[end], kSuffix))
    ++end;
  if (end == from) return from;
  while (at(end) == ':' && at(end + 1) == ':' && is(at(end + 2), kSuffix)) {
    end += 3;
    while (has(end) && is(text_[end], kSuffix))
      ++end;
  }
  return end;
}

std::uint32_t Lexer::scanWord(std::uint32_t p, std::uint32_t& length) const {
  std::uint32_t end = p + 1;
  while (has(end) && is(text_[end], kSuffix))
    ++end;
  if (end == p + 1 && is(text_[p], kIdStart)) {
    // `_`, `$`, `%` alone
    length = 1;
    return text_[p] == '_' ? T::SINK : text_[p] == '%' ? T::PERCENT : T::UNKNOWN;
  }
  const std::string_view word = text_.substr(p, end - p);
  std::uint32_t type = T::ID;
  if (word == "call") {
    type = T::CALL;
  } else if (word == "WARP_SZ") {
    type = T::WARP_SZ;
  }
  std::uint32_t dotted = end;
  while (at(dotted) == '.') {
    const std::uint32_t next = suffixEnd(dotted + 1);
    if (next == dotted + 1) break;
    dotted = next;
  }
  length = dotted - p;
  if (dotted == end) return type;
  return type == T::CALL ? T::CALL_DOTTED : T::DOTTED;
}

std::uint32_t Lexer::scanNumber(std::uint32_t p, std::uint32_t& length) const {
  const char second = at(p + 1);
  if (text_[p] == '0') {
    const auto hexDigits = [&] {
      std::uint32_t n = 0;
      while (has(p + 2 + n) && is(text_[p + 2 + n], kHex))
        ++n;
      return n;
    };
    if ((second == 'f' || second == 'F') && hexDigits() >= 8) {
      length = 10;
      return T::F32;
    }
    if ((second == 'd' || second == 'D') && hexDigits() >= 16) {
      length = 18;
      return T::F64;
    }
    if (second == 'x' || second == 'X') {
      if (std::uint32_t n = hexDigits()) {
        length = 2 + n + (at(p + 2 + n) == 'U' ? 1 : 0);
        return T::INT;
      }
    }
    if (second == 'b' || second == 'B') {
      std::uint32_t end = p + 2;
      while (at(end) == '0' || at(end) == '1')
        ++end;
      if (end > p + 2) {
        length = end - p + (at(end) == 'U' ? 1 : 0);
        return T::INT;
      }
    }
  }
  const auto skipDigits = [&](std::uint32_t from) {
    while (has(from) && is(text_[from], kDigit))
      ++from;
    return from;
  };
  const auto skipExponent = [&](std::uint32_t from) {
    if (at(from) != 'e' && at(from) != 'E') return from;
    const std::uint32_t digits = from + (at(from + 1) == '+' || at(from + 1) == '-' ? 2 : 1);
    const std::uint32_t end = skipDigits(digits);
    return end == digits ? from : end;
  };
  const std::uint32_t digits = skipDigits(p);
  const std::uint32_t fraction = at(digits) == '.' ? skipDigits(digits + 1) : digits;
  const std::uint32_t end = skipExponent(fraction);
  if (end > digits) {
    length = end - p;
    return T::FLOAT;
  }
  // A leading zero means octal: `08` is `0` and `8`.
  std::uint32_t last = digits;
  if (text_[p] == '0') {
    last = p + 1;
    while (at(last) >= '0' && at(last) <= '7')
      ++last;
  }
  if (at(last) == 'U') ++last;
  length = last - p;
  return T::INT;
}

std::uint32_t Lexer::scanDot(std::uint32_t p, std::uint32_t& length) const {
  const std::uint32_t end = suffixEnd(p + 1);
  if (is(at(p + 1), kDigit)) {
    // `.5` is a number unless a longer word, `.1d`, begins here.
    std::uint32_t number = p + 1;
    while (is(at(number), kDigit))
      ++number;
    if (at(number) == 'e' || at(number) == 'E') {
      std::uint32_t digits = number + (at(number + 1) == '+' || at(number + 1) == '-' ? 2 : 1);
      const std::uint32_t first = digits;
      while (is(at(digits), kDigit))
        ++digits;
      if (digits > first) number = digits;
    }
    if (number >= end) {
      length = number - p;
      return T::FLOAT;
    }
  }
  length = end - p;
  if (end == p + 1) return T::UNKNOWN;
  const std::string_view word = text_.substr(p, length);
  for (std::size_t slot = hashWord(word) % kKeywords.size(); !kKeywords[slot].text.empty();
       slot = (slot + 1) % kKeywords.size()) {
    if (kKeywords[slot].text == word) return kKeywords[slot].type;
  }
  return T::DOTWORD;
}

std::uint32_t Lexer::scanParenthesis(std::uint32_t p, std::uint32_t& length) const {
  const auto skipSpace = [&](std::uint32_t from) {
    while (at(from) == ' ' || at(from) == '\t')
      ++from;
    return from;
  };
  length = 1;
  const std::uint32_t dot = skipSpace(p + 1);
  if (at(dot) != '.') return T::LPAREN;
  const std::string_view type = text_.substr(dot + 1, 3);
  for (std::string_view known : kCastTypes) {
    if (type != known) continue;
    const std::uint32_t close = skipSpace(dot + 4);
    if (at(close) != ')') return T::LPAREN;
    length = close + 1 - p;
    return T::CAST;
  }
  return T::LPAREN;
}

} // namespace orias::ptx
