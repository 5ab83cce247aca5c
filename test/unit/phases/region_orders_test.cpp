// Schedules before register allocation: they preserve dependences, and their pressure is equal to that of liveness.

#include "phases/region_orders.h"
#include "phases/spill_estimate.h"

#include "../ori/helpers.h"
#include "encoder/isa/target.h"
#include "ori/analysis/register_pressure.h"
#include "phases/list_schedule.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>

using namespace orias;
using phases::Order;

namespace {

/// A block with one region, and the schedulers' data of it.
struct Sample {
  explicit Sample(const std::string& body)
      : module(ori::test::parsed("module sm_90 ptx 8 8;\nkernel \"f\" {\n" + body + "  EXIT;\n}\n")),
        function(*module->functions.front()) {}

  ori::Block& block() { return *function.layout().front(); }

  template <typename F> void visit(F&& f) {
    const ori::Cfg cfg(function);
    const ori::Liveness liveness(cfg);
    const auto regions = phases::regionsOf(block());
    REQUIRE(regions.size() == 1);
    ori::LiveCounter live(liveness);
    live.enter(block());
    const ori::Instr* instr = block().last;
    for (; instr != regions[0].instrs.back(); instr = instr->prev)
      live.step(*instr);
    phases::RegionValues values(regions[0].instrs, liveness, live);
    for (; instr; instr = instr->prev)
      live.step(*instr);
    values.setLiveBefore(live.counts());
    f(regions[0], phases::ScheduleRegion(regions[0].instrs, std::move(values), module->target()));
  }

  ori::FileCounts pressure() {
    const ori::Cfg cfg(function);
    return ori::RegisterPressure(ori::Liveness(cfg)).maximum();
  }

  std::unique_ptr<ori::Module> module;
  ori::Function& function;
};

/// Random arithmetic on a few registers, which are written several times, also under guards.
std::string randomBody(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return random() % n; };
  std::string body = "  reg %r0:2, %ur900:2;\n.L0:\n  S2R %r1, SR_TID.X;\n  ISETP.LT.AND %p901, PT, %r1, 7, PT;\n"
                     "  LDC.64 %r0:2, bank[0][0x210];\n  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n";
  unsigned made = 1;
  for (unsigned i = 0; i < 40; ++i) {
    const auto some = [&] { return fmt::format("%r{}", 1 + below(made)); };
    const std::string a = some(), b = some();
    const bool isAgain = below(4) == 0;
    if (!isAgain) ++made;
    const std::string to = isAgain ? some() : fmt::format("%r{}", made);
    const std::string guard = isAgain && below(2) == 0 ? "@%p901 " : "";
    switch (below(4)) {
    case 0: body += fmt::format("  {}LDG.E {}, desc[%ur900:2][%r0:2+{}];\n", guard, to, 4 * i); break;
    case 1: body += fmt::format("  {}IADD3 {}, {}, {}, RZ;\n", guard, to, a, b); break;
    case 2: body += fmt::format("  {}FFMA {}, {}, {}, {};\n", guard, to, a, b, some()); break;
    default:
      body += fmt::format("  ISETP.LT.AND %p901, PT, {}, {}, PT;\n  {}IADD3 {}, {}, 1, RZ;\n", a, b, guard, to, b);
    }
    // Store the result: an unused guarded write has no live range in liveness, but has one in the scheduler.
    if (!guard.empty()) body += fmt::format("  STG.E desc[%ur900:2][%r0:2+{}], {};\n", 512 + 4 * i, to);
  }
  for (unsigned i = 1; i <= made; i += 3)
    body += fmt::format("  STG.E desc[%ur900:2][%r0:2+{}], %r{};\n", 4 * i, i);
  return body;
}

