// Modulo scheduling on hand-written graphs: bounds, orders, schedules, and copies of registers.

#include "phases/modulo/expand.h"

#include "../ori/helpers.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>

using namespace orias;
using namespace orias::phases::modulo;

namespace {

/// A chain a -> b -> c .. with these latencies.
LoopGraph chain(const std::vector<int>& latencies) {
  LoopGraph graph;
  graph.add({});
  for (int latency : latencies) {
    const std::uint32_t n = graph.add({});
    graph.connect({n - 1, n, latency, 0});
  }
  return graph;
}

/// The number of constraints that a schedule violates.
unsigned faultsIn(const LoopGraph& graph, const Schedule& schedule) {
  unsigned faults = 0;
  for (const Edge& e : graph.edges()) {
    const int from = static_cast<int>(schedule.time[e.from]);
    const int to = static_cast<int>(schedule.time[e.to]) + e.distance * static_cast<int>(schedule.ii);
    faults += to < from + e.latency;
  }
  for (std::uint32_t a = 0; a < graph.size(); ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      faults += schedule.slot(a) == schedule.slot(b);
      if (graph.node(a).pipe == 0 || graph.node(a).pipe != graph.node(b).pipe) continue;
      const unsigned apart = (schedule.slot(a) + schedule.ii - schedule.slot(b)) % schedule.ii;
      faults += apart < graph.node(b).cycles || schedule.ii - apart < graph.node(a).cycles;
    }
  return faults;
}

struct Loop {
  explicit Loop(const std::string& body)
      : module(ori::test::parsed("module sm_90 ptx 8 8;\nkernel \"f\" {\n  reg %r20:4;\n.L0:\n  S2R %r1, SR_TID.X;\n"
                                 "  MOV %r2, RZ;\n  MOV %r3, RZ;\n  -> .L1;\n.L1:\n" +
                                 body + "  @%p9 BRA .L1;\n  -> .L2;\n.L2:\n  STS [%r1], %r3;\n  EXIT;\n}\n")),
        function(*module->functions.front()), facts(function) {
    loop = findBody(function, facts, 0, module->target(), whyNot);
  }

  std::unique_ptr<ori::Module> module;
  ori::Function& function;
  LoopFacts facts;
  std::string whyNot;
  LoopBody loop;
};

const char* const kSum = "  LDS %r10, [%r2] {contract};\n"
                         "  FADD %r3, %r3, %r10;\n"
                         "  IADD3 %r2, %r2, 4, RZ;\n"
                         "  ISETP.LT.AND %p9, PT, %r2, 64, PT;\n";

} // namespace

TEST_CASE("resource bound: issue slots, and the busiest pipe") {
  LoopGraph graph;
  for (int i = 0; i < 3; ++i)
    graph.add({1, 2});
  graph.add({2, 4});
  CHECK(resMii(graph) == 6); // three instructions of two cycles in pipe 1
  for (int i = 0; i < 4; ++i)
    graph.add({});
  CHECK(resMii(graph) == 8); // eight instructions
}

TEST_CASE("recurrence bound: the longest cycle by the iterations that it spans") {
  LoopGraph graph = chain({4, 5, 6});
  CHECK(recMii(findRecurrences(graph)) == 0);
  graph.connect({3, 1, 3, 2}); // 1 -> 2 -> 3 -> 1: 5 + 6 + 3 cycles over two iterations
  CHECK(recMii(findRecurrences(graph)) == 7);
  graph.connect({0, 0, 9, 1});
  const std::vector<Recurrence> found = findRecurrences(graph);
  REQUIRE(found.size() == 2);
  CHECK(found[0].nodes == std::vector<std::uint32_t>{0});
  CHECK(found[0].mii == 9);
  CHECK(found[1].nodes == std::vector<std::uint32_t>{1, 2, 3});
  CHECK(found[1].mii == 7);
  graph.connect({2, 0, 1, 3}); // odd lengths are rounded up: 4 + 5 + 1 over three iterations
  CHECK(recMii(findRecurrences(graph)) == 9);
}

TEST_CASE("earliest and latest times") {
  LoopGraph graph = chain({4, 5, 6});
  graph.add({});
  graph.connect({0, 4, 2, 0});
  const Times times = timesOf(graph, 1);
  CHECK(times.asap == std::vector<int>{0, 4, 9, 15, 2});
  CHECK(times.alap == std::vector<int>{0, 4, 9, 15, 15});
  CHECK(times.height == std::vector<int>{15, 11, 6, 0, 0});
  CHECK(times.length == 15);
}

TEST_CASE("the branch's chain is ordered first, then recurrences, then by neighbors") {
  // 0 -> 1 -> 2 (a load and its use, which is a recurrence), 3 -> 4 (counter and branch).
  LoopGraph graph = chain({30, 4});
  graph.connect({2, 2, 4, 1});
  graph.add({});
  graph.add({});
  graph.connect({3, 4, 12, 0});
  graph.connect({3, 3, 4, 1});
  const auto recurrences = findRecurrences(graph);
  const std::vector<std::uint32_t> order = nodeOrder(graph, recurrences, timesOf(graph, 20), 4);
  CHECK(order == std::vector<std::uint32_t>{3, 4, 2, 1, 0});
}

