// Phase M7: clones of functions that are called with addresses in several spaces.

#include "frontend/module_phases/function_clones.h"

#include "frontend/print.h"
#include "test/unit/module_phases/checked.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

struct Made {
  std::string text, trace;
  std::size_t functions = 0;
};

std::string function(const std::string& name, const std::string& body, const std::string& linkage = "") {
  return linkage + ".func " + name + "(.param .b64 a) {\n.reg .b64 %a<9>; .reg .b32 %r<9>; ld.param.u64 %a1, [a];\n" +
         body + "ret; }\n";
}

std::string call(const std::string& callee, const std::string& address) {
  return "{ .param .b64 p; st.param.b64 [p], " + address + "; call.uni " + callee + ", (p); }\n";
}

/// A kernel with addresses in local (%a2), shared (%a4), global (%a6) and any (%a5) memory.
std::string kernel(const std::string& body) {
  return ".visible .entry k(.param .u64 any, .param .u64 .ptr .global out)\n{\n.reg .b64 %a<9>;\n"
         ".local .align 8 .b8 frame[64]; .shared .align 8 .b8 tile[64];\n"
         "mov.u64 %a1, frame; cvta.local.u64 %a2, %a1; mov.u64 %a3, tile; cvta.shared.u64 %a4, %a3;\n"
         "ld.param.u64 %a5, [any]; ld.param.u64 %a6, [out];\n" +
         body + "ret;\n}\n";
}

Made cloned(const std::string& items, MemorySpaceOptions options = {}) {
  const std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n" + items;
  Checked checked(text);
  Module* const module = checked.module.get();
  Diagnostics& diagnostics = checked.diagnostics;
  Made made;
  options.assumptions.followsCalls = true;
  if (options.cloning.growthPercent == 0) options.cloning.growthPercent = 1000;
  options.trace = &made.trace;
  WarnedPlaces warned;
  GrowingForms forms(*module);
  memorySpaceOpt(*module, forms, diagnostics, options, warned);
  for (const Function& f : module->functions)
    made.text += print(*module, f);
  made.functions = module->functions.size();
  return made;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kStore = "st.u32 [%a1], 7; ";

} // namespace

TEST_CASE("one clone for each space; the original keeps the first, or the calls that are not known") {
  const Made two = cloned(function("f", kStore) + kernel(call("f", "%a2") + call("f", "%a4") + call("f", "%a2")));
  CHECK(two.functions == 3);
  CHECK(has(two.text, "st.local.u32"));
  CHECK(has(two.text, "st.shared.u32"));
  CHECK_FALSE(has(two.text, "st.u32"));
  const Made unknown = cloned(function("f", kStore) + kernel(call("f", "%a2") + call("f", "%a5")));
  CHECK(has(unknown.text, "st.local.u32"));
  CHECK(has(unknown.text, "st.u32 [%a1], 7"));
  CHECK(has(unknown.text, "call.uni f, (p)"));
  CHECK(has(unknown.text, "call.uni f$ipmsp1, (p)"));
}

TEST_CASE("clones reach through chains of calls, and none is made twice") {
  const Made made = cloned(function("c", kStore) + function("b", call("c", "%a1")) + function("a", call("b", "%a1")) +
                           kernel(call("a", "%a2") + call("a", "%a4") + call("a", "%a2") + call("c", "%a4")));
  CHECK(made.functions == 7);
  CHECK_FALSE(has(made.text, "st.u32"));
  CHECK(has(made.trace, "callees are affected"));
}

TEST_CASE("nothing is cloned that gains nothing") {
  CHECK(cloned(function("f", "st.global.u32 [%a1], 7; ") + kernel(call("f", "%a2") + call("f", "%a4"))).functions == 2);
  CHECK(cloned(function("f", kStore) + kernel(call("f", "%a2") + call("f", "%a2"))).functions == 2);
  CHECK(cloned(function("f", kStore) + kernel(call("f", "%a5") + call("f", "%a5"))).functions == 2);
}

TEST_CASE("what cannot be cloned is said") {
  const std::string calls = kernel(call("f", "%a2") + call("f", "%a4"));
  const auto isAvoided = [](const Made& made, const std::string& why) {
    return has(made.trace, "avoid cloning of f: " + why) && has(made.text, "st.u32");
  };
  CHECK(isAvoided(cloned(function("f", kStore + call("f", "%a1")) + calls), "it is recursive"));
  CHECK(isAvoided(cloned(function("f", ".shared .b32 x; st.shared.u32 [x], 1; " + kStore) + calls),
                  "it has a variable outside the frame"));
  MemorySpaceOptions object;
  object.assumptions.isWholeProgram = false;
  CHECK(isAvoided(cloned(function("f", kStore, ".weak ") + calls, object), "another module may replace it"));
  MemorySpaceOptions one;
  one.cloning.most = 1;
  const std::string three = kernel(call("f", "%a2") + call("f", "%a4") + call("f", "%a6"));
  CHECK(isAvoided(cloned(function("f", kStore) + three, one), "the limit of clones is reached"));
  MemorySpaceOptions small;
  small.cloning.growthPercent = 1;
  CHECK(isAvoided(cloned(function("f", kStore) + three, small), "the module would grow too much"));
}

TEST_CASE("a visible function of an object keeps its code; the calls go to clones") {
  MemorySpaceOptions object;
  object.assumptions.isWholeProgram = false;
  const Made made = cloned(function("f", kStore, ".visible ") + kernel(call("f", "%a2")), object);
  CHECK(made.functions == 3);
  CHECK(has(made.text, "st.u32 [%a1], 7"));
  CHECK(has(made.text, "call.uni f$ipmsp1, (p)"));
}

TEST_CASE("code grows in proportion to the module, however calls multiply") {
  // Each function passes its two parameters in both orders: 2^n paths to the last one.
  std::string text;
  constexpr int kLevels = 12;
  for (int n = kLevels; n-- > 0;) {
    std::string body = "ld.param.u64 %a1, [a]; ld.param.u64 %a2, [b]; st.u32 [%a1], 1; st.u32 [%a2], 2;\n";
    for (const char* order : {"%a1 %a2", "%a2 %a1"})
      if (n + 1 < kLevels)
        body += fmt::format("{{ .param .b64 p; .param .b64 q; st.param.b64 [p], {}; st.param.b64 [q], {}; call.uni "
                            "f{}, (p, q); }}\n",
                            std::string(order).substr(0, 3), std::string(order).substr(4), n + 1);
    text += fmt::format(".func f{}(.param .b64 a, .param .b64 b) {{ .reg .b64 %a<4>; {} ret; }}\n", n, body);
  }
  const std::string start =
      "{ .param .b64 p; .param .b64 q; st.param.b64 [p], %a2; st.param.b64 [q], %a4; call.uni f0, "
      "(p, q); }\n";
  MemorySpaceOptions options;
  options.cloning.growthPercent = 100;
  const Made made = cloned(text + kernel(start), options);
  CHECK(made.functions <= 2 * kLevels + 2);
  CHECK(made.functions > kLevels + 1);
}

TEST_CASE("the alternate algorithm comes to the same") {
  const std::string text = function("c", kStore) + function("b", call("c", "%a1")) + function("a", call("b", "%a1")) +
                           kernel(call("a", "%a2") + call("a", "%a4") + call("c", "%a4"));
  MemorySpaceOptions rounds;
  rounds.assumptions.usesWorkList = false;
  CHECK(cloned(text, rounds).text == cloned(text).text);
}
