// The possible spaces of generic addresses.

#include "frontend/module_phases/memory_space_opt.h"
#include "frontend/print.h"
#include "test/unit/module_phases/checked.h"

#include <doctest/doctest.h>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

/// The kernel of a module after the phase, as text. `body` follows the declarations.
std::string after(const std::string& body, const MemorySpaceOptions& options = {}) {
  const std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n"
                           ".const .u64 pointers[4];\n"
                           ".func callee(.param .b64 a) { ret; }\n"
                           ".visible .entry k(.param .u64 any)\n{\n"
                           ".reg .b64 %a<30>; .reg .b32 %r<30>; .reg .pred %p<4>;\n"
                           ".local .align 8 .b8 frame[64]; .shared .align 8 .b8 tile[64];\n"
                           "mov.u64 %a1, frame; cvta.local.u64 %a2, %a1;\n"
                           "mov.u64 %a3, tile; cvta.shared.u64 %a4, %a3;\n"
                           "ld.param.u64 %a5, [any]; mov.u32 %r1, %tid.x;\n" +
                           body + "ret;\n}\n";
  Checked checked(text);
  Module* const module = checked.module.get();
  Diagnostics& diagnostics = checked.diagnostics;
  WarnedPlaces warned;
  GrowingForms forms(*module);
  memorySpaceOpt(*module, forms, diagnostics, options, warned);
  return print(*module, module->functions.back());
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("masks of sums and differences") {
  using Mask = SpaceMask;
  const Mask local = Mask::kLocal, shared = Mask::kShared, number = Mask::kNumber, unknown = Mask::kUnknown,
             difference = Mask::kDifference;
  CHECK(sumOf(local, number) == local);
  CHECK(sumOf(number, local) == local);
  CHECK(sumOf(local, unknown) == local);
  CHECK(sumOf(local, shared) == difference);
  CHECK(sumOf(local, difference) == difference);
  CHECK(sumOf(number, number) == number);
  CHECK(differenceOf(local, number) == local);
  CHECK(differenceOf(local, local) == difference);
  CHECK(differenceOf(unknown, unknown) == difference);
  CHECK(arithmeticOf(local, number) == difference);
  CHECK((local | shared).space() == StateSpace::None);
  CHECK((local | number).space() == StateSpace::None);
  CHECK(sumOf({}, local).isEmpty());
}

TEST_CASE("an address plus a number keeps its space, one plus a difference does not") {
  CHECK(has(after("add.s64 %a6, %a2, 8; st.u32 [%a6], %r1;"), "st.local.u32 [frame+8], %r1"));
  CHECK(has(after("mul.wide.u32 %a6, %r1, 4; add.s64 %a7, %a6, %a4; st.u32 [%a7], %r1;"),
            "st.shared.u32 [%space0], %r1"));
  CHECK(has(after("sub.s64 %a6, %a5, %a2; add.s64 %a7, %a2, %a6; st.u32 [%a7], %r1;"), "st.u32 [%a7], %r1"));
  // The difference is tracked through 32 more instructions.
  CHECK(has(
      after("sub.s64 %a6, %a5, %a2; shr.s64 %a7, %a6, 2; shl.b64 %a8, %a7, 2; add.s64 %a9, %a2, %a8; st.u32 [%a9], 1;"),
      "st.u32 [%a9], 1"));
}

TEST_CASE("a difference that is stored makes all loaded numbers suspicious") {
  const std::string use = "ld.global.u64 %a6, [%a5]; add.s64 %a7, %a2, %a6; st.u32 [%a7], %r1;";
  CHECK(has(after(use), "st.local.u32 [%space0], %r1"));
  CHECK(has(after(use + "sub.s64 %a8, %a4, %a2; st.global.u64 [%a5], %a8;"), "st.u32 [%a7], %r1"));
  MemorySpaceOptions options;
  options.assumptions.isWholeProgram = false;
  CHECK(has(after(use, options), "st.u32 [%a7], %r1"));
}

TEST_CASE("all definitions of a register count") {
  const std::string choose = "setp.gt.u32 %p1, %r1, 4; mov.u64 %a6, %a2; @%p1 mov.u64 %a6, ";
  CHECK(has(after(choose + "%a2; ld.u32 %r2, [%a6];"), "ld.local.u32"));
  CHECK(has(after(choose + "%a4; ld.u32 %r2, [%a6];"), "ld.u32 %r2, [%a6]"));
  CHECK(has(after(choose + "%a5; ld.u32 %r2, [%a6];"), "ld.u32 %r2, [%a6]"));
}

TEST_CASE("addresses are followed through local variables until their address leaves the function") {
  const std::string use = "st.local.u64 [frame+8], %a4; ld.u64 %a6, [%a2+8]; st.u32 [%a6], %r1;";
  CHECK(has(after(use), "st.shared.u32 [%space0], %r1"));
  CHECK(has(after(use + "st.u64 [%a2+8], %a5;"), "st.u32 [%a6], %r1"));             // also another address
  CHECK(has(after(use + "st.u64 [%a2+16], %a5;"), "st.shared.u32 [%space0], %r1")); // elsewhere
  CHECK(has(after(use + "st.local.u32 [frame+12], %r1;"), "st.u32 [%a6], %r1"));    // half of the pointer
  CHECK(has(after(use + "mul.wide.u32 %a7, %r1, 8; add.s64 %a8, %a2, %a7; st.u64 [%a8], %a5;"), "st.u32 [%a6], %r1"));
  CHECK(has(after(use + "st.global.u64 [%a5], %a2;"), "st.u32 [%a6], %r1"));
  CHECK(has(after(use + "{ .param .b64 p; st.param.b64 [p], %a2; call.uni callee, (p); }"), "st.u32 [%a6], %r1"));
  MemorySpaceOptions options;
  options.assumptions.tracksLocals = false;
  CHECK(has(after(use, options), "st.u32 [%a6], %r1"));
}

TEST_CASE("kernel parameters are global only if the user says so, and shared memory of other CTAs is not shared") {
  CHECK(has(after("ld.u32 %r2, [%a5];"), "ld.u32 %r2, [%a5]"));
  MemorySpaceOptions options;
  options.assumptions.paramsAreGlobal = true;
  CHECK(has(after("ld.u32 %r2, [%a5];", options), "ld.global.u32 %r2, [%a5]"));
  CHECK(has(after("mapa.u64 %a6, %a4, 1; ld.u32 %r2, [%a6];"), "ld.u32 %r2, [%a6]"));
  CHECK(has(after("cvta.shared::cluster.u64 %a6, %a3; ld.u32 %r2, [%a6];"), "ld.u32 %r2, [%a6]"));
}

TEST_CASE("pointers in constant variables are global only if the user says so") {
  MemorySpaceOptions options;
  const std::string use = "ld.const.u64 %a6, [pointers]; ld.u32 %r2, [%a6];";
  CHECK(has(after(use), "ld.u32 %r2, [%a6]"));
  options.assumptions.constPointersAreGlobal = true;
  CHECK(has(after(use, options), "ld.global.u32 %r2, [%a6]"));
}

TEST_CASE("isspacep is answered where the space is known, and where it is known not to be that one") {
  CHECK(has(after("isspacep.local %p1, %a2;"), "setp.eq.s32 %p1, 0, 0"));
  CHECK(has(after("isspacep.shared %p1, %a2;"), "setp.eq.s32 %p1, 1, 0"));
  CHECK(has(after("isspacep.local %p1, %a5;"), "isspacep.local %p1, %a5"));
  const std::string both = "setp.gt.u32 %p2, %r1, 4; selp.b64 %a6, %a2, %a4, %p2;";
  CHECK(has(after(both + "isspacep.local %p1, %a6;"), "isspacep.local %p1, %a6"));
  CHECK(has(after(both + "isspacep.global %p1, %a6;"), "setp.eq.s32 %p1, 1, 0"));
}

TEST_CASE("a conversion is used again until its register changes or control flow joins") {
  const std::string text = after("mul.wide.u32 %a6, %r1, 4; add.s64 %a6, %a4, 4; add.s64 %a7, %a4, %a6;");
  CHECK(!has(text, "%space")); // no access
  const std::string twice = "mul.wide.u32 %a6, %r1, 4; add.s64 %a7, %a4, %a6; st.u32 [%a7], 1; st.u32 [%a7+4], 2;";
  CHECK(!has(after(twice), "%space1"));
  CHECK(has(after(twice + "add.s64 %a7, %a7, 4; st.u32 [%a7], 3;"), "st.shared.u32 [%space1], 3"));
  CHECK(has(after(twice + "L: st.u32 [%a7], 3;"), "st.shared.u32 [%space1], 3"));
}

TEST_CASE("without optimization only what costs no instruction is resolved") {
  MemorySpaceOptions options;
  options.mayConvert = false;
  CHECK(has(after("add.s64 %a6, %a2, 8; st.u32 [%a6], %r1;", options), "st.local.u32 [frame+8], %r1"));
  CHECK(
      has(after("mul.wide.u32 %a6, %r1, 4; add.s64 %a7, %a4, %a6; st.u32 [%a7], %r1;", options), "st.u32 [%a7], %r1"));
}
