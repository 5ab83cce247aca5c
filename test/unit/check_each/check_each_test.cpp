#include "frontend/module_phases/ptx_editor.h"
#include "ori/function.h"
#include "phases/module_phases.h"
#include "phases/phase.h"
#include "support/check.h"
#include "tools/check_each/check_each.h"

#include <doctest/doctest.h>
#include <fstream>
#include <iterator>

using namespace orias;
using namespace orias::check_each;

namespace {

/// p[i] = p[i] * 5 + 7, if i is below 40.
constexpr std::string_view kKernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .pred %q; .reg .b64 %p, %o; .reg .b32 %v, %i;
  ld.param.u64 %p, [p];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %q, %i, 40;
  @%q bra done;
  mul.wide.u32 %o, %i, 4;
  add.u64 %p, %p, %o;
  ld.global.u32 %v, [%p];
  mad.lo.u32 %v, %v, 5, 7;
  st.global.u32 [%p], %v;
done:
  ret;
}
)";

launch::Launch launchOf() {
  return launch::parseLaunch(R"({"kernel": "k", "grid": 1, "block": 64, "arguments": [{"buffer": "b"}],
      "buffers": [{"name": "b", "type": "u32", "count": 64, "init": {"generator": "ramp"}}]})",
                             ".");
}

/// Changes the first 7 among the operands to an 8.
bool breakImmediate(ori::Function& function) {
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        isa::Operand value = instr.op_(i).value();
        if (value.kind != isa::Operand::Kind::Imm || value.imm != 7) continue;
        value.imm = 8;
        function.setOperand(&instr, i, value);
        return true;
      }
  return false;
}

} // namespace

TEST_CASE("check-each flags nothing where nothing is wrong") {
  for (const unsigned level : {0u, 3u}) {
    CheckOptions options;
    options.assemble.optLevel = level;
    const Verdict verdict = checkEach(kKernel, launchOf(), options);
    CHECK_MESSAGE(verdict.ok, verdict.text);
    CHECK(verdict.checked >= 5);
    CHECK(verdict.skipped == 0);
  }
}

TEST_CASE("check-each names the phase that broke the code, whichever it is") {
  for (const std::string_view culprit : {"3", "16", "46", "61", "94", "101", "107"}) {
    CAPTURE(culprit);
    CheckOptions options;
    bool planted = false;
    options.plant = [&](const phases::PhaseInfo& phase, ori::Function& function) {
      if (phase.number == culprit) planted = breakImmediate(function);
    };
    const Verdict verdict = checkEach(kKernel, launchOf(), options);
    REQUIRE(planted);
    CHECK_FALSE(verdict.ok);
    CHECK(verdict.phase.substr(0, verdict.phase.find(' ')) == culprit);
    CHECK(verdict.text.find("b[0] is 8, expected 7; 40 elements differ") != std::string::npos);
    CHECK(verdict.text.find("\n-") != std::string::npos); // the changed line
    CHECK(verdict.text.find("\n+") != std::string::npos);
  }
}

TEST_CASE("check-each finds a wrong memory space that M8 would choose") {
  // The register is first a shared and then a local address: M6 cannot distinguish them.
  constexpr std::string_view kSpaces = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %p, %a, %g; .reg .b32 %v, %i;
  .shared .align 4 .b8 s[256]; .local .align 4 .b8 l[16];
  ld.param.u64 %p, [p];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %a, %i, 4;
  add.u64 %p, %p, %a;
  mov.u64 %g, s;
  cvta.shared.u64 %g, %g;
  add.u64 %g, %g, %a;
  st.u32 [%g], %i;
  ld.volatile.shared.u32 %v, [s];
  mov.u64 %g, l;
  cvta.local.u64 %g, %g;
  st.u32 [%g], %v;
  st.global.u32 [%p], %v;
  ret;
}
)";
  for (const auto& [isWrong, isObject] :
       {std::pair(false, false), std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    CAPTURE(isObject);
    CheckOptions options;
    options.assemble.relocatable = isObject;
    bool planted = false;
    const bool wantsWrong = isWrong;
    options.plant = [&](const phases::PhaseInfo& phase, ori::Function& function) {
      if (phase.number != "M8" || !wantsWrong) return;
      for (ori::Block* block : function.layout())
        for (ori::Instr& instr : *block) {
          if (instr.op != isa::Op::STS) continue;
          const isa::Operand operands[]{instr.op_(0).value(), instr.op_(1).value(), instr.op_(2).value(),
                                        instr.op_(3).value()};
          function.rewrite(&instr, isa::Op::STL, operands);
          planted = true;
        }
    };
    const Verdict verdict = checkEach(kSpaces, launchOf(), options);
    CHECK(planted == isWrong);
    CHECK(verdict.ok != isWrong);
    CHECK(verdict.skipped == 0);
    if (isWrong) CHECK(verdict.phase == "M8 MemorySpaceOptSecondTime");
  }
}

