// Frame objects that are not live at the same time share bytes: regalloc/frame_lives.h.

#include "allocation.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

unsigned frameBytes(const std::string& body, unsigned registers = 255) {
  auto module = ori::test::kernel("  frame \"a\" size 1024 align 16;\n  frame \"b\" size 1024 align 16;\n" + body);
  AllocationOptions options;
  options.maxRegisters = registers;
  CHECK(allocate(*module->functions.front(), options) == "");
  return module->functions.front()->stats.frameBytes;
}

} // namespace

TEST_CASE("two arrays, one after the other, take the room of one") {
  CHECK(frameBytes(".L0:\n  S2R %r0, SR_TID.X;\n  STL [R1+frame[0]], %r0;\n  LDL %r1, [R1+frame[0]];\n"
                   "  STL [R1+frame[1]], %r1;\n  LDL %r2, [R1+frame[1]+4];\n  STS [%r0], %r2;\n  EXIT;\n") == 1024);
}

TEST_CASE("two arrays in use at the same time stay apart") {
  CHECK(frameBytes(".L0:\n  S2R %r0, SR_TID.X;\n  STL [R1+frame[0]], %r0;\n  STL [R1+frame[1]], %r0;\n"
                   "  LDL %r1, [R1+frame[0]];\n  LDL %r2, [R1+frame[1]];\n  STS [%r1], %r2;\n  EXIT;\n") == 2048);
}

TEST_CASE("arrays that are used through addresses live where the addresses are used") {
  const std::string first = ".L0:\n  S2R %r0, SR_TID.X;\n  IADD3 %r1, R1, frame[0], RZ;\n  IADD3 %r2, %r1, %r0, RZ;\n"
                            "  STL [%r2], %r0;\n  LDL %r3, [%r1];\n";
  const std::string second = "  IADD3 %r4, R1, frame[1], RZ;\n  IADD3 %r5, %r4, %r0, RZ;\n  STL [%r5], %r3;\n"
                             "  LDL %r6, [%r4];\n  STS [%r0], %r6;\n";
  CHECK(frameBytes(first + second + "  EXIT;\n") == 1024);
  CHECK(frameBytes(first + second + "  LDL %r7, [%r2];\n  STS [%r0], %r7;\n  EXIT;\n") == 2048);
}

TEST_CASE("an array whose address is stored keeps its room") {
  CHECK(frameBytes(".L0:\n  S2R %r0, SR_TID.X;\n  IADD3 %r1, R1, frame[0], RZ;\n  STS [%r0], %r1;\n"
                   "  LDL %r2, [%r1];\n  STL [R1+frame[1]], %r2;\n  LDL %r3, [R1+frame[1]];\n  STS [%r0], %r3;\n"
                   "  EXIT;\n") == 2048);
}

TEST_CASE("what is used in each iteration of a loop is live in all of it") {
  CHECK(frameBytes(".L0:\n  S2R %r0, SR_TID.X;\n  STL [R1+frame[0]], %r0;\n  -> .L1;\n"
                   ".L1 depth 1:\n  LDL %r1, [R1+frame[0]];\n  STL [R1+frame[1]], %r1;\n  LDL %r2, [R1+frame[1]];\n"
                   "  ISETP.LT.U32.AND %p3, PT, %r2, 9, PT;\n  @%p3 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n") == 2048);
}
