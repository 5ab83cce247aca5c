#include "../ori/helpers.h"
#include "../ori/random_function.h"
#include "ori/ssa.h"
#include "ori/verify.h"
#include "phases/optimize/rule_table.h"

using namespace orias;
using namespace orias::phases;

namespace {

constexpr std::initializer_list<Rewriter::Rule> kRules = {
    simplifyPhi, propagateCopies,  propagateConstantLoad, foldConstants,   simplifyAlgebra, foldWideAddress,
    foldOffset,  splitConstOffset, separateProduct,       foldUniformBase, combineSums,     combineLogic};
constexpr RuleTable kAll(kRules), kAskedAlways(kRules, true);

/// The instructions of a kernel in SSA form, one per line, after the rules.
std::string codeOf(const ori::Function& f) {
  std::string text;
  for (const ori::Block* block : f.layout())
    for (const ori::Instr& instr : *block)
      text += ori::print(f, instr) + ";\n";
  return text;
}

std::string optimized(std::string_view body, const RuleTable& rules = kAll) {
  const auto module = ori::test::kernel("  ssa;\n" + std::string(body));
  ori::Function& f = *module->functions.front();
  const auto before = ori::verify(f);
  REQUIRE_MESSAGE(!ori::hasErrors(before), ori::render(before));
  Rewriter(f).run(rules, 8);
  const auto after = ori::verify(f);
  CHECK_MESSAGE(!ori::hasErrors(after), ori::render(after) << ori::print(f));
  if (&rules == &kAll) CHECK(optimized(body, kAskedAlways) == codeOf(f));
  return codeOf(f);
}

bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

bool lacks(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (found) MESSAGE(text);
  return !found;
}

/// One block with these lines, unknown words in %r90 and %r91, an unknown pair in %r92:2, and a store of %r1.
std::string body(std::string_view lines, std::string_view declarations = "") {
  return "  reg %r92:2" + std::string(declarations) +
         ";\n.L0:\n  S2R %r90, SR_TID.X;\n  S2R %r91, SR_TID.Y;\n  LDC.64 %r92:2, bank[0][0x210];\n" +
         std::string(lines) + "  EXIT;\n";
}

} // namespace

TEST_CASE("copies of registers, numbers and constants go into their uses") {
  CHECK(has(optimized(body("  COPY %r1, %r90;\n  STS [%r91], %r1;\n")), "STS [%r91], %r90;"));
  CHECK(has(optimized(body("  MOV %r2, 5;\n  IMAD %r1, %r2, %r90, %r91;\n  STS [%r91], %r1;\n")), "%r90, 5, %r91"));
  CHECK(has(optimized(body("  MOV %r2, c[0x0][0x220];\n  FADD %r1, %r90, -%r2;\n  STS [%r91], %r1;\n")),
            "-c[0x0][0x220]"));
  CHECK(has(optimized(body("  MOV %r2, 0;\n  STS [%r91], %r2;\n")), "STS [%r91], RZ;"));
  // The negation of the use is applied to a number, as a float if the use is one.
  CHECK(has(optimized(body("  MOV %r2, 1.0f;\n  FADD %r1, %r90, -%r2;\n  STS [%r91], %r1;\n")), "FADD %r1, %r90, -1"));
}

TEST_CASE("a comparison turns around when only its second source can be a number") {
  const std::string text =
      optimized(body("  MOV %r2, 5;\n  ISETP.LE.AND %p3, PT, %r2, %r90, PT;\n  @%p3 STS [%r91], %r90;\n"));
  CHECK(has(text, "ISETP.GE.AND %p3, PT, %r90, 5, PT;"));
}

TEST_CASE("pairs are copied word by word") {
  const std::string text =
      optimized(body("  COPY %r2.0, %r92.0;\n  COPY %r2.1, %r92.1;\n  STS.64 [%r91], %r2:2;\n", ", %r2:2"));
  CHECK(has(text, "STS.64 [%r91], %r92:2;"));
  CHECK(lacks(text, "COPY"));
}

