#include "frontend/lower/inline_plan.h"

#include "frontend/instr_form_table.h"
#include "frontend/parse.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

/// A module with its plan; functions are found by name.
struct Planned {
  explicit Planned(const std::string& items, const InlineLimits& limits = {}, InlineScope scope = InlineScope::Program)
      : text(".version 8.7\n.target sm_90a\n.address_size 64\n" + items), diagnostics("t.ptx", text),
        module(parse(text, diagnostics)), forms(*module), calls(*module, forms),
        plan(*module, forms, calls, limits, scope) {
    REQUIRE_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  }
  FunctionId id(std::string_view name) const {
    for (std::uint32_t n = 0; n < module->functions.size(); ++n)
      if (module->text(module->functions[n].name) == name) return FunctionId(n);
    FAIL(name);
    return FunctionId::None;
  }
  bool isInlined(std::string_view name) const { return plan.isInlined(id(name)); }
  bool hasCode(std::string_view name) const { return plan.hasCode(id(name)); }

  std::string text;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  FormTable forms;
  CallGraph calls;
  InlinePlan plan;

  std::vector<std::string> messages(bool isInlined) const {
    std::vector<std::string> all;
    for (const InlineRemark& r : plan.remarks())
      if (r.isInlined == isInlined) all.push_back(r.message);
    return all;
  }
};

std::string additions(unsigned count) {
  std::string text;
  for (unsigned n = 0; n < count; ++n)
    text += "add.s32 %r1, %r1, 3;\n";
  return text;
}

std::string function(const std::string& name, const std::string& body) {
  return ".func " + name + "() { .reg .b32 %r<4>; .reg .b64 %rd<4>; " + body + " ret; }\n";
}

std::string kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name + "() { .reg .b32 %r<4>; .reg .b64 %rd<4>; " + body + " ret; }\n";
}

/// Each function calls the next one twice.
std::string chain(unsigned levels) {
  std::string text;
  for (unsigned n = levels; n-- > 0;) {
    const std::string next = fmt::format("call f{};", n + 1);
    text += function(fmt::format("f{}", n), additions(8) + (n + 1 < levels ? next + next : ""));
  }
  return text + kernel("k", "call f0;");
}

} // namespace

TEST_CASE("all calls are inlined where the module stays within its budget") {
  const Planned p(chain(6));
  CHECK(!p.plan.hasFunctions());
  CHECK(p.isInlined("f0"));
  CHECK(!p.hasCode("f5"));
  CHECK(p.messages(false).empty());
  const std::vector<std::string> inlined = p.messages(true);
  REQUIRE(inlined.size() == 11); // one call of the first function, two of each of the others
  CHECK(std::ranges::count(inlined, "the call of 'f0' is inlined: this is its only call") == 1);
  CHECK(std::ranges::count(
            inlined,
            "the call of 'f5' is inlined: its body has 9 instructions, at most 32 (InlineSmallInstructions)") == 2);
  CHECK(std::ranges::any_of(inlined, [](const std::string& message) {
    return message.starts_with("the call of 'f1' is inlined") &&
           message.ends_with("is within the budget of the module, 12000 instructions");
  }));
}

TEST_CASE(
    "functions that call the next one twice keep code of their own: inlining them doubles the code at each level") {
  for (const unsigned levels : {16u, 24u, 200u}) {
    CAPTURE(levels);
    const Planned p(chain(levels), {.sharedCalls = 0});
    CHECK(p.plan.hasFunctions());
    CHECK(p.plan.callsFunctions(p.id("k")));
    CHECK(p.isInlined("f0"));                           // has a single call
    CHECK(p.isInlined(fmt::format("f{}", levels - 1))); // is small
    unsigned kept = 0;
    for (unsigned n = 0; n < levels; ++n)
      kept += p.hasCode(fmt::format("f{}", n));
    CHECK(kept > 0);
    const auto remarks = p.messages(false);
    REQUIRE(!remarks.empty());
    CHECK(remarks.front().find("its body of") != std::string::npos);
    const auto says = [](std::string_view part) {
      return [part](const std::string& message) { return message.find(part) != std::string::npos; };
    };
    const bool isInBudget = levels < 200; // with the large bodies called, the rest can be inlined
    CHECK(std::ranges::any_of(remarks, says("the limit for several calls is 2000")) == isInBudget);
    CHECK(std::ranges::any_of(remarks, says("the module would have")) != isInBudget);
    CHECK(std::ranges::any_of(remarks, says("its budget is 12000")) != isInBudget);
  }
}

