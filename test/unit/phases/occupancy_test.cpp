// Occupancy classes: the register counts up to which no warp is lost.

#include "phases/occupancy.h"

#include "encoder/isa/target.h"

#include <doctest/doctest.h>

using namespace orias;

namespace {

ori::LaunchBounds blockOf(unsigned threads) {
  ori::LaunchBounds bounds;
  bounds.maxntid[0] = threads;
  bounds.maxntid[1] = bounds.maxntid[2] = threads != 0 ? 1 : 0;
  return bounds;
}

phases::OccupancyClasses classesOf(unsigned threads, std::uint32_t shared = 0, unsigned registers = 255) {
  return phases::OccupancyClasses(*isa::Target::find("sm_90"), blockOf(threads), shared, registers);
}

} // namespace

TEST_CASE("a class ends where the next register costs a warp, on every chip and for every block size") {
  for (const isa::Target& target : isa::Target::all())
    for (unsigned threads = 32; threads <= 1024; threads += 32)
      for (std::uint32_t shared : {0U, 12'000U, 48U * 1024}) {
        const phases::OccupancyClasses classes(target, blockOf(threads), shared, 255);
        for (unsigned live = 0; live <= 253; ++live) {
          const unsigned end = classes.end(live);
          CAPTURE(target.name());
          CAPTURE(threads);
          CAPTURE(live);
          CAPTURE(end);
          REQUIRE(end >= live);
          const auto warps = [&](unsigned n) { return target.occupancy(threads, n + 2, shared).warpsPerSm; };
          REQUIRE(classes.warps(live) == warps(live));
          REQUIRE(warps(end) == warps(live));
          if (end < 253) REQUIRE(warps(end + 1) < warps(live));
        }
      }
}

// Values from the occupancy calculator of the CUDA toolkit; two registers of each count are reserved.
TEST_CASE("classes of sm_90") {
  CHECK(classesOf(256).ends() == std::vector<unsigned>{30, 38, 46, 62, 78, 126, 253});
  CHECK(classesOf(1024).ends() == std::vector<unsigned>{30, 62, 253});
  CHECK(classesOf(256).end(80) == 126);
}

TEST_CASE("shared memory makes classes wider") {
  CHECK(classesOf(256, 48 * 1024).ends() == std::vector<unsigned>{62, 78, 126, 253});
}

TEST_CASE("without a block size the common ones are weighted") {
  const phases::OccupancyClasses unknown = classesOf(0);
  CHECK(unknown.ends() == std::vector<unsigned>{30, 38, 46, 62, 78, 126, 166, 253});
  CHECK(unknown.warps(30) == 64);
}

TEST_CASE("no class goes beyond the register limit of the function") {
  CHECK(classesOf(256, 0, 100).ends().back() == 98);
  CHECK(classesOf(256, 0, 100).end(90) == 98);
  CHECK(classesOf(256, 0, 100).end(120) == 98);
}

TEST_CASE("a register that no value gets makes each class end one earlier") {
  const phases::OccupancyClasses with(*isa::Target::find("sm_90"), blockOf(256), 0, 255, 1);
  CHECK(with.ends() == std::vector<unsigned>{29, 37, 45, 61, 77, 125, 252});
  CHECK(with.warps(29) == classesOf(256).warps(30));
  CHECK(with.warps(30) == classesOf(256).warps(31));
}