TEST_CASE("definitions under a guard are not looked through") {
  const std::string text =
      optimized(body("  ISETP.LT.AND %p3, PT, %r90, %r91, PT;\n  @%p3 MOV %r1, 5;\n  @%p3 STS [%r91], %r1;\n"));
  CHECK(has(text, "STS [%r91], %r1;"));
  CHECK(has(text, "@%p3 MOV %r1, 5;"));
  // With a second definition the register is not in SSA form.
  const std::string twice =
      optimized(body("  ISETP.LT.AND %p3, PT, %r90, %r91, PT;\n  MOV %r1, 4;\n  @%p3 MOV %r1, 5;\n  STS [%r91], %r1;\n",
                     ", %r1 multidef"));
  CHECK(has(twice, "STS [%r91], %r1;"));
}

TEST_CASE("predicates are copied with their inversion, into guards too") {
  const std::string text =
      optimized(body("  ISETP.LT.AND %p3, PT, %r90, %r91, PT;\n  COPY %p4, !%p3;\n  @!%p4 STS [%r91], %r90;\n"));
  CHECK(has(text, "@%p3 STS [%r91], %r90;"));
}

TEST_CASE("constants are folded") {
  auto stored = [](std::string lines) { return optimized(body(lines + "  STS [%r91], %r1;\n")); };
  CHECK(has(stored("  MOV %r2, 7;\n  MOV %r3, 6;\n  IMAD %r1, %r2, %r3, -%r2;\n"), "MOV %r1, 0x23"));
  CHECK(has(stored("  MOV %r2, 0x11223344;\n  PRMT %r1, %r2, 0x0123, RZ;\n"), "MOV %r1, 0x44332211"));
  CHECK(has(stored("  MOV %r2, 0x80000000;\n  SHF.R.S32.HI %r1, RZ, 31, %r2;\n"), "MOV %r1, -1;"));
  CHECK(has(stored("  MOV %r2, -1;\n  ISETP.LT.AND %p3, PT, %r2, 3, PT;\n  SEL %r1, %r90, %r91, %p3;\n"),
            "STS [%r91], %r90;"));
  CHECK(has(stored("  MOV %r2, -1;\n  ISETP.LT.U32.AND %p3, PT, %r2, 3, PT;\n  SEL %r1, %r90, %r91, %p3;\n"),
            "STS [%r91], %r91;"));
}

TEST_CASE("any operation of known sources is folded, with its modifiers") {
  auto stored = [](std::string lines) { return optimized(body(lines + "  STS [%r91], %r1;\n")); };
  CHECK(has(stored("  MOV %r2, 2.5f;\n  FADD %r1, %r2, -1.0f;\n"), "MOV %r1, 0x3fc00000"));
  CHECK(has(stored("  MOV %r2, 1.0f;\n  FFMA.RP %r1, %r2, 0x33000000, %r2;\n"), "MOV %r1, 0x3f800001"));
  CHECK(has(stored("  MOV %r2, 0xf0;\n  LOP3.LUT %r1, %r2, 0x3c, RZ, 0x30, !PT;\n"), "MOV %r1, 0xc0"));
  CHECK(has(stored("  MOV %r2, 0xf0;\n  POPC %r1, ~%r2;\n"), "MOV %r1, 0x1c"));
  CHECK(has(stored("  MOV %r2, -7;\n  IDIV.S32 %r1, %r2, 2;\n"), "MOV %r1, -3"));
  // A predicate among the sources, and one as the result.
  CHECK(has(stored("  MOV %r2, 2.5f;\n  FSETP.GT.AND %p3, PT, %r2, 1.0f, PT;\n  SEL %r1, %r90, %r91, %p3;\n"),
            "STS [%r91], %r90;"));
  // Two results that are both used are kept.
  CHECK(has(stored("  MOV %r2, -1;\n  IADD3 %r1, %p3, PT, %r2, 0x1, RZ;\n  @%p3 STS [%r91], %r90;\n"), "IADD3"));
}

