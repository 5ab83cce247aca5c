#include "ori/function.h"
#include "phases/phase.h"
#include "support/check.h"
#include "tools/check_each/check_uniform.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::check_each;

namespace {

/// A loop that lanes leave at different times: its counter is uniform inside, but the trip count and the sum are not.
constexpr std::string_view kKernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
  .reg .pred %q; .reg .b64 %p, %o; .reg .b32 %v, %i, %k, %n;
  ld.param.u64 %p, [p];
  ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, 4;
  add.u64 %p, %p, %o;
  mov.u32 %v, 0;
  mov.u32 %k, 0;
again:
  mad.lo.u32 %v, %v, 3, %k;
  add.u32 %k, %k, %n;
  setp.lt.u32 %q, %k, %i;
  @%q bra again;
  st.global.u32 [%p], %v;
  ret;
}
)";

launch::Launch launchOf() {
  return launch::parseLaunch(R"({"kernel": "k", "grid": 2, "block": 64,
      "arguments": [{"buffer": "b"}, {"type": "u32", "value": 3}],
      "buffers": [{"name": "b", "type": "u32", "count": 64, "init": {"generator": "ramp"}}]})",
                             ".");
}

/// Marks the first divergent register for which `chosen` is true as uniform. Returns false if there is none.
template <typename F> bool lieAbout(ori::Function& function, F chosen) {
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (const ori::Operand& o : instr.ops())
        if (o.isDef && o.isVirtual() && function.vreg(o.reg).divergent && function.hasUses(o.reg) && chosen(instr, o)) {
          function.vreg(o.reg).divergent = false;
          return true;
        }
  return false;
}

bool isResultOf(const ori::Instr& instr, isa::Op op) {
  return instr.op == op;
}

} // namespace

TEST_CASE("check-uniform finds nothing in what the analysis says") {
  const UniformVerdict verdict = checkUniform(kKernel, launchOf());
  CHECK_MESSAGE(verdict.ok, verdict.text);
  CHECK(verdict.checked == 2);
  CHECK(verdict.skipped == 0);
  CHECK(verdict.uniformRegisters > 0);
  CHECK(verdict.uniformRegisters < verdict.registers);
  CHECK(verdict.compared > 0);
}

TEST_CASE("check-uniform finds a register that is called uniform and is not") {
  const auto plant = [](auto chosen) {
    bool planted = false;
    CheckOptions options;
    options.plant = [&](const phases::PhaseInfo& phase, ori::Function& function) {
      if (phase.number == "70") planted = lieAbout(function, chosen);
    };
    const UniformVerdict verdict = checkUniform(kKernel, launchOf(), options);
    REQUIRE(planted);
    CHECK_FALSE(verdict.ok);
    CHECK_MESSAGE(verdict.text.find("70 OriPropagateVarying") == 0, verdict.text);
    CHECK_MESSAGE(verdict.text.find("is marked uniform; ") != std::string::npos, verdict.text);
  };
  // A thread's number; the exit condition of the loop; a value that is only divergent after the loop (temporal
  // divergence).
  plant([](const ori::Instr& instr, const ori::Operand&) { return isResultOf(instr, isa::Op::S2R); });
  plant([](const ori::Instr&, const ori::Operand& o) { return o.file == isa::File::P; });
  plant([](const ori::Instr& instr, const ori::Operand& o) {
    return isResultOf(instr, isa::Op::IMAD) && o.file == isa::File::R;
  });
}

TEST_CASE("check-uniform: lanes in a rare case at the end of the layout are waited for") {
  // The reciprocal of a subnormal (lanes 0 and 1) uses a cold path after the rest of the code.
  constexpr std::string_view kernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %p, %o; .reg .f64 %d; .reg .b32 %i;
  ld.param.u64 %p, [p];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, 0x00080000;
  shl.b64 %o, %o, 32;
  mov.b64 %d, %o;
  rcp.rn.f64 %d, %d;
  st.global.f64 [%p], %d;
  ret;
}
)";
  const launch::Launch launch = launch::parseLaunch(R"({"kernel": "k", "grid": 1, "block": 32,
      "arguments": [{"buffer": "b"}],
      "buffers": [{"name": "b", "type": "u64", "count": 1, "init": {"generator": "ramp"}}]})",
                                                    ".");
  const UniformVerdict verdict = checkUniform(kernel, launch);
  CHECK_MESSAGE(verdict.ok, verdict.text);
  CHECK(verdict.compared > 0);
}

TEST_CASE("check-uniform: a launch that is to trap may do so, another may not") {
  constexpr std::string_view kernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n) {
  .reg .pred %q; .reg .b32 %n, %i;
  ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x;
  setp.gt.u32 %q, %i, %n;
  @%q trap;
  ret;
}
)";
  launch::Launch launch = launch::parseLaunch(R"({"kernel": "k", "grid": 1, "block": 32,
      "arguments": [{"type": "u32", "value": 5}], "stops": "trap"})",
                                              ".");
  const UniformVerdict expected = checkUniform(kernel, launch);
  CHECK_MESSAGE(expected.ok, expected.text);
  CHECK(expected.checked == 2);
  launch.stops.clear();
  const UniformVerdict unexpected = checkUniform(kernel, launch);
  CHECK_FALSE(unexpected.ok);
  CHECK_MESSAGE(unexpected.text.find("trap") != std::string::npos, unexpected.text);
}

TEST_CASE("check-uniform: lanes that wait at a block meet when all others have exited") {
  // Lanes 0 to 7 and 8 to 15 reach `meet` in sequence while the other lanes exit.
  constexpr std::string_view kernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %p, %o; .reg .b32 %i, %v; .reg .pred %a, %b, %c;
  ld.param.u64 %p, [p];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, 4;
  add.u64 %p, %p, %o;
  mov.u32 %v, 1;
  setp.lt.u32 %a, %i, 8;
  setp.lt.u32 %b, %i, 16;
  setp.ge.u32 %c, %i, 12;
  @%a bra side;
  st.global.u32 [%p], %v;
  @%b bra meet;
  st.global.u32 [%p+128], %v;
  @%c ret;
  mov.u32 %v, 2;
  bra meet;
side:
  st.global.u32 [%p+256], %v;
  mov.u32 %v, 3;
meet:
  st.global.u32 [%p], %v;
  ret;
}
)";
  const launch::Launch launch = launch::parseLaunch(R"({"kernel": "k", "grid": 1, "block": 32,
      "arguments": [{"buffer": "b"}],
      "buffers": [{"name": "b", "type": "u32", "count": 96, "init": {"generator": "ramp"}}]})",
                                                    ".");
  const UniformVerdict verdict = checkUniform(kernel, launch);
  CHECK_MESSAGE(verdict.ok, verdict.text);
  CHECK(verdict.checked == 2);
}

TEST_CASE("check-uniform says why it cannot check") {
  launch::Launch launch = launchOf();
  launch.kernel = "other";
  CHECK_THROWS_AS(checkUniform(kKernel, launch), Error);
  CheckOptions options;
  options.assemble.optLevel = 0;
  CHECK_THROWS_AS(checkUniform(kKernel, launchOf(), options), Error);
}