void checkRespects(const phases::ScheduleRegion& region, const Order& order) {
  REQUIRE(order.size() == region.instrs.size());
  std::vector<std::size_t> place(order.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  for (std::uint32_t n = 0; n < order.size(); ++n) {
    REQUIRE(place[n] < order.size());
    for (const phases::Dependence& d : region.graph.successors(n))
      REQUIRE(place[n] < place[d.to]);
  }
}

} // namespace

TEST_CASE("a register that a later region writes again does not live on to there") {
  Sample sample("  reg %ur900:2, %r901:2;\n.L0:\n  S2R %r1, SR_TID.X;\n  LDC.64 %r901:2, bank[0][0x210];\n"
                "  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n  IADD3 %r2, %r1, 7, RZ;\n  IADD3 %r3, %r2, %r1, RZ;\n"
                "  BAR.SYNC.DEFER_BLOCKING 0;\n  IADD3 %r2, %r3, %r1, RZ;\n"
                "  STG.E desc[%ur900:2][%r901:2], %r2;\n");
  const ori::Cfg cfg(sample.function);
  const ori::Liveness liveness(cfg);
  const auto regions = phases::regionsOf(sample.block());
  REQUIRE(regions.size() == 1);
  const std::span<ori::Instr* const> region = std::span(regions[0].instrs).first(5); // before the barrier
  ori::LiveCounter live(liveness);
  live.enter(sample.block());
  for (const ori::Instr* instr = sample.block().last; instr != region.back(); instr = instr->prev)
    live.step(*instr);
  const phases::RegionValues values(region, liveness, live);
  const auto isKept = [&](std::uint32_t node) {
    for (const auto& [value, begins] : values.refs(node))
      if (begins && values.values()[value].isLiveAfter) return true;
    return false;
  };
  CHECK_FALSE(isKept(3)); // %r2
  CHECK(isKept(4));       // %r3
}

TEST_CASE("the pressure of an order is what liveness says of the reordered block") {
  constexpr phases::RegionCounts kPlenty = {200, 6, 60, 6}, kFew = {8, 6, 60, 6};
  for (unsigned seed = 0; seed < 60; ++seed)
    for (unsigned kind = 0; kind < 6; ++kind) {
      CAPTURE(seed);
      CAPTURE(kind);
      Sample sample(randomBody(seed));
      phases::RegionCounts peak{};
      sample.visit([&](const phases::BlockRegion& place, const phases::ScheduleRegion& region) {
        const Order order = kind == 0   ? phases::sourceOrder(region)
                            : kind == 1 ? phases::latencyFirst(region, kPlenty)
                            : kind == 2 ? phases::latencyFirst(region, kFew)
                            : kind == 3 ? phases::pressureAware(region, kPlenty)
                            : kind == 4 ? phases::pressureAware(region, kFew)
                                        : phases::depthFirst(region);
        checkRespects(region, order);
        peak = phases::costOf(region, order).peak;
        for (std::size_t f = 0; f < peak.size(); ++f)
          CHECK(peak[f] <= region.values.bound()[f]);
        phases::reorder(sample.function, place, order);
      });
      const ori::FileCounts measured = sample.pressure();
      for (std::size_t f = 0; f < peak.size(); ++f)
        CHECK(peak[f] == measured[static_cast<std::size_t>(phases::kScheduledFiles[f])]);
    }
}

TEST_CASE("the spill code of an order is that of the values that are read last") {
  std::string body = ".L0:\n  S2R %r1, SR_TID.X;\n";
  for (unsigned i = 0; i < 6; ++i)
    body += fmt::format("  LDS %r{}, [%r1+{}];\n", 10 + i, 4 * i);
  for (unsigned i = 0; i < 12; ++i) // each is read twice
    body += fmt::format("  STS [%r1+{}], %r{};\n", 64 + 4 * i, 10 + i % 6);
  Sample sample(body);
  unsigned regions = 0;
  sample.visit([&](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
    ++regions;
    const auto spills = [&](unsigned registers) {
      const phases::SpillCode code =
          phases::spillCodeOf(region.values, phases::sourceOrder(region), registers, phases::kR);
      return std::pair(code.stores, code.loads);
    };
    CHECK(spills(7).first + spills(7).second == 0);
    // The last value is spilled before its first reader, and again before the second.
    CHECK(spills(6).first == 1);
    CHECK(spills(6).second == 2);
    // All values except the first are spilled: their address stays in its register.
    CHECK(spills(2).first == 5);
    CHECK(spills(2).second == 10);
  });
  CHECK(regions == 1);
}

