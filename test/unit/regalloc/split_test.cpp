// Spilled values stay in registers where some are free: regalloc/gap_choice.h.

#include "allocation.h"

#include <algorithm>
#include <fmt/format.h>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

/// Definitions of `count` values from number `first` on, and several uses of each.
std::string crowd(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("  LDS %r{}, [URZ];\n", first + i);
  for (unsigned round = 0; round < 3; ++round)
    for (unsigned i = 0; i < count; ++i)
      text += fmt::format("  STS [URZ], %r{};\n", first + i);
  return text + "  S2R %r9, SR_TID.X;\n  STS [URZ], %r9;\n";
}

struct Result {
  std::unique_ptr<ori::Module> module;
  ori::Function& function() const { return *module->functions.front(); }
  /// The number of reloads after the crowd.
  unsigned reloads() const {
    const std::string all = text(function());
    return countOf(all.substr(all.rfind("S2R ")), "LDL ");
  }
  unsigned count(isa::Op op, unsigned depth = ~0u) const {
    unsigned n = 0;
    for (const ori::Block* block : function().layout())
      for (const ori::Instr& instr : *block)
        n += instr.op == op && (depth == ~0u || block->loopDepth == depth);
    return n;
  }
};

Result allocatedIn(unsigned registers, const std::string& body) {
  Result result{ori::test::kernel(body)};
  AllocationOptions options;
  options.maxRegisters = registers;
  options.uniformPromotion = options.remat = false;
  CHECK(allocate(result.function(), options) == "");
  return result;
}

} // namespace

TEST_CASE("a value that is spilled around code under pressure is reloaded once for a loop") {
  // Only %r0 is live across the crowd. It is read three times in the loop, where registers are free.
  const auto r =
      allocatedIn(12, ".L0:\n  LDS %r0, [URZ];\n" + crowd(10, 10) +
                          "  MOV %r3, 0;\n  -> .L1;\n.L1 depth 1:\n  IADD3 %r4, %r3, %r0, RZ;\n  STS [%r0], %r4;\n"
                          "  STS [%r4], %r0;\n  IADD3 %r5, %r3, 1, RZ;\n  ISETP.LT.U32.AND %p6, PT, %r5, 9, PT;\n"
                          "  COPY %r3, %r5;\n  @%p6 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  CHECK(r.reloads() == 1);
  CHECK(r.count(isa::Op::LDL, 1) == 0);
}

TEST_CASE("references with room between them share one reload") {
  const auto r = allocatedIn(12, ".L0:\n  LDS %r0, [URZ];\n" + crowd(10, 10) +
                                     "  IADD3 %r4, %r0, 1, RZ;\n  STS [%r4], %r4;\n  IADD3 %r5, %r0, 2, RZ;\n"
                                     "  STS [%r5], %r5;\n  IADD3 %r6, %r0, 3, RZ;\n  STS [%r6], %r6;\n  EXIT;\n");
  CHECK(r.reloads() == 1);
}

TEST_CASE("a value that leaves its register on one entry path of a loop is reloaded on that path") {
  const auto r = allocatedIn(
      12, ".L0:\n  LDS %r0, [URZ];\n  LDS %r1, [URZ];\n  ISETP.LT.U32.AND %p6, PT, %r1, 9, PT;\n  @%p6 BRA .L2;\n"
          "  -> .L1;\n.L1:\n" +
              crowd(10, 10) +
              "  BRA .L2;\n.L2 depth 1:\n  IADD3 %r4, %r1, %r0, RZ;\n  STS [%r0], %r4;\n  IADD3 %r5, %r1, 1, RZ;\n"
              "  ISETP.LT.U32.AND %p7, PT, %r5, 9, PT;\n  COPY %r1, %r5;\n  @%p7 BRA .L2;\n  -> .L3;\n.L3:\n  EXIT;\n");
  CHECK(r.count(isa::Op::LDL, 1) == 0);
  CHECK(r.reloads() == 1); // after the crowd; the other path needs none
}

TEST_CASE("a value that each of many arms drives out of its register comes back where it is read") {
  // Registers are free after each arm, but the only read is at the beginning of the loop.
  std::string body = ".L0:\n  LDS %r0, [URZ];\n  LDS %r1, [URZ];\n  -> .L1;\n.L1 depth 1:\n  STS [URZ], %r0;\n";
  for (unsigned arm = 0; arm < 4; ++arm)
    body +=
        fmt::format("  ISETP.LT.U32.AND %p{0}, PT, %r1, {0}, PT;\n  @%p{0} BRA .L{2};\n  -> .L{1};\n.L{1} depth 1:\n",
                    20 + arm, 2 + 2 * arm, 3 + 2 * arm) +
        crowd(100 + 20 * arm, 9) + fmt::format("  BRA .L{0};\n.L{0} depth 1:\n", 3 + 2 * arm);
  body += "  IADD3 %r1, %r1, 1, RZ;\n  ISETP.LT.U32.AND %p19, PT, %r1, 9, PT;\n  @%p19 BRA .L1;\n  -> .L10;\n.L10:\n"
          "  EXIT;\n";
  const auto r = allocatedIn(12, body);
  CHECK(r.count(isa::Op::LDL, 1) == 1 + 4); // %r1 is read after each arm
}

TEST_CASE("parts of spilled values are spilled again, and there is an end to it") {
  std::string body = ".L0:\n";
  for (unsigned i = 0; i < 6; ++i)
    body += fmt::format("  LDS %r{}, [URZ+{}];\n", 10 + i, 4 * i);
  for (unsigned round = 0; round < 4; ++round) {
    body += crowd(100 + 20 * round, 7);
    for (unsigned i = 0; i < 6; ++i)
      body += fmt::format("  IADD3 %r{0}, %r{0}, %r{1}, RZ;\n", 10 + i, 10 + (i + 1) % 6);
  }
  for (unsigned i = 0; i < 6; ++i)
    body += fmt::format("  STS [%r{0}], %r{0};\n", 10 + i);
  for (const unsigned registers : {7u, 8u, 9u, 10u, 12u, 16u})
    allocatedIn(registers, body + "  EXIT;\n");
}

TEST_CASE("a store of what is stored again before anyone reads it goes") {
  // The value of the first definition is only read in its register.
  const auto r = allocatedIn(12, ".L0:\n  LDS %r0, [URZ];\n  STS [%r0], %r0;\n  LDS %r0, [URZ+4];\n" + crowd(10, 10) +
                                     "  STS [%r0], %r0;\n  EXIT;\n");
  // One store for each slot.
  const auto& frame = r.function().frame;
  CHECK(r.count(isa::Op::STL) ==
        static_cast<unsigned>(std::ranges::count_if(frame, [](const auto& object) { return object.isSpill; })));
}