TEST_CASE("what the machine may compute otherwise is not folded") {
  auto stored = [](std::string lines) { return optimized(body(lines + "  STS [%r91], %r1;\n")); };
  CHECK(has(stored("  MOV %r2, 3.0f;\n  MUFU.TANH %r1, %r2;\n"), "MUFU.TANH %r1"));
  CHECK(has(stored("  MOV %r2, 3.0f;\n  FDIV.F32.APPROX %r1, %r2, %r2;\n"), "FDIV"));
  CHECK(has(stored("  MOV %r2, 7;\n  IDIV.S32 %r1, %r2, 0;\n"), "IDIV"));
  CHECK(has(stored("  MOV %r2, 7;\n  IREM.U32 %r1, %r2, RZ;\n"), "IREM"));
  // An instruction that its semantics function refuses.
  CHECK(has(stored("  MOV %r2, 3.0f;\n  FLG2.F32.RN %r1, %r2;\n"), "FLG2"));
}

TEST_CASE("operations that do nothing go") {
  auto stored = [](std::string lines) { return optimized(body(lines + "  STS [%r91], %r1;\n")); };
  CHECK(has(stored("  IADD3 %r1, %r90, RZ, RZ;\n"), "STS [%r91], %r90;"));
  CHECK(has(stored("  IMAD %r1, %r90, 1, RZ;\n"), "STS [%r91], %r90;"));
  CHECK(has(stored("  IMAD %r1, %r90, RZ, %r90;\n"), "STS [%r91], %r90;"));
  CHECK(has(stored("  LOP3.LUT %r1, %r90, %r90, RZ, 0xc0, !PT;\n"), "STS [%r91], %r90;")); // x & x
  CHECK(has(stored("  LOP3.LUT %r1, %r90, %r90, RZ, 0x3c, !PT;\n"), "STS [%r91], RZ;"));   // x ^ x
  CHECK(has(stored("  LOP3.LUT %r1, %r90, -1, RZ, 0xc0, !PT;\n"), "STS [%r91], %r90;"));   // x & ~0
}

TEST_CASE("a product that sums read is added to") {
  const std::string declared = ", %r2:2, %r4:2";
  const std::string once = optimized(
      body("  IMAD.WIDE %r2:2, %r90, 4, RZ:2;\n  IADD64 %r4:2, %r92:2, %r2:2;\n  STS.64 [%r91], %r4:2;\n", declared));
  CHECK(has(once, "IMAD.WIDE %r4:2, %r90, 4, %r92:2;"));
  CHECK(lacks(once, "IADD64"));
  const std::string twice = optimized(body("  IMAD.WIDE %r2:2, %r90, 4, RZ:2;\n  IADD64 %r4:2, %r92:2, %r2:2;\n  "
                                           "STS.64 [%r91], %r4:2;\n  STS.64 [%r91], %r2:2;\n",
                                           declared));
  CHECK(has(twice, "IMAD.WIDE %r4:2, %r90, 4, %r92:2;"));
  CHECK(has(twice, "IMAD.WIDE %r2:2, %r90, 4, RZ:2;"));
  CHECK(lacks(twice, "IADD64"));
  // The constant is folded into the address, and the product remains a single instruction.
  const std::string near = optimized(body("  IMAD.WIDE %r2:2, %r90, 4, RZ:2;\n  MOV %r6.0, 16;\n  MOV %r6.1, RZ;\n  "
                                          "IADD64 %r4:2, %r6:2, %r2:2;\n  LDG.E %r1, desc[%ur8:2][%r4:2];\n  "
                                          "STS [%r91], %r1;\n  STS.64 [%r91], %r2:2;\n",
                                          declared + ", %r6:2, %ur8:2"));
  CHECK(has(near, "[%r2:2+0x10]"));
}

