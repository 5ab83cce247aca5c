#include "allocation.h"

#include "regalloc/live_ranges.h"
#include "regalloc/register_placement.h"
#include "regalloc/webs.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;

namespace {

/// Places the values of a kernel in sequence in the first free registers, then spreads them over 32. Returns the
/// registers of the values of `width` registers, in program order.
std::vector<std::uint32_t> spread(std::string_view body, unsigned width = 4) {
  const auto module = ori::test::kernel(body, "sm_90a");
  const ori::Function& function = *module->functions.front();
  const LiveRanges ranges(function, File::R);
  const Webs webs = buildWebs(function, File::R, ranges, {.coalesce = false});
  RegisterBudget budget;
  budget.limit = 32;
  Placer placer(function, webs);
  Placement placement = placer.place(budget, Order::ByStart);
  REQUIRE(placement.failed.empty());
  budget.rotated = 32;
  placement = placer.spread(budget, std::move(placement));
  std::vector<std::uint32_t> order;
  for (std::uint32_t id = 0; id < webs.all.size(); ++id)
    if (webs.all[id].width == width) order.push_back(id);
  std::ranges::sort(order, {}, [&](std::uint32_t id) { return webs.all[id].start; });
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t id : order)
    slots.push_back(placement.slotOf[id]);
  return slots;
}

} // namespace

TEST_CASE("tuples that live one after the other are spread over the registers that are free") {
  std::string body = "  reg %r1:4, %r2:4, %r3:4, %r4:4;\n.L0:\n";
  for (unsigned i = 1; i <= 4; ++i)
    body += fmt::format(" LDS.128 %r{0}:4, [{1}];\n STS.128 [0], %r{0}:4;\n", i, 16 * i);
  const std::vector<std::uint32_t> slots = spread(body + " EXIT;\n");
  CHECK(slots.size() == 4);
  CHECK(std::set(slots.begin(), slots.end()).size() == 4);
}

TEST_CASE("sums of wgmmas stay where they are") {
  const std::vector<std::uint32_t> slots =
      spread("  reg %r1:4, %r2:4, %r3:4, %r4:4, %r5:4, %ur0:4;\n.L0:\n LDS.128 %r1:4, [0];\n"
             " HGMMA<0,1,0,0,0,0,0> %r2:4, gdesc[%ur0:4], %r1:4, UPT, 7;\n"
             " HGMMA<0,1,0,0,0,0,0> %r3:4, gdesc[%ur0:4], %r2:4, UPT, 0;\n STS.128 [0], %r3:4;\n"
             " LDS.128 %r4:4, [0];\n STS.128 [0], %r4:4;\n LDS.128 %r5:4, [0];\n STS.128 [0], %r5:4;\n EXIT;\n");
  CHECK(slots.size() == 5);
  CHECK(slots[0] == slots[1]);
  CHECK(slots[1] == slots[2]);
  CHECK(slots[4] != slots[3]);
}

TEST_CASE("the two sides of a copy are spread together") {
  std::string body = "  reg %r1:2, %r2:2, %r3:2, %r4:2, %r5:2, %r6:2;\n.L0:\n";
  for (unsigned i = 1; i <= 5; i += 2)
    body += fmt::format(" LDS.64 %r{0}:2, [{2}];\n COPY %r{1}:2, %r{0}:2;\n STS.64 [0], %r{1}:2;\n", i, i + 1, 16 * i);
  const std::vector<std::uint32_t> slots = spread(body + " EXIT;\n", 2);
  CHECK(slots.size() == 6);
  for (unsigned i = 0; i < 6; i += 2)
    CHECK(slots[i] == slots[i + 1]);
  CHECK(std::set(slots.begin(), slots.end()).size() == 3);
}
