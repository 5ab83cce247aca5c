#include "support/check.h"
#include "test/unit/emulator/sass.h"

#include <doctest/doctest.h>
#include <utility>

// With each kind of wrong control fields, a run with timing has a wrong result and reports an error. The same code with
// correct control fields does not. Without timing all of them have the same result.

using namespace orias;
using namespace orias::emu;

namespace {

using isa::Control;

/// 14 + 7, computed by two fixed-latency instructions and stored; the scoreboards are those of ptxas' code.
constexpr std::uint32_t kRight = 21;

struct Line {
  const char* text;
  Control control;
};

constexpr std::uint8_t kNone = Control::kNoBarrier;

Control stalls(std::uint8_t cycles, std::uint8_t wait = 0) {
  return {cycles, false, kNone, kNone, wait};
}
Control takes(std::uint8_t write, std::uint8_t read = kNone, std::uint8_t wait = 0) {
  return {2, false, write, read, wait};
}

Program timed(std::initializer_list<Line> lines) {
  Program all;
  for (const Line& line : lines) {
    Program one = program({line.text});
    one.code[0].inst.control = line.control;
    if (all.code.empty()) {
      all = std::move(one);
    } else {
      // Labels are relative to their own line.
      all.code.push_back(one.code[0]);
    }
  }
  return all;
}

launch::RunOptions withTiming() {
  launch::RunOptions options;
  options.timing = true;
  return options;
}

/// Checks a program with correct control fields.
void checkClean(const Program& p, std::uint32_t wanted = kRight) {
  const Ran ran = run(p, withTiming());
  for (const launch::Report& report : ran.result.reports)
    FAIL_CHECK(report.kind << ": " << report.where << ": " << report.text);
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == wanted);
}

/// Checks a program with an error: the result is correct without timing; with timing it is wrong and reported.
void checkFaulty(const Program& p, const std::string& says, std::uint32_t wanted = kRight) {
  CHECK(run(p).out[0] == wanted);
  CHECK(run(p).result.reports.empty());
  const Ran ran = run(p, withTiming());
  CHECK(ran.out[0] != wanted);
  REQUIRE(!ran.result.reports.empty());
  CHECK(ran.kind() == "timing");
  CHECK_MESSAGE(ran.result.reports[0].text.find(says) != std::string::npos, ran.result.reports[0].text);
}

/// R4 = 14 + 7, stored to the buffer. The fields are varied by the tests.
struct Turned {
  std::uint8_t addStall = 5;     ///< between the two instructions that compute R4
  std::uint8_t constantWait = 1; ///< of the store, for its address
  std::uint8_t constantScoreboard = 0;
  std::uint8_t constantStall = 2;
  std::uint8_t storeRead = 1; ///< scoreboard for the store's sources
  std::uint8_t overwriteWait = 1 << 1;
};
Program storing(const Turned& t = {}) {
  Control constant = takes(t.constantScoreboard);
  constant.stall = t.constantStall;
  Control store = takes(kNone, t.storeRead, t.constantWait);
  return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                {"MOV R4, 0xe", stalls(t.addStall)},
                {"IADD3 R4, R4, 0x7, RZ", stalls(5)},
                {"LDC.64 R2, c[0x0][0x210]", constant},
                {"STG.E desc[UR4][R2.64], R4", store},
                {"MOV R4, 0x1", stalls(5, t.overwriteWait)},
                {"EXIT", stalls(5)}});
}

} // namespace

TEST_CASE("timing: code with the right control words runs as without") {
  checkClean(storing());
  checkClean(storing({.addStall = 0})); // 0 drains the pipeline
}

TEST_CASE("timing: a result read before its latency is over is the old value") {
  for (std::uint8_t stall = 1; stall < 4; ++stall)
    checkFaulty(storing({.addStall = stall}), "R4 is read");
  checkClean(storing({.addStall = 4}));
}

