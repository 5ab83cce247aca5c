#include "support/check.h"
#include "test/unit/emulator/sass.h"

#include <algorithm>
#include <doctest/doctest.h>

// Memory, control and the checkers, on SASS text.

using namespace orias;
using namespace orias::emu;

namespace {

/// One warp reads the values of the other, with or without a barrier in between.
emu::Program exchange(bool hasBarrier) {
  return program({"S2R R0, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "STS [R0.X4+0x400], R0",
                  hasBarrier ? "BAR.SYNC.DEFER_BLOCKING 0x0" : "NOP", "LDS R4, [0x404]", "EXIT"});
}

launch::RunOptions checking() {
  launch::RunOptions options;
  options.memcheck = options.racecheck = true;
  return options;
}

} // namespace

TEST_CASE("lanes part, meet, and add up what they have") {
  const Ran ran =
      run(program({"S2R R0, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "R2P PR, R0, 0x1",
                   "BSSY B0, 0x80", "@P0 BRA 0x70", "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R0", "BSYNC B0", "EXIT"}));
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 2 * (0 + 62) * 32 / 2); // the even threads of both CTAs
}

TEST_CASE("lanes with other masks stay at a WARPSYNC, and go at an EXCLUSIVE one") {
  // Each thread adds the number of lanes that vote together.
  const auto together = [](const char* sync) {
    return run(program({"S2R R0, SR_LANEID", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "MOV R6, 0xffff",
                        "LOP3.LUT R0, R0, 0x10, RZ, 0xc0, !PT", "SHF.L.U32 R6, R6, R0, RZ", sync, "VOTE.ANY R7, PT, PT",
                        "POPC R1, R7", "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R1", "EXIT"}))
        .out[0];
  };
  constexpr unsigned kThreads = 128;
  CHECK(together("WARPSYNC R6") == 32 * kThreads);
  CHECK(together("WARPSYNC.EXCLUSIVE R6") == 16 * kThreads);
}

TEST_CASE("lanes that wait for others of their warp let them run with YIELD only, and BSYNC does not wait for them") {
  // All lanes except the first read a word until the first one has written it, after a BSYNC.
  const auto spin = [](const char* yield) {
    launch::RunOptions options;
    options.instructionBudget = 1'000'000;
    return run(program({"S2R R0, SR_LANEID", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "MOV R6, 0x1",
                        "ISETP.NE.U32.AND P0, PT, R0, RZ, PT", "BSSY B0, 0xb0", "@!P0 BRA 0xa0", yield,
                        "LDG.E.STRONG.SYS R4, desc[UR4][R2.64]", "ISETP.EQ.U32.AND P1, PT, R4, RZ, P0", "@P1 BRA 0x70",
                        "BSYNC B0", "@!P0 STG.E.STRONG.SYS desc[UR4][R2.64], R6", "EXIT"}),
               options);
  };
  const Ran ran = spin("YIELD");
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 1);
  CHECK(spin("NOP").kind() == "budget");
}

TEST_CASE("a lane that its own mask leaves out must not wait") {
  const auto ends = [](const char* sync) {
    return run(program({"S2R R0, SR_LANEID", "MOV R6, 0xffff", "R2P PR, R0, 0x10", sync, "EXIT"})).result;
  };
  CHECK(ends("@!P4 WARPSYNC R6").completed);
  const auto refused = ends("WARPSYNC R6");
  CHECK_FALSE(refused.completed);
  REQUIRE(refused.reports.size() == 1);
  CHECK(refused.reports[0].text.find("lane 16 waits for the lanes 0xffff only") != std::string::npos);
}