TEST_CASE("the spill code of predicates counts each that waits, at any peak") {
  // Two predicates are live throughout; the others follow in pairs.
  std::string body =
      ".L0:\n  S2R %r1, SR_TID.X;\n  ISETP.GT.AND %p101, PT, %r1, 1, PT;\n  ISETP.GT.AND %p102, PT, %r1, 2, PT;\n";
  for (unsigned i = 0; i < 4; ++i)
    body += fmt::format(
        "  ISETP.GT.AND %p1{0}, PT, %r1, {0}, PT;\n  ISETP.GT.AND %p1{1}, PT, %r1, {1}, PT;\n"
        "  SEL %r{0}, RZ, 1, %p1{0};\n  SEL %r{1}, RZ, 1, %p1{1};\n  STS [%r1+{2}], %r{0};\n  STS [%r1+{3}], %r{1};\n",
        10 + 2 * i, 11 + 2 * i, 8 * i, 8 * i + 4);
  body += "  SEL %r2, RZ, 1, %p101;\n  SEL %r3, RZ, 1, %p102;\n  STS [%r1+100], %r2;\n  STS [%r1+104], %r3;\n";
  Sample sample(body);
  sample.visit([&](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
    const Order source = phases::sourceOrder(region);
    CHECK(phases::costOf(region, source).peak[phases::kP] == 4);
    const auto spills = [&](unsigned predicates) {
      const phases::SpillCode code = phases::spillCodeOf(region.values, source, predicates, phases::kP);
      return std::pair(code.stores, code.loads);
    };
    CHECK(spills(4) == std::pair(0u, 0u));
    CHECK(spills(3) == std::pair(1u, 1u));
    CHECK(spills(2) == std::pair(2u, 2u));
    CHECK(spills(1) == std::pair(6u, 6u)); // also one of each pair
  });
}

TEST_CASE("few registers first needs fewer than loads first where loads can wait") {
  std::string body =
      "  reg %r0:2, %ur900:2;\n.L0:\n  LDC.64 %r0:2, bank[0][0x210];\n  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n"
      "  MOV %r99, RZ;\n";
  for (unsigned i = 0; i < 32; ++i)
    body += fmt::format("  LDG.E %r{}, desc[%ur900:2][%r0:2+{}];\n", 1 + i, 4 * i);
  for (unsigned i = 0; i < 32; ++i)
    body += fmt::format("  FADD %r99, %r99, %r{};\n", 1 + i);
  body += "  STG.E desc[%ur900:2][%r0:2], %r99;\n";
  Sample sample(body);
  sample.visit([](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
    const auto cost = [&](const Order& order) { return phases::costOf(region, order); };
    const auto loads = cost(phases::latencyFirst(region, {200, 6, 60, 6}));
    const auto few = cost(phases::pressureAware(region, {0, 6, 60, 6}));
    const auto some = cost(phases::pressureAware(region, {16, 6, 60, 6}));
    CHECK(loads.peak[0] >= 32);
    CHECK(few.peak[0] <= 6);
    CHECK(some.peak[0] <= 16);
    CHECK(loads.length < some.length);
    CHECK(some.length < few.length);
  });
}

