#include "allocation.h"

#include "ori/setmaxnreg.h"
#include "regalloc/check.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

/// One side releases registers. The other requests `count` until they are available, and has `values` live at once.
std::string uneven(unsigned values, unsigned left, unsigned count) {
  std::string body = ".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p1, PT, %r0, 128, PT;\n @%p1 BRA .L3;\n -> .L1;\n"
                     ".L1:\n WARPSYNC.ALL;\n USETMAXREG.TRY_ALLOC.CTAPOOL %up2, " +
                     std::to_string(count) + ";\n COPY %p3, %up2;\n @!%p3 BRA .L1;\n -> .L2;\n.L2:\n";
  for (unsigned i = 0; i < values; ++i)
    body += " LDS %r" + std::to_string(i + 4) + ", [" + std::to_string(4 * i) + "];\n";
  for (unsigned i = values; i-- > 0;)
    body += " STS [%r0+" + std::to_string(4 * i) + "], %r" + std::to_string(i + 4) + ";\n";
  body += " EXIT;\n.L3:\n WARPSYNC.ALL;\n USETMAXREG.DEALLOC.CTAPOOL " + std::to_string(left) +
          ";\n STS [%r0], %r0;\n EXIT;\n";
  return body;
}

AllocationOptions entry(unsigned registers) {
  AllocationOptions options;
  options.maxRegisters = registers;
  return options;
}

} // namespace

TEST_CASE("register counts: fewer after what is given back, more after the answer") {
  auto module = ori::test::kernel(uneven(2, 24, 104));
  const ori::Function& function = *module->functions.front();
  const ori::WarpRegisterCounts counts(function, 64);
  CHECK(counts.atStart(0) == 64);
  CHECK(counts.atStart(1) == 64); // the loop, also from its backedge
  CHECK(counts.atStart(2) == 104);
  CHECK(counts.atStart(3) == 64);
  unsigned count = 64;
  for (const ori::Instr& instr : *function.block(3))
    count = ori::WarpRegisterCounts::after(instr, count);
  CHECK(count == 24);
  CHECK(ori::mostRegistersRequested(function) == 104u);
}

TEST_CASE("register counts: where paths meet, the fewest") {
  auto module =
      ori::test::kernel(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p1, PT, %r0, 128, PT;\n @%p1 BRA .L2;\n"
                        " -> .L1;\n.L1:\n USETMAXREG.DEALLOC.CTAPOOL 40;\n -> .L2;\n.L2:\n STS [%r0], %r0;\n"
                        " EXIT;\n");
  CHECK(ori::WarpRegisterCounts(*module->functions.front(), 64).atStart(2) == 40);
}

TEST_CASE("values take registers that a warp has asked for, and the count at entry is what the kernel states") {
  auto module = ori::test::kernel(uneven(80, 24, 104));
  ori::Function& function = *module->functions.front();
  REQUIRE(allocateRegisters(function, entry(64)).empty());
  CHECK(function.stats.registers == 64);
  CHECK(function.stats.spillStoreBytes == 0);
  CHECK(contains(text(function), "USETMAXREG"));
  CHECK(contains(text(function), "R80"));
  CHECK(checkRegisterCounts(function).empty());
}

TEST_CASE("more values than a warp can ask for are spilled within what it has") {
  auto module = ori::test::kernel(uneven(120, 24, 104));
  ori::Function& function = *module->functions.front();
  REQUIRE(allocateRegisters(function, entry(64)).empty());
  CHECK(function.stats.spillStoreBytes > 0);
  CHECK(checkRegisterCounts(function).empty());
}

TEST_CASE("nothing is given back where that gains nothing and costs spilling") {
  // 40 values on the side that keeps 24 registers, and few on the other.
  std::string body = uneven(2, 24, 104);
  std::string values, uses;
  for (unsigned i = 0; i < 40; ++i) {
    values += " LDS %r" + std::to_string(i + 200) + ", [" + std::to_string(4 * i) + "];\n";
    uses = " STS [%r0+" + std::to_string(4 * i) + "], %r" + std::to_string(i + 200) + ";\n" + uses;
  }
  const std::size_t at = body.rfind(" STS [%r0], %r0;");
  body.insert(at, values + uses);
  auto module = ori::test::kernel(body);
  ori::Function& function = *module->functions.front();
  std::vector<std::string> told;
  AllocationOptions options = entry(64);
  options.tell = [&](const ori::Instr&, std::string message) { told.push_back(std::move(message)); };
  REQUIRE(allocateRegisters(function, options).empty());
  CHECK(function.stats.spillStoreBytes == 0);
  CHECK(!contains(text(function), "USETMAXREG"));
  CHECK(told.size() == 2);
}

TEST_CASE("the check of register counts finds a register that its warp has given back") {
  auto module = ori::test::kernel(uneven(80, 24, 104));
  ori::Function& function = *module->functions.front();
  REQUIRE(allocateRegisters(function, entry(64)).empty());
  for (ori::Instr& instr : *function.block(3))
    if (instr.op == isa::Op::STS)
      function.setOperand(&instr, instr.operandCount - 1U, isa::Operand::physical(isa::File::R, 24));
  CHECK(checkRegisterCounts(function).size() == 1);
}