TEST_CASE("all lanes take BRA.DIV unless those of its mask are all here under its guard") {
  // Lanes 0 ... 15 and 16 ... 31 have different masks, so they must execute separate instructions.
  const auto wayOf = [](const char* guarded) {
    return run(program({"S2R R0, SR_LANEID", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]",
                        "UMOV UR6, 0xffffffff", "R2P PR, R0, 0x10", guarded, "EXIT", "MOV R1, 0x1",
                        "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R1", "EXIT"}))
        .out[0];
  };
  constexpr unsigned kThreads = 128;
  CHECK(wayOf("BRA.DIV UR6, 0x70") == 0);
  CHECK(wayOf("@!P4 BRA.DIV UR6, 0x70") == kThreads);
  CHECK(wayOf("@PT BRA.DIV UR6, 0x70") == 0);
}

TEST_CASE("BRA.CONV goes where BRA.DIV does not, and BRA.U where all lanes want to, or one does") {
  // P0 is true in the odd lanes, P1 in none, P2 in all.
  const auto isTaken = [](const char* branch) {
    const Ran ran = run(
        program({"S2R R0, SR_LANEID", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "UMOV UR6, 0xffffffff",
                 "LOP3.LUT R0, R0, 0x1, RZ, 0xc0, !PT", "LOP3.LUT R0, R0, 0x4, RZ, 0xfc, !PT", "R2P PR, R0, 0x7",
                 branch, "EXIT", "MOV R1, 0x1", "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R1", "EXIT"}));
    CHECK((ran.out[0] == 0 || ran.out[0] == 128)); // never only some lanes
    return ran.out[0] != 0;
  };
  CHECK(isTaken("BRA.CONV UR6, 0x90"));
  CHECK(isTaken("@P2 BRA.CONV UR6, 0x90"));
  CHECK_FALSE(isTaken("@P0 BRA.CONV UR6, 0x90"));
  CHECK(isTaken("@P2 BRA.U 0x90"));
  CHECK_FALSE(isTaken("@P0 BRA.U 0x90"));
  CHECK_FALSE(isTaken("@P1 BRA.U 0x90"));
  CHECK(isTaken("@P0 BRA.U.ANY 0x90"));
  CHECK_FALSE(isTaken("@P1 BRA.U.ANY 0x90"));
}

TEST_CASE("UP2UR: the uniform predicates of the mask, in one byte of another register") {
  const Ran ran = run(
      program({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "UISETP.EQ.AND UP1, UPT, URZ, URZ, UPT",
               "UISETP.NE.AND UP0, UPT, URZ, URZ, UPT", "UISETP.EQ.AND UP2, UPT, URZ, URZ, UPT", "UMOV UR6, 0x12345678",
               "UP2UR.B1 UR6, UPR, UR6, 0x3", "MOV R1, UR6", "STG.E desc[UR4][R2.64], R1", "EXIT"}));
  CHECK(ran.out[0] == 0x12340278);
}

TEST_CASE("generic memory without a descriptor") {
  const Ran ran = run(program({"LDC.64 R2, c[0x0][0x210]", "MOV R5, 0x7", "ST.E [R2+0x4], R5", "LD.E R6, [R2+0x4]",
                               "IADD3 R6, R6, 0x1, RZ", "ST.E [R2], R6", "EXIT"}));
  CHECK(ran.out[0] == 8);
  CHECK(ran.out[1] == 7);
}

TEST_CASE("the barrier of a cluster: arrival does not block, a wait sees what the others wrote") {
  const Program p = program({"S2R R0, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]",
                             "STS [R0.X4+0x400], R0", "UCGABAR_ARV", "MOV R5, 0x1", "UCGABAR_WAIT",
                             "LOP3.LUT R1, R0, 0x20, RZ, 0x3c, !PT", "LDS R4, [R1.X4+0x400]",
                             "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R4", "UCGABAR_ARV", "UCGABAR_WAIT", "EXIT"});
  const Ran ran = run(p, checking());
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 2 * 63 * 64 / 2);
  CHECK(ran.kind() == "");
}