TEST_CASE("a load of 30 cycles overlaps with its use in the second stage") {
  LoopGraph graph = chain({30, 4});
  graph.add({});
  graph.add({});
  graph.connect({3, 4, 12, 0});
  graph.connect({3, 3, 4, 1});
  Limits limits;
  limits.maxStages = 2;
  const Result result = findSchedule(graph, findRecurrences(graph), 4, limits);
  CHECK(result.resMii == 5);
  CHECK(result.recMii == 4);
  REQUIRE(result.schedule);
  CHECK(result.schedule->ii ==
        19); // at 18 the chain of 34 cycles conflicts with the counter at its start or the branch at its end
  CHECK(result.schedule->stages() == 2);
  CHECK(result.schedule->time[4] == 18); // the branch ends the first stage
  CHECK(faultsIn(graph, *result.schedule) == 0);
}

TEST_CASE("messages of the literature") {
  LoopGraph graph = chain({30, 4});
  const auto messageOf = [&](const LoopGraph& g, Limits limits) {
    return findSchedule(g, findRecurrences(g), std::nullopt, limits).message;
  };
  CHECK(messageOf(LoopGraph(), {}) == "Invalid Minimal Initiation Interval: 0");
  Limits one;
  one.maxStages = 1;
  CHECK(messageOf(graph, one) == "No need to pipeline - no overlapped iterations in schedule.");
  graph.connect({2, 0, 1, 1}); // one iteration waits for the end of the other: they cannot overlap
  Limits wide;
  wide.maxMii = 100;
  CHECK(messageOf(graph, wide) == "No need to pipeline - no overlapped iterations in schedule.");
  CHECK(messageOf(graph, {}) == "Minimal Initiation Interval too large: 35 > 27. Refer to -pipeliner-max-mii.");
}

TEST_CASE("random graphs: a schedule keeps latencies, slots and pipes") {
  unsigned scheduled = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    LoopGraph graph;
    const unsigned size = 3 + below(20);
    for (unsigned i = 0; i < size; ++i) {
      const unsigned pipe = below(4);
      graph.add({pipe, 1 + below(3)});
    }
    for (unsigned i = 0; i < 2 * size; ++i) {
      const unsigned a = below(size), b = below(size);
      const int latency = static_cast<int>(1 + below(30));
      if (a < b)
        graph.connect({a, b, latency, 0});
      else if (below(3) == 0)
        graph.connect({a, b, latency, static_cast<int>(1 + below(2))});
    }
    Limits limits;
    limits.maxMii = 10000;
    limits.iiSearchRange = 30;
    const bool hasBranch = below(2) == 0;
    const auto last = hasBranch ? std::optional<std::uint32_t>(size - 1) : std::nullopt;
    const Result result = findSchedule(graph, findRecurrences(graph), last, limits);
    if (!result.schedule) continue;
    ++scheduled;
    CAPTURE(seed);
    CHECK(faultsIn(graph, *result.schedule) == 0);
    CHECK(result.schedule->ii >= std::max(result.recMii, result.resMii));
    if (last) CHECK(result.schedule->time[*last] == result.schedule->ii - 1);
  }
  CHECK(scheduled > 100);
}

TEST_CASE("values of a loop: local, carried, in place") {
  Loop sum(kSum);
  REQUIRE_MESSAGE(sum.loop.block, sum.whyNot);
  const auto kindOf = [](const Loop& l, ori::VRegId reg) {
    std::vector<Value::Kind> kinds;
    for (const Value& v : l.loop.values)
      if (v.reg == reg) kinds.push_back(v.kind);
    return kinds;
  };
  using Kinds = std::vector<Value::Kind>;
  CHECK(kindOf(sum, 10) == Kinds{Value::Kind::Local});
  CHECK(kindOf(sum, 3) == Kinds{Value::Kind::Carried});
  CHECK(kindOf(sum, 2) == Kinds{Value::Kind::Carried});
  Loop guarded("  LDS %r10, [%r2] {contract};\n"
               "  ISETP.GT.AND %p8, PT, %r10, 5, PT;\n"
               "  @%p8 FADD %r3, %r3, %r10;\n"
               "  IADD3 %r2, %r2, 4, RZ;\n"
               "  ISETP.LT.AND %p9, PT, %r2, 64, PT;\n");
  CHECK(kindOf(guarded, 3) == Kinds{Value::Kind::InPlace});
  Loop twice("  LDS %r10, [%r2] {contract};\n"
             "  FADD %r3, %r3, %r10;\n"
             "  LDS %r10, [%r2+4] {contract};\n"
             "  FADD %r3, %r3, %r10;\n"
             "  IADD3 %r2, %r2, 8, RZ;\n"
             "  ISETP.LT.AND %p9, PT, %r2, 64, PT;\n");
  CHECK(kindOf(twice, 10) == Kinds{Value::Kind::Local, Value::Kind::Local});
  CHECK(kindOf(twice, 3).size() == 2);
}

