#include "allocation.h"

#include "encoder/isa/desc.h"
#include "regalloc/check.h"
#include "regalloc/live_ranges.h"
#include "regalloc/spill.h"
#include "regalloc/webs.h"

#include <fmt/format.h>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;

namespace {

/// A function and a hand-written assignment, in which faults can be planted. Virtual register n is %rn.
struct Plan {
  std::unique_ptr<ori::Module> module;
  Assignment assignment;

  Plan(std::string_view body, std::vector<std::uint32_t> physical, std::string_view chip = "sm_90")
      : module(ori::test::kernel(body, chip)) {
    SpillState state(function());
    assignment = state.assignment;
    assignment.physical = std::move(physical);
    assignment.physical.resize(function().vregCount(), ~0u);
  }
  ori::Function& function() const { return *module->functions.front(); }
  std::vector<std::string> faults() const { return check(function(), assignment); }
  std::string all() const {
    std::string text;
    for (const std::string& f : faults())
      text += f + "\n";
    return text;
  }
};

constexpr const char* kStraight = ".L0:\n S2R %r0, SR_TID.X;\n S2R %r1, SR_TID.Y;\n IADD3 %r2, %r0, %r1, RZ;\n"
                                  " STS [%r0], %r2;\n EXIT;\n";

constexpr const char* kLoop =
    ".L0:\n S2R %r0, SR_TID.X;\n MOV %r1, 0;\n -> .L1;\n"
    ".L1:\n IADD3 %r1, %r1, %r0, RZ;\n ISETP.LT.U32.AND %p2, PT, %r1, 9, PT;\n MOV %r3, %r1;\n"
    " STS [%r3], %r3;\n @%p2 BRA .L1;\n -> .L2;\n.L2:\n STS [%r0], %r1;\n EXIT;\n";

/// Straight-line code whose values are all spilled. Each register of the result is separate.
struct SpillPlan : Plan {
  SpillPlan()
      : Plan("  reg %r1:2;\n.L0:\n S2R %r0, SR_TID.X;\n MOV %r1.0, 5;\n MOV %r1.1, 6;\n STS [%r0], %r0;\n STS.64 "
             "[%r0], %r1:2;\n EXIT;\n",
             {}) {
    SpillState state(function());
    const LiveRanges ranges(function(), File::R);
    const Webs webs = buildWebs(function(), File::R, ranges, {});
    for (const Web& web : webs.all)
      spillWeb(function(), web, File::R, state, {.remat = false});
    state.grow(function());
    assignment = state.assignment;
    // Each in a separate register, which is always correct.
    for (ori::VRegId v = 0; v < function().vregCount(); ++v)
      assignment.physical.push_back(2 * v + 2);
  }
  ori::Instr* nth(isa::Op op, unsigned n) const {
    for (ori::Block* block : function().layout())
      for (ori::Instr& instr : *block)
        if (instr.op == op && n-- == 0) return &instr;
    REQUIRE(false);
    return nullptr;
  }
  unsigned frameOperand(const ori::Instr& instr) const {
    for (unsigned i = 0; i < instr.operandCount; ++i)
      if (instr.op_(i).kind == isa::Operand::Kind::Frame) return i;
    REQUIRE(false);
    return 0;
  }
};

} // namespace

TEST_CASE("right assignments have no faults") {
  CHECK(Plan(kStraight, {0, 1, 2}).all() == "");
  CHECK(Plan(kStraight, {0, 1, 1}).all() == ""); // a result in the register of a source that dies
  CHECK(Plan(kLoop, {0, 1, 0, 2}).all() == "");
  CHECK(SpillPlan().all() == "");
}

TEST_CASE("two values in one register at once") {
  CHECK(contains(Plan(kStraight, {0, 0, 2}).all(), "register 0 does not hold component 0 of virtual register 0"));
  CHECK(contains(Plan(kStraight, {0, 1, 0}).all(), "STS"));
  // Only the next iteration of the loop is affected.
  CHECK(Plan(kLoop, {0, 1, 0, 0}).all() != "");
}

