// Estimated executions of blocks.

#include "ori/analysis/block_frequency.h"

#include "../ori/helpers.h"

using namespace orias;

TEST_CASE("block frequencies: branches halve, joins add up, cold blocks never run") {
  const auto module = ori::test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  @%p1 BRA .L2;\n  -> .L1;\n"
                                        ".L1:\n  STS [%r0], RZ;\n  @%p2 BRA .L4;\n  -> .L3;\n"
                                        ".L2:\n  STS [%r0+4], RZ;\n  BRA .L3;\n"
                                        ".L3:\n  EXIT;\n"
                                        ".L4 cold:\n  BRA .L3;\n");
  const ori::BlockFrequencies frequencies(*module->functions[0]);
  CHECK(frequencies[0] == 1);
  CHECK(frequencies[1] == 0.5);
  CHECK(frequencies[2] == 0.5);
  CHECK(frequencies[4] == 0);
  CHECK(frequencies[3] == 1);
}

TEST_CASE("block frequencies: each loop multiplies, and its exits together run as often as its entry") {
  const auto module = ori::test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n"
                                        ".L1:\n  STS [%r0], RZ;\n  @%p1 BRA .L4;\n  -> .L2;\n"
                                        ".L2:\n  STS [%r0+4], RZ;\n  @%p2 BRA .L2;\n  -> .L3;\n"
                                        ".L3:\n  STS [%r0+8], RZ;\n  @%p3 BRA .L1;\n  -> .L5;\n"
                                        ".L4:\n  STS [%r0+12], RZ;\n  -> .L5;\n"
                                        ".L5:\n  EXIT;\n");
  const ori::BlockFrequencies frequencies(*module->functions[0]);
  CHECK(frequencies[1] == 8);
  CHECK(frequencies[2] == 64);
  CHECK(frequencies[3] == 8);
  CHECK(frequencies[4] == 0.5);
  CHECK(frequencies[5] == 1);
}

TEST_CASE("block frequencies: a loop of one block that fills a local array runs as often as its entry") {
  const auto module = ori::test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n"
                                        ".L1:\n  STL [%r0], RZ;\n  @%p1 BRA .L1;\n  -> .L2;\n"
                                        ".L2:\n  EXIT;\n");
  const ori::BlockFrequencies frequencies(*module->functions[0]);
  CHECK(frequencies[1] == 1);
  CHECK(frequencies[2] == 1);
}

TEST_CASE("blocks get their frequencies, cold ones at least 1/64") {
  const auto module = ori::test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  @%p1 BRA .L2;\n  -> .L1;\n"
                                        ".L1:\n  STS [%r0], RZ;\n  BRA .L3;\n.L2 cold:\n  BRA .L3;\n"
                                        ".L3 depth 1:\n  @%p2 BRA .L5;\n  -> .L4;\n"
                                        ".L4 depth 1 cold:\n  BRA .L3;\n.L5:\n  EXIT;\n");
  ori::Function& function = *module->functions[0];
  ori::setBlockFrequencies(function);
  CHECK(function.block(0)->frequency == 1);
  CHECK(function.block(1)->frequency == 1);
  CHECK(function.block(2)->frequency == 1.0F / 64);
  CHECK(function.block(4)->frequency == 8.0F / 64);
}
