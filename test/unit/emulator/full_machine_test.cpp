#include "test/unit/emulator/sass.h"
#include "tools/emulator/full_machine.h"

#include <algorithm>

// The estimate for a multiprocessor that is full of blocks, on traces whose cycles can be counted by hand.

using namespace orias;
using namespace orias::emu;

namespace {

/// A block of `warps` warps that issue instruction 0 `times` times.
BlockTrace repeated(unsigned warps, unsigned times, std::uint16_t service = 1) {
  BlockTrace trace;
  trace.warps.assign(warps, std::vector<BlockTrace::Step>(times, {0, 0, service, 0}));
  return trace;
}

double cyclesPerBlock(const BlockTrace& trace, std::span<const IssueCost> costs, unsigned residentBlocks) {
  const FullMachine full = fillMachine(std::span(&trace, 1), costs, residentBlocks);
  std::uint64_t instructions = 0;
  for (const auto& warp : trace.warps)
    instructions += static_cast<std::uint64_t>(
        std::ranges::count_if(warp, [](const auto& step) { return step.at != BlockTrace::kMeeting; }));
  CHECK(full.instructions == instructions * full.blocks);
  return full.cyclesPerBlock();
}

IssueCost withStall(unsigned stall) {
  IssueCost cost;
  cost.pipe = isa::Pipe::Fma;
  cost.stall = stall;
  return cost;
}

double figure(const launch::RunResult& result, const std::string& name) {
  const auto found =
      std::find_if(result.stats.begin(), result.stats.end(), [&](const auto& s) { return s.first == name; });
  REQUIRE_MESSAGE(found != result.stats.end(), name);
  return found->second;
}

} // namespace

TEST_CASE("a full machine: other warps issue while one waits for its stall count") {
  const std::vector costs{withStall(20)};
  const BlockTrace trace = repeated(1, 10);
  CHECK(cyclesPerBlock(trace, costs, 2) == 100); // 10 x 20 cycles for two at once
  CHECK(cyclesPerBlock(trace, costs, 8) == doctest::Approx(25).epsilon(0.02));
}

TEST_CASE("a full machine: more warps are of no use where a pipe is busy, or the schedulers issue in each cycle") {
  std::vector costs{withStall(1)};
  costs[0].busy = 4;
  const BlockTrace trace = repeated(1, 100);
  const double eight = cyclesPerBlock(trace, costs, 8);
  CHECK(eight == doctest::Approx(100).epsilon(0.02)); // 100 x 4 cycles on four pipes
  CHECK(cyclesPerBlock(trace, costs, 32) == doctest::Approx(eight).epsilon(0.01));
  costs[0].busy = 1;
  CHECK(cyclesPerBlock(trace, costs, 8) == doctest::Approx(25).epsilon(0.02));
  CHECK(cyclesPerBlock(trace, costs, 32) == doctest::Approx(25).epsilon(0.02));
}

TEST_CASE("a full machine: all quarters share the memory unit") {
  std::vector costs{withStall(1)};
  costs[0].usesMemoryUnit = true;
  costs[0].busy = 4;
  CHECK(cyclesPerBlock(repeated(4, 100), costs, 4) == doctest::Approx(400).epsilon(0.02));
  CHECK(cyclesPerBlock(repeated(4, 100, 3), costs, 4) == doctest::Approx(1200).epsilon(0.02));
  // No lane performs the access: only the pipe of its quarter is busy.
  CHECK(cyclesPerBlock(repeated(4, 100, 0), costs, 4) == doctest::Approx(400).epsilon(0.02));
  costs[0].usesMemoryUnit = false;
  CHECK(cyclesPerBlock(repeated(4, 100, 3), costs, 4) == doctest::Approx(400).epsilon(0.02));
}

TEST_CASE("a full machine: a result that is waited for costs its latency, but for what others do meanwhile") {
  std::vector costs{withStall(2), withStall(2)};
  costs[0].writeBarrier = 1;
  costs[0].latency = 100;
  costs[1].awaited = 1 << 1;
  BlockTrace trace;
  trace.warps = {{{0, 0, 1, 0}, {1, 0, 1, 0}}};
  CHECK(cyclesPerBlock(trace, costs, 1) == doctest::Approx(102).epsilon(0.02));
  CHECK(cyclesPerBlock(trace, costs, 10) == doctest::Approx(10.2).epsilon(0.1));
}