TEST_CASE("depth first needs few registers where loads precede the sums that read them") {
  std::string body =
      "  reg %r0:2, %ur900:2;\n.L0:\n  LDC.64 %r0:2, bank[0][0x210];\n  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n";
  constexpr unsigned kLoads = 64;
  for (unsigned i = 0; i < kLoads; ++i)
    body += fmt::format("  LDG.E %r{}, desc[%ur900:2][%r0:2+{}];\n", 100 + i, 4 * i);
  // A tree: adjacent values are combined first. Level by level, half of all values are live.
  unsigned from = 100, made = 100 + kLoads;
  for (unsigned width = kLoads; width > 1; width /= 2)
    for (unsigned i = 0; i < width / 2; ++i, from += 2)
      body += fmt::format("  FADD %r{}, %r{}, %r{};\n", made++, from, from + 1);
  body += fmt::format("  STG.E desc[%ur900:2][%r0:2], %r{};\n", made - 1);
  Sample sample(body);
  sample.visit([&](const phases::BlockRegion& region, const phases::ScheduleRegion& model) {
    CHECK(costOf(model, sourceOrder(model)).peak[0] > kLoads);
    const Order order = depthFirst(model);
    CHECK(costOf(model, order).peak[0] < 12);
    CHECK(phases::reorder(sample.function, region, order));
  });
}

TEST_CASE("loads before a barrier are consumed there, tree after tree, though the tree ends after it") {
  std::string body =
      "  reg %r0:2, %ur900:2;\n.L0:\n  LDC.64 %r0:2, bank[0][0x210];\n  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n"
      "  S2R %r2, SR_TID.X;\n";
  constexpr unsigned kTrees = 16, kLoads = 8;
  const auto load = [](unsigned tree, unsigned i) { return 100 + tree * kLoads + i; };
  for (unsigned tree = 0; tree < kTrees; ++tree)
    for (unsigned i = 0; i < kLoads; ++i)
      body += fmt::format("  LDG.E %r{}, desc[%ur900:2][%r0:2+{}];\n", load(tree, i), 4 * (tree * kLoads + i));
  // All trees interleaved.
  for (unsigned i = 1; i < kLoads; ++i)
    for (unsigned tree = 0; tree < kTrees; ++tree)
      body += fmt::format("  FADD %r{0}, %r{1}, %r{2};\n", 300 + tree * kLoads + i,
                          i == 1 ? load(tree, 0) : 299 + tree * kLoads + i, load(tree, i));
  body += "  BAR_SYNC<1> 0;\n";
  for (unsigned tree = 0; tree < kTrees; ++tree)
    body += fmt::format("  STS [%r2+{}], %r{};\n", 4 * tree, 300 + tree * kLoads + kLoads - 1);
  Sample sample(body);
  sample.visit([&](const phases::BlockRegion& region, const phases::ScheduleRegion& model) {
    const auto peak = [&](phases::WhenShort whenShort) {
      return costOf(model, phases::pressureAware(model, {0, 6, 60, 6}, whenShort)).peak[0];
    };
    CHECK(peak(phases::WhenShort::FewestRegisters) > kTrees * kLoads);
    CHECK(peak(phases::WhenShort::SourceOrder) > kTrees * kLoads);
    CHECK(peak(phases::WhenShort::NewestReady) < kTrees + 12);
    CHECK(
        phases::reorder(sample.function, region, pressureAware(model, {0, 6, 60, 6}, phases::WhenShort::NewestReady)));
  });
}

TEST_CASE("a limit of predicates guides the order, too") {
  std::string body =
      "  reg %r0:2, %ur900:2;\n.L0:\n  LDC.64 %r0:2, bank[0][0x210];\n  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n"
      "  S2R %r50, SR_TID.X;\n";
  for (unsigned i = 0; i < 12; ++i)
    body += fmt::format("  ISETP.LT.AND %p{}, PT, %r50, {}, PT;\n", 800 + i, i + 1);
  for (unsigned i = 0; i < 12; ++i)
    body += fmt::format("  SEL %r{}, %r50, {}, %p{};\n  STG.E desc[%ur900:2][%r0:2+{}], %r{};\n", 60 + i, i, 800 + i,
                        4 * i, 60 + i);
  Sample sample(body);
  sample.visit([](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
    CHECK(phases::costOf(region, phases::sourceOrder(region)).peak[1] == 12);
    // In addition to three registers, half of the ten predicates that cannot be allocated.
    CHECK(phases::costOf(region, phases::sourceOrder(region), 2).peak[0] == 3 + 5);
    CHECK(phases::costOf(region, phases::latencyFirst(region, {200, 6, 60, 6})).peak[1] <= 6);
    CHECK(phases::costOf(region, phases::pressureAware(region, {200, 6, 60, 6})).peak[1] <= 6);
  });
}