TEST_CASE("constants go into the offsets of addresses") {
  const std::string declared = ", %r2:2, %r4:2, %ur6:2";
  const std::string sum =
      "  ULDC.64 %ur6:2, c[0][0x208];\n  MOV %r2.0, -16;\n  MOV %r2.1, -1;\n  IADD64 %r4:2, %r92:2, %r2:2;\n";
  CHECK(has(optimized(body(sum + "  LDG.E %r1, desc[%ur6:2][%r4:2+0x4];\n  STS [%r91], %r1;\n", declared)),
            "[%r92:2+-0xc]"));
  // This offset does not fit into 24 bits.
  const std::string far =
      "  ULDC.64 %ur6:2, c[0][0x208];\n  MOV %r2.0, 0x800000;\n  MOV %r2.1, 0;\n  IADD64 %r4:2, %r92:2, %r2:2;\n";
  CHECK(has(optimized(body(far + "  LDG.E %r1, desc[%ur6:2][%r4:2];\n  STS [%r91], %r1;\n", declared)), "[%r4:2]"));
  CHECK(has(optimized(body("  IADD3 %r1, %r90, 0x40, RZ;\n  STS [%r1+0x4], %r91;\n")), "STS [%r90+0x44], %r91;"));
}

TEST_CASE("numbers inside of the sums of addresses go to their ends") {
  const std::string declared = ", %r2:2, %r4:2, %r12:2, %r8:2, %r10:2, %ur6:2";
  const std::string sums = "  ULDC.64 %ur6:2, c[0][0x208];\n  MOV %r2.0, 0x60;\n  MOV %r2.1, 0;\n"
                           "  IADD64 %r4:2, %r92:2, %r2:2;\n  COPY %r12.0, %r90;\n  MOV %r12.1, RZ;\n"
                           "  IADD64 %r8:2, %r4:2, %r12:2;\n";
  const std::string load = "  LDG.E %r1, desc[%ur6:2][%r8:2+0x10];\n  STS [%r91], %r1;\n";
  const std::string near = optimized(body(sums + load, declared));
  CHECK(has(near, ":2+0x70]"));
  CHECK(has(near, ":2, %r92:2, %r12:2;"));
  CHECK(lacks(near, "0x60"));
  // Also through a second sum, and a product.
  const std::string twice = optimized(body(sums + "  IADD64 %r10:2, %r8:2, %r92:2;\n  LDG.E %r1, "
                                                  "desc[%ur6:2][%r10:2];\n  STS [%r91], %r1;\n",
                                           declared));
  CHECK(has(twice, ":2+0x60]"));
  const std::string product = optimized(body(sums + "  IMAD.WIDE %r10:2, %r90, 12, %r8:2;\n  LDG.E %r1, "
                                                    "desc[%ur6:2][%r10:2];\n  STS [%r91], %r1;\n",
                                             declared));
  CHECK(has(product, ":2+0x60]"));
  // Other uses of the sum keep the sum.
  const std::string read = optimized(body(sums + load + "  STS.64 [%r91], %r8:2;\n", declared));
  CHECK(has(read, "IADD64 %r4:2, %r92:2, %r2:2;"));
  CHECK(has(read, "[%r8:2+0x10]"));
  // A larger offset does not fit into 24 signed bits.
  const std::string full =
      optimized(body(sums + "  LDG.E %r1, desc[%ur6:2][%r8:2+0x7fffb0];\n  STS [%r91], %r1;\n", declared));
  CHECK(has(full, "[%r8:2+0x7fffb0]"));
  CHECK(has(full, "IADD64 %r4:2, %r92:2, %r2:2;"));
}