TEST_CASE("a full machine: warps of a block go on after a barrier when the last of them has come") {
  const std::vector costs{withStall(50), withStall(10)};
  const BlockTrace::Step meeting{BlockTrace::kMeeting, 0, 0, 0};
  BlockTrace trace;
  trace.meetings = {2};
  trace.warps = {{{0, 0, 1, 0}, meeting, {1, 0, 1, 0}}, {{1, 0, 1, 0}, meeting, {0, 0, 1, 0}}};
  CHECK(cyclesPerBlock(trace, costs, 1) == doctest::Approx(100).epsilon(0.02));
  // Without the barrier both warps take 60 cycles.
  for (auto& warp : trace.warps)
    std::erase_if(warp, [](const auto& step) { return step.at == BlockTrace::kMeeting; });
  CHECK(cyclesPerBlock(trace, costs, 1) == doctest::Approx(60).epsilon(0.02));
}

TEST_CASE("a full machine: waiting for all but the newest copies") {
  std::vector<IssueCost> costs(4, withStall(1));
  costs[0].kind = IssueCost::Kind::Copy;
  costs[0].latency = 200;
  costs[1].kind = IssueCost::Kind::CopyGroup;
  costs[1].writeBarrier = 0;
  costs[2] = withStall(100);
  costs[3].kind = IssueCost::Kind::ScoreboardWait;
  BlockTrace trace; // a group, 100 cycles, a group, a wait
  trace.warps = {{{0, 0, 1, 0}, {1, 0, 1, 0}, {2, 0, 1, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}, {3, 0, 1, 0}}};
  costs[3].count = 1;
  CHECK(cyclesPerBlock(trace, costs, 1) == doctest::Approx(201).epsilon(0.02));
  costs[3].count = 0;
  CHECK(cyclesPerBlock(trace, costs, 1) == doctest::Approx(303).epsilon(0.02));
}

TEST_CASE("a full machine: products run beside the warp, and one after another on their tensor core") {
  std::vector<IssueCost> costs(2, withStall(1));
  costs[0].kind = IssueCost::Kind::Product;
  costs[0].pipe = isa::Pipe::Mma;
  costs[0].closesGroup = true;
  costs[0].busy = 128;
  costs[1].kind = IssueCost::Kind::ProductWait;
  BlockTrace trace;
  trace.warps = {{{0, 0, 1, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}}};
  CHECK(cyclesPerBlock(trace, costs, 1) == doctest::Approx(257).epsilon(0.02));
  CHECK(cyclesPerBlock(trace, costs, 8) == doctest::Approx(64).epsilon(0.1)); // each quarter has two of the blocks
}

TEST_CASE("--full-machine: registers decide how many blocks are there, and small grids are repeated") {
  const auto ran = [](unsigned registers, const char* waiting) {
    Program p = program({"LDC R0, c[0x0][0x0]", waiting, "EXIT"});
    for (Instruction& i : p.code)
      i.inst.control.stall = 2;
    p.code[0].inst.control.writeBarrier = 3;
    p.code[1].inst.control.waitMask = 1 << 3;
    p.registers = registers;
    launch::RunOptions options;
    options.stats = options.fullMachine = true;
    return run(p, options).result;
  };
  const launch::RunResult few = ran(255, "MOV R1, R0"), many = ran(32, "MOV R1, R0");
  CHECK(figure(few, "full machine: resident blocks") == 4);
  CHECK(figure(many, "full machine: resident blocks") == 32);
  CHECK(figure(few, "full machine: cycles per block") > 4 * figure(many, "full machine: cycles per block"));
  // The launch has two blocks, each on its own multiprocessor: registers have no effect.
  CHECK(figure(few, "estimated cycles") == figure(many, "estimated cycles"));
}