TEST_CASE("copies: a value that outlives the distance of iterations gets a register for each copy of the kernel") {
  Loop sum(kSum);
  REQUIRE(sum.loop.block);
  Schedule schedule;
  schedule.ii = 20;
  schedule.time = {0, 30, 1, 6, 19}; // LDS, FADD, IADD3, ISETP, BRA
  REQUIRE(schedule.stages() == 2);
  const Expansion expansion = expansionOf(sum.function, sum.loop, schedule);
  CHECK(expansion.unroll == 2);
  for (std::size_t v = 0; v < sum.loop.values.size(); ++v) {
    CAPTURE(sum.loop.values[v].reg);
    CHECK(expansion.copies[v] == (sum.loop.values[v].reg == 10 ? 2u : 1u)); // alive from 0 to 30
  }
  const ori::FileCounts peak = kernelRegisters(sum.function, sum.facts, sum.loop, schedule, expansion);
  CHECK(peak[static_cast<std::size_t>(isa::File::R)] == 5); // two loads, address, sum, and %r1 for the exit
  ori::Block* first = expandLoop(sum.function, sum.loop, schedule, expansion, sum.loop.exit);
  // Prologue, two copies of the kernel, two epilogues: no instruction of the third iteration precedes the branch of the
  // second.
  CHECK(sum.function.layout().size() == 7);
  unsigned loads = 0;
  for (const ori::Instr& instr : *first)
    loads += instr.op == isa::Op::LDS;
  CHECK(loads == 1);
}

TEST_CASE("registers: values that each are live for more than half of the kernel share none") {
  Loop three("  LDS %r10, [%r2] {contract};\n"
             "  LDS %r11, [%r2+4] {contract};\n"
             "  LDS %r12, [%r2+8] {contract};\n"
             "  @%p8 FADD %r3, %r3, %r10;\n"
             "  @%p8 FADD %r3, %r3, %r11;\n"
             "  @%p8 FADD %r3, %r3, %r12;\n"
             "  IADD3 %r2, %r2, 12, RZ;\n"
             "  ISETP.LT.AND %p9, PT, %r2, 64, PT;\n");
  REQUIRE(three.loop.block);
  Schedule schedule;
  schedule.ii = 20;
  schedule.time = {0, 7, 14, 13, 20, 27, 15, 16, 19}; // at most two of the loaded values are live at once
  const auto registersAt = [&] {
    const Expansion expansion = expansionOf(three.function, three.loop, schedule);
    CHECK(expansion.unroll == 1);
    return kernelRegisters(three.function, three.facts, three.loop, schedule,
                           expansion)[static_cast<std::size_t>(isa::File::R)];
  };
  const unsigned apart = registersAt();
  schedule.time = {0, 7, 14, 6, 13, 20, 15, 16, 19}; // in sequence
  CHECK(apart == registersAt() + 2);                 // three loaded values are live instead of one
}

TEST_CASE("memory: a store goes before later loads unless both places are known") {
  const auto hasEdge = [](const Loop& l, std::uint32_t from, std::uint32_t to) {
    return std::ranges::any_of(l.loop.graph.edges(), [&](const Edge& e) { return e.from == from && e.to == to; });
  };
  const std::string load = "  LDS %r10, [%r2] {contract};\n", rest = "  FADD %r3, %r3, %r10;\n"
                                                                     "  IADD3 %r2, %r2, 4, RZ;\n"
                                                                     "  ISETP.LT.AND %p9, PT, %r2, 64, PT;\n";
  CHECK(hasEdge(Loop(load + "  STS [%r1], %r10 {contract};\n" + rest), 1, 0));             // another base register
  CHECK(hasEdge(Loop(load + "  STS [%r2+8], %r10 {contract};\n" + rest), 1, 0));           // read two iterations later
  CHECK_FALSE(hasEdge(Loop(load + "  STS [%r2+0x100], %r10 {contract};\n" + rest), 1, 0)); // far ahead of the reads
  CHECK_FALSE(hasEdge(Loop(load + "  STS [%r2+-4], %r10 {contract};\n" + rest), 1, 0));    // behind the reads
}

TEST_CASE("what stops the phase") {
  const auto whyNot = [](const std::string& first) { return Loop(first + kSum).whyNot; };
  CHECK(whyNot("").empty());
  CHECK(whyNot("  BAR_SYNC<1> 0;\n") == "not pipelined: the loop has a barrier");
  CHECK(whyNot("  LDS %r11, [%r1];\n") == "not pipelined: the loop has volatile or ordered accesses");
  CHECK(whyNot("  ATOMS.ADD %r11, [%r1], %r2;\n") == "not pipelined: the loop has atomic operations");
}