TEST_CASE("products of numbers go into the offsets of addresses") {
  const auto loaded = [](const std::string& product) {
    return optimized(body("  ULDC.64 %ur6:2, c[0][0x208];\n  MOV %r3, -3;\n" + product +
                              "  LDG.E %r1, desc[%ur6:2][%r4:2+0x10];\n  STS [%r91], %r1;\n",
                          ", %r4:2, %ur6:2"));
  };
  CHECK(has(loaded("  IMAD.WIDE %r4:2, %r3, 8, %r92:2;\n"), "[%r92:2+-8]"));
  // As an unsigned number it is large.
  CHECK(has(loaded("  IMAD.WIDE.U32 %r4:2, %r3, 8, %r92:2;\n"), "[%r4:2+0x10]"));
}

TEST_CASE("uniform bases of shared memory become operands of the access, when they do not change") {
  CHECK(has(optimized(body("  S2UR %ur4, SR_CTAID.X;\n  MOV %r1, %ur4;\n  STS [%r1+0x4], %r91;\n")),
            "STS [%ur4+4], %r91;"));
  CHECK(has(optimized(body("  S2UR %ur4, SR_CTAID.X;\n  IADD3 %r1, %r90, %ur4, RZ;\n  STS [%r1], %r91;\n")),
            "STS [%r90+%ur4], %r91;"));
  CHECK(has(optimized(body("  UMOV %ur4, 0x400;\n  MOV %r1, %ur4;\n  STS [%r1+0x4], %r91;\n")), "STS [0x404], %r91;"));
  const std::string loop =
      ".L0:\n  S2R %r90, SR_TID.X;\n  S2R %r91, SR_TID.Y;\n  -> .L1;\n.L1:\n  S2UR %ur4, SR_CTAID.X;\n  MOV %r1, "
      "%ur4;\n"
      "  ISETP.LT.AND %p3, PT, %r90, %r91, PT;\n  @%p3 BRA .L1;\n  -> .L2;\n.L2:\n  STS [%r1], %r91;\n  EXIT;\n";
  CHECK(has(optimized(loop), "STS [%r1], %r91;"));
}

TEST_CASE("loads of constants become operands when every use takes them") {
  CHECK(has(optimized(body("  LDC %r2, bank[0][0x220];\n  IADD3 %r1, %r90, %r2, RZ;\n  STS [%r91], %r1;\n")),
            "c[0x0][0x220]"));
  CHECK(
      has(optimized(body("  LDC %r2, bank[0][0x220];\n  IADD3 %r1, %r90, %r2, RZ;\n  STS [%r2], %r1;\n")), "LDC %r2"));
}

TEST_CASE("operations with one reader are combined with it") {
  auto stored = [](std::string lines) { return optimized(body(lines + "  STS [%r91], %r1;\n")); };
  CHECK(has(stored("  LDS %r5, [%r91];\n  IADD3 %r2, %r90, %r91, RZ;\n  IADD3 %r1, %r2, %r5, RZ;\n"),
            "IADD3 %r1, %r5, %r90, %r91;"));
  CHECK(has(stored("  IMAD %r2, %r90, %r91, RZ;\n  IADD3 %r1, %r2, 5, RZ;\n"), "IMAD %r1, %r90, %r91, 5;"));
  CHECK(has(stored("  SHF.L.U32 %r2, %r90, 3, RZ;\n  IADD3 %r1, %r2, %r91, RZ;\n"), "LEA %r1, %r90, %r91, 3;"));
  // (a & b) ^ b is ~a & b.
  const std::string logic =
      stored("  LOP3.LUT %r2, %r90, %r91, RZ, 0xc0, !PT;\n  LOP3.LUT %r1, %r2, %r91, RZ, 0x3c, !PT;\n");
  CHECK(has(logic, "LOP3.LUT %r1, %r90, %r91, RZ, 0xc, !PT;"));
  const std::string twice = stored("  IADD3 %r2, %r90, %r91, RZ;\n  STS [%r91], %r2;\n  IADD3 %r1, %r2, 4, RZ;\n");
  CHECK(has(twice, "%r2, 4, RZ"));
}

