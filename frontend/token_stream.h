#pragma once

#include "frontend/lexer.h"

#include <antlr4-runtime.h>
#include <memory>
#include <vector>

// Part of the parser: only frontend's own .cpp files and the generated parser may include this header.

namespace orias::ptx {

/// A token in ANTLR's format.
class PtxToken final : public antlr4::Token {
 public:
  void set(const LexToken& token, std::size_t index, std::string_view source, bool firstOnLine) {
    token_ = token;
    source_ = source;
    index_ = index;
    firstOnLine_ = firstOnLine;
  }

  std::string_view text() const { return source_.substr(token_.offset, token_.length); }
  SourceLoc loc() const { return token_.loc; }
  std::uint32_t length() const { return token_.length; }
  bool firstOnLine() const { return firstOnLine_; }
  std::size_t type() const { return token_.type == LexToken::kEndOfFile ? antlr4::Token::EOF : token_.type; }

  std::string getText() const override { return std::string(text()); }
  std::size_t getType() const override { return type(); }
  std::size_t getLine() const override { return token_.loc.line; }
  std::size_t getCharPositionInLine() const override { return token_.loc.column - 1; }
  std::size_t getChannel() const override { return DEFAULT_CHANNEL; }
  std::size_t getTokenIndex() const override { return index_; }
  std::size_t getStartIndex() const override { return token_.offset; }
  std::size_t getStopIndex() const override { return token_.offset + token_.length - 1; }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  antlr4::CharStream* getInputStream() const override { return nullptr; }
  std::string toString() const override { return getText(); }

 private:
  LexToken token_;
  std::string_view source_;
  std::size_t index_ = 0;
  bool firstOnLine_ = false;
};

/// The tokens of a source text. Only a window is in memory: from the last `forget()` to the lookahead.
class TokenWindow final : public antlr4::TokenStream {
 public:
  explicit TokenWindow(std::string_view text) : text_(text), lexer_(text) {
    fill(1);
    current_ = &token(0);
  }

  /// Drops all tokens before the current one. The current one may move.
  void forget();

  /// The location where brackets are nested deeper than kMaxNesting, if any; the text ends there.
  SourceLoc tooDeep() const { return tooDeep_; }

  PtxToken* current() { return current_; }
  /// The token before the current one, unless it was forgotten.
  PtxToken* previous() { return pos_ == 0 ? nullptr : &token(pos_ - 1); }

  antlr4::Token* LT(ssize_t k) override;
  std::size_t LA(ssize_t k) override {
    if (k == 1) return current_->type();
    antlr4::Token* token = LT(k);
    return token == nullptr ? antlr4::Token::INVALID_TYPE : token->getType();
  }
  void consume() override {
    if (current_->type() == antlr4::Token::EOF) return;
    if (++pos_ == count_) fill(pos_ + 1);
    current_ = &token(pos_);
  }
  antlr4::Token* get(std::size_t index) const override;
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getText(const antlr4::misc::Interval& interval) override;
  std::string getText() override { return std::string(text_); }
  std::string getText(antlr4::RuleContext* ctx) override { return getText(ctx->getSourceInterval()); }
  std::string getText(antlr4::Token* start, antlr4::Token* stop) override;
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  std::size_t index() override { return base_ + pos_; }
  void seek(std::size_t index) override;
  std::size_t size() override { return base_ + count_; }
  std::string getSourceName() const override { return UNKNOWN_SOURCE_NAME; }

 private:
  static constexpr std::size_t kChunk = 64; ///< tokens

  PtxToken& token(std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  /// Reads tokens until the window has `count` of them or the text ends.
  void fill(std::size_t count);
  void countNesting(const LexToken& token);

  std::string_view text_;
  Lexer lexer_;
  std::vector<std::unique_ptr<PtxToken[]>> chunks_; ///< the window, in chunks, so that tokens do not move when it grows
  std::size_t count_ = 0;                           ///< tokens in the window
  std::size_t base_ = 0;                            ///< number of forgotten tokens
  std::size_t pos_ = 0;
  PtxToken* current_ = nullptr; ///< at pos_
  std::uint32_t lastLine_ = 0;
  unsigned nesting_ = 0;
  unsigned questions_ = 0;
  SourceLoc tooDeep_;
};

} // namespace orias::ptx
