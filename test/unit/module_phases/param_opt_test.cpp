// Phase M9: loads of kernel parameters.

#include "frontend/module_phases/param_opt.h"

#include "frontend/print.h"
#include "test/unit/module_phases/checked.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

struct Made {
  std::string text;
  ModulePhaseResult result;
};

Made after(const std::string& body) {
  const std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k(.param .u64 out, .param .u32 n, .param .u16 h, .param .u32 extra)\n{\n"
                           ".reg .b64 %a<9>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .b16 %h<9>; .reg .pred %p<9>;\n"
                           "ld.param.u64 %a1, [out];\n" +
                           body + " ret;\n}\n";
  const Checked checked(text);
  Module* const module = checked.module.get();
  GrowingForms forms(*module);
  ModulePhaseResult result = paramOpt(*module, forms, true);
  return {print(*module, module->functions.back()), std::move(result)};
}

bool has(const Made& made, const std::string& part) {
  return made.text.find(part) != std::string::npos;
}

const std::string kUse = " st.global.u32 [%a1], %r1; st.global.u32 [%a1+4], %r2;";

} // namespace

TEST_CASE("a parameter that is loaded again is moved") {
  CHECK(has(after("ld.param.u32 %r1, [n]; ld.param.u32 %r2, [n];" + kUse), "mov.b32 %r2, %r1"));
  // After a label, from a load before all branches.
  CHECK(has(after("ld.param.u32 %r1, [n]; setp.gt.u32 %p1, %r1, 3; @%p1 bra L; add.s32 %r3, %r1, 1; L: "
                  "ld.param.u32 %r2, [n];" +
                  kUse),
            "mov.b32 %r2, %r1"));
  // A full load needs no sign extension, but a narrow load does.
  CHECK(
      has(after("ld.param.f32 %f1, [n]; ld.param.s32 %r2, [n]; st.global.f32 [%a1], %f1;" + kUse), "mov.b32 %r2, %f1"));
  CHECK(has(after("ld.param.u16 %r1, [h]; ld.param.s16 %r2, [h];" + kUse), "ld.param.s16 %r2"));
}

TEST_CASE("a load stays whose value may be gone or may not be there") {
  CHECK(has(after("ld.param.u32 %r1, [n]; add.s32 %r1, %r1, 1; ld.param.u32 %r2, [n];" + kUse), "ld.param.u32 %r2"));
  CHECK(has(after("ld.param.u32 %r1, [n]; L: ld.param.u32 %r2, [n]; add.s32 %r1, %r1, 1; setp.gt.u32 %p1, %r1, 3; "
                  "@%p1 bra L;" +
                  kUse),
            "ld.param.u32 %r2"));
  CHECK(has(after("ld.param.u32 %r3, [extra]; setp.gt.u32 %p1, %r3, 3; @%p1 ld.param.u32 %r1, [n]; "
                  "ld.param.u32 %r2, [n];" +
                  kUse),
            "ld.param.u32 %r2"));
  CHECK(has(after("ld.param.u32 %r3, [extra]; setp.gt.u32 %p1, %r3, 3; @%p1 bra L; ld.param.u32 %r1, [n]; L: "
                  "ld.param.u32 %r2, [n];" +
                  kUse),
            "ld.param.u32 %r2"));
  CHECK(has(after("ld.param.u32 %r1, [n]; ld.param.u32 %r2, [extra];" + kUse), "ld.param.u32 %r2"));
  // A load to a vector register.
  CHECK(has(
      after(".reg .v2 .u32 %v; ld.param.u32 %r1, [out]; ld.param.v2.u32 %v, [out]; st.global.v2.u32 [%a1], %v;" + kUse),
      "ld.param.v2.u32"));
}

TEST_CASE("loads without a use are removed with their copies; the parameter keeps its place") {
  const Made made =
      after("ld.param.u32 %r1, [n]; ld.param.u32 %r5, [extra]; mov.u32 %r6, %r5; st.global.u32 [%a1], %r1;");
  CHECK_FALSE(has(made, "[extra]"));
  CHECK_FALSE(has(made, "%r6, %r5"));
  CHECK(has(made, ".param .align 4 .u32 extra)"));
  CHECK(std::ranges::any_of(made.result.remarks, [](const PhaseRemark& r) {
    return r.message == "parameter 'extra' is not used; its 4 bytes remain reserved";
  }));
  // Uses in addresses, guards and vectors count.
  CHECK(has(after("ld.param.u32 %r5, [extra]; mov.b64 %a2, {%r5, %r5}; st.global.u64 [%a1], %a2;"), "[extra]"));
  CHECK(has(after("ld.param.u32 %r5, [extra]; add.s32 %r5, %r5, 1; st.global.u32 [%a1], %r5;"), "[extra]"));
}
