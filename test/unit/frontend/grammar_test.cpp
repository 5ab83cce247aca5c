#include "PtxLexer.h"
#include "PtxParser.h"

#include "frontend/lexer.h"
#include "frontend/token_stream.h"

#include <BaseErrorListener.h>
#include <algorithm>
#include <atn/DecisionState.h>
#include <atn/LL1Analyzer.h>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// Compares the hand-written lexer with the generated one, and checks the grammar with ANTLR's search for ambiguities.

using namespace orias::ptx;

namespace {

/// Every construct of the language once.
constexpr std::string_view kEverything = R"(
.version 9.0
.target sm_90, texmode_independent
.address_size 64
# 1 "a.cu"
.file 1 "a.cu", 12, 34
.pragma "nounroll", "other";
.visible .global .align 16 .v4 .f32 v[2] = {{1.0, -2.0, 0f3F800000, 0d3ff0000000000000}, {.5, 1., 1e5, 2.E-3}};
.global .u64 addresses[] = { v, v+4, generic(v), generic(v)+8 };
.global .u8 bytes[3] = { 0xFF(v), 0xFF00(generic(v)+4), 0xFF0000(v+4) };
.align 8 .global .attribute(.managed, .unified(0xAB, 0xCD)) .b32 managed;
.global .samplerref s = { addr_mode_0 = wrap, force_unnormalized_coords = 1 };
.extern .shared .align 8 .b8 dynamic[];
.weak .const .s32 c = 1 + 2 * (3 - 4) / 5 % 6 << 7 >> 8 & ~9 | 10 ^ !11, d = 1 < 2 ? 3 : 4 >= 5 ? 6 : 7 == 8 && 9 != 10 || 11 <= 12;
.common .global .b32 common;
.extern .func (.param .b32 r) printf(.param .b64 a, .param .b64 b) .noreturn
.func .attribute(.unified(1, 2)) (.reg .b32 r) f(.reg .b32 x, .param .align 4 .b8 y[8], .param .b8 z[]) .abi_preserve 4 .abi_preserve_control 2
{ ret; }
.visible .func g();
.alias g, f;
.visible .entry k(.param .u64 .ptr .global .align 8 p, .param .texref t)
.maxntid 1, 2, 3 .minnctapersm 2 .maxnreg 64 .maxclusterrank 4 .reqnctapercluster 2, 1 .explicitcluster .pragma "x";
{
  .reg .pred %p<4>, q; .reg .b32 %r<10>; .reg .v2 .b32 w; .reg .b64 %rd<4>; .reg .b32 call, add;
  .local .align 8 .b8 stack[2][4*2]; .param .b32 arg; .reg .b32;
  .loc 1 2 3
  .loc 1 4 5, function_name $info+3, inlined_at 1 2 3
  .pragma "nounroll";
L: M: @!%p1 bra L; @ q call f;
  P: .callprototype (.param .b32 _) _ (.param .b32 _, .reg .b64 x) .noreturn .abi_preserve 4;
  C: .calltargets f, g;
  B: .branchtargets L, M;
  mov .u32 %r1, %tid .x; mov.u32 %r1, %tid.x; mov.b64 {%r1, _}, %rd1; mov.u32 %r1, -5 + (.s64) 3 * WARP_SZ - 0b101U + 0x1F + 017;
  setp.eq.and.u32 %p1|%p2, %r1, +1, !%p3; setp.ne.u32 _|q, %r1, ~0; setp.ne.u32 q|_, %r1, !0;
  vadd4.u32.u32.u32.add %r1, -%r2.b3210, %r3 .h10, (1 + 2) * 3;
  ld.global.L2::128B.v2.u32 {%r1, %r2}, [%rd1+-8]; ld.local.u32 %r1, [64 + 4]; ld.global.u32 %r1, v[3]; st.global.f32 v[%r1+4], 1.0;
  tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}|%p1, [t, s, {%r1, %r2}], {1, 2}, %r1; mbarrier.try_wait.shared::cta.b64 q, [dynamic], 5;
  { { call: bra call; } ret; }
  call (w), f, (%r1, 1, -1, _, arg), P; call.uni (_), %rd1, C; call g, (); call (%r1, %r2), f; brx.idx %r1, B;
  add.u32 add, call, 1 ? 2 : 3 ? 4 : 5; /* block
  comment */ ret; // line comment
}
.section .debug_str { $info: .b8 1, 2, -3 .b64 k - $info + 4 .b32 .debug_abbrev+8 }
)";

