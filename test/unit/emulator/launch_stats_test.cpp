#include "test/unit/emulator/sass.h"

#include <algorithm>

// The figures of --stats, on code whose figures can be counted by hand. Two CTAs of two warps.

using namespace orias;
using namespace orias::emu;

namespace {

double figure(const Ran& ran, const std::string& name) {
  const auto& all = ran.result.stats;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.first == name; });
  REQUIRE_MESSAGE(found != all.end(), name);
  return found->second;
}

Ran counted(std::initializer_list<const char*> lines, std::uint8_t stall = 1) {
  Program p = program(lines);
  for (Instruction& i : p.code)
    i.inst.control.stall = stall;
  p.registers = 32;
  launch::RunOptions options;
  options.stats = true;
  Ran ran = run(p, options);
  CHECK(ran.result.completed);
  return ran;
}

/// Runs this instruction with a stall of two cycles, one that waits for its scoreboard, and EXIT.
Ran waitedFor(const char* instruction) {
  Program p = program({instruction, "MOV R1, R0", "EXIT"});
  for (Instruction& i : p.code)
    i.inst.control.stall = 2;
  p.code[0].inst.control.writeBarrier = 3;
  p.code[1].inst.control.waitMask = 1 << 3;
  launch::RunOptions options;
  options.stats = true;
  return run(p, options);
}

} // namespace

TEST_CASE("stats: bank conflicts") {
  const auto conflicts = [](const char* access) {
    // R1 = 8 x lane, R2 = 128 x (lane mod 2): the shared memory of these programs is small.
    const Ran ran = counted({"S2R R0, SR_LANEID", "SHF.L.U32 R1, R0, 0x3, RZ", "LOP3.LUT R2, R0, 0x1, RZ, 0xc0, !PT",
                             "SHF.L.U32 R2, R2, 0x7, RZ", access, "EXIT"});
    CHECK(figure(ran, "shared requests") == 4);
    return figure(ran, "shared bank conflicts") / 4;
  };
  CHECK(conflicts("LDS R4, [R0.X4+0x400]") == 0); // adjacent words
  CHECK(conflicts("LDS R4, [0x400]") == 0);       // all lanes read the same word
  CHECK(conflicts("LDS R4, [R2+0x400]") == 1);    // two words of one bank
  CHECK(conflicts("LDS R4, [R1+0x400]") == 1);    // every second bank
  CHECK(conflicts("LDS.64 R4, [R1+0x400]") == 0); // half a warp uses all banks
}

TEST_CASE("stats: sectors of a request to global memory") {
  const Ran ran = counted({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "LDG.E R4, desc[UR4][R2.64]",
                           "LDG.E R4, desc[UR4][R2.64+0x4]", "EXIT"});
  CHECK(figure(ran, "global requests") == 8);
  CHECK(figure(ran, "global sectors per request") == 1);
}

TEST_CASE("stats: lanes, pipes and divergence") {
  const Ran ran = counted({"S2R R0, SR_TID.X", "R2P PR, R0, 0x1", "BSSY B0, 0x50", "@P0 BRA 0x50",
                           "IADD3 R1, R0, R0, RZ", "BSYNC B0", "EXIT"});
  CHECK(figure(ran, "divergent branches") == 4);
  CHECK(figure(ran, "issued to alu") == 8); // R2P and IADD3
  CHECK(figure(ran, "issued while the warp was diverged") > 0);
  CHECK(figure(ran, "lanes enabled per instruction") < 32);
}

TEST_CASE("stats: estimated cycles follow stall counts, scoreboards and the launch's size") {
  const auto cycles = [](std::uint8_t stall) {
    return figure(counted({"MOV R0, 0x1", "MOV R1, 0x1", "EXIT"}, stall), "estimated cycles");
  };
  CHECK(cycles(4) == 12); // each multiprocessor has one of the two CTAs, and each scheduler one of its warps
  CHECK(cycles(8) == 24);
  const Ran waits = waitedFor("LDC R0, c[0x0][0x0]");
  const unsigned latency = isa::Target::find("sm_90")->expectedLatency(isa::LatencyClass::ConstLoad);
  CHECK(figure(waits, "estimated cycles") == latency + 4);
  CHECK(figure(waits, "stall cycles, scoreboards") == 4 * (latency - 2));
}

TEST_CASE("stats: an access that no lane makes is over when its sources would have been read") {
  const auto cycles = [](const char* load) {
    const Ran ran = waitedFor(load);
    CHECK(figure(ran, "issued with no lane enabled") == (load[0] == '@' ? 4 : 0));
    return figure(ran, "estimated cycles");
  };
  const unsigned latency = isa::Target::find("sm_90")->expectedLatency(isa::LatencyClass::Shuffle);
  CHECK(cycles("SHFL.IDX PT, R0, R2, 0x0, 0x1f") == latency + 4);
  CHECK(cycles("@!PT SHFL.IDX PT, R0, R2, 0x0, 0x1f") == 12 + 4); // the cycles until sources are read
}