TEST_CASE("a copy may sit where its source is, for as long as both are the same") {
  constexpr const char* body = ".L0:\n S2R %r0, SR_TID.X;\n COPY %r1, %r0;\n STS [%r0], %r1;\n IADD3 %r1, %r1, 1, "
                               "RZ;\n STS [%rX], %r1;\n EXIT;\n";
  std::string good = body, bad = body;
  good.replace(good.find("%rX"), 3, "%r1");
  bad.replace(bad.find("%rX"), 3, "%r0");
  CHECK(Plan(good, {4, 4}).all() == "");
  CHECK(contains(Plan(bad, {4, 4}).all(), "virtual register 0"));
  CHECK(Plan(bad, {4, 5}).all() == "");
}

TEST_CASE("a result without a use still destroys") {
  constexpr const char* body = ".L0:\n S2R %r0, SR_TID.X;\n MOV %r1, 5;\n STS [%r0], %r0;\n EXIT;\n";
  CHECK(Plan(body, {0, 1}).all() == "");
  CHECK(Plan(body, {0, 0}).all() != "");
  CHECK(Plan(body, {0, ~0u}).all() == "");
}

TEST_CASE("guarded definitions keep the old value only in the same register") {
  constexpr const char* body =
      "  reg %r1;\n.L0:\n S2R %r0, SR_TID.X;\n MOV %r1, 3;\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n"
      " MOV %r3, %r0;\n @%p2 MOV %r1, 4;\n STS [%r3], %r1;\n EXIT;\n";
  CHECK(Plan(body, {0, 1, 0, 2}).all() == "");
  CHECK(contains(Plan(body, {0, 1, 0, 1}).all(), "STS"));
}