TEST_CASE("what a dominating instruction has computed is not computed again; loads and guarded code are") {
  auto numbered = [](std::string_view text) {
    const auto module = ori::test::kernel("  ssa;\n" + std::string(text));
    ori::Function& f = *module->functions.front();
    numberValues(f);
    const auto faults = ori::verify(f);
    CHECK_MESSAGE(!ori::hasErrors(faults), ori::render(faults));
    return codeOf(f);
  };
  CHECK(has(numbered(body("  IADD3 %r1, %r90, %r91, RZ;\n  IADD3 %r2, %r90, %r91, RZ;\n  STS [%r1], %r2;\n")),
            "COPY %r2, %r1;"));
  CHECK(lacks(numbered(body("  LDS %r1, [%r90];\n  LDS %r2, [%r90];\n  STS [%r1], %r2;\n")), "COPY"));
  CHECK(lacks(numbered(body("  ISETP.LT.AND %p3, PT, %r90, %r91, PT;\n  IADD3 %r1, %r90, %r91, RZ;\n  @%p3 IADD3 %r2, "
                            "%r90, %r91, RZ;\n  @%p3 STS [%r1], %r2;\n")),
              "COPY"));
  CHECK(has(numbered(body("  S2R %r1, SR_TID.X;\n  STS [%r1], %r90;\n")), "COPY %r1, %r90;"));
  CHECK(lacks(numbered(body("  S2R %r1, SR_CLOCKLO;\n  S2R %r2, SR_CLOCKLO;\n  STS [%r1], %r2;\n")), "COPY"));
  // Neither of two branches dominates the other.
  const std::string branches =
      ".L0:\n  S2R %r90, SR_TID.X;\n  ISETP.LT.AND %p3, PT, %r90, 5, PT;\n  @%p3 BRA .L2;\n  -> .L1;\n.L1:\n"
      "  IADD3 %r1, %r90, 5, RZ;\n  STS [%r1], %r90;\n  EXIT;\n.L2:\n  IADD3 %r2, %r90, 5, RZ;\n  STS [%r2], %r90;\n  "
      "EXIT;\n";
  CHECK(lacks(numbered(branches), "COPY"));
}

TEST_CASE("copies and equal values go from random programs without a change of what they do") {
  // The interpreter uses abstract values, so only rules that do not change operations can be tested.
  constexpr RuleTable kCopies{simplifyPhi, propagateCopies};
  std::mt19937 random(7);
  for (unsigned round = 0; round < 200; ++round) {
    CAPTURE(round);
    ori::test::RandomShape shape;
    shape.blocks = 1 + static_cast<unsigned>(random() % 14);
    shape.instrsPerBlock = static_cast<unsigned>(random() % 9);
    shape.registers = 2 + static_cast<unsigned>(random() % 6);
    shape.guardedPercent = round % 3 == 0 ? 15 : 0;
    auto module = ori::test::emptyModule();
    ori::Function& f = module->newFunction("f", true);
    ori::test::fillRandomly(f, random, shape);
    // Use unknown values instead of numbers, which rules could exchange with other operands.
    f.forEachSafe(*f.entry(), [&](ori::Instr& instr) {
      if (instr.op != isa::Op::COPY || !instr.op_(1).isImm()) return;
      const isa::Operand to = instr.op_(0).value(), number = instr.op_(1).value();
      f.rewrite(&instr, isa::Op::S2R, std::array{to, number});
    });
    const ori::test::Trace before = ori::test::Interpreter(f).run(60);
    ori::buildSsa(f);
    INFO(ori::print(f));
    Rewriter(f).run(kCopies, 8);
    numberValues(f);
    Rewriter(f).run(kCopies, 8);
    const auto faults = ori::verify(f);
    CHECK_MESSAGE(!ori::hasErrors(faults), ori::render(faults) << ori::print(f));
    ori::test::checkSameBehaviour(before, f);
    ori::destroySsa(f);
    ori::test::checkSameBehaviour(before, f);
  }
}