TEST_CASE("filled stalls keep to the dependences, and to the limits as far as the base order does") {
  for (unsigned seed = 0; seed < 60; ++seed)
    for (const unsigned registers : {0U, 6U, 10U, 200U}) {
      CAPTURE(seed);
      CAPTURE(registers);
      Sample sample(randomBody(seed));
      sample.visit([&](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
        const phases::RegionCounts limits = {registers, 6, 60, 6};
        for (const Order& base : {phases::sourceOrder(region), phases::pressureAware(region, {0, 6, 60, 6})}) {
          const Order filled = phases::fillStalls(region, base, limits);
          checkRespects(region, filled);
          const phases::RegionCounts before = phases::costOf(region, base).peak;
          const phases::RegionCounts after = phases::costOf(region, filled).peak;
          for (std::size_t f = 0; f < after.size(); ++f)
            CHECK(after[f] <= std::max(limits[f], before[f]));
        }
      });
    }
}

TEST_CASE("independent chains are interleaved as far as registers last") {
  std::string body =
      "  reg %r0:2, %ur900:2;\n.L0:\n  LDC.64 %r0:2, bank[0][0x210];\n  ULDC<5> %ur900:2, c[0x0][0x208]:2;\n"
      "  LDG.E %r50, desc[%ur900:2][%r0:2];\n";
  for (unsigned i = 0; i < 16; ++i) {
    body += fmt::format("  FADD %r{}, %r50, {}.0f;\n", 100 + 10 * i, i + 1);
    for (unsigned k = 0; k < 8; ++k)
      body += fmt::format("  FMUL %r{0}, %r{1}, %r{1};\n", 101 + 10 * i + k, 100 + 10 * i + k);
    body += fmt::format("  STG.E desc[%ur900:2][%r0:2+{}], %r{};\n", 4 * i, 108 + 10 * i);
  }
  Sample sample(body);
  sample.visit([](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
    const Order source = phases::sourceOrder(region);
    const auto fill = [&](unsigned registers) {
      return phases::costOf(region, phases::fillStalls(region, source, {registers, 6, 60, 6}));
    };
    const auto alone = phases::costOf(region, source), two = fill(alone.peak[0] + 1), four = fill(alone.peak[0] + 3);
    CHECK(two.peak[0] == alone.peak[0] + 1);
    CHECK(four.peak[0] <= alone.peak[0] + 3);
    // The load is waited for once. Then two chains overlap in the time of one.
    CHECK(2 * (two.length - 200) < alone.length);
    CHECK(four.length < two.length);
  });
}

TEST_CASE("no order is shorter than the least length, and some reach it") {
  constexpr phases::RegionCounts kMany = {200, 6, 60, 6};
  unsigned reached = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Sample sample(randomBody(seed));
    sample.visit([&](const phases::BlockRegion&, const phases::ScheduleRegion& region) {
      const unsigned least = phases::leastLength(region);
      const Order source = phases::sourceOrder(region);
      unsigned shortest = ~0U;
      for (const Order& order : {source, phases::latencyFirst(region, kMany), phases::pressureAware(region, kMany),
                                 phases::fillStalls(region, source, kMany)})
        shortest = std::min(shortest, phases::costOf(region, order).length);
      CHECK(least <= shortest);
      reached += least == shortest;
    });
  }
  CHECK(reached > 0);
}