std::vector<std::string> corpus() {
  std::vector<std::string> texts{std::string(kEverything)};
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORIAS_SOURCE_DIR "/test/corpus")) {
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

/// Compares all tokens of a text. Returns the location of the first difference, or an empty string.
std::string tokenDifference(const std::string& text) {
  antlr4::ANTLRInputStream input(text);
  PtxLexer generated(&input);
  generated.removeErrorListeners();
  Lexer ours(text);
  while (true) {
    const std::unique_ptr<antlr4::Token> want = generated.nextToken();
    const LexToken got = ours.next();
    const bool end = want->getType() == antlr4::Token::EOF;
    if (end != (got.type == LexToken::kEndOfFile)) return "one ends at offset " + std::to_string(got.offset);
    if (end) return {};
    if (want->getType() != got.type || want->getStartIndex() != got.offset ||
        want->getStopIndex() + 1 != got.offset + got.length || want->getLine() != got.loc.line ||
        want->getCharPositionInLine() + 1 != got.loc.column)
      return "line " + std::to_string(want->getLine()) + ": '" + want->getText() + "' against '" +
             text.substr(got.offset, got.length) + "'";
  }
}

/// A platform-independent random number generator.
class Random {
 public:
  std::uint32_t next(std::uint32_t below) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state_ >> 33) % below;
  }

 private:
  std::uint64_t state_ = 12345;
};

/// Throws on the first ambiguity, and counts the predictions that needed the full context.
class AmbiguityListener : public antlr4::BaseErrorListener {
 public:
  void reportAmbiguity(antlr4::Parser*, const antlr4::dfa::DFA&, std::size_t, std::size_t, bool,
                       const antlrcpp::BitSet&, antlr4::atn::ATNConfigSet*) override {
    ++ambiguities;
  }
  void reportAttemptingFullContext(antlr4::Parser*, const antlr4::dfa::DFA&, std::size_t, std::size_t,
                                   const antlrcpp::BitSet&, antlr4::atn::ATNConfigSet*) override {
    ++fullContexts;
  }
  unsigned ambiguities = 0;
  unsigned fullContexts = 0;
};

struct ErrorCounter : ParseEvents {
  void enterRule(std::size_t, antlr4::ParserRuleContext*) override {}
  void exitRule(std::size_t, antlr4::ParserRuleContext*) override {}
  void abandon(std::size_t) override {}
  void initializerNumber(const PtxToken&) override {}
  void syntaxError(orias::SourceLoc loc, std::string message, std::string) override {
    if (first.empty()) first = std::to_string(loc.line) + ": " + message;
  }
  std::string first;
};

/// The events of the parser for a text, in one string.
struct EventRecorder : ParseEvents {
  void enterRule(std::size_t rule, antlr4::ParserRuleContext*) override { said += "(" + std::to_string(rule); }
  void exitRule(std::size_t, antlr4::ParserRuleContext*) override { said += ")"; }
  void abandon(std::size_t rule) override { said += "!" + std::to_string(rule); }
  void syntaxError(orias::SourceLoc loc, std::string message, std::string hint) override {
    said += std::to_string(loc.line) + ":" + std::to_string(loc.column) + message + hint;
  }
  /// The rules of ANTLR's parser for a number.
  void initializerNumber(const PtxToken&) override {
    using P = PtxParser;
    const std::size_t rules[] = {P::RuleInitializerItem, P::RuleInitializerValue, P::RuleConstant,
                                 P::RuleConstantTerms,   P::RuleConstantTerm,     P::RuleLiteral};
    for (std::size_t rule : rules)
      said += "(" + std::to_string(rule);
    said.append(std::size(rules), ')');
  }
  std::string said;
};

std::string eventsOf(std::string_view text, bool withTables) {
  TokenWindow window(text);
  PtxParser parser(&window);
  EventRecorder events;
  parser.removeErrorListeners();
  parser.setEvents(&events);
  if (withTables) parser.predictWithTables();
  try {
    parser.module();
  } catch (const orias::ptx::ParseAborted&) {
    events.said += "aborted";
  }
  return events.said;
}

} // namespace

TEST_CASE("the usual cases of bareStatement are those of ANTLR's tables") {
  for (const std::string& text : corpus())
    CHECK(eventsOf(text, false) == eventsOf(text, true));
  for (const char* first : {"ret", "call", "a", "%r1"}) {
    for (const char* second : {"",   ":",  ";",   "b",    "[b]", "(b)", "{b}", ".b", ".s32", ".global", "5",
                               "-5", "!b", "%r1", "call", "_",   "=",   ",",   "|",  "+",    "}",       "\"s\""}) {
      const std::string text =
          ".version 8.0\n.target sm_90\n.entry k() {\n" + std::string(first) + " " + second + " c;\nret;\n}\n";
      CHECK_MESSAGE(eventsOf(text, false) == eventsOf(text, true), text);
    }
  }
}

