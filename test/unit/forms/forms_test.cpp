#include "test/forms/kernel.h"
#include "test/forms/run.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

// Tests of the checker of forms: equal kernels pass, planted differences are detected.

namespace orias::forms {

namespace {

/// The first example of an opcode; the table is only generated once.
Statement statementOf(std::string_view opcode) {
  static const std::map<std::string, Statement, std::less<>> all = [] {
    std::map<std::string, Statement, std::less<>> found;
    forEachStatement([&](Statement statement) { found.emplace(std::string(statement.opcode), std::move(statement)); });
    return found;
  }();
  const auto found = all.find(opcode);
  REQUIRE_MESSAGE(found != all.end(), opcode);
  return found->second;
}

Outcome planted(std::string_view interpreted, std::string_view emulated) {
  const Settings settings;
  const Statement left = statementOf(interpreted), right = statementOf(emulated);
  return judge(kernelFor(left, settings.arch, 1), kernelFor(right, settings.arch, 1), settings).outcome;
}

/// The outcome if only the statement differs: `to` replaces `from` in its text.
Outcome plantedIn(std::string_view opcode, std::string_view from, std::string_view to) {
  const Settings settings;
  const Statement statement = statementOf(opcode);
  const Kernel kernel = kernelFor(statement, settings.arch, 1);
  Kernel wrong = kernel;
  const std::size_t at = wrong.text.find(from, wrong.text.find(statement.text));
  REQUIRE_MESSAGE(at < wrong.text.find(statement.text) + statement.text.size(), statement.text);
  wrong.text.replace(at, from.size(), to);
  return judge(kernel, wrong, settings).outcome;
}

/// An example of each video instruction, in the form with c; computed once.
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

TEST_CASE("a sparse product with the metadata of other lanes is seen") {
  CHECK(plantedIn("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", ", 0;", ", 3;") == Outcome::Differs);
  CHECK(plantedIn("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", ", 0;", ", 1;") == Outcome::Differs);
}

TEST_CASE("steps of a protocol: what surrounds them sees another operation") {
  CHECK(plantedIn("mbarrier.arrive.b64", "arrive.b64", "arrive_drop.b64") == Outcome::Differs);
  CHECK(plantedIn("mbarrier.expect_tx.b64", "expect_tx", "complete_tx") == Outcome::Differs);
  CHECK(plantedIn("mbarrier.test_wait.parity.b64", "%r2", "1") == Outcome::Differs);
  CHECK(plantedIn("mbarrier.init.b64", "%r1", "6") == Outcome::Differs);
  CHECK(plantedIn("cp.async.mbarrier.arrive.noinc.b64", ".noinc", "") == Outcome::Differs);
  CHECK(plantedIn("cp.async.cg.shared.global", ", 16", ", 16, 8") == Outcome::Differs);
  CHECK(plantedIn("cp.async.wait_group", "1", "2") == Outcome::Differs);
  CHECK(plantedIn("bar.arrive", "bar.arrive", "bar.sync") == Outcome::Agrees); // only later
  CHECK(plantedIn("barrier.cluster.wait", "barrier.cluster.wait", "griddepcontrol.wait") == Outcome::Differs);
  CHECK(plantedIn("bra", "bra L1", "griddepcontrol.wait") == Outcome::Differs);
  CHECK(plantedIn("exit", "exit", "griddepcontrol.wait") == Outcome::Differs);
  CHECK(plantedIn("alloca.u64", "%d2", "0") == Outcome::Differs);
  CHECK(plantedIn("cvta.const.u64", "cvta.const.u64", "mov.b64") == Outcome::Differs);
  CHECK(plantedIn("ldmatrix.sync.aligned.m8n8.x1.b16", ".x1", ".x1.trans") == Outcome::Differs);
  CHECK(plantedIn("createpolicy.fractional.L2::evict_last.b64", "createpolicy.fractional.L2::evict_last.b64 %d1",
                  "trap") == Outcome::Differs);
}

TEST_CASE("copies and products: what surrounds them sees another one") {
  // Bulk copies, and single values with a barrier.
  CHECK(plantedIn("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", ", %r1,", ", 16,") ==
        Outcome::Differs);
  CHECK(plantedIn("cp.async.bulk.global.shared::cta.bulk_group", ", %r1;", ", 16;") == Outcome::Differs);
  CHECK(plantedIn("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32", "min", "max") == Outcome::Differs);
  CHECK(plantedIn("st.async.mbarrier::complete_tx::bytes.v2.b32", "{%r1, %r2}", "{%r2, %r1}") == Outcome::Differs);
  CHECK(plantedIn("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.min.u32", "min", "max") == Outcome::Differs);
  // Matrices.
  CHECK(plantedIn("wmma.load.a.sync.aligned.row.m16n16k16.f16", "row", "col") == Outcome::Differs);
  CHECK(plantedIn("wmma.mma.sync.aligned.row.row.m16n16k16.s32.u8.u8.s32", "u8.s32", "u8.s32.satfinite") ==
        Outcome::Differs);
  CHECK(plantedIn("wmma.store.d.sync.aligned.row.m16n16k16.f16", "row", "col") == Outcome::Differs);
  CHECK(plantedIn("wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8", "s32.u8", "s32.s8") == Outcome::Differs);
  CHECK(plantedIn("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "e4m3.e4m3", "e4m3.e5m2") == Outcome::Differs);
  // Tensors and their maps.
  CHECK(plantedIn("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "{%r1, %r2}",
                  "{%r2, %r1}") == Outcome::Differs);
  CHECK(plantedIn("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group", "min", "max") ==
        Outcome::Differs);
  CHECK(plantedIn("tensormap.replace.tile.box_dim.b1024.b32", ", 0", ", 1") == Outcome::Differs);
  // Several devices.
  CHECK(plantedIn("multimem.ld_reduce.min.u32", "min", "max") == Outcome::Differs);
  CHECK(plantedIn("multimem.red.min.u32", "min", "max") == Outcome::Differs);
  CHECK(plantedIn("multimem.st.u32", "%r1", "5") == Outcome::Differs);
}

TEST_CASE("a launch that must stop does not pass when it completes") {
  CHECK(judge(statementOf("trap"), {}).outcome == Outcome::Agrees);
  const Settings settings;
  const Statement trap = statementOf("trap"), goesOn = statementOf("griddepcontrol.wait");
  Kernel wrong = kernelFor(trap, settings.arch, 1);
  wrong.text.replace(wrong.text.find(trap.text), trap.text.size(), goesOn.text);
  CHECK(judge(kernelFor(trap, settings.arch, 1), wrong, settings).outcome == Outcome::Differs);
}

TEST_CASE("an error in the kernel around a statement is a fault, not a form that there is none of") {
  Kernel kernel = kernelFor(statementOf("add.s32"), "sm_90a", 1);
  kernel.text.replace(kernel.text.find("%ctaid.x"), 8, "%nobody");
  CHECK(judge(kernel, kernel, {}).outcome == Outcome::Fault);
}

TEST_CASE("what cannot stand alone is only assembled, what sm_90a lacks is not") {
  const Kernel kernel = kernelFor(statementOf("add.s32"), "sm_90a", 1);
  CHECK(judge(kernel, kernel, {}, "a reason").outcome == Outcome::Assembled);
  CHECK(judge(statementOf("add.f32x2"), {}).outcome == Outcome::OtherTarget);
}

} // namespace orias::forms
