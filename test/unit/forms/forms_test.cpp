#include "test/forms/kernel.h"
#include "test/forms/run.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

// The checker of forms itself: what agrees passes, a planted difference is seen.

namespace orias::forms {

namespace {

/// The first example of an opcode.
Statement statementOf(std::string_view opcode) {
  std::vector<Statement> found;
  forEachStatement([&](Statement statement) {
    if (found.empty() && statement.opcode == opcode) found.push_back(std::move(statement));
  });
  REQUIRE_MESSAGE(found.size() == 1, opcode);
  return found.front();
}

Outcome planted(std::string_view interpreted, std::string_view emulated) {
  const Settings settings;
  const Statement left = statementOf(interpreted), right = statementOf(emulated);
  return judge(kernelFor(left, settings.arch, 1), kernelFor(right, settings.arch, 1), settings).outcome;
}

/// An example of each video instruction, of the form with c; looked up once.
const std::map<std::string, Statement>& videoStatements() {
  static const std::map<std::string, Statement> all = [] {
    std::map<std::string, Statement> found;
    forEachStatement([&](Statement statement) {
      if (statement.opcode.starts_with('v') && statement.uses.size() == 4) found.emplace(statement.opcode, statement);
    });
    return found;
  }();
  return all;
}

/// The example with other operands.
Statement videoOf(std::string_view opcode, std::string_view operands) {
  const auto found = videoStatements().find(std::string(opcode));
  REQUIRE_MESSAGE(found != videoStatements().end(), opcode);
  Statement statement = found->second;
  statement.text = std::string(opcode) + " " + std::string(operands) + ";";
  return statement;
}

} // namespace

TEST_CASE("video instructions on parts of registers") {
  const auto agrees = [](std::string_view opcode, std::string_view operands) {
    const Verdict verdict = judge(videoOf(opcode, operands), {});
    CHECK_MESSAGE(verdict.outcome == Outcome::Agrees, opcode, " ", operands, ": ", verdict.reason);
  };
  for (const std::string_view opcode :
       {"vadd.s32.u32.u32", "vadd.u32.s32.u32", "vsub.u32.u32.s32", "vabsdiff.u32.u32.u32.sat", "vmin.u32.s32.u32",
        "vmax.u32.u32.s32", "vset.u32.s32.eq", "vset.s32.u32.eq"})
    for (const std::string_view operands : {"%r1.b2, %r2.b3, %r3.h1, %r4", "%r1.h1, %r2.b0, %r3, %r4",
                                            "%r1.h0, %r2, %r3.b1, %r4", "%r1.b0, %r2, %r3, %r4"})
      agrees(opcode, operands);
  for (const std::string_view opcode : {"vadd.u32.u32.u32.sat", "vsub.u32.u32.u32.sat"})
    for (const std::string_view operands : {"%r1.b2, %r2.b3, %r3.h1, %r4", "%r1.h1, %r2, %r3, %r4"})
      agrees(opcode, operands);
  agrees("vshl.u32.u32.u32.sat.clamp", "%r1.h1, %r2.h0, %r3.b0, %r4");
  agrees("vshr.s32.u32.u32.clamp", "%r1.b1, %r2, %r3.b0, %r4");
  agrees("vmad.u32.s32.u32", "%r1, %r2.h1, -%r3.b2, %r4");
  agrees("vmad.u32.u32.u32.sat", "%r1, %r2, %r3, -%r4");
  agrees("vmad.u32.u32.u32.sat", "%r1, -%r2, %r3, %r4");
  agrees("vmad.u32.u32.u32.po.shr7", "%r1, %r2.b0, %r3, %r4");
  for (const std::string_view opcode : {"vadd2.s32.u32.u32", "vsub2.u32.u32.u32.sat", "vavrg2.u32.s32.u32",
                                        "vabsdiff2.u32.u32.s32", "vset2.u32.u32.ne", "vmax2.u32.u32.u32.add"})
    for (const std::string_view operands :
         {"%r1.h0, %r2.h13, %r3.h20, %r4", "%r1.h1, %r2, %r3.h31, %r4", "%r1, %r2.h01, %r3, %r4"})
      agrees(opcode, operands);
  for (const std::string_view opcode : {"vadd4.u32.s32.u32", "vsub4.u32.u32.u32.sat", "vavrg4.u32.u32.s32",
                                        "vabsdiff4.u32.u32.u32", "vset4.u32.u32.ge", "vmin4.u32.u32.u32.add"})
    for (const std::string_view operands :
         {"%r1.b20, %r2.b7103, %r3.b2640, %r4", "%r1.b3, %r2, %r3.b0000, %r4", "%r1, %r2.b0123, %r3, %r4"})
      agrees(opcode, operands);
}

TEST_CASE("a form that is assembled right agrees") {
  CHECK(judge(statementOf("add.s32"), {}).outcome == Outcome::Agrees);
  CHECK(judge(statementOf("red.global.add.u32"), {}).outcome == Outcome::Agrees);
  CHECK(judge(statementOf("addc.cc.u32"), {}).outcome == Outcome::Agrees);
}

TEST_CASE("another operation in the assembled kernel is seen, in registers, in the carry and in memory") {
  CHECK(planted("add.s32", "add.sat.s32") == Outcome::Differs);
  CHECK(planted("min.f32", "min.NaN.f32") == Outcome::Differs);
  CHECK(planted("cvt.rni.u8.f32", "cvt.rzi.u8.f32") == Outcome::Differs);
  CHECK(planted("add.cc.u32", "sub.cc.u32") == Outcome::Differs);
  CHECK(planted("red.min.u32", "red.max.u32") == Outcome::Differs);
  CHECK(planted("red.global.add.u32", "red.global.min.u32") == Outcome::Differs);
}

TEST_CASE("what cannot stand alone is only assembled, what sm_90a lacks is not") {
  CHECK(judge(statementOf("exit"), {}).outcome == Outcome::Assembled);
  CHECK(judge(statementOf("add.f32x2"), {}).outcome == Outcome::OtherTarget);
}

} // namespace orias::forms
