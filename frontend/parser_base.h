#pragma once

#include "frontend/token_stream.h"

#include <antlr4-runtime.h>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

// Part of the parser: only frontend's own .cpp files and the generated parser may include this header.

namespace orias::ptx {

/// The events of the parser. Rules are numbered as in the generated parser.
class ParseEvents {
 public:
  virtual ~ParseEvents() = default;
  virtual void enterRule(std::size_t rule, antlr4::ParserRuleContext* context) = 0;
  /// Not called for a rule that ended in an error.
  virtual void exitRule(std::size_t rule, antlr4::ParserRuleContext* context) = 0;
  /// A statement or an item of the module ended in an error; its parts read so far are discarded.
  virtual void abandon(std::size_t rule) = 0;
  virtual void syntaxError(SourceLoc loc, std::string message, std::string hint) = 0;
  /// An `initializerItem` that is only an integer; its rules are neither entered nor left. Tables of hundreds of
  /// thousands of numbers are common.
  virtual void initializerNumber(const PtxToken& token) = 0;
};

/// Thrown to end the parse of a file with too many errors.
struct ParseAborted {};

/// The contexts of the active rules, as a stack. ANTLR's own tracker keeps every context until the parse ends. Our
/// grammar never uses a finished rule, so a context is destroyed when its parent starts the next one.
class ContextStack {
 public:
  ContextStack() = default;
  ContextStack(const ContextStack&) = delete;
  ContextStack& operator=(const ContextStack&) = delete;
  ~ContextStack() { popTo(nullptr); }

  template <typename T> T* createInstance(antlr4::ParserRuleContext* parent, std::size_t state) {
    static_assert(sizeof(T) <= kSlotBytes && alignof(T) <= alignof(std::max_align_t));
    popTo(parent);
    T* context = new (slot(stack_.size())) T(parent, state);
    stack_.push_back(context);
    return context;
  }

  void reset() { popTo(nullptr); }

 private:
  static constexpr std::size_t kSlotBytes = 256;
  static constexpr std::size_t kSlotsPerChunk = 64;
  struct alignas(std::max_align_t) Slot {
    std::byte bytes[kSlotBytes];
  };

  void popTo(const antlr4::ParserRuleContext* parent) {
    while (!stack_.empty() && stack_.back() != parent) {
      stack_.back()->~ParserRuleContext();
      stack_.pop_back();
    }
  }
  void* slot(std::size_t i) {
    if (i / kSlotsPerChunk == chunks_.size()) chunks_.push_back(std::make_unique_for_overwrite<Slot[]>(kSlotsPerChunk));
    return &chunks_[i / kSlotsPerChunk][i % kSlotsPerChunk];
  }

  std::vector<antlr4::ParserRuleContext*> stack_;
  std::vector<std::unique_ptr<Slot[]>> chunks_;
};

class PtxParserBase;

/// Errors are reported where they occur. Then everything up to the end of the statement or of the item of the module is
/// skipped. Nothing is inserted or deleted to continue inside a statement.
class PtxErrorStrategy {
 public:
  /// Called before each iteration of a loop: skips tokens that cannot begin a statement or an item of the module.
  inline void sync(PtxParserBase* parser);
  void reportMatch(PtxParserBase*) {}
  void reportError(PtxParserBase* parser, const antlr4::RecognitionException& e);
  void recover(PtxParserBase* parser, std::exception_ptr e);
  antlr4::Token* recoverInline(PtxParserBase* parser);

 private:
  void syncLoop(PtxParserBase* parser, std::size_t rule);
  void report(PtxParserBase* parser, SourceLoc loc, std::string message, std::string hint);
  void countErrors(PtxParserBase* parser);
  static bool isLoopRule(std::size_t rule);

  bool reported_ = false; ///< the error that is being unwound
  bool atEnd_ = false;    ///< the end of the file was unexpected: reported once
  unsigned errors_ = 0;
};

/// The base of the generated parser. It deliberately hides some members of antlr4::Parser, which the generated code
/// calls unqualified. The code then runs without virtual calls, without a parse tree, and with the contexts on a stack.
class PtxParserBase : public antlr4::Parser {
 public:
  explicit PtxParserBase(antlr4::TokenStream* input);

  void setEvents(ParseEvents* events) { events_ = events; }
  TokenWindow& window() { return *_input; }
  /// The exception of an event handler, if there was one; parsing continued without events.
  std::exception_ptr failure() const { return failure_; }
  /// Uses ANTLR for all decisions that need more than one token, and enters all rules. Tests compare with that.
  void predictWithTables() { knowsUsualCases_ = false; }

  void enterRule(antlr4::ParserRuleContext* context, std::size_t state, std::size_t ruleIndex) final;
  void exitRule();
  /// Without a parse tree there is nothing to record.
  void enterOuterAlt(antlr4::ParserRuleContext*, std::size_t) final {}
  std::size_t getState() const final { return state_; }
  void setState(std::size_t state) { state_ = state; }
  antlr4::Token* match(std::size_t type) final {
    if (_input->current()->type() != type) return _errHandler->recoverInline(this);
    return consume();
  }
  antlr4::Token* consume() final {
    PtxToken* token = _input->current();
    _input->consume();
    return token;
  }

 protected:
  TokenWindow* _input;
  ContextStack _tracker;
  std::unique_ptr<PtxErrorStrategy> _errHandler = std::make_unique<PtxErrorStrategy>();

  /// Calls a function at the end of the scope. ANTLR's own version creates a std::function.
  template <typename F> [[nodiscard]] static auto finally(F function) {
    struct AtEnd {
      F function;
      ~AtEnd() { function(); }
    };
    return AtEnd{std::move(function)};
  }

  /// The alternative of `bareStatement` that begins here, or 0 if ANTLR's tables must decide or report an error.
  std::size_t usualBareStatement() const;

 private:
  friend class PtxErrorStrategy;
  /// Consumes integers followed by commas, and the commas; another item follows them.
  void takeInitializerNumbers();

  bool knowsUsualCases_ = true;
  std::size_t state_ = static_cast<std::size_t>(-1); ///< of the automaton; -1: none
  ParseEvents* events_ = nullptr;
  std::exception_ptr failure_;
};

void PtxErrorStrategy::sync(PtxParserBase* parser) {
  const std::size_t rule = parser->_ctx->getRuleIndex();
  if (isLoopRule(rule)) syncLoop(parser, rule);
}

} // namespace orias::ptx

// The generated parser is in the global namespace.
using PtxParserBase = orias::ptx::PtxParserBase;
