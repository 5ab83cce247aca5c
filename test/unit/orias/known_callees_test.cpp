// Calls of functions that are already compiled: values stay in all registers that the callee does not change.

#include "../ori/helpers.h"
#include "ori/calls.h"
#include "orias/call_order.h"
#include "orias/orias.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace orias;

namespace {

/// 150 values live across a call of `f`, which has this linkage.
std::string program(const std::string& linkage, const std::string& more = {}) {
  std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n" + linkage +
      ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p; ld.param.b32 %r1, [a];\n" + more +
      "mad.lo.s32 %r2, %r1, %r1, 7; st.param.b32 [r], %r2; ret; }\n"
      ".visible .entry k(.param .u64 p) { .reg .b32 %r<170>; .reg .b64 %rd1; ld.param.u64 %rd1, [p];\n";
  for (unsigned i = 0; i < 150; ++i)
    text += fmt::format("ld.volatile.global.u32 %r{}, [%rd1+{}];\n", i, 4 * i);
  text += "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), f, (x); ld.param.b32 %r160, [y]; }\n"
          "st.volatile.global.u32 [%rd1], %r160;\n";
  for (unsigned i = 0; i < 150; ++i)
    text += fmt::format("st.volatile.global.u32 [%rd1+{}], %r{};\n", 4 * i, i);
  return text + "ret; }\n";
}

std::uint32_t spilledBytesOf(const std::string& text, bool relocatable, const std::string& knob = {}) {
  Options options;
  options.relocatable = relocatable;
  options.knobs = {"InlineInObjects=0"};
  if (!knob.empty()) options.knobs.push_back(knob);
  const Result result = assemble(text, options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  const auto kernel = std::ranges::find(result.statistics.functions, "k", &FunctionReport::name);
  REQUIRE(kernel != result.statistics.functions.end());
  return kernel->spillStoreBytes;
}

/// A function with two recursive calls, so that it is not inlined.
std::string recursion() {
  const std::string call = "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call.uni (y), f, (x); "
                           "ld.param.b32 %r3, [y]; }\n";
  return "mov.u32 %r3, %r1; setp.gt.s32 %p, %r1, 5; @%p bra L; add.s32 %r3, %r1, 1;\n" + call + call +
         "L: mov.u32 %r1, %r3;\n";
}

} // namespace

TEST_CASE("across a call of a private function, values stay in the registers that it does not change") {
  CHECK(spilledBytesOf(program(""), true) == 0);
  CHECK(spilledBytesOf(program(""), true, "RegAllocKnownCallees=0") > 0);
}

TEST_CASE("another object may define a function that it can name: the ABI counts") {
  CHECK(spilledBytesOf(program(".visible "), true) > 0);
  CHECK(spilledBytesOf(program(".weak "), true) > 0);
}

TEST_CASE("in a whole program the code of each function is known, and of a recursive one, too, to its other callers") {
  const std::string text = program(".visible ", recursion());
  CHECK(spilledBytesOf(text, false) == 0);
  CHECK(spilledBytesOf(text, false, "RegAllocKnownCallees=0") > 0);
}

TEST_CASE("of what a known callee leaves alone, uniform registers are not kept: parted lanes may run while it waits") {
  const auto module = ori::test::parsed("module sm_90 ptx 8 8;\nsymbol function \"f\" 0;\nfunction \"f\" {\n"
                                        ".L0:\n FUNCTION.ENTRY RZ, RZ, RZ;\n FUNCTION.RETURN;\n}\n"
                                        "kernel \"k\" {\n.L0:\n S2R %r0, SR_TID.X;\n"
                                        " CALL.FUNCTION RZ, RZ, RZ, symbol[0], %r0;\n EXIT;\n}\n");
  ori::Function& kernel = *module->functions.back();
  const ori::Instr& call = *kernel.entry()->first->next;
  const auto isChanged = [&](isa::File file, std::uint32_t reg) {
    return ori::changedAt(kernel, call).contains(file, reg);
  };
  CHECK(isChanged(isa::File::R, 40));
  CHECK(isChanged(isa::File::P, 3));
  kernel.changedByCallee[0].add(isa::File::R, 33);
  CHECK(isChanged(isa::File::R, 33));
  CHECK(isChanged(isa::File::R, 4)); // its argument
  CHECK_FALSE(isChanged(isa::File::R, 5));
  CHECK_FALSE(isChanged(isa::File::R, 40));
  CHECK_FALSE(isChanged(isa::File::P, 3));
  CHECK(isChanged(isa::File::UR, 10));
  CHECK(isChanged(isa::File::UP, 1));
}

TEST_CASE("functions are compiled after those that they call, a cycle at once") {
  const auto calling = [](const std::string& name, const std::string& callee) {
    const std::string call = callee.empty() ? "" : " CALL.FUNCTION RZ, RZ, RZ, symbol[" + callee + "];\n";
    return "function \"" + name + "\" {\n.L0:\n FUNCTION.ENTRY RZ, RZ, RZ;\n" + call + " FUNCTION.RETURN;\n}\n";
  };
  const auto module = ori::test::parsed(
      "module sm_90 ptx 8 8;\nsymbol function \"a\" 0;\nsymbol function \"b\" 1;\nsymbol function \"c\" 2;\n"
      "symbol function \"d\" 3;\n" +
      calling("a", "1") + calling("b", "2") + calling("c", "1") + calling("d", ""));
  std::vector<const ori::Function*> functions;
  for (const auto& function : module->functions)
    functions.push_back(function.get());
  CHECK(calleesFirst(functions, true) == std::vector<std::vector<std::size_t>>{{1, 2, 3}, {0}});
}