TEST_CASE("numbers of initial values are what ANTLR's parser finds") {
  for (const char* values : {"1, 2, 3", "1", "1,", "1, 2,", "1, -2, 3", "1, 2+3, 4, 5", "1, 0xFF00(a), 2, 3",
                             "1, 0xFF00 (a)", "1 2, 3", "1, {2, 3}, 4", "{1, 2}, {3}", "1, a, 2, a+4, 5", "1,, 2",
                             "1, 2.5, 3", "1, 2U, 0x3, 017, 4", "1, 2 ? 3 : 4, 5", "1, ;"}) {
    const std::string text =
        ".version 8.0\n.target sm_90\n.global .b32 a[4];\n.global .b32 v[9] = {" + std::string(values) + "};\n";
    CHECK_MESSAGE(eventsOf(text, false) == eventsOf(text, true), text);
  }
}

TEST_CASE("both lexers make the same tokens of the corpus") {
  for (const std::string& text : corpus())
    CHECK(tokenDifference(text) == "");
}

TEST_CASE("both lexers make the same tokens of difficult pieces") {
  for (const char* text : {"08",         "0x",       "0xg",       "0b2",
                           "0b",         "017U",     "0f3f80000", "0f3f8000000",
                           "0d123",      "1.e5",     "1.e",       "1e",
                           "1e+",        ".5",       ".5e3",      ".5e",
                           ".1d",        ".2d.v4",   ".",         "..",
                           ".a..b",      "a.b::c",   "a.b:c",     "a.b::",
                           "a::b",       "_",        "__",        "_a",
                           "$",          "%",        "%%",        "%1",
                           "5%2",        "5 % 2",    "a%b",       "call",
                           "call.uni",   "calls",    "caller.x",  "call .uni",
                           "WARP_SZ",    "WARP_SZ1", "WARP_SZ.x", "(.s64)",
                           "( .u32 )",   "(.s6)",    "(.s644)",   "(.s64",
                           "(.b32)",     "/",        "//",        "/*",
                           "/**/",       "/*/",      "/***/",     "/* * /",
                           "/*\n*\n**",  "\"\"",     "\"a",       "\"a\nb\" c",
                           "#",          "# 1",      "#x",        "#\t12 \"f\"\nret",
                           "<<=",        "<=<",      ">>>",       "&&&",
                           "|||",        "!==",      "===",       ".reg",
                           ".regs",      ".reg.b32", ".b32x",     ".address_size",
                           ".f16x2",     ".v2",      ".v3",       ".texref",
                           "a\rb\fc\vd", "1U",       "1UU",       "1u",
                           "0U",         "00",       "0.5",       "00.5",
                           "1..2",       "\x01",     "`",         "mov.u32%r1,1;",
                           "a$b.c$d"})
    CHECK_MESSAGE(tokenDifference(text) == "", text);
}

TEST_CASE("both lexers make the same tokens of noise") {
  constexpr std::string_view kPieces = "..::__$%%00112ffdxUUeE+-*/#\"'()[]{}<>=!&|?;,@~^ \t\n\ncallreg.b32s64WARP_SZ`";
  Random random;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint32_t i = 0, n = random.next(40); i < n; ++i)
      text += kPieces[random.next(kPieces.size())];
    REQUIRE_MESSAGE(tokenDifference(text) == "", text);
  }
}

TEST_CASE("no ambiguity in the corpus, and no prediction that needs the full context") {
  for (const std::string& text : corpus()) {
    TokenWindow window(text);
    PtxParser parser(&window);
    AmbiguityListener listener;
    ErrorCounter errors;
    parser.removeErrorListeners();
    parser.addErrorListener(&listener);
    parser.setEvents(&errors);
    parser.predictWithTables();
    parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
        antlr4::atn::PredictionMode::LL_EXACT_AMBIG_DETECTION);
    parser.module();
    CHECK(errors.first == "");
    CHECK(listener.ambiguities == 0);
    CHECK(listener.fullContexts == 0);
  }
}

TEST_CASE("one token of lookahead decides everywhere but in bareStatement") {
  std::string none;
  TokenWindow window(none);
  PtxParser parser(&window);
  const antlr4::atn::ATN& atn = parser.getATN();
  antlr4::atn::LL1Analyzer analyzer(atn);
  for (antlr4::atn::DecisionState* decision : atn.decisionToState) {
    antlr4::misc::IntervalSet seen;
    bool disjoint = true;
    for (const antlr4::misc::IntervalSet& alternative : analyzer.getDecisionLookahead(decision)) {
      for (ssize_t token : alternative.toList())
        disjoint = disjoint && !seen.contains(token);
      seen.addAll(alternative);
    }
    CHECK_MESSAGE(disjoint == (decision->ruleIndex != PtxParser::RuleBareStatement),
                  parser.getRuleNames()[decision->ruleIndex]);
  }
}
