#include "frontend/token_stream.h"

#include "PtxParser.h"
#include "frontend/limits.h"
#include "support/check.h"

#include <algorithm>

namespace orias::ptx {

void TokenWindow::fill(std::size_t count) {
  while (count_ < count) {
    if (count_ != 0 && token(count_ - 1).type() == antlr4::Token::EOF) return;
    LexToken next = lexer_.next();
    countNesting(next);
    if (tooDeep_) next = {LexToken::kEndOfFile, next.offset, 0, next.loc};
    if (count_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<PtxToken[]>(kChunk));
    token(count_).set(next, base_ + count_, text_, next.loc.line != lastLine_);
    ++count_;
    lastLine_ = next.loc.line;
  }
}

/// The parser is recursive exactly where brackets nest and between `?` and `:`.
void TokenWindow::countNesting(const LexToken& token) {
  switch (token.type) {
  case PtxParser::LPAREN:
  case PtxParser::LBRACKET:
  case PtxParser::LBRACE: ++nesting_; break;
  case PtxParser::QUESTION: ++questions_; break;
  case PtxParser::RPAREN:
  case PtxParser::RBRACKET:
  case PtxParser::RBRACE:
    if (nesting_ > 0) --nesting_;
    return;
  case PtxParser::COLON:
    if (questions_ > 0) --questions_;
    return;
  case PtxParser::SEMICOLON: questions_ = 0; return;
  default: return;
  }
  if (nesting_ + questions_ > kMaxNesting && !tooDeep_) tooDeep_ = token.loc;
}

void TokenWindow::forget() {
  if (pos_ == 0) return;
  // Usually there is no lookahead beyond the current token.
  for (std::size_t i = pos_; i < count_; ++i)
    token(i - pos_) = token(i);
  count_ -= pos_;
  base_ += pos_;
  pos_ = 0;
  current_ = &token(0);
}

antlr4::Token* TokenWindow::LT(ssize_t k) {
  if (k == 1) return current_;
  if (k == 0) return nullptr;
  if (k < 0) return static_cast<std::size_t>(-k) > pos_ ? nullptr : &token(pos_ - static_cast<std::size_t>(-k));
  const std::size_t wanted = pos_ + static_cast<std::size_t>(k);
  fill(wanted);
  return &token(std::min(wanted, count_) - 1);
}

antlr4::Token* TokenWindow::get(std::size_t index) const {
  ORIAS_CHECK(index >= base_ && index - base_ < count_);
  return &token(index - base_);
}

void TokenWindow::seek(std::size_t index) {
  ORIAS_CHECK(index >= base_);
  fill(index - base_ + 1);
  pos_ = std::min(index - base_, count_ - 1);
  current_ = &token(pos_);
}

std::string TokenWindow::getText(const antlr4::misc::Interval& interval) {
  return getText(get(static_cast<std::size_t>(interval.a)), get(static_cast<std::size_t>(interval.b)));
}

std::string TokenWindow::getText(antlr4::Token* start, antlr4::Token* stop) {
  if (start == nullptr || stop == nullptr) return {};
  const std::size_t from = start->getStartIndex();
  const std::size_t end = std::min(stop->getStopIndex() + 1, text_.size());
  return from < end ? std::string(text_.substr(from, end - from)) : std::string();
}

} // namespace orias::ptx
