#include "frontend/parser_base.h"

#include "PtxParser.h"
#include "frontend/limits.h"

#include <fmt/format.h>

namespace orias::ptx {

namespace {

/// Between how many possible tokens a message can still choose.
constexpr std::size_t kMaxExpectedShown = 6;
constexpr std::size_t kLongestShownToken = 40;

bool isSyncRule(std::size_t rule) {
  return rule == PtxParser::RuleStatement || rule == PtxParser::RuleModuleItem || rule == PtxParser::RuleModule ||
         rule == PtxParser::RuleSectionItem;
}

bool startsModuleItem(std::size_t type) {
  switch (type) {
  case PtxParser::ENTRY:
  case PtxParser::FUNC:
  case PtxParser::VISIBLE:
  case PtxParser::EXTERN:
  case PtxParser::WEAK:
  case PtxParser::COMMON:
  case PtxParser::GLOBAL:
  case PtxParser::CONST:
  case PtxParser::SHARED:
  case PtxParser::ALIAS:
  case PtxParser::FILE:
  case PtxParser::SECTION: return true;
  default: return false;
  }
}

/// What begins a statement and nothing else, at the beginning of a line.
bool startsStatement(std::size_t type) {
  switch (type) {
  case PtxParser::AT:
  case PtxParser::LOC:
  case PtxParser::REG:
  case PtxParser::PRAGMA:
  case PtxParser::CALL_DOTTED: return true;
  default: return false;
  }
}

std::string shown(const PtxToken& token) {
  if (token.type() == antlr4::Token::EOF) return "the end of the file";
  switch (token.type()) {
  case PtxParser::UNTERMINATED_COMMENT: return "a comment that does not end";
  case PtxParser::UNTERMINATED_STRING: return "a string that does not end";
  default: break;
  }
  std::string text;
  for (char c : token.text().substr(0, kLongestShownToken)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return fmt::format("'{}{}'", text, token.length() > kLongestShownToken ? "..." : "");
}

/// Token names for people.
std::string tokenName(const antlr4::dfa::Vocabulary& vocabulary, std::size_t type) {
  switch (type) {
  case PtxParser::ID: return "a name";
  case PtxParser::DOTTED: return "an opcode or a register component";
  case PtxParser::DOTWORD: return "a suffix";
  case PtxParser::INT: return "an integer";
  case PtxParser::FLOAT: return "a number";
  case PtxParser::STRING: return "a string";
  case PtxParser::TYPE: return "a type";
  default: break;
  }
  if (type == antlr4::Token::EOF) return "the end of the file";
  return vocabulary.getDisplayName(type);
}

} // namespace

PtxParserBase::PtxParserBase(antlr4::TokenStream* input) : Parser(input), _input(static_cast<TokenWindow*>(input)) {
  setBuildParseTree(false);
}

void PtxParserBase::enterRule(antlr4::ParserRuleContext* context, std::size_t state, std::size_t ruleIndex) {
  setState(state);
  _ctx = context;
  if (isSyncRule(ruleIndex)) _input->forget();
  context->start = _input->current();
  if (events_ != nullptr) events_->enterRule(ruleIndex, context);
}

void PtxParserBase::exitRule() {
  antlr4::ParserRuleContext* context = _ctx;
  setState(context->invokingState);
  _ctx = static_cast<antlr4::ParserRuleContext*>(context->parent);
  if (context->exception != nullptr || events_ == nullptr) return;
  try {
    events_->exitRule(context->getRuleIndex(), context);
  } catch (...) { // this runs in a destructor
    failure_ = std::current_exception();
    events_ = nullptr;
  }
}

void PtxErrorStrategy::reportError(PtxParserBase* parser, const antlr4::RecognitionException& e) {
  if (reported_) return;
  reported_ = true;
  auto* token = static_cast<PtxToken*>(e.getOffendingToken());
  if (token == nullptr) token = parser->_input->current();
  SourceLoc loc = token->loc();
  std::string message = fmt::format("syntax error at {}", shown(*token));
  std::string hint;
  if (parser->_input->tooDeep() && token->type() == antlr4::Token::EOF) {
    message = fmt::format("brackets are nested more than {} deep", kMaxNesting);
  } else {
    const antlr4::misc::IntervalSet expected = parser->getExpectedTokens();
    const PtxToken* previous = parser->_input->previous();
    if (expected.contains(static_cast<ssize_t>(PtxParser::SEMICOLON)) && token->firstOnLine() && previous != nullptr) {
      loc = previous->loc();
      loc.column += previous->length();
      message = fmt::format("missing ';' after {}", shown(*previous));
    } else if (expected.size() > 0 && expected.size() <= kMaxExpectedShown) {
      hint = "expected ";
      std::size_t i = 0;
      for (ssize_t type : expected.toList()) {
        if (i != 0) hint += i + 1 == expected.size() ? " or " : ", ";
        hint += tokenName(parser->getVocabulary(), static_cast<std::size_t>(type));
        ++i;
      }
    }
  }
  if (parser->events_ != nullptr) parser->events_->syntaxError(loc, std::move(message), std::move(hint));
  ++errors_;
}

void PtxErrorStrategy::recover(PtxParserBase* parser, std::exception_ptr e) {
  const std::size_t rule = parser->_ctx->getRuleIndex();
  if (!isSyncRule(rule)) std::rethrow_exception(e);
  TokenWindow& window = parser->window();
  if (parser->events_ != nullptr) parser->events_->abandon(rule);
  reported_ = false;
  if (errors_ >= kMaxSyntaxErrors) {
    parser->events_ = nullptr; // the enclosing rules end without having been read
    throw ParseAborted();
  }
  unsigned depth = 0;
  // At least one token is taken, or the parser would be here again at once. The token that was wrong is taken too,
  // unless the statement can well have ended before it.
  bool moved = window.current() != parser->_ctx->start;
  for (;; window.consume(), moved = true) {
    const PtxToken& token = *window.current();
    switch (token.type()) {
    case antlr4::Token::EOF: return;
    case PtxParser::LBRACE: ++depth; continue;
    case PtxParser::RBRACE:
      if (depth == 0 && rule != PtxParser::RuleModuleItem && rule != PtxParser::RuleModule) return;
      if (depth > 0 && --depth == 0 && rule == PtxParser::RuleModuleItem) {
        window.consume();
        return;
      }
      continue;
    case PtxParser::SEMICOLON:
      if (depth > 0 || rule == PtxParser::RuleSectionItem) continue;
      window.consume();
      return;
    default: break;
    }
    if (!moved || depth > 0) continue;
    if (rule == PtxParser::RuleSectionItem && token.type() == PtxParser::TYPE) return;
    if (rule == PtxParser::RuleModuleItem && startsModuleItem(token.type())) return;
    if (rule == PtxParser::RuleStatement && token.firstOnLine() &&
        (startsStatement(token.type()) || token.type() == PtxParser::DOTTED))
      return;
    if (rule == PtxParser::RuleStatement && (token.type() == PtxParser::ENTRY || token.type() == PtxParser::FUNC))
      return;
  }
}

antlr4::Token* PtxErrorStrategy::recoverInline(PtxParserBase* parser) {
  throw antlr4::InputMismatchException(parser);
}

} // namespace orias::ptx
