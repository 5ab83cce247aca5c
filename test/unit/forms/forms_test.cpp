#include "test/forms/kernel.h"
#include "test/forms/run.h"

#include <doctest/doctest.h>

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

} // namespace

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