namespace {

/// The effect of a wrong mask in a phase: stores to `right` become stores to `wrong`. Returns whether there were any.
bool changeSpace(ptx::Module& module, const std::string& right, const std::string& wrong) {
  ptx::PtxEditor editor(module);
  bool changed = false;
  for (ptx::Function& f : module.functions)
    for (ptx::Instruction& i : f.instructions)
      if (module.text(module.opcodes[static_cast<std::size_t>(i.opcode)].text) == "st." + right + ".u32") {
        i.opcode = editor.opcode("st", {wrong, "u32"});
        changed = true;
      }
  return changed;
}

/// A module whose only store to local memory is generic; `store` is this store, or a call.
std::string localStore(const std::string& store) {
  return R"(
.version 8.0
.target sm_90
.address_size 64
.func set(.param .b64 at, .param .b32 v) {
  .reg .b64 %a; .reg .b32 %v;
  ld.param.b64 %a, [at];
  ld.param.b32 %v, [v];
  st.u32 [%a], %v;
  ret;
}
.visible .entry k(.param .u64 .ptr .global p) {
  .reg .b64 %p, %a, %g, %h, %l, %n; .reg .b32 %v, %i;
  .local .align 4 .b8 l[16];
  ld.param.u64 %p, [p];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %a, %i, 4;
  add.u64 %p, %p, %a;
  and.b64 %n, %a, 12;
  mov.u64 %g, l;
  add.u64 %l, %g, %n;
  cvta.local.u64 %h, %l;
)" + store +
         R"(
  ld.local.u32 %v, [%l];
  st.global.u32 [%p], %v;
  ret;
}
)";
}

} // namespace

TEST_CASE("check-each finds a wrong mask of M6, and one of M7") {
  const std::pair<std::string, std::string> phases[]{
      {"M6", localStore("st.u32 [%h], %i;")},
      {"M7", localStore("{ .param .b64 at; .param .b32 v; st.param.b64 [at], %h; st.param.b32 [v], %i; "
                        "call set, (at, v); }")}};
  for (const auto& [number, text] : phases)
    for (const std::string space : {"local", "global", "shared"}) {
      CheckOptions options;
      bool planted = false;
      options.plantInModule = [&](const phases::ModulePhase& phase, ptx::Module& module) {
        if (phase.number == number) planted = changeSpace(module, "local", space);
      };
      const Verdict verdict = checkEach(text, launchOf(), options);
      CAPTURE(number);
      CAPTURE(space);
      CHECK(planted);
      const bool isWrong = space != "local";
      CHECK(verdict.ok != isWrong);
      if (isWrong) CHECK(verdict.phase.starts_with(number + " "));
    }
}

TEST_CASE("check-each takes what lowering made for lowering's") {
  CheckOptions options;
  options.plant = [](const phases::PhaseInfo& phase, ori::Function& function) {
    if (phase.number == "0") breakImmediate(function);
  };
  CHECK(checkEach(kKernel, launchOf(), options).phase == "lowering");
}

TEST_CASE("check-each says why it cannot check") {
  launch::Launch launch = launchOf();
  launch.kernel = "other";
  CHECK_THROWS_AS(checkEach(kKernel, launch), Error);
  CHECK_THROWS_AS(checkEach("rubbish", launchOf()), Error);
  CheckOptions options;
  options.run.instructionBudget = 10;
  CHECK_THROWS_AS(checkEach(kKernel, launchOf(), options), Error);
}
