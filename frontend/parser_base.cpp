#include "frontend/parser_base.h"

#include "PtxParser.h"
#include "frontend/limits.h"

#include <fmt/format.h>
#include <utility>

namespace orias::ptx {

namespace {

/// The maximum number of expected tokens that a message lists.
constexpr std::size_t kMaxExpectedShown = 6;
constexpr std::size_t kLongestShownToken = 40;

bool isSyncRule(std::size_t rule) {
  return rule == PtxParser::RuleStatement || rule == PtxParser::RuleModuleItem || rule == PtxParser::RuleModule ||
         rule == PtxParser::RuleSectionItem;
}

/// Tokens that occur only at module scope: in a body they indicate a missing closing brace.
bool isModuleOnly(std::size_t type) {
  switch (type) {
  case PtxParser::ENTRY:
  case PtxParser::FUNC:
  case PtxParser::VISIBLE:
  case PtxParser::EXTERN:
  case PtxParser::WEAK:
  case PtxParser::COMMON:
  case PtxParser::SECTION:
  case PtxParser::ALIAS: return true;
  default: return false;
  }
}

bool startsModuleItem(std::size_t type) {
  switch (type) {
  case PtxParser::GLOBAL:
  case PtxParser::CONST:
  case PtxParser::SHARED:
  case PtxParser::ALIGN:
  case PtxParser::ATTRIBUTE:
  case PtxParser::FILE:
  case PtxParser::PRAGMA: return true;
  default: return isModuleOnly(type) || type == antlr4::Token::EOF;
  }
}

/// Tokens that can follow in the list of the module's items, even incorrectly.
bool continuesModule(std::size_t type) {
  switch (type) {
  case PtxParser::REG:
  case PtxParser::SREG:
  case PtxParser::LOCAL:
  case PtxParser::PARAM:
  case PtxParser::TEX: return true;
  default: return startsModuleItem(type);
  }
}

/// Tokens that can only begin a statement, when first on a line.
bool startsStatementLine(std::size_t type) {
  switch (type) {
  case PtxParser::AT:
  case PtxParser::LOC:
  case PtxParser::REG:
  case PtxParser::PRAGMA:
  case PtxParser::DOTTED:
  case PtxParser::CALL_DOTTED: return true;
  default: return false;
  }
}

/// Tokens that can begin a statement, or end the enclosing block.
bool continuesBlock(std::size_t type) {
  switch (type) {
  case PtxParser::AT:
  case PtxParser::ID:
  case PtxParser::CALL:
  case PtxParser::DOTTED:
  case PtxParser::CALL_DOTTED:
  case PtxParser::LBRACE:
  case PtxParser::RBRACE:
  case PtxParser::REG:
  case PtxParser::SREG:
  case PtxParser::CONST:
  case PtxParser::GLOBAL:
  case PtxParser::LOCAL:
  case PtxParser::PARAM:
  case PtxParser::SHARED:
  case PtxParser::TEX:
  case PtxParser::ALIGN:
  case PtxParser::ATTRIBUTE:
  case PtxParser::LOC:
  case PtxParser::FILE:
  case PtxParser::PRAGMA: return true;
  default: return type == antlr4::Token::EOF;
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

/// Token names for messages.
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

/// "expected a, b or c", if the list is short enough.
std::string expectation(const antlr4::misc::IntervalSet& expected, const antlr4::dfa::Vocabulary& vocabulary) {
  std::vector<std::string> names;
  for (ssize_t type : expected.toList()) {
    // `call` can be a name nearly everywhere, so it is not helpful.
    if (type == PtxParser::CALL || type == PtxParser::CALL_DOTTED) continue;
    names.push_back(tokenName(vocabulary, static_cast<std::size_t>(type)));
  }
  if (names.empty() || names.size() > kMaxExpectedShown) return {};
  std::string text = "expected ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

} // namespace

PtxParserBase::PtxParserBase(antlr4::TokenStream* input) : Parser(input), _input(static_cast<TokenWindow*>(input)) {
  setBuildParseTree(false);
}

void PtxParserBase::enterRule(antlr4::ParserRuleContext* context, std::size_t state, std::size_t ruleIndex) {
  setState(state);
  _ctx = context;
  if (isSyncRule(ruleIndex)) _input->forget();
  if (ruleIndex == PtxParser::RuleInitializerItem && knowsUsualCases_) takeInitializerNumbers();
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

void PtxParserBase::takeInitializerNumbers() {
  while (_input->LA(1) == PtxParser::INT && _input->LA(2) == PtxParser::COMMA) {
    if (events_ != nullptr) events_->initializerNumber(*_input->current());
    _input->consume();
    _input->consume();
  }
}

std::size_t PtxParserBase::usualBareStatement() const {
  constexpr std::size_t kNone = 0, kLabel = 1, kOperation = 2;
  if (!knowsUsualCases_) return kNone;
  const std::size_t first = _input->LA(1);
  if (first != PtxParser::ID && first != PtxParser::CALL) return kNone;
  switch (_input->LA(2)) {
  case PtxParser::COLON: return kLabel;
  case PtxParser::ID:
  case PtxParser::DOTWORD: return kOperation;
  case PtxParser::SEMICOLON:
  case PtxParser::LBRACKET: return first == PtxParser::ID ? kOperation : kNone;
  case PtxParser::LPAREN: return first == PtxParser::CALL ? kOperation : kNone;
  default: return kNone;
  }
}

void PtxErrorStrategy::reportError(PtxParserBase* parser, const antlr4::RecognitionException& e) {
  if (reported_) return;
  reported_ = true;
  auto* token = static_cast<PtxToken*>(e.getOffendingToken());
  if (token == nullptr) token = parser->_input->current();
  if (token->type() == antlr4::Token::EOF && std::exchange(atEnd_, true)) return;
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
    } else {
      hint = expectation(expected, parser->getVocabulary());
    }
  }
  report(parser, loc, std::move(message), std::move(hint));
}

void PtxErrorStrategy::report(PtxParserBase* parser, SourceLoc loc, std::string message, std::string hint) {
  if (parser->events_ != nullptr) parser->events_->syntaxError(loc, std::move(message), std::move(hint));
  ++errors_;
}

void PtxErrorStrategy::countErrors(PtxParserBase* parser) {
  if (errors_ < kMaxSyntaxErrors) return;
  parser->events_ = nullptr; // the enclosing rules end without complete input
  throw ParseAborted();
}

bool PtxErrorStrategy::isLoopRule(std::size_t rule) {
  return rule == PtxParser::RuleBody || rule == PtxParser::RuleBlock || rule == PtxParser::RuleModuleBody;
}

void PtxErrorStrategy::syncLoop(PtxParserBase* parser, std::size_t rule) {
  TokenWindow& window = parser->window();
  const bool inModule = rule == PtxParser::RuleModuleBody;
  const PtxToken token = *window.current();
  // The parser itself reports a missing closing brace of a body.
  if (inModule ? continuesModule(token.type()) : continuesBlock(token.type()) || isModuleOnly(token.type())) return;
  report(parser, token.loc(), fmt::format("syntax error at {}", shown(token)),
         inModule ? "expected a function, a variable or another directive" : "expected a statement or '}'");
  countErrors(parser);
  window.consume();
  // Skips the rest of the invalid item.
  for (unsigned depth = 0;; window.consume()) {
    const PtxToken& next = *window.current();
    const std::size_t type = next.type();
    if (type == antlr4::Token::EOF) return;
    if (type == PtxParser::LBRACE) ++depth;
    if (type == PtxParser::RBRACE) {
      if (depth == 0 && !inModule) return;
      if (depth > 0) --depth;
    }
    if (depth > 0) continue;
    if (type == PtxParser::SEMICOLON) {
      window.consume();
      return;
    }
    if (inModule ? startsModuleItem(type) : isModuleOnly(type)) return;
    if (!inModule && next.firstOnLine() && (startsStatementLine(type) || type == PtxParser::ID)) return;
  }
}

void PtxErrorStrategy::recover(PtxParserBase* parser, std::exception_ptr e) {
  const std::size_t rule = parser->_ctx->getRuleIndex();
  if (!isSyncRule(rule)) std::rethrow_exception(e);
  TokenWindow& window = parser->window();
  if (parser->events_ != nullptr) parser->events_->abandon(rule);
  reported_ = false;
  countErrors(parser);
  const bool inStatement = rule == PtxParser::RuleStatement;
  const bool inModule = rule == PtxParser::RuleModuleItem || rule == PtxParser::RuleModule;
  // Consumes at least one token; otherwise the parser would return here without progress.
  bool moved = window.current() != parser->_ctx->start;
  for (unsigned depth = 0;; window.consume(), moved = true) {
    const PtxToken& token = *window.current();
    const std::size_t type = token.type();
    if (type == antlr4::Token::EOF) return;
    if (type == PtxParser::LBRACE) {
      ++depth;
    } else if (type == PtxParser::RBRACE) {
      if (depth == 0 && !inModule) return;
      if (depth > 0 && --depth == 0 && inModule) {
        window.consume();
        return;
      }
    } else if (depth > 0) {
      continue;
    } else if (type == PtxParser::SEMICOLON && rule != PtxParser::RuleSectionItem) {
      window.consume();
      return;
    } else if (moved) {
      if (rule == PtxParser::RuleSectionItem && type == PtxParser::TYPE) return;
      if (inModule && startsModuleItem(type)) return;
      if (inStatement && (isModuleOnly(type) || (token.firstOnLine() && startsStatementLine(type)))) return;
    }
  }
}

antlr4::Token* PtxErrorStrategy::recoverInline(PtxParserBase* parser) {
  throw antlr4::InputMismatchException(parser);
}

} // namespace orias::ptx
