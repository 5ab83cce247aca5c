// Phase M1: each cleanup, the code that it must not change, and that a second run changes nothing.

#include "frontend/module_phases/pretreat.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "frontend/print.h"
#include "test/unit/module_phases/checked.h"

#include <doctest/doctest.h>
#include <memory>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

/// The kernel after the phase, as text. Checks that the text is valid PTX and that a second run changes nothing.
std::string after(const std::string& body) {
  const std::string head = ".version 8.7\n.target sm_90\n.address_size 64\n";
  const std::string text = head +
                           ".visible .entry k(.param .u64 any)"
                           "\n{\n"
                           ".reg .b64 %a<30>; .reg .b32 %r<30>; .reg .f32 %f<9>; .reg .b16 %h<9>; .reg .pred %p<9>;\n"
                           ".shared .align 8 .b8 tile[64];\n"
                           "ld.param.u64 %a1, [any]; ld.param.u32 %r1, [any]; mov.u32 %r2, %tid.x;\n" +
                           body + " ret;\n}\n";
  const Checked checked(text);
  Module* const module = checked.module.get();
  GrowingForms forms(*module);
  pretreat(*module, forms, false);
  const std::string once = print(*module, module->functions.back());
  CHECK_FALSE(pretreat(*module, forms, false).hasChanged);
  CHECK(print(*module, module->functions.back()) == once);
  if (body.find(".branchtargets") != std::string::npos) return once; // the text of a function omits these
  const std::string again = head + once;
  Diagnostics more("b.ptx", again);
  const std::unique_ptr<Module> made = parse(again, more);
  check(*made, {}, more);
  CHECK_MESSAGE(!more.hasErrors(), more.render());
  return once;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("2: copies of copies move the original") {
  CHECK(has(after("mov.b32 %f1, %r1; mov.b32 %r3, %f1; st.global.u32 [%a1], %r3;"), "mov.b32 %r3, %r1"));
  CHECK_FALSE(has(after("mov.u32 %r1, %r1;"), "%r1, %r1"));
  // Not if the original has another value by then, nor across a label.
  CHECK(has(after("mov.b32 %f1, %r1; add.s32 %r1, %r1, 1; mov.b32 %r3, %f1;"), "mov.b32 %r3, %f1"));
  CHECK(has(after("mov.b32 %f1, %r1; L: mov.b32 %r3, %f1; setp.gt.u32 %p1, %r2, 3; @%p1 bra L;"), "mov.b32 %r3, %f1"));
  CHECK(has(after("setp.gt.u32 %p1, %r2, 3; @%p1 mov.b32 %f1, %r1; mov.b32 %r3, %f1;"), "mov.b32 %r3, %f1"));
}

TEST_CASE("3: conversions to generic and back go, those that name a space stay") {
  CHECK(has(after("mov.u64 %a2, tile; cvta.shared.u64 %a3, %a2; cvta.to.shared.u64 %a4, %a3;"), "mov.b64 %a4, %a2"));
  CHECK(has(after("cvta.to.global.u64 %a2, %a1; cvta.global.u64 %a3, %a2;"), "cvta.global.u64 %a3, %a2"));
  CHECK(has(after("mov.u64 %a2, tile; cvta.shared.u64 %a3, %a2; cvta.to.local.u64 %a4, %a3;"), "cvta.to.local.u64"));
}

TEST_CASE("6: casts of constants") {
  CHECK(has(after("cvt.u64.u32 %a2, 7;"), "mov.b64 %a2, 7;"));
  CHECK(has(after("cvt.s64.s32 %a2, -7;"), "mov.b64 %a2, -7;"));
  CHECK(has(after("mov.u32 %r3, 255; cvt.s32.s8 %r4, %r3;"), "mov.b32 %r4, 4294967295;"));
  CHECK(has(after("mov.b64 %a2, {1, 2};"), "mov.b64 %a2, 8589934593;"));
  CHECK(has(after("mov.u32 %r3, 1065353216; mov.b32 %f1, %r3;"), "mov.b32 %f1, 1065353216;"));
  CHECK(has(after("cvt.sat.u8.u32 %h1, 300;"), "cvt.sat"));
}

TEST_CASE("7: adding nothing is a move, unless it makes a carry") {
  CHECK(has(after("add.s64 %a2, %a1, 0;"), "mov.b64 %a2, %a1;"));
  CHECK(has(after("sub.s32 %r3, %r1, 0;"), "mov.b32 %r3, %r1;"));
  CHECK(has(after("add.cc.u32 %r3, %r1, 0; addc.u32 %r4, %r1, 0;"), "add.cc.u32"));
}

TEST_CASE("8: zero extension where no definition has a sign") {
  CHECK(has(after("cvt.s64.s32 %a2, %r2;"), "cvt.u64.u32 %a2, %r2"));
  CHECK(has(after("and.b32 %r3, %r1, 255; cvt.s64.s32 %a2, %r3;"), "cvt.u64.u32"));
  CHECK(has(after("shr.u32 %r3, %r1, 1; cvt.s64.s32 %a2, %r3;"), "cvt.u64.u32"));
  CHECK(has(after("ld.global.u16 %r3, [%a1]; cvt.s64.s32 %a2, %r3;"), "cvt.u64.u32"));
  CHECK(has(after("min.u32 %r3, %r1, %r2; cvt.s64.s32 %a2, %r3;"), "cvt.u64.u32"));
  // Negative tests: any sign, a second definition, an accumulation, and a shift that keeps the sign.
  CHECK(has(after("cvt.s64.s32 %a2, %r1;"), "cvt.s64.s32"));
  CHECK(has(after("and.b32 %r3, %r1, 255; setp.gt.u32 %p1, %r2, 3; @%p1 mov.u32 %r3, %r1; cvt.s64.s32 %a2, %r3;"),
            "cvt.s64.s32"));
  CHECK(has(after("add.s32 %r3, %r2, %r2; cvt.s64.s32 %a2, %r3;"), "cvt.s64.s32"));
  CHECK(has(after("shr.s32 %r3, %r1, 1; cvt.s64.s32 %a2, %r3;"), "cvt.s64.s32"));
  CHECK(has(after("min.s32 %r3, %r1, %r2; cvt.s64.s32 %a2, %r3;"), "cvt.s64.s32"));
  CHECK(has(after("ld.global.s16 %r3, [%a1]; cvt.s64.s32 %a2, %r3;"), "cvt.s64.s32"));
  CHECK(has(after("mov.u32 %r3, %clock; cvt.s64.s32 %a2, %r3;"), "cvt.s64.s32"));
}

TEST_CASE("10: special registers are read by mov, component by component") {
  CHECK(has(after("cvt.u32.u32 %r3, %laneid;"), "mov.u32 %r3, %laneid;"));
  const std::string made = after("mov.v4.u32 {%r3, %r4, _, %r5}, %ntid;");
  CHECK(has(made, "mov.u32 %r3, %ntid.x;"));
  CHECK(has(made, "mov.u32 %r4, %ntid.y;"));
  CHECK_FALSE(has(made, "%ntid.z"));
  // A vector register.
  const std::string whole = after(".reg .v4 .u32 %quad; mov.v4.u32 %quad, %tid; st.global.u32 [%a1], %quad.y;");
  CHECK(has(whole, "mov.u32 %quad.y, %tid.y;"));
}

TEST_CASE("12: selections of constants") {
  CHECK(has(after("setp.gt.u32 %p1, %r1, 3; selp.u32 %r3, 5, 5, %p1;"), "mov.b32 %r3, 5;"));
  const std::string made = after("setp.gt.u32 %p1, %r1, 3; selp.u32 %r3, 0, 1, %p1;");
  CHECK(has(made, "setp.le.u32 %p1, %r1, 3"));
  CHECK(has(made, "selp.u32 %r3, 1, 0, %p1"));
  // The opposite comparison differs for NaN.
  CHECK(has(after("setp.lt.f32 %p1, %f1, %f2; selp.u32 %r3, 0, 1, %p1; mov.b32 %f1, %r1; mov.b32 %f2, %r2;"),
            "setp.geu.f32"));
  CHECK(has(after("setp.gt.u32 %p1, %r1, 3; selp.u32 %r3, 0, 1, %p1; @%p1 add.s32 %r3, %r3, 1;"), "0, 1, %p1"));
}

TEST_CASE("13: decided guards") {
  const std::string made = after("setp.eq.s32 %p1, 3, 3; @%p1 add.s32 %r3, %r1, 1; @!%p1 add.s32 %r3, %r1, 2;");
  CHECK(has(made, "  add.s32 %r3, %r1, 1;"));
  CHECK_FALSE(has(made, "add.s32 %r3, %r1, 2;"));
  CHECK(has(after("setp.lt.s32 %p1, -1, 0; @!%p1 bra L; add.s32 %r3, %r1, 1; L:"), "\n  add.s32 %r3"));
  // Not if another definition has another or an unknown value.
  CHECK(has(after("setp.eq.s32 %p1, 3, 3; @%p1 setp.eq.s32 %p1, %r1, 3; @%p1 add.s32 %r3, %r1, 1;"), "@%p1 add"));
}

TEST_CASE("14: what is never written reads as 0 where a number may stand") {
  CHECK(has(after("st.global.u32 [%a1], %r9;"), "st.global.u32 [%a1], 0;"));
  CHECK(has(after("add.f32 %f1, %f2, 0f3F800000; st.global.f32 [%a1], %f1;"), "add.f32 %f1, 0f00000000"));
  CHECK(has(after("st.global.u32 [%a9], %r1;"), "[%a9]"));
  CHECK(has(after("@%p5 st.global.u32 [%a1], %r1;"), "@%p5"));
}

TEST_CASE("16, 17, 18: pragmas that nothing reads, old launch bounds, unreachable code") {
  CHECK_FALSE(has(after(".pragma \"used_bytes_mask 255\"; ld.global.u32 %r3, [%a1];"), "used_bytes"));
  CHECK(has(after("L: .pragma \"nounroll\"; add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;"), "nounroll"));
  const std::string made = after("bra L; add.s32 %r3, %r1, 1; L: add.s32 %r4, %r1, 2; ret; add.s32 %r5, %r1, 3;");
  CHECK_FALSE(has(made, "%r3, %r1, 1"));
  CHECK(has(made, "%r4, %r1, 2"));
  CHECK_FALSE(has(made, "%r5, %r1, 3"));
  CHECK(has(after("T: .branchtargets L, M; brx.idx %r2, T; L: add.s32 %r3, %r1, 1; ret; M: add.s32 %r4, %r1, 1;"),
            "%r4, %r1, 1"));
}

TEST_CASE("17: .maxnctapersm of old PTX is .minnctapersm") {
  const std::string text = ".version 2.0\n.target sm_20\n.address_size 64\n"
                           ".entry k() .maxntid 64, 1, 1 .maxnctapersm 4 { ret; }\n";
  Diagnostics diagnostics("a.ptx", text);
  const std::unique_ptr<Module> module = parse(text, diagnostics);
  REQUIRE_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  GrowingForms forms(*module);
  CHECK(pretreat(*module, forms, false).hasChanged);
  CHECK(module->functions[0].performance.minnctapersm == 4);
}