TEST_CASE("R2UR and R2UR.OR name the lanes that hold another pair than the first") {
  // Pairs (lane & 1, lane & 2): only every fourth lane has the value of lane 0.
  const Ran ran =
      run(program({"S2R R0, SR_LANEID", "LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]",
                   "LOP3.LUT R4, R0, 0x1, RZ, 0xc0, !PT", "LOP3.LUT R5, R0, 0x2, RZ, 0xc0, !PT", "R2UR P0, UR6, R4",
                   "R2UR.OR P0, UR7, R5", "MOV R1, 0x1", "@!P0 REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R1", "EXIT"}));
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 128 / 4);
}

TEST_CASE("racecheck flags an exchange without a barrier, and nothing else") {
  CHECK(run(exchange(true), checking()).result.reports.empty());
  CHECK(run(exchange(false), checking()).kind() == "racecheck");
}

TEST_CASE("a store after shared memory is found; without memcheck it ends the run") {
  const emu::Program p = program({"S2R R0, SR_TID.X", "STS [R0.X4+0x404], R0", "EXIT"});
  const Ran checked = run(p, checking());
  CHECK(checked.result.completed);
  REQUIRE(checked.result.reports.size() == 1);
  CHECK(checked.kind() == "memcheck");
  CHECK(checked.result.reports[0].count == 2); // the last thread of each CTA
  const Ran plain = run(p);
  CHECK_FALSE(plain.result.completed);
  CHECK(plain.kind() == "memcheck");
}

TEST_CASE("memcheck finds reads of shared memory that was never written") {
  CHECK(run(program({"LDS R4, [0x400]", "EXIT"}), checking()).kind() == "memcheck");
  CHECK(run(program({"LDS R4, [0x400]", "EXIT"})).result.reports.empty());
}

