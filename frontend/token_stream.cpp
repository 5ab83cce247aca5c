#include "frontend/token_stream.h"

#include "PtxParser.h"
#include "frontend/limits.h"
#include "support/check.h"

namespace orias::ptx {

void TokenWindow::fill(std::size_t count) {
  while (window_.size() < count) {
    if (!window_.empty() && window_.back().type() == antlr4::Token::EOF) return;
    LexToken token = lexer_.next();
    countNesting(token);
    if (tooDeep_) token = {LexToken::kEndOfFile, token.offset, 0, token.loc};
    window_.emplace_back(token, base_ + window_.size(), text_, token.loc.line != lastLine_);
    lastLine_ = token.loc.line;
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
  if (pos_ + 1 == window_.size()) {
    // The usual case: no lookahead beyond the current token. Its slot is reused, nothing is allocated.
    const PtxToken last = window_.back();
    base_ += pos_;
    window_.resize(1);
    window_.front() = last;
  } else {
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(pos_));
    base_ += pos_;
  }
  pos_ = 0;
}

antlr4::Token* TokenWindow::LT(ssize_t k) {
  if (k == 1) return &window_[pos_];
  if (k == 0) return nullptr;
  if (k < 0) return static_cast<std::size_t>(-k) > pos_ ? nullptr : &window_[pos_ - static_cast<std::size_t>(-k)];
  const std::size_t wanted = pos_ + static_cast<std::size_t>(k);
  fill(wanted);
  return wanted <= window_.size() ? &window_[wanted - 1] : &window_.back();
}

antlr4::Token* TokenWindow::get(std::size_t index) const {
  ORIAS_CHECK(index >= base_ && index - base_ < window_.size());
  return const_cast<PtxToken*>(&window_[index - base_]);
}

void TokenWindow::seek(std::size_t index) {
  ORIAS_CHECK(index >= base_);
  fill(index - base_ + 1);
  pos_ = std::min(index - base_, window_.size() - 1);
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
