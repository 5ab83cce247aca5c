#include "ori/verify.h"

#include "ori/builder.h"
#include "ori/cfg_edit.h"

#include "helpers.h"

using namespace orias;
using namespace orias::ori;

namespace {

std::string faultsOf(std::string_view body) {
  return render(verify(*test::kernel(body)->functions[0]));
}

/// The faults of one instruction in an otherwise valid kernel.
std::string faultsOfLine(std::string_view line) {
  return faultsOf("  reg %r10:2, %r11:4, %r12:4 align 2, %ur13:2;\n.L0:\n  " + std::string(line) + "\n  EXIT;\n");
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::string_view kGood =
    ".L0:\n  COPY %r0, 1;\n  ISETP.LT.AND %p1, PT, %r0, 5, PT;\n  @%p1 BRA .L2;\n  -> .L1;\n"
    ".L1:\n  IADD3 %r0, %r0, 1, RZ;\n  -> .L2;\n.L2:\n  STS [RZ], %r0;\n  EXIT;\n";

} // namespace

TEST_CASE("good code has no faults") {
  CHECK(faultsOf(kGood) == "");
  CHECK(faultsOfLine("IADD64 %r10:2, %r10:2, 5;") == "");
  CHECK(faultsOfLine("LDG.E.64 %r10:2, desc[%ur13:2][%r11.2:2+0x10];") == "");
  CHECK(faultsOfLine("@%p0 MOV %r1, c[0x0][0x28];") == "");
  CHECK(faultsOf("  ssa;\n.L0:\n  -> .L1;\n.L1:\n  MOV.PHI %r0, [.L0: 1], [.L1: %r1];\n  IADD3 %r1, %r0, 1, RZ;\n"
                 "  @%p2 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n") == "");
}

TEST_CASE("instructions that no table row allows") {
  CHECK(contains(faultsOfLine("IADD3 %r0, 5, 6, %p1, PT, PT;"), "cannot be this kind of operand"));
  CHECK(contains(faultsOfLine("MOV %r10:2, 5;"), "Rd is 2 wide instead of 1"));
  CHECK(contains(faultsOfLine("LDG.E.64 %r0, desc[%ur13:2][%r10:2];"), "Rd is 1 wide instead of 2"));
  CHECK(contains(faultsOfLine("LDG.E.64 %r11.1:2, desc[%ur13:2][%r10:2];"), "Rd is not aligned to 2"));
  CHECK(contains(faultsOfLine("LDG.E.128 %r12:4, desc[%ur13:2][%r10:2];"), "Rd is not aligned to 4"));
  CHECK(contains(faultsOfLine("LDG.E.64 R3:2, desc[%ur13:2][%r10:2];"), "Rd is not aligned to 2"));
  CHECK(contains(faultsOfLine("MOV -%r0, 5;"), "Rd is a result with a modifier"));
  CHECK(contains(faultsOfLine("IADD3 %r0, |%r1|, 5, RZ;"), "Ra cannot have this modifier"));
  CHECK(contains(faultsOfLine("MOV %r0, frame[2];"), "undefined frame object"));
  CHECK(contains(faultsOfLine("COPY %ur0, %r1;"), "no copy between these register files"));
  CHECK(contains(faultsOfLine("COPY %r0, %r10:2;"), "changes the width"));
  CHECK(contains(faultsOfLine("@%up0 MOV %r1, 5;"), "only a uniform instruction"));
  CHECK(contains(faultsOfLine("@%p0 UMOV %ur1, 5;"), "guarded by a uniform predicate"));
}

TEST_CASE("instructions that only code can make") {
  auto module = test::kernel(kGood);
  Function& f = *module->functions[0];
  SUBCASE("operand missing") {
    const isa::Operand one[] = {isa::Operand::rz()};
    f.insertBefore(f.entry()->first, f.create(Op::MOV, one));
    CHECK(contains(render(verify(f)), "1 operands instead of"));
  }
  SUBCASE("illegal modifier") {
    f.entry()->first->next->mods[0] = 99;
    CHECK(contains(render(verify(f)), "illegal value 99"));
  }
  SUBCASE("guard is no predicate") {
    f.setGuard(f.entry()->first, isa::Operand::rz());
    CHECK(contains(render(verify(f)), "the guard is not a predicate"));
  }
  SUBCASE("part beyond the register") {
    f.setOperand(f.entry()->first, 0, f.part(0, 1));
    CHECK(contains(render(verify(f)), "reaches beyond its register"));
  }
  SUBCASE("file of the operand") {
    f.setOperand(f.entry()->first, 0, isa::Operand::virt(File::UR, 0));
    CHECK(contains(render(verify(f)), "not in the file of its register"));
  }
  SUBCASE("result is no register") {
    f.setOperand(f.entry()->first, 0, isa::Operand::immediate(5));
    CHECK(contains(render(verify(f)), "is a result but not a register"));
  }
  SUBCASE("physical register out of range") {
    f.setOperand(f.entry()->first, 0, isa::Operand::physical(File::UR, 63 + 5));
    CHECK(contains(render(verify(f)), "not a machine register"));
  }
  SUBCASE("virtual after allocation") {
    f.allocated = true;
    CHECK(contains(render(verify(f)), "virtual after allocation"));
  }
  SUBCASE("use taken for a definition") {
    f.entry()->first->next->operands[2].isDef = true;
    CHECK(contains(render(verify(f)), "listed as a use instead of a definition"));
  }
}

TEST_CASE("lists of uses that are not those of the code") {
  auto module = test::kernel(kGood);
  Function& f = *module->functions[0];
  SUBCASE("operand written past the API") {
    f.entry()->first->operands[1].reg = 0;
    f.entry()->first->operands[1].kind = isa::Operand::Kind::Reg;
    f.entry()->first->operands[1].flags = isa::Operand::kVirtual;
    CHECK(contains(render(verify(f)), "use-def list of register 0"));
  }
  SUBCASE("instruction taken out and forgotten") {
    f.unlink(f.entry()->first);
    CHECK(contains(render(verify(f)), "an instruction outside all blocks"));
  }
  SUBCASE("head lost") {
    f.vreg(0).defs = 0;
    CHECK(contains(render(verify(f)), "use-def list of register 0"));
  }
  SUBCASE("place in the block") {
    f.entry()->first->next->prev = nullptr;
    CHECK(contains(render(verify(f)), "has a wrong parent block"));
  }
  SUBCASE("last instruction") {
    f.entry()->last = f.entry()->first;
    CHECK(contains(render(verify(f)), "has a wrong last instruction"));
  }
  SUBCASE("ring") {
    f.entry()->last->next = f.entry()->first;
    CHECK(contains(render(verify(f)), "duplicate instruction"));
  }
}

TEST_CASE("blocks") {
  CHECK(contains(faultsOf(".L0:\n  COPY %r0, 1;\n"), "control runs off the end"));
  CHECK(contains(faultsOf(".L0:\n  @%p0 EXIT;\n"), "control runs off the end"));
  CHECK(contains(faultsOf(".L0:\n  EXIT;\n  -> .L0;\n"), "falls through after an unconditional terminator"));
  CHECK(contains(faultsOf(".L0:\n  EXIT;\n  EXIT;\n"), "terminator in the middle"));
  auto module = test::kernel(kGood);
  Function& f = *module->functions[0];
  SUBCASE("label of an erased block") {
    f.eraseBlock(f.block(2));
    const std::string faults = render(verify(f));
    CHECK(contains(faults, "refers to an undefined block"));
    CHECK(contains(faults, "falls through to an undefined block"));
  }
}

TEST_CASE("phis and SSA form") {
  const std::string head = "  ssa;\n.L0:\n  -> .L1;\n.L1:\n";
  const std::string tail = "  @%p2 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n";
  CHECK(contains(faultsOf(head + "  MOV.PHI %r0, [.L0: 1];\n" + tail), "not those of its block's predecessors"));
  CHECK(contains(faultsOf(head + "  MOV.PHI %r0, [.L0: 1], [.L2: 1];\n" + tail),
                 "not those of its block's predecessors"));
  CHECK(contains(faultsOf(head + "  COPY %r1, 1;\n  MOV.PHI %r0, [.L0: 1], [.L1: 1];\n" + tail),
                 "after the first instructions"));
  CHECK(contains(faultsOf(head + "  @%p2 MOV.PHI %r0, [.L0: 1], [.L1: 1];\n" + tail), "has a guard"));
  CHECK(contains(faultsOf(head + "  MOV.PHI %r0, 5;\n" + tail), "pairs of a value and a label"));
  CHECK(contains(faultsOf(head + "  MOV.PHI %r0, %r1, 1, RZ;\n" + tail), "pairs of a value and a label"));
  CHECK(contains(faultsOf(head + "  COPY %r0, 1;\n  COPY %r0, 2;\n" + tail), "second definition"));
  CHECK(faultsOf("  reg %r0 multidef;\n" + head + "  COPY %r0, 1;\n  @%p2 COPY %r0, 2;\n" + tail) == "");
  CHECK(contains(faultsOf(head + "  STS [RZ], %r0;\n  COPY %r0, 1;\n" + tail), "does not dominate this use"));
  CHECK(
      contains(faultsOf(head + "  MOV.PHI %r0, [.L0: %r1], [.L1: 1];\n  COPY %r1, 1;\n" + tail), "does not dominate"));
  CHECK(
      contains(faultsOf(".L0:\n  -> .L1;\n.L1:\n  MOV.PHI %r0, [.L0: 1], [.L1: 1];\n" + tail), "outside of SSA form"));
}

TEST_CASE("reads of undefined registers are warnings, when asked for") {
  const auto module =
      test::kernel(".L0:\n  @%p3 BRA .L1;\n  -> .L2;\n.L1:\n  COPY %r0, 1;\n  -> .L2;\n"
                   ".L2:\n  STS [RZ], %r0;\n  STS [RZ], %r1;\n  @%p3 COPY %r2, 1;\n  @%p3 STS [RZ], %r2;\n  EXIT;\n");
  const Function& f = *module->functions[0];
  CHECK(verify(f).empty());
  VerifyOptions options;
  options.undefinedUses = true;
  const auto faults = verify(f, options);
  CHECK(!hasErrors(faults));
  const std::string text = render(faults);
  CHECK(contains(text, "warning: no definition of %r1 reaches this use"));
  CHECK(contains(text, "no definition of %p3 reaches"));
  CHECK(!contains(text, "of %r0 ")); // defined on one path
  CHECK(!contains(text, "of %r2 ")); // same guard
}