TEST_CASE("timing: a result without a wait is the old value") {
  // The store's address: zero is not a valid address.
  const Program p = storing({.constantWait = 0});
  CHECK(run(p).result.completed);
  const Ran ran = run(p, withTiming());
  CHECK_FALSE(ran.result.completed);
  CHECK(ran.kind() == "memcheck");
  REQUIRE(ran.result.reports.size() > 1);
  CHECK(ran.result.reports[1].text.find("R2 is read without a wait for the scoreboard") == 0);
}

TEST_CASE("timing: a wait right after the instruction that takes the scoreboard does not see it") {
  CHECK_FALSE(run(storing({.constantStall = 1}), withTiming()).result.completed);
}

TEST_CASE("timing: a source of fixed latency that a later write has overwritten already") {
  // The product reads R12 for some cycles. The result of LDC, which has been waited for, arrives later.
  const auto overwriting = [](const char* first, Control control, std::uint8_t wait) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"HMMA.16816.F32 R4, R8, R12, R4", stalls(1)},
                  {first, control},
                  {"MOV R12, 0x15", stalls(5, wait)},
                  {"STG.E desc[UR4][R2.64], R12", takes(kNone, 2, 1 << 0)},
                  {"EXIT", stalls(5)}});
  };
  checkClean(overwriting("LDC R12, c[0x0][0x210]", takes(1), 1 << 1), 0x15);
  const Ran ran = run(overwriting("LDC R14, c[0x0][0x210]", takes(1), 1 << 1), withTiming());
  REQUIRE(!ran.result.reports.empty());
  CHECK(ran.result.reports[0].text.find("R12 is overwritten before it is read") == 0);
}

TEST_CASE("timing: a source overwritten while a queue still has to read it") {
  checkFaulty(storing({.overwriteWait = 0}), "R4 is overwritten before it is read");
  checkFaulty(storing({.storeRead = kNone}), "R4 is overwritten before it is read");
}

TEST_CASE("timing: the older of two writes arrives last") {
  const auto twice = [](std::uint8_t wait) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"LDC R4, c[0x0][0x0]", takes(1)}, // the block's size
                  {"MOV R4, 0x15", stalls(5, wait)},
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 2, 0b11)},
                  {"EXIT", stalls(5, 0b100)}});
  };
  checkClean(twice(0b10));
  checkFaulty(twice(0), "R4 is written again");
}

TEST_CASE("timing: guards and predicates are read late enough, or have their old value") {
  const auto guarded = [](std::uint8_t stall) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"MOV R4, 0x15", stalls(5)},
                  {"ISETP.EQ.U32.AND P1, PT, RZ, RZ, PT", stalls(stall)},
                  {"@!P1 MOV R4, 0x2", stalls(5)},
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 2, 1)},
                  {"EXIT", stalls(5, 0b100)}});
  };
  checkClean(guarded(13));
  checkFaulty(guarded(12), "P1 is read 12 cycles after");
  const auto saved = [](std::uint8_t stall) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"ISETP.EQ.U32.AND P0, PT, RZ, RZ, PT", stalls(stall)},
                  {"P2R R4, PR, RZ, 0x1", stalls(10)},
                  {"IADD3 R4, R4, 0x14, RZ", stalls(5)},
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 2, 1)},
                  {"EXIT", stalls(5, 0b100)}});
  };
  checkClean(saved(13));
  checkFaulty(saved(1), "P0 is read 1 cycles after");
}

TEST_CASE("timing: a wait for the newer of two writes hides the older one") {
  // Guards read the result of ISETP after 13 cycles; SHFL has written the predicate since.
  checkClean(timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                    {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                    {"MOV R4, 0x15", stalls(5)},
                    {"ISETP.NE.U32.AND P1, PT, RZ, RZ, PT", stalls(6)},
                    {"SHFL.IDX P1, R5, R4, 0x0, 0x1f", takes(1)},
                    {"@!P1 MOV R4, 0x2", stalls(5, 0b10)},
                    {"STG.E desc[UR4][R2.64], R4", takes(kNone, 2, 1)},
                    {"EXIT", stalls(5, 0b100)}}));
}

