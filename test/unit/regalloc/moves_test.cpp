// If the pressure is within the limit, values move between registers instead of being spilled: regalloc/moves.h.

#include "allocation.h"

#include <fmt/format.h>
#include <random>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

struct Lives {
  std::string declarations, body;
};

/// `count` pairs and single values that begin and end in a random order, with `occupied` registers live at most.
Lives randomLives(std::uint32_t seed, unsigned occupied, unsigned count) {
  std::mt19937 random(seed);
  std::vector<std::pair<unsigned, unsigned>> live; // name, width
  unsigned now = 0;
  Lives lives;
  const auto text = [](unsigned name, unsigned width) { return fmt::format("%r{}{}", name, width == 2 ? ":2" : ""); };
  const auto end = [&](std::size_t i) {
    const auto [name, width] = live[i];
    lives.body += fmt::format("  STS{} [URZ], {};\n", width == 2 ? ".64" : "", text(name, width));
    now -= width;
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (unsigned i = 0; i < count; ++i) {
    const unsigned width = random() % 3 == 0 ? 2 : 1;
    while (now + width > occupied)
      end(random() % live.size());
    live.emplace_back(10 + i, width);
    now += width;
    if (width == 2) lives.declarations += fmt::format("  reg {} align 2;\n", text(10 + i, 2));
    lives.body += fmt::format("  LDS{} {}, [URZ];\n", width == 2 ? ".64" : "", text(10 + i, width));
  }
  while (!live.empty())
    end(0);
  return lives;
}

} // namespace

TEST_CASE("single values move between the gaps that pairs leave, and nothing is spilled") {
  unsigned copies = 0;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Lives lives = randomLives(seed, 20, 300);
    auto module = ori::test::kernel(lives.declarations + ".L0:\n" + lives.body + "  EXIT;\n");
    ori::Function& function = *module->functions.front();
    AllocationOptions options;
    options.maxRegisters = 24; // 22 without those reserved by the chip
    options.uniformPromotion = false;
    REQUIRE(allocate(function, options) == "");
    CHECK(function.stats.spillStoreBytes == 0);
    CHECK(function.stats.frameBytes == 0);
    copies += countOf(text(function), "COPY ");
  }
  CHECK(copies > 0);
}

TEST_CASE("a value keeps its register from one block to the next, and may leave it inside a block") {
  // In the loop, the single holes between pairs differ from those before it.
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Lives lives = randomLives(seed, 16, 120);
    std::string before, after;
    for (unsigned i = 0; i < 4; ++i) {
      before += fmt::format("  LDS %r{}, [URZ+{}];\n", i, 4 * i);
      after += fmt::format("  STS [URZ], %r{};\n", i);
    }
    auto module = ori::test::kernel(lives.declarations + ".L0:\n" + before + "  -> .L1;\n.L1 depth 1:\n" + lives.body +
                                    "  IADD3 %r0, %r0, 1, RZ;\n  ISETP.LT.U32.AND %p5, PT, %r0, 9, PT;\n"
                                    "  @%p5 BRA .L1;\n  -> .L2;\n.L2:\n" +
                                    after + "  EXIT;\n");
    ori::Function& function = *module->functions.front();
    AllocationOptions options;
    options.maxRegisters = 24;
    options.uniformPromotion = false;
    CHECK(allocate(function, options) == "");
  }
}

TEST_CASE("pairs took no run from single values, which could move") {
  // Up to 21 of 22 registers are live: in some of the programs no aligned run is free for pairs without moves.
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Lives lives = randomLives(seed, 21, 60);
    auto module = ori::test::kernel(lives.declarations + ".L0:\n" + lives.body + "  EXIT;\n");
    ori::Function& function = *module->functions.front();
    AllocationOptions options;
    options.maxRegisters = 24;
    options.uniformPromotion = false;
    REQUIRE(allocate(function, options) == "");
    CHECK(function.stats.spillStoreBytes == 0);
  }
}

TEST_CASE("values were copied between registers where others could make room for them") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Lives lives = randomLives(seed, 19, 300);
    auto module = ori::test::kernel(lives.declarations + ".L0:\n" + lives.body + "  EXIT;\n");
    ori::Function& function = *module->functions.front();
    AllocationOptions options;
    options.freeRegisters = [](unsigned) { return 22U; };
    REQUIRE(allocate(function, options) == "");
    CHECK(function.stats.registers <= 24);
    CHECK(countOf(text(function), "COPY ") == 0);
  }
}

TEST_CASE("a few values change registers where that keeps the occupancy class") {
  unsigned kept = 0; // some programs need too many copies
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Lives lives = randomLives(seed, 20, 300);
    auto module = ori::test::kernel(lives.declarations + ".L0:\n" + lives.body + "  EXIT;\n");
    ori::Function& function = *module->functions.front();
    AllocationOptions options;
    options.freeRegisters = [](unsigned) { return 22U; };
    REQUIRE(allocate(function, options) == "");
    kept += function.stats.registers <= 24 && countOf(text(function), "COPY ") > 0;
  }
  CHECK(kept > 0);
}