TEST_CASE("memcheck: each kind of wrong access to global memory, and right ones") {
  const auto kindOf = [](const char* access) {
    const Ran ran =
        run(program({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", access, "EXIT"}), checking());
    CHECK(ran.result.completed);
    return ran.kind();
  };
  // The buffer has 8 bytes, all written.
  CHECK(kindOf("LDG.E R4, desc[UR4][R2.64+0x4]") == "");
  CHECK(kindOf("LDG.E.64 R4, desc[UR4][R2.64]") == "");
  CHECK(kindOf("STG.E desc[UR4][R2.64], RZ") == "");
  CHECK(kindOf("LDG.E R4, desc[UR4][R2.64+0x8]") == "memcheck"); // behind its end
  CHECK(kindOf("STG.E desc[UR4][R2.64+-0x4], RZ") == "memcheck");
  CHECK(kindOf("LDG.E R4, desc[UR4][R2.64+0x2]") == "memcheck"); // misaligned
  CHECK(kindOf("STG.E.64 desc[UR4][R2.64+0x4], R4") == "memcheck");
  CHECK(kindOf("REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x1], R4") == "memcheck");
}

TEST_CASE("memcheck: global memory that was never written") {
  const Program p =
      program({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "LDG.E R4, desc[UR4][R2.64]", "EXIT"});
  launch::Launch launch;
  launch.block = {1, 1, 1};
  launch.buffers.push_back({"out", launch::ElementType::U32, 2, {}, {}, {}, {}});
  launch.arguments.resize(1);
  launch.arguments[0].buffer = 0;
  for (const bool checks : {true, false}) {
    launch::RunOptions options;
    options.memcheck = checks;
    launch::Device device(launch, checks);
    CHECK(emu::run(p, device, options).reports.size() == (checks ? 1 : 0));
  }
}

TEST_CASE("racecheck: reads before writes, two writes, and atomics") {
  const auto kindOf = [](const char* first, const char* between, const char* second) {
    return run(program({"S2R R0, SR_TID.X", "LOP3.LUT R1, R0, 0x20, RZ, 0x3c, !PT", "SHF.L.U32 R0, R0, 0x2, RZ",
                        "SHF.L.U32 R1, R1, 0x2, RZ", first, between, second, "EXIT"}),
               [] {
                 launch::RunOptions options;
                 options.racecheck = true;
                 return options;
               }())
        .kind();
  };
  const char* barrier = "BAR.SYNC.DEFER_BLOCKING 0x0";
  CHECK(kindOf("LDS R4, [R1+0x400]", barrier, "STS [R0+0x400], R0") == "");
  CHECK(kindOf("LDS R4, [R1+0x400]", "NOP", "STS [R0+0x400], R0") == "racecheck");
  CHECK(kindOf("STS [R0+0x400], R0", barrier, "STS [R1+0x400], R0") == "");
  CHECK(kindOf("STS [R0+0x400], R0", "NOP", "STS [R1+0x400], R0") == "racecheck");
  CHECK(kindOf("ATOMS.ADD RZ, [0x400], R0", "NOP", "ATOMS.ADD RZ, [0x400], R0") == "");
  CHECK(kindOf("ATOMS.ADD RZ, [0x400], R0", "NOP", "LDS R4, [0x400]") == "racecheck");
}

TEST_CASE("racecheck: the load of what a swap compares with is part of an atomic operation") {
  launch::RunOptions options;
  options.racecheck = true;
  const auto kindOf = [&](const char* swap) {
    return run(program({"LDS R4, [0x400]", "IADD3 R5, R4, 0x1, RZ", swap, "EXIT"}), options).kind();
  };
  CHECK(kindOf("ATOMS.CAST.SPIN R6, [0x400], R4, R5") == "");
  CHECK(kindOf("ATOMS.CAST.SPIN R6, [0x400], R7, R5") == "racecheck");
  CHECK(kindOf("ATOMS.ADD R6, [0x400], R5") == "racecheck");
}

TEST_CASE("racecheck: a barrier orders those that wait at it, after all that arrive") {
  launch::RunOptions options;
  options.racecheck = true;
  // The warps execute different paths; `late` is after the barrier of the first warp.
  const auto kindOf = [&](const char* first, const char* barrierOfFirst, const char* late, const char* barrierOfSecond,
                          const char* second) {
    return run(program({"S2R R0, SR_TID.X", "R2P PR, R0, 0x20", "SHF.L.U32 R1, R0, 0x2, RZ", "@P5 BRA 0x80", first,
                        barrierOfFirst, late, "EXIT", barrierOfSecond, second, "EXIT"}),
               options)
        .kind();
  };
  const char* wait = "BAR.SYNC.DEFER_BLOCKING 0x1, 0x40";
  const char* arrive = "BAR.ARV 0x1, 0x40";
  CHECK(kindOf("STS [R1+0x400], R0", wait, "NOP", wait, "LDS R4, [R1+0x380]") == "");
  CHECK(kindOf("STS [R1+0x400], R0", arrive, "NOP", wait, "LDS R4, [R1+0x380]") == "");
  // A warp that only arrives may continue before the others have arrived: its later accesses are unordered.
  CHECK(kindOf("NOP", arrive, "STS [R1+0x400], R0", wait, "LDS R4, [R1+0x380]") == "racecheck");
  CHECK(kindOf("NOP", arrive, "LDS R4, [R1+0x480]", "STS [R1+0x400], R0", wait) == "racecheck");
  // Each warp has a separate barrier.
  CHECK(kindOf("STS [R1+0x400], R0", "BAR.SYNC.DEFER_BLOCKING 0x1, 0x20", "NOP", "BAR.SYNC.DEFER_BLOCKING 0x2, 0x20",
               "LDS R4, [R1+0x380]") == "racecheck");
}

namespace {

/// Copies the first word of `out`, which is 7, to shared memory twice, in two groups, and adds the values that the
/// first thread of each CTA reads there.
emu::Program copies(const char* wait) {
  return program({"S2R R0, SR_TID.X",
                  "LDC.64 R2, c[0x0][0x210]",
                  "ULDC.64 UR4, c[0x0][0x208]",
                  "MOV R6, 0x7",
                  "STG.E desc[UR4][R2.64], R6",
                  "MOV R5, 0x404",
                  "STS [0x400], RZ",
                  "STS [0x404], RZ",
                  "BAR.SYNC.DEFER_BLOCKING 0x0",
                  "ISETP.NE.AND P0, PT, R0, RZ, PT",
                  "@P0 EXIT",
                  "MOV R4, 0x400",
                  "LDGSTS.E [R4], desc[UR4][R2.64]",
                  "LDGDEPBAR",
                  "LDGSTS.E [R5], desc[UR4][R2.64]",
                  "LDGDEPBAR",
                  wait,
                  "LDS R8, [0x400]",
                  "LDS R9, [0x404]",
                  "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x4], R8",
                  "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x4], R9",
                  "EXIT"});
}

} // namespace

TEST_CASE("LDGSTS: a copy is there when its group was waited for, and not before") {
  CHECK(run(copies("NOP")).out[1] == 0);
  CHECK(run(copies("DEPBAR.LE SB0, 0x2")).out[1] == 0);
  CHECK(run(copies("DEPBAR.LE SB0, 0x1")).out[1] == 2 * 7);
  CHECK(run(copies("DEPBAR.LE SB0, 0x0")).out[1] == 2 * 14);
}

TEST_CASE("LDGSTS: memcheck finds a missing wait, and a copy to where no shared memory is") {
  launch::RunOptions memcheck;
  memcheck.memcheck = true;
  const auto copy = [&](const char* address, const char* wait) {
    return run(program({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "STG.E desc[UR4][R2.64], RZ", address,
                        "LDGSTS.E [R4], desc[UR4][R2.64]", "LDGDEPBAR", wait, "LDS R8, [0x400]",
                        "STG.E desc[UR4][R2.64], R8", "EXIT"}),
               memcheck);
  };
  constexpr const char* kInside = "MOV R4, 0x400";
  CHECK(copy(kInside, "DEPBAR.LE SB0, 0x0").kind().empty());
  CHECK(copy(kInside, "NOP").kind() == "memcheck");
  CHECK(copy("MOV R4, 0x500", "NOP").kind() == "memcheck");
}

namespace {

/// A product of zeros that is added to R4 and R5, followed by two instructions and a store of R4.
Program product(const char* after, const char* wait, const char* group = ", gsb0") {
  static std::string text;
  text = std::string("HGMMA.64x8x16.F16 R4, gdesc[UR4], R4") + group;
  Program p = program({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR8, c[0x0][0x208]", "MOV R0, 0x3c003c00", "MOV R4, R0",
                       "MOV R5, R0", "UMOV UR4, 0x40", "UMOV UR5, 0x0", "UMOV UR6, 0x40", "UMOV UR7, 0x0",
                       "WARPGROUP.ARRIVE", text.c_str(), after, wait, "STG.E desc[UR8][R2.64], R4", "EXIT"});
  p.staticShared = 4096;
  return p;
}

} // namespace

TEST_CASE("products of a warp group: the sum is there when its group was waited for, and not before") {
  constexpr const char* kWait = "WARPGROUP.DEPBAR.LE gsb0, 0x0";
  const Ran good = run(product("NOP", kWait));
  CHECK(good.result.completed);
  CHECK(good.result.reports.empty());
  CHECK(good.out[0] == 0x3c003c00);
  // Waits for no group, or for no group with the product.
  const Ran early = run(product("NOP", "WARPGROUP.DEPBAR.LE gsb0, 0x1"));
  CHECK(early.kind() == "wgmma in flight");
  CHECK(early.out[0] != 0x3c003c00);
  CHECK(run(product("NOP", kWait, "")).kind() == "wgmma in flight");
  CHECK(run(product("MOV R9, R5", kWait)).kind() == "wgmma in flight");
  CHECK(run(product("MOV R5, R9", kWait)).kind() == "wgmma in flight");
  // Another product may add to the same sum, but not to an overlapping one.
  CHECK(run(product("HGMMA.64x8x16.F16 R4, gdesc[UR4], R4, gsb0", kWait)).result.reports.empty());
  CHECK(run(product("HGMMA.64x8x16.F16 R5, gdesc[UR4], R5, gsb0", kWait)).kind() == "wgmma in flight");
  // An empty product ends a group without another product.
  CHECK(run(product("HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0", kWait, "")).result.reports.empty());
  // So does the product that ptxas emits at -O0: of matrices at address 0, where the program has no memory.
  CHECK(run(product("HGMMA.64x8x16.F16 R8, gdesc[UR12], R8, !UPT, gsb0", kWait, "")).result.reports.empty());
  CHECK(run(product("HGMMA.64x8x16.F16 R8, gdesc[UR12], R8, !UPT", kWait, "")).kind() == "wgmma in flight");
}

TEST_CASE("a run ends with its budget, at a trap, and at a deadlock") {
  launch::RunOptions few;
  few.instructionBudget = 10000;
  CHECK(run(program({"BRA 0x0", "EXIT"}), few).kind() == "budget");
  CHECK(run(program({"BPT.TRAP 0x1", "EXIT"})).kind() == "trap");
  CHECK(run(program({"BAR.SYNC.DEFER_BLOCKING 0x1, 0x60", "EXIT"})).kind() == "deadlock");
  CHECK(run(program({"LDC.64 R2, c[0x0][0x210]", "CALL.ABS.NOINC R2", "EXIT"})).kind() == "memcheck");
}

TEST_CASE("figures and traces count what runs") {
  launch::RunOptions options;
  options.stats = options.trace = true;
  const Ran ran = run(exchange(true), options);
  REQUIRE(!ran.result.stats.empty());
  CHECK(ran.result.stats[0].second == 2 * 2 * 6); // CTAs, warps, instructions
  CHECK(std::count(ran.result.trace.begin(), ran.result.trace.end(), '\n') == 2 * 2 * 6);
}

TEST_CASE("CONV.ALLOC writes nothing: it is a mark that has no word") {
  Program p = program({"UMOV UR6, 0x5", "UMOV UR7, 0x9", "NOP", "LDC.64 R2, c[0x0][0x210]", "MOV R4, UR6",
                       "ULDC.64 UR4, c[0x0][0x208]", "STG.E desc[UR4][R2.64], R4", "EXIT"});
  p.isOri = true; // only Ori has it
  isa::Inst& mark = p.code[2].inst;
  mark = isa::makeInst(isa::Op::CONV_ALLOC);
  mark.operands[0] = isa::Operand::physical(isa::File::UR, 6);
  mark.operands[1] = isa::Operand::physical(isa::File::UR, 7);
  const Ran ran = run(p);
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 5);
}

TEST_CASE("what is called uniform is checked") {
  Program p = program({"S2R R0, SR_TID.X", "R2P PR, R0, 0x1", "@P0 BRA 0x40", "NOP", "EXIT"});
  p.code[3].startsBlock = p.code[4].startsBlock = true;
  p.code[3].block = 1;
  p.code[4].block = 2;
  p.isOri = true; // only Ori has blocks
  p.uniformBlocks = {false, false, false};
  CHECK(run(p).result.reports.empty());
  p.uniformBlocks = {false, true, false};
  CHECK(run(p).kind() == "uniform");
}

TEST_CASE("a register that its warp has given back is reported, and one that it has taken is not") {
  const auto ranWith = [](const char* request, const char* use) {
    Program p = program({request, use, "EXIT"});
    p.registers = 64;
    return run(p);
  };
  CHECK(ranWith("USETMAXREG.DEALLOC.CTAPOOL 0x18", "MOV R23, 0x1").result.reports.empty());
  CHECK(ranWith("USETMAXREG.DEALLOC.CTAPOOL 0x18", "MOV R24, 0x1").kind() == "registers");
  CHECK(ranWith("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0x68", "MOV R103, 0x1").result.reports.empty());
  CHECK(ranWith("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0x68", "IADD3 R0, R104, 0x1, RZ").kind() == "registers");
  CHECK(ranWith("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0x28", "NOP").kind() == "registers");
}