TEST_CASE("what is written under a guard may be read under it from where the old value is gone") {
  // %r1 of the last iteration is dead, so %r3 may use its register before the load.
  const auto body = [](std::string_view guard, std::string_view between = "") {
    return "  reg %r1;\n.L0:\n S2R %r0, SR_TID.X;\n -> .L1;\n.L1:\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n"
           " MOV %r3, %r0;\n STS [%r3], %r3;\n @%p2 LDS %r1, [%r0];\n" +
           std::string(between) + " " + std::string(guard) +
           " STS [%r0], %r1;\n ISETP.LT.U32.AND %p4, PT, %r0, 5, PT;\n @%p4 BRA .L1;\n -> .L2;\n.L2:\n EXIT;\n";
  };
  CHECK(Plan(body("@%p2"), {0, 1, 0, 1, 1}).all() == "");
  CHECK(contains(Plan(body("@!%p2"), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(contains(Plan(body(""), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(contains(Plan(body("@%p4"), {0, 1, 0, 1, 1}).all(), "STS"));
  const char* other = " ISETP.LT.U32.AND %p2, PT, %r0, 7, PT;\n";
  CHECK(contains(Plan(body("@%p2", other), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(Plan(body("@%p2", other), {0, 1, 0, 2, 1}).all() == "");
  CHECK(contains(Plan(body("@%p2", " MOV %r3, 5;\n STS [%r3], %r3;\n"), {0, 1, 0, 1, 1}).all(), "STS"));
}

TEST_CASE("definitions under a predicate and its complement are one definition") {
  const auto body = [](std::string_view second, std::string_view between = "") {
    return "  reg %r1;\n.L0:\n S2R %r0, SR_TID.X;\n -> .L1;\n.L1:\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n"
           " MOV %r3, %r0;\n STS [%r3], %r3;\n @%p2 LDS %r1, [%r0];\n" +
           std::string(between) + " " + std::string(second) +
           " MOV %r1, 7;\n STS [%r0], %r1;\n ISETP.LT.U32.AND %p4, PT, %r0, 5, PT;\n @%p4 BRA .L1;\n -> .L2;\n"
           ".L2:\n EXIT;\n";
  };
  CHECK(Plan(body("@!%p2"), {0, 1, 0, 1, 1}).all() == "");
  CHECK(contains(Plan(body("@%p2"), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(contains(Plan(body("@!%p4"), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(contains(Plan(body("@!%p2", " MOV %r3, 5;\n STS [%r3], %r3;\n"), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(contains(Plan(body("@!%p2", " ISETP.LT.U32.AND %p2, PT, %r0, 7, PT;\n"), {0, 1, 0, 1, 1}).all(), "STS"));
}

TEST_CASE("a guarded copy with an undefined rest may share the register of what it copies") {
  const auto body = [](std::string_view rest) {
    return fmt::format(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.AND %p1, PT, %r0, 5, PT;\n LDS %r2, [%r0];\n"
                       " @%p1 COPY %r3, %r2{};\n @%p1 STS [%r0], %r3;\n STS [%r0], %r2;\n EXIT;\n",
                       rest);
  };
  CHECK(Plan(body(" {undef}"), {0, 0, 1, 1}).all() == "");
  CHECK(Plan(body(" {undef}"), {0, 0, 1, 2}).all() == "");
  // In the register of another value it overwrites this value if the guard is true.
  CHECK(contains(Plan(body(" {undef}"), {0, 0, 1, 0}).all(), "STS"));
}

TEST_CASE("copies of a value under a guard take no registers of their own") {
  const auto module = ori::test::kernel(
      "  reg %r4:2, %r5:2;\n.L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.AND %p1, PT, %r0, 5, PT;\n LDS %r2, [%r0];\n LDS %r3, "
      "[%r0+4];\n"
      " @%p1 COPY %r4.0, %r2 {undef};\n @%p1 COPY %r4.1, %r3 {undef};\n @%p1 STS.64 [%r0], %r4:2;\n"
      " @%p1 COPY %r5.0, %r2 {undef};\n @%p1 COPY %r5.1, %r3 {undef};\n @%p1 STS.64 [%r0+8], %r5:2;\n EXIT;\n");
  ori::Function& function = *module->functions.front();
  const LiveRanges ranges(function, File::R);
  const Webs webs = buildWebs(function, File::R, ranges, {});
  CHECK(webs.webOf[4] == webs.webOf[2]);
  CHECK(webs.webOf[5] == webs.webOf[3]);
  CHECK(webs.all.size() == 2);
}

TEST_CASE("a guarded definition with an undefined rest needs no old value") {
  // %r3 has the register of %r1 from the last iteration.
  const auto body = [](std::string_view mark, std::string_view use) {
    return "  reg %r1;\n.L0:\n S2R %r0, SR_TID.X;\n -> .L1;\n.L1:\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n"
           " MOV %r3, %r0;\n STS [%r3], %r3;\n @%p2 LDS %r1, [%r0]" +
           std::string(mark) + ";\n" + std::string(use) +
           " STS [%r0], %r1;\n ISETP.LT.U32.AND %p4, PT, %r0, 5, PT;\n @%p4 BRA .L1;\n -> .L2;\n.L2:\n EXIT;\n";
  };
  CHECK(contains(Plan(body("", ""), {0, 1, 0, 1, 1}).all(), "STS"));
  CHECK(Plan(body(" {undef}", ""), {0, 1, 0, 1, 1}).all() == "");
  // The value that it writes must be preserved.
  CHECK(contains(Plan(body(" {undef}", " MOV %r3, 5;\n STS [%r3], %r3;\n"), {0, 1, 0, 1, 1}).all(), "STS"));
}

TEST_CASE("a value with no place, a tuple out of line, a number beyond the file") {
  CHECK(contains(Plan(kStraight, {0, ~0u, 2}).all(), "has no location"));
  CHECK(contains(Plan(kStraight, {0, 255, 2}).all(), "beyond the end"));
  constexpr const char* pair = "  reg %r1:2;\n.L0:\n S2R %r0, SR_TID.X;\n IMAD.WIDE %r1:2, %r0, 4, c[0x0][0x210]:2;\n "
                               "STS.64 [%r0], %r1:2;\n EXIT;\n";
  CHECK(Plan(pair, {0, 2}).all() == "");
  CHECK(contains(Plan(pair, {0, 3}).all(), "not aligned to 2"));
  CHECK(contains(Plan(pair, {3, 2}).all(), "virtual register 0")); // the high word overlaps the address
}

TEST_CASE("a uniform register above 63 is no predicate") {
  constexpr const char* body = ".L0:\n S2R %r0, SR_TID.X;\n S2UR %ur1, SR_CTAID.X;\n S2UR %ur3, SR_CTAID.Y;\n"
                               " UISETP.LT.AND %up2, UPT, %ur3, 5, UPT;\n USEL %ur3, %ur1, 1, %up2;\n"
                               " STS [%ur1], %r0;\n STS [%ur3], %r0;\n EXIT;\n";
  CHECK(Plan(body, {0, 64, 0, 4}, "sm_120").all() == "");
  CHECK(contains(Plan(body, {0, 64, 0, 4}).all(), "beyond the end"));
}

TEST_CASE("two results of one instruction in one place") {
  constexpr const char* body =
      ".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p1, %p2, %r0, 9, PT;\n @%p2 STS [%r0], %r0;\n EXIT;\n";
  CHECK(Plan(body, {0, 0, 1}).all() == "");
  CHECK(contains(Plan(body, {0, 0, 0}).all(), "two results in one register"));
}

TEST_CASE("a product of a warp group an operand of a wgmma in flight") {
  constexpr const char* body =
      "  reg %r0:4, %r1:4, %r2:4, %ur3:4, %up4;\n.L0:\n UMOV %ur3.0, 1;\n UMOV %ur3.1, 2;\n UMOV %ur3.2, 3;\n"
      " UMOV %ur3.3, 4;\n UISETP.NE.U32.AND %up4, UPT, %ur3.0, 7, UPT;\n LDS.128 %r0:4, [0];\n LDS.128 %r1:4, [0x10];\n"
      " HGMMA_R<0,1,0,0,0> %r2:4, %r0:4, gdesc[%ur3:4], %r1:4, %up4, 7;\n STS.128 [0], %r2:4;\n EXIT;\n";
  CHECK(Plan(body, {0, 4, 4, 4, 0}).all() == "");
  CHECK(contains(Plan(body, {0, 4, 0, 4, 0}).all(), "an operand of a wgmma in flight"));
}

TEST_CASE("values that meet from two sides must meet in one place") {
  // Both sides define %r1; at the join the register contains it on both paths.
  constexpr const char* body =
      ".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n @%p2 BRA .L2;\n -> .L1;\n"
      ".L1:\n MOV %r1, 1;\n MOV %r3, 7;\n STS [%r0], %r3;\n BRA .L3;\n.L2:\n MOV %r1, 2;\n -> .L3;\n"
      ".L3:\n STS [%r0], %r1;\n EXIT;\n";
  CHECK(Plan(body, {0, 1, 0, 2}).all() == "");
  CHECK(contains(Plan(body, {0, 1, 0, 1}).all(), "virtual register 1"));
}

TEST_CASE("warp-uniform values on two sides of a branch") {
  constexpr const char* body =
      ".L0:\n S2R %r0, SR_TID.X;\n S2UR %ur1, SR_CTAID.X;\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n @%p2 BRA .L2;\n -> "
      ".L1;\n"
      ".L1:\n MOV %r4, %ur1;\n STS [%r0], %r4;\n BRA .L3;\n"
      ".L2:\n S2UR %ur3, SR_CTAID.Y;\n MOV %r4, %ur3;\n STS [%r0], %r4;\n -> .L3;\n.L3:\n EXIT;\n";
  CHECK(Plan(body, {0, 0, 0, 1, 1}).all() == "");
  // In each thread %ur1 is dead on the side that writes %ur3, but the other side may run afterwards.
  CHECK(contains(Plan(body, {0, 0, 0, 0, 1}).all(), "virtual register 1"));
}

TEST_CASE("warp-uniform values after a YIELD") {
  // Lanes that have left the loop write %ur4 while others read %ur1 in it, until all reconverge.
  const std::string loop =
      ".L0:\n S2R %r0, SR_TID.X;\n S2UR %ur1, SR_CTAID.X;\n -> .L1;\n.L1:\n YIELD;\n -> .L2;\n"
      ".L2:\n MOV %r2, %ur1;\n LDS %r2, [%r2];\n ISETP.NE.AND %p3, PT, %r2, RZ, PT;\n @%p3 BRA .L1;\n -> .L3;\n.L3:\n";
  const std::string write = " S2UR %ur4, SR_CTAID.Y;\n MOV %r2, %ur4;\n STS [%r0], %r2;\n EXIT;\n";
  CHECK(Plan(loop + write, {0, 0, 1, 0, 1}).all() == "");
  CHECK(contains(Plan(loop + write, {0, 0, 1, 0, 0}).all(),
                 "virtual register 1, which lanes that have yielded still read"));
  CHECK(Plan(loop + " WARPSYNC.ALL;\n -> .L4;\n.L4:\n" + write, {0, 0, 1, 0, 0}).all() == "");
}

TEST_CASE("warp-uniform values after a YIELD that are reloaded in one block") {
  // %ur2 is a part of %ur1, which is not read after the write of %ur4.
  Plan plan(
      ".L0:\n S2R %r0, SR_TID.X;\n S2UR %ur1, SR_CTAID.X;\n -> .L1;\n.L1:\n YIELD;\n -> .L2;\n"
      ".L2:\n S2UR %ur2, SR_CTAID.X;\n MOV %r3, %ur2;\n LDS %r3, [%r3];\n S2UR %ur4, SR_CTAID.Y;\n MOV %r5, %ur4;\n"
      " IADD3 %r3, %r3, %r5, RZ;\n ISETP.NE.AND %p6, PT, %r3, RZ, PT;\n @%p6 BRA .L1;\n -> .L3;\n.L3:\n EXIT;\n",
      {0, 0, 0, 1, 0, 2, 0});
  plan.assignment.standsFor[2] = 1;
  CHECK(plan.all() == "");
}

TEST_CASE("a spill store that is missing") {
  SpillPlan plan;
  ori::Instr* store = plan.nth(isa::Op::STL, 0);
  plan.function().erase(store);
  CHECK(plan.all() != "");
}

TEST_CASE("a spill load that is missing") {
  SpillPlan plan;
  plan.function().erase(plan.nth(isa::Op::LDL, 0));
  CHECK(plan.all() != "");
}

TEST_CASE("spill code that names another word or another slot") {
  SpillPlan plan;
  // The second half of the pair is stored at the address of the first.
  ori::Instr* store = plan.nth(isa::Op::STL, 2);
  const unsigned at = plan.frameOperand(*store);
  isa::Operand where = store->op_(at).value();
  where.imm ^= 4;
  plan.function().setOperand(store, at, where);
  CHECK(plan.all() != "");

  SpillPlan other;
  ori::Instr* load = other.nth(isa::Op::LDL, 0);
  isa::Operand slot = load->op_(other.frameOperand(*load)).value();
  slot.reg ^= 1;
  other.function().setOperand(load, other.frameOperand(*load), slot);
  CHECK(other.all() != "");

  SpillPlan outside;
  load = outside.nth(isa::Op::LDL, 0);
  slot = load->op_(outside.frameOperand(*load)).value();
  slot.imm += 64;
  outside.function().setOperand(load, outside.frameOperand(*load), slot);
  CHECK(contains(outside.all(), "outside its stack slot"));
}

TEST_CASE("a temporary that is overwritten between load and use") {
  SpillPlan plan;
  // All temporaries are in one register: those of the pair and the address conflict.
  for (std::uint32_t& p : plan.assignment.physical)
    p = 2;
  CHECK(plan.all() != "");
}

TEST_CASE("the stack pointer's register is taken") {
  SpillPlan plan;
  for (ori::VRegId v = 0; v < plan.function().vregCount(); ++v)
    if (plan.function().vreg(v).width == 1) {
      plan.assignment.physical[v] = 1;
    }
  CHECK(contains(plan.all(), "stack pointer"));
}

TEST_CASE("so is the frame pointer's, where there is one") {
  SpillPlan plan;
  for (ori::VRegId v = 0; v < plan.function().vregCount(); ++v)
    if (plan.function().vreg(v).width == 1) plan.assignment.physical[v] = 2;
  CHECK(!contains(plan.all(), "frame pointer"));
  plan.function().hasFramePointer = true;
  CHECK(contains(plan.all(), "frame pointer"));
}

TEST_CASE("an elected lane writes uniform registers for sure, a guard does not") {
  // %ur4 has the register of %ur2 in each iteration.
  const auto loop = [](std::string_view guard) {
    return ".L0:\n S2R %r0, SR_TID.X;\n -> .L1;\n.L1:\n " + std::string(guard) +
           "\n @%p1 R2UR %ur2, %r0;\n UIADD3 %ur3, %ur2, 1, URZ;\n UIADD3 %ur4, %ur3, 1, URZ;\n"
           " STS [%ur4], %r0;\n ISETP.LT.AND %p5, PT, %r0, 5, PT;\n @%p5 BRA .L1;\n -> .L2;\n.L2:\n EXIT;\n";
  };
  const std::vector<std::uint32_t> physical{0, 0, 4, 5, 4, 1};
  CHECK(Plan(loop("ELECT %p1, URZ, PT;"), physical).all() == "");
  CHECK(contains(Plan(loop("ISETP.GT.AND %p1, PT, %r0, 5, PT;"), physical).all(), "does not hold"));
}

TEST_CASE("a value of the warp that waits in a register of the lanes is not lost on the other side of a branch") {
  // %r3 holds %ur1 for the lanes of .L1. Those of .L2 have another value in that register, and never read %ur1.
  Plan plan("  reg %r0, %ur1, %p2, %r3, %r4, %ur5;\n"
            ".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.AND %p2, PT, %r0, 5, PT;\n @%p2 BRA .L2;\n -> .L1;\n"
            ".L1:\n S2UR %ur1, SR_CTAID.X;\n MOV %r3, %ur1;\n BRA .L3;\n"
            ".L2:\n MOV %r4, 7;\n STS [%r0], %r4;\n -> .L3;\n"
            ".L3:\n @%p2 BRA .L5;\n -> .L4;\n.L4:\n R2UR %ur5, %r3;\n STS [%ur5], %r0;\n -> .L5;\n.L5:\n EXIT;\n",
            {0, 0, 0, 1, 1, 2});
  plan.assignment.standsFor[3] = plan.assignment.standsFor[5] = 1;
  const auto isMove = [&](isa::Op op, std::uint8_t reg, std::uint8_t from) {
    for (const ori::Block* block : plan.function().layout())
      for (const ori::Instr& instr : *block)
        if (instr.op == op && instr.op_(from).isVirtual())
          plan.assignment.spillMoves[instr.id] = {SpillMove::Kind::Move, reg, from};
  };
  isMove(isa::Op::MOV, 0, 1);
  isMove(isa::Op::R2UR, 1, 2);
  CHECK(plan.all() == "");
  plan.assignment.physical[4] = 3;
  plan.assignment.physical[0] = 1; // the register of %r3 contains a value that all lanes read
  CHECK(plan.all() != "");
}

TEST_CASE("a side without instructions disturbs no register of the warp") {
  // The other side overwrites the value after its read. That is only wrong if the side without %ur4 runs in between.
  const auto sides = [](std::string_view other) {
    return ".L0:\n S2UR %ur1, SR_CTAID.X;\n S2R %r0, SR_TID.X;\n ISETP.LT.AND %p2, PT, %r0, 5, PT;\n"
           " @%p2 BRA .L2;\n -> .L1;\n.L1:\n UIADD3 %ur3, %ur1, 1, URZ;\n STS [%ur3], %r0;\n -> .L3;\n.L2:\n" +
           std::string(other) + " -> .L3;\n.L3:\n EXIT;\n";
  };
  CHECK(Plan(sides(""), {0, 4, 0, 4}).all() == "");
  CHECK(contains(Plan(sides(" STS [%ur1], %r0;\n"), {0, 4, 0, 4}).all(), "does not hold"));
}

TEST_CASE("a side of a branch that ends in a block which other paths reach, too") {
  // .L7 ends a side of the branch in .L2. On the path through .L5 the register of %ur3 has another value, but that path
  // does not start at the branch.
  const auto loop = [](std::string_view shared) {
    return "  reg %r0, %p1, %p2, %ur3, %ur4;\n"
           ".L0:\n S2R %r0, SR_TID.X;\n -> .L1;\n"
           ".L1:\n ISETP.LT.AND %p1, PT, %r0, 5, PT;\n @%p1 BRA .L5;\n -> .L2;\n"
           ".L2:\n S2UR %ur3, SR_CTAID.X;\n ISETP.LT.AND %p2, PT, %r0, 9, PT;\n @%p2 BRA .L4;\n -> .L3;\n"
           ".L3:\n STS [%ur3], %r0;\n BRA .L8;\n"
           ".L4:\n STS [%ur3+4], %r0;\n BRA .L7;\n"
           ".L5:\n S2UR %ur4, SR_CTAID.Y;\n STS [%ur4], %r0;\n -> .L7;\n"
           ".L7:\n IADD3 %r0, %r0, 1, RZ;\n" +
           std::string(shared) +
           " -> .L8;\n"
           ".L8:\n ISETP.LT.AND %p1, PT, %r0, 7, PT;\n @%p1 BRA .L1;\n -> .L9;\n.L9:\n EXIT;\n";
  };
  CHECK(Plan(loop(""), {0, 0, 1, 4, 4}).all() == "");
  // The write in .L7 is executed between the two sides of that branch.
  CHECK(contains(Plan(loop(" S2UR %ur4, SR_CTAID.Z;\n STS [%ur4], %r0;\n"), {0, 0, 1, 4, 4}).all(), "does not hold"));
}