TEST_CASE("with a budget of nothing only large bodies with several calls are not inlined") {
  const InlineLimits tight{.small = 20, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  const Planned p(function("large", additions(40)) + function("once", additions(40)) + function("small", additions(5)) +
                      kernel("k", "call large; call large; call once; call small; call small;"),
                  tight);
  CHECK(!p.isInlined("large"));
  CHECK(p.hasCode("large"));
  CHECK(p.isInlined("once"));
  CHECK(!p.hasCode("once"));
  CHECK(p.isInlined("small"));
}

TEST_CASE("what the ABI cannot carry is inlined, whatever it costs") {
  const InlineLimits tight{.small = 0, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  const std::string predicate = ".func p(.reg .pred %p1) { .reg .b32 %r<4>; " + additions(40) + " ret; }\n";
  const std::string two = ".func (.reg .b32 a, .reg .b32 b) two() { .reg .b32 %r<4>; " + additions(40) + " ret; }\n";
  const Planned p(predicate + two + function("products", "wgmma.fence.sync.aligned;" + additions(40)) +
                      function("caller", "call products;" + additions(40)) + function("plain", additions(40)) +
                      kernel("k", ".reg .pred %q; setp.eq.s32 %q, %r1, 0; call p, (%q); call p, (%q); call (%r1, %r2), "
                                  "two; call (%r1, %r2), two; call caller; call caller; call plain; call plain;"),
                  tight);
  for (const char* name : {"p", "two", "products", "caller"})
    CHECK_MESSAGE(p.isInlined(name), name);
  CHECK(!p.isInlined("plain"));
  CHECK(std::ranges::count(p.messages(true), "the call of 'two' is inlined: calls cannot carry what it works on") == 2);
}

TEST_CASE("what should be inlined and is not is named, in the words of the literature") {
  const Planned p(".weak " + function("products", "wgmma.fence.sync.aligned;") + kernel("k", "call products;"), {},
                  InlineScope::Object);
  REQUIRE(p.messages(false).size() == 1);
  CHECK(p.messages(true).empty());
  CHECK(p.messages(false)[0].starts_with("not AlwaysInline into k: the call of 'products' is not inlined"));
}

TEST_CASE("a kernel that changes its number of registers has all inlined that it calls") {
  const InlineLimits tight{.small = 0, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  const Planned p(function("f", additions(40)) + function("g", additions(40)) +
                      kernel("k", "setmaxnreg.inc.sync.aligned.u32 240; call f; call f;") +
                      kernel("other", "call g; call g;"),
                  tight);
  CHECK(p.isInlined("f"));
  CHECK(!p.isInlined("g"));
  CHECK(!p.plan.callsFunctions(p.id("k")));
  CHECK(p.plan.callsFunctions(p.id("other")));
}

TEST_CASE("functions that nothing reaches have no code; those whose address is taken have") {
  const InlineLimits tight{.small = 0, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  const Planned p(function("dead", additions(3)) + function("taken", additions(3)) + function("kept", additions(40)) +
                      ".visible .global .u64 table = taken;\n" + kernel("k", "call kept; call kept;"),
                  tight);
  CHECK(p.hasCode("kept"));
  CHECK(p.hasCode("taken"));
  CHECK(!p.hasCode("dead"));
}

TEST_CASE("code for debuggers keeps every function, and says so") {
  const Planned p(function("f", additions(1)) + kernel("k", "call f;"), {}, InlineScope::Nothing);
  CHECK(p.hasCode("f"));
  CHECK(!p.isInlined("f"));
  CHECK(p.plan.remarks().size() == 1);
}

TEST_CASE("in an object calls are inlined unless another object may have the body that runs") {
  const std::string exported = ".visible " + function("exported", additions(3));
  const std::string weak = ".weak " + function("weak", additions(3));
  const std::string aliased = function("aliased", additions(3)) + ".visible .func other();\n.alias other, aliased;\n";
  const std::string recursive = function("recursive", "call recursive;");
  const std::string taken = function("taken", additions(3)) + ".visible .global .u64 table = taken;\n";
  const Planned p(exported + weak + aliased + recursive + taken + function("own", additions(3)) +
                      function("dead", additions(3)) + ".extern .func outside();\n" +
                      kernel("k", "call exported; call weak; call aliased; call recursive; call taken; call own; call "
                                  "outside;") +
                      kernel("alone", "call own;"),
                  {}, InlineScope::Object);
  for (const char* name : {"exported", "taken", "own"})
    CHECK_MESSAGE(p.isInlined(name), name);
  for (const char* name : {"weak", "aliased", "recursive", "outside"})
    CHECK_MESSAGE(!p.isInlined(name), name);
  for (const char* name : {"exported", "weak", "aliased", "recursive", "taken", "dead"})
    CHECK_MESSAGE(p.hasCode(name), name);
  CHECK(!p.hasCode("own"));
  CHECK(p.plan.callsFunctions(p.id("k")));
  CHECK(p.plan.callsFunctions(p.id("alone")));
  CHECK(p.messages(true).size() == 4);  // `exported`, `taken`, and `own` twice
  CHECK(p.messages(false).size() == 4); // the call in `recursive`, and those of `weak`, `aliased`, `recursive` in `k`
}

TEST_CASE("in an object the code of an exported function counts as one of its copies") {
  const InlineLimits tight{.small = 20, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  const Planned p(".visible " + function("exported", additions(40)) + function("once", additions(40)) +
                      kernel("k", "call exported; call once;"),
                  tight, InlineScope::Object);
  CHECK(!p.isInlined("exported"));
  CHECK(p.isInlined("once"));
  CHECK(!p.hasCode("once"));
}

TEST_CASE("each limit of inlining changes a decision") {
  // `large` has 40 instructions and two calls, `once` has a single one.
  const std::string text =
      function("large", additions(40)) + function("once", "call large;") + kernel("k", "call large; call once;");
  const InlineLimits none{.small = 0, .large = 2000, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  CHECK(Planned(text).isInlined("large"));
  CHECK(!Planned(text, none).isInlined("large"));
  InlineLimits limits = none;
  limits.small = 41;
  CHECK(Planned(text, limits).isInlined("large"));
  limits = none;
  limits.growthPercent = 200;
  CHECK(Planned(text, limits).isInlined("large"));
  limits = none;
  limits.budget = 90;
  CHECK(Planned(text, limits).isInlined("large"));
  limits.large = 40;
  CHECK(!Planned(text, limits).isInlined("large"));
  limits = none;
  limits.small = 100;
  CHECK(Planned(text, limits).isInlined("once"));
  limits.depth = 0;
  CHECK(!Planned(text, limits).isInlined("once"));
  // `caller` is small if its calls have no cost.
  const std::string callers = function("large", additions(40)) + function("caller", "call large; call large;") +
                              kernel("k", "call caller; call caller;");
  limits = none;
  limits.small = 10;
  CHECK(!Planned(callers, limits).isInlined("caller"));
  limits.callCost = 0;
  CHECK(Planned(callers, limits).isInlined("caller"));
}

TEST_CASE("beside functions with code of their own recursion has code of its own, too") {
  const InlineLimits tight{.small = 0, .budget = 0, .growthPercent = 0, .sharedCalls = 0};
  const Planned p(".func r() { .reg .b32 %r<4>; call r; ret; }\n" + function("f", additions(40)) +
                      kernel("k", "call r; call f; call f;"),
                  tight);
  CHECK(!p.isInlined("r"));
  CHECK(p.hasCode("r"));
}

TEST_CASE("the calls of a large body share one copy of it in each kernel") {
  const InlineLimits tight{.small = 20, .budget = 100, .growthPercent = 0};
  const std::string large = function("large", additions(60));
  const Planned p(large + kernel("k", "call large; call large;"), tight);
  CHECK(!p.plan.hasFunctions());
  CHECK(p.isInlined("large"));
  CHECK(p.plan.isShared(p.id("large")));
  CHECK(p.messages(true).back() ==
        "the call of 'large' is inlined: the calls in a kernel share one copy of its body of 61 instructions");

  const auto isShared = [&](const std::string& more, const std::string& code, InlineLimits limits) {
    const Planned planned(more + kernel("k", code), limits);
    CHECK(planned.isInlined("large") == planned.plan.isShared(planned.id("large")));
    return planned.isInlined("large");
  };
  CHECK(isShared(large, "call large; L: call large; add.s32 %r1, %r1, 1;", tight));
  CHECK(!isShared(large, "call large; L: call large; add.s32 %r1, %r1, 1; bra L;", tight));
  CHECK(!isShared(large, "call large; call large; activemask.b32 %r2;", tight));
  CHECK(!isShared(large, "call large; call large; ld.acquire.gpu.u32 %r2, [%rd1];", tight));
  CHECK(!isShared(large + ".visible .global .u64 table = large;\n", "call large; call large;", tight));
  CHECK(!isShared(function("large", "bar.sync 0;" + additions(60)), "call large; call large;", tight));
  // A call of `both` is two calls of `large`.
  const std::string both = large + function("both", "call large; call large;");
  InlineLimits four = tight;
  four.sharedCalls = 4;
  CHECK(isShared(both, "call both; call both;", four));
  CHECK(!isShared(both, "call both; call both; call large;", four));
  // Each kernel gets a copy, within the budget.
  const std::string other = kernel("other", "call large; call large;");
  CHECK(isShared(large + other, "call large; call large;", tight));
  InlineLimits less = tight;
  less.budget = 60;
  CHECK(!isShared(large + other, "call large; call large;", less));
}
