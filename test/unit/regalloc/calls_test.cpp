#include "allocation.h"

#include "ori/builder.h"
#include "regalloc/calls.h"
#include "regalloc/check.h"
#include "regalloc/spill.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

/// A call with a pair of arguments, and `live` values that are used after the call, including a predicate.
std::string aroundCall(unsigned live) {
  std::string body = "  reg %r900:2, %r901:2;\n.L0:\n S2R %r900.0, SR_TID.X;\n MOV %r900.1, 5;\n"
                     " ISETP.LT.U32.AND %p902, PT, %r900.0, 9, PT;\n";
  for (unsigned i = 0; i < live; ++i)
    body += " S2R %r" + std::to_string(i) + ", SR_TID.Y;\n";
  body += " CALL.EXTERN %r901:2, 8, %r900:2, RZ, RZ;\n STS.64 [RZ], %r901:2;\n @%p902 STS [RZ], %r900.0;\n";
  for (unsigned i = 0; i < live; ++i)
    body += " STS [RZ], %r" + std::to_string(i) + ";\n";
  return body + " EXIT;\n";
}

} // namespace

TEST_CASE("a call finds its arguments from R4 on, and its result is fetched there") {
  auto module = ori::test::kernel("  reg %r0:2, %r1:2;\n.L0:\n S2R %r0.0, SR_TID.X;\n MOV %r0.1, 5;\n"
                                  " CALL.EXTERN %r1:2, 8, %r0:2, RZ, RZ;\n STS.64 [RZ], %r1:2;\n EXIT;\n");
  ori::Function& f = *module->functions.front();
  CHECK(allocate(f) == "");
  const std::string text = test::text(f);
  CAPTURE(text);
  for (const char* part : {"LEPC R20:2, .L", "CALL_ABS_R<1> R14:2", "R4"})
    CHECK(contains(text, part));
  CHECK(!contains(text, "CALL.EXTERN"));
  CHECK(f.stats.registers == 22 + 2);
}

TEST_CASE("before sm_90 a call counts the bytes from LEPC, which knows its own place only") {
  auto module = ori::test::kernel("  reg %r0:2;\n.L0:\n S2R %r0.0, SR_TID.X;\n MOV %r0.1, 5;\n"
                                  " CALL.EXTERN RZ, 8, %r0:2, RZ, RZ;\n EXIT;\n",
                                  "sm_80");
  ori::Function& f = *module->functions.front();
  CHECK(allocate(f) == "");
  CHECK(contains(test::text(f), "IMAD.WIDE.U32 R20:2, R0, 0x30, R20:2;"));
  ori::Instr* add = nullptr;
  for (ori::Block* block : f.layout())
    for (ori::Instr& instr : *block)
      if (instr.op == ori::Op::IMAD_WIDE) add = &instr;
  REQUIRE(add);
  f.insertAfter(add, f.create(ori::Op::NOP, {}, add->source));
  settleReturnAddresses(f);
  CHECK(contains(test::text(f), "IMAD.WIDE.U32 R20:2, R0, 0x40, R20:2;"));
}

TEST_CASE("what lives across a call is where the callee leaves it, or in memory") {
  for (unsigned live : {1u, 8u, 40u, 200u})
    for (unsigned ceiling : {255u, 40u, 32u}) {
      CAPTURE(live);
      CAPTURE(ceiling);
      auto module = ori::test::kernel(aroundCall(live));
      AllocationOptions options;
      options.maxRegisters = ceiling;
      CHECK(allocate(*module->functions.front(), options) == "");
    }
}

TEST_CASE("the checker knows which registers a callee may change") {
  const auto faults = [](std::vector<std::uint32_t> physical) {
    auto module = ori::test::kernel(".L0:\n S2R %r0, SR_TID.X;\n S2R %r1, SR_TID.Y;\n"
                                    " CALL.EXTERN RZ, 8, %r0, RZ, RZ;\n STS [RZ], %r1;\n EXIT;\n");
    const ori::Function& f = *module->functions.front();
    SpillState state(f);
    Assignment assignment = state.assignment;
    assignment.physical = std::move(physical);
    assignment.physical.resize(f.vregCount(), ~0u);
    return check(f, assignment).size();
  };
  CHECK(faults({4, 16}) == 0);
  CHECK(faults({15, 2}) == 0);
  CHECK(faults({4, 15}) == 1);
  CHECK(faults({4, 20}) == 1);
  CHECK(faults({4, 3}) == 1);
}

TEST_CASE("arguments in each other's registers are exchanged by way of R0") {
  auto module = ori::test::kernel(".L0:\n EXIT;\n");
  ori::Function& f = *module->functions.front();
  ori::Builder b = ori::Builder::before(f, f.entry()->first);
  const auto reg = [](std::uint32_t r) { return isa::Operand::physical(isa::File::R, r); };
  b.emit(ori::Op::CALL_EXTERN, {isa::Operand::rz(), isa::Operand::immediate(0), reg(5), reg(6), reg(4)});
  expandCalls(f);
  f.allocated = true;
  const std::string text = test::text(f);
  CAPTURE(text);
  CHECK(countOf(text, "MOV ") == 4);
  CHECK(contains(text, "MOV R0, R5;"));
  CHECK(contains(text, "MOV R5, R6;"));
  CHECK(contains(text, "MOV R6, R4;"));
  CHECK(contains(text, "MOV R4, R0;"));
}
