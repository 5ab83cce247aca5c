#include "tools/reduce/source.h"

#include "frontend/lexer.h"

#include <algorithm>

namespace orias::reduce {

namespace {

struct Token {
  std::string text;
  unsigned line = 0;
  bool spaced = false; ///< preceded by white space
};

std::vector<Token> tokensOf(std::string_view text) {
  std::vector<Token> tokens;
  ptx::Lexer lexer(text);
  std::size_t end = 0;
  for (ptx::LexToken token = lexer.next(); token.type != ptx::LexToken::kEndOfFile; token = lexer.next()) {
    tokens.push_back({std::string(text.substr(token.offset, token.length)), token.loc.line, token.offset > end});
    end = token.offset + token.length;
  }
  return tokens;
}

/// Splits the text into tokens from left to right.
class Cutter {
 public:
  Cutter(std::string_view text, std::vector<Piece>& pieces) : tokens_(tokensOf(text)), pieces_(pieces) {}

  void run() {
    while (at_ < tokens_.size())
      cut();
  }

 private:
  const std::string& word(std::size_t ahead = 0) const {
    static const std::string kNone;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : kNone;
  }

  void begin(PieceKind kind) { pieces_.push_back({kind, {}}); }
  void take() {
    const Token& token = tokens_[at_++];
    std::vector<std::string>& to = pieces_.back().tokens;
    to.push_back((token.spaced && !to.empty() ? " " : "") + token.text);
  }

  void cut() {
    constexpr std::string_view kLineDirectives[] = {".version", ".target", ".address_size", ".file", ".loc"};
    if (word() == "{" || word() == "}") {
      begin(word() == "{" ? PieceKind::Open : PieceKind::Close);
      return take();
    }
    if (std::find(std::begin(kLineDirectives), std::end(kLineDirectives), word()) != std::end(kLineDirectives))
      return line();
    if (word() == ".section") return section();
    if (word(1) == ":") {
      const bool isList = word(2).starts_with('.');
      begin(isList ? PieceKind::Declaration : PieceKind::Label);
      if (isList) return toSemicolon();
      take();
      return take();
    }
    if (word().starts_with('.')) return declaration();
    begin(PieceKind::Instruction);
    toSemicolon();
  }

  void line() {
    begin(PieceKind::Directive);
    for (const unsigned line = tokens_[at_].line; at_ < tokens_.size() && tokens_[at_].line == line;)
      take();
  }

  void section() {
    begin(PieceKind::Directive);
    while (at_ < tokens_.size() && word() != "}")
      take();
    if (at_ < tokens_.size()) take();
  }

  void declaration() {
    begin(PieceKind::Declaration);
    bool isFunction = false;
    for (int depth = 0; at_ < tokens_.size();) {
      isFunction |= word() == ".entry" || word() == ".func";
      if (isFunction && depth == 0 && word() == "{") { // the body
        pieces_.back().kind = PieceKind::FunctionHead;
        return;
      }
      depth += word() == "{" ? 1 : word() == "}" ? -1 : 0;
      const bool isLast = word() == ";" && depth == 0;
      take();
      if (isLast) return;
    }
  }

  void toSemicolon() {
    while (at_ < tokens_.size()) {
      const bool isLast = word() == ";";
      take();
      if (isLast) return;
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::vector<Piece>& pieces_;
};

} // namespace

std::string Piece::text() const {
  std::string text;
  for (const std::string& token : tokens)
    text += token;
  return text;
}

Source::Source(std::string_view text) {
  Cutter(text, pieces).run();
}

std::string Source::text() const {
  std::string text;
  for (const Piece& piece : pieces) {
    const bool isInside = piece.kind == PieceKind::Instruction || piece.kind == PieceKind::Declaration;
    text += (isInside ? "  " : "") + piece.text() + "\n";
  }
  return text;
}

std::size_t Source::partner(std::size_t brace) const {
  const bool forward = pieces[brace].kind == PieceKind::Open;
  int depth = 0;
  for (std::size_t i = brace; i < pieces.size(); forward ? ++i : --i) {
    if (pieces[i].kind == PieceKind::Open) ++depth;
    if (pieces[i].kind == PieceKind::Close) --depth;
    if (depth == 0) return i;
  }
  return pieces.size();
}

std::size_t Source::count(PieceKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.kind == kind; }));
}

} // namespace orias::reduce