TEST_CASE("timing: uniform registers have latencies too") {
  const auto uniform = [](std::uint8_t stall) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"UIADD3 UR6, URZ, 0xe, URZ", stalls(stall)},
                  {"IADD3 R4, RZ, UR6, RZ", stalls(5)},
                  {"IADD3 R4, R4, 0x7, RZ", stalls(5)},
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 2, 1)},
                  {"EXIT", stalls(5, 0b100)}});
  };
  checkClean(uniform(6));
  checkFaulty(uniform(5), "UR6 is read 5 cycles after");
}

TEST_CASE("timing: DEPBAR.LE waits for all but the last few") {
  const auto counted = [](const char* wait) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"MOV R5, 0x15", stalls(5)},
                  {"STS [0x400], R5", takes(1)},
                  {"LDS R4, [0x400]", takes(2, kNone, 0b10)},
                  {"LDS R6, [0x400]", takes(2)},
                  {wait, stalls(5)},
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 3, 1)},
                  {"EXIT", stalls(5, 0b1000)}});
  };
  checkClean(counted("DEPBAR.LE SB2, 0x1"));
  checkClean(counted("DEPBAR.LE SB2, 0x0"));
  checkFaulty(counted("DEPBAR.LE SB2, 0x2"), "R4 is read without a wait");
}

TEST_CASE("timing: DEPBAR.LE tells of those that took no scoreboard, by younger ones of their queue") {
  // As TEX in a loop of ptxas' code: no instruction waits for the first load.
  const auto counted = [](const char* wait) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"MOV R5, 0x15", stalls(5)},
                  {"MOV R8, 0x400", stalls(5)},
                  {"STS [0x400], R5", takes(1)},
                  {"LDS R4, [R8]", takes(kNone, kNone, 0b10)},
                  {"LDS R6, [0x400]", takes(2)},
                  {"LDS R7, [0x400]", takes(2)},
                  {wait, stalls(5)},
                  {"MOV R8, 0x404", stalls(5)}, // when the load has read its address
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 3, 1)},
                  {"EXIT", stalls(5, 0b1000)}});
  };
  checkClean(counted("DEPBAR.LE SB2, 0x1"));
  checkFaulty(counted("DEPBAR.LE SB2, 0x2"), "R8 is overwritten");
}

TEST_CASE("timing: a copy is in shared memory 4 cycles after DEPBAR.LE") {
  const auto copied = [](std::uint8_t cycles) {
    return timed({{"ULDC.64 UR4, c[0x0][0x208]", stalls(5)},
                  {"LDC.64 R2, c[0x0][0x210]", takes(0)},
                  {"MOV R5, 0x15", stalls(5)},
                  {"MOV R8, 0x400", stalls(5)},
                  {"STS [R8], RZ", takes(1)},
                  {"STG.E desc[UR4][R2.64+0x4], R5", takes(1, kNone, 0b11)},
                  {"LDGSTS.E [R8], desc[UR4][R2.64+0x4]", takes(1, kNone, 0b10)},
                  {"LDGDEPBAR", takes(3)},
                  {"DEPBAR.LE SB3, 0x0", stalls(cycles)},
                  {"LDS R4, [R8]", takes(2)},
                  {"STG.E desc[UR4][R2.64], R4", takes(kNone, 4, 0b100)},
                  {"EXIT", stalls(5)}});
  };
  checkClean(copied(4));
  checkFaulty(copied(3), "DEPBAR.LE SB3, 0x0 stalls 3 cycles, needs 4");
}

TEST_CASE("timing: Ori has no control words to time") {
  Program p = storing();
  p.isOri = true;
  CHECK_THROWS_AS(run(p, withTiming()), Error);
}
