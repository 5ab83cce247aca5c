// Spill code in cold blocks for an occupancy class with more warps: Allocator::classWithSpills.

#include "allocation.h"

#include <fmt/format.h>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

/// Loads `count` values and stores them afterwards, so that all are live at once.
std::string liveAtOnce(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("  LDS %r{}, [URZ+{:#x}];\n", first + i, 4 * i);
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("  STS [URZ+{:#x}], %r{};\n", 4 * i, first + i);
  return text;
}

/// A loop with few live values and much code, and a block after it, cold or not, with 40 live values.
std::string loopAndWideBlock(const char* mark, unsigned rounds) {
  std::string body;
  for (unsigned i = 0; i < rounds; ++i)
    body += liveAtOnce(100 + 10 * i, 10);
  return ".L0:\n"
         "  LDS %r0, [URZ];\n"
         "  -> .L1;\n"
         ".L1 depth 1:\n" +
         body +
         "  ISETP.LT.AND %p90, PT, %r0, RZ, PT;\n"
         "  @%p90 BRA .L1;\n"
         "  -> .L2;\n"
         ".L2:\n"
         "  ISETP.LT.AND %p91, PT, %r0, 0x7, PT;\n"
         "  @%p91 BRA .L4;\n"
         "  -> .L3;\n"
         ".L3" +
         std::string(mark) + ":\n" + liveAtOnce(1000, 40) +
         "  EXIT;\n"
         ".L4:\n"
         "  EXIT;\n";
}

/// Two classes: 64 warps with up to 30 registers of values, 48 with more.
AllocationOptions twoClasses() {
  AllocationOptions options;
  options.uniformPromotion = false;
  options.freeRegisters = [](unsigned used) { return used <= 30 ? 30u : 253u; };
  options.warps = [](unsigned used) { return used <= 30 ? 64.0 : 48.0; };
  return options;
}

} // namespace

TEST_CASE("values of a cold block are spilled for an occupancy class with more warps") {
  auto module = ori::test::kernel(loopAndWideBlock(" cold", 5));
  ori::Function& function = *module->functions.front();
  std::string remarks;
  AllocationOptions options = twoClasses();
  options.remark = [&](const ori::Instr*, const std::string& message, std::int64_t) { remarks += message + "\n"; };
  REQUIRE(allocate(function, options) == "");
  CHECK(function.stats.registers <= 32);
  CHECK(function.stats.spillStoreBytes > 0);
  CHECK(contains(remarks, "tries spill code in cold blocks for 30 registers and 64 warps"));
}

TEST_CASE("values of a block that is not cold are not spilled for an occupancy class") {
  auto module = ori::test::kernel(loopAndWideBlock("", 5));
  ori::Function& function = *module->functions.front();
  REQUIRE(allocate(function, twoClasses()) == "");
  CHECK(function.stats.registers > 32);
  CHECK(function.stats.spillStoreBytes == 0);
}

TEST_CASE("short code gains less from an occupancy class than spill code in a cold block costs") {
  auto module = ori::test::kernel(loopAndWideBlock(" cold", 1));
  ori::Function& function = *module->functions.front();
  REQUIRE(allocate(function, twoClasses()) == "");
  CHECK(function.stats.registers > 32);
  CHECK(function.stats.spillStoreBytes == 0);
}

TEST_CASE("without occupancy classes nothing is spilled that fits") {
  auto module = ori::test::kernel(loopAndWideBlock(" cold", 5));
  ori::Function& function = *module->functions.front();
  REQUIRE(allocate(function) == "");
  CHECK(function.stats.spillStoreBytes == 0);
}
