#include "encoder/hazard.h"
#include "encoder/isa/target.h"
#include "test/unit/encoder/assembly.h"

#include <doctest/doctest.h>
#include <string_view>

using namespace orias;
using hazard::Kind;
using test::assemble;
using test::Line;

namespace {

const isa::Target& sm90() {
  return *isa::Target::find("sm_90");
}

std::vector<hazard::Violation> violations(const std::vector<Line>& lines) {
  const hazard::Report report = hazard::check(assemble(lines), sm90());
  CHECK(report.unknown.empty());
  return report.violations;
}

/// Checks that the program is correct, and has exactly this violation after `broken` replaces line `at`.
void checkPair(std::vector<Line> lines, std::size_t at, Line broken, Kind kind, std::uint32_t first,
               std::uint32_t second) {
  CHECK(violations(lines).empty());
  lines[at] = std::move(broken);
  const auto found = violations(lines);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == kind);
  CHECK(found[0].first == first);
  CHECK(found[0].second == second);
}

} // namespace

TEST_CASE("hazard: a result is read too early") {
  checkPair({{"IADD3 R2, R3, R4, RZ", 4}, {"IADD3 R5, R2, R4, RZ", 1}, {"EXIT", 5}}, 0, {"IADD3 R2, R3, R4, RZ", 3},
            Kind::Raw, 0, 1);
  const auto found = violations({{"IADD3 R2, R3, R4, RZ", 3}, {"FFMA R5, R2, R4, R6", 1}, {"EXIT", 5}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].needed == 5);
  CHECK(found[0].actual == 3);
  CHECK(found[0].reg == 2);
}

TEST_CASE("hazard: the distance may be spread over instructions") {
  CHECK(violations({{"IADD3 R2, R3, R4, RZ", 2}, {"IADD3 R7, R3, R4, RZ", 2}, {"IADD3 R5, R2, R4, RZ", 1}, {"EXIT", 5}})
            .empty());
}

TEST_CASE("hazard: a stall of 0 drains the pipeline") {
  CHECK(violations({{"IADD3 R2, R3, R4, RZ", 0}, {"FFMA R5, R2, R4, R6", 1}, {"EXIT", 5}}).empty());
}

TEST_CASE("hazard: a predicate guards late") {
  checkPair({{"ISETP.GE.AND P0, PT, R2, R3, PT", 13}, {"@P0 EXIT", 5}, {"EXIT", 5}}, 0,
            {"ISETP.GE.AND P0, PT, R2, R3, PT", 12}, Kind::Raw, 0, 1);
}

TEST_CASE("hazard: both halves of a wide product") {
  CHECK(violations(
            {{"IMAD.WIDE R2, R4, R5, R6", 3}, {"IADD3 R8, R2, R4, RZ", 2}, {"IADD3 R9, R3, R4, RZ", 1}, {"EXIT", 5}})
            .empty());
  CHECK(violations({{"IMAD.WIDE R2, R4, R5, R6", 3}, {"IADD3 R8, R3, R4, RZ", 2}, {"EXIT", 5}}).size() == 1);
}

TEST_CASE("hazard: a load is waited for") {
  const std::vector<Line> good = {
      {"LDG.E R2, desc[UR4][R4.64]", 2, 0}, {"IADD3 R7, R2, R4, RZ", 1, 7, 7, 1}, {"EXIT", 5}};
  checkPair(good, 1, {"IADD3 R7, R2, R4, RZ", 1}, Kind::MissingWait, 0, 1);
  checkPair(good, 1, {"IADD3 R7, R2, R4, RZ", 1, 7, 7, 2}, Kind::MissingWait, 0, 1);
  checkPair(good, 0, {"LDG.E R2, desc[UR4][R4.64]", 2}, Kind::MissingWait, 0, 1);
  checkPair(good, 0, {"LDG.E R2, desc[UR4][R4.64]", 1, 0}, Kind::EarlyWait, 0, 1);
}

TEST_CASE("hazard: a store still reads its data") {
  checkPair({{"STG.E desc[UR4][R4.64], R2", 2, 7, 3}, {"IADD3 R2, R3, R3, RZ", 1, 7, 7, 8}, {"EXIT", 5}}, 1,
            {"IADD3 R2, R3, R3, RZ", 1}, Kind::MissingWait, 0, 1);
}

TEST_CASE("hazard: shared memory answers in order") {
  // The scoreboard of the second load covers the first one, but that of a global load would not.
  CHECK(violations({{"LDS R2, [R4]", 1}, {"LDS R3, [R8]", 2, 0}, {"IADD3 R5, R2, R3, RZ", 1, 7, 7, 1}, {"EXIT", 5}})
            .empty());
  CHECK(violations({{"LDG.E R2, desc[UR4][R4.64]", 1},
                    {"LDG.E R3, desc[UR4][R8.64]", 2, 0},
                    {"IADD3 R5, R2, R3, RZ", 1, 7, 7, 1},
                    {"EXIT", 5}})
            .size() == 1);
}

TEST_CASE("hazard: textures answer in order, so that DEPBAR may count them") {
  const Line older{"TLD.LZ RZ, R2, R8, UR4, 0x0, 1D, 0x1", 1, 5}, younger{"TLD.LZ RZ, R3, R9, UR4, 0x0, 1D, 0x1", 2, 5};
  const Line surface{"SULD.D.BA.2D.STRONG.SM.TRAP R6, [R10], UR4, 0x0", 2, 5};
  const Line waitForAllButOne{"DEPBAR.LE SB5, 0x1", 4}, waitForAllButTwo{"DEPBAR.LE SB5, 0x2", 4};
  const Line useOlder{"IADD3 R7, R2, R4, RZ", 1}, overwriteItsSource{"IADD3 R8, R4, R4, RZ", 1};
  const Line useYounger{"IADD3 R7, R3, R4, RZ", 1}, end{"EXIT", 5};
  checkPair({older, younger, waitForAllButOne, useOlder, end}, 3, useYounger, Kind::MissingWait, 1, 3);
  checkPair({older, younger, waitForAllButOne, overwriteItsSource, end}, 2, waitForAllButTwo, Kind::MissingWait, 0, 3);
  checkPair({older, younger, surface, waitForAllButTwo, useOlder, end}, 4, useYounger, Kind::MissingWait, 1, 4);
  // An older one without a scoreboard is complete when the next one is.
  const Line silent{"TLD.LZ RZ, R2, R8, UR4, 0x0, 1D, 0x1", 1};
  checkPair({silent, younger, surface, waitForAllButOne, useOlder, end}, 3, waitForAllButTwo, Kind::MissingWait, 0, 4);
}

TEST_CASE("hazard: what takes the scoreboard out of order does not count") {
  // The completed instruction may be the load from global memory.
  const Line texture{"TLD.LZ RZ, R2, R8, UR4, 0x0, 1D, 0x1", 1, 5}, load{"LDG.E R3, desc[UR6][R4.64]", 2, 5};
  const Line use{"IADD3 R7, R2, R4, RZ", 1}, end{"EXIT", 5};
  checkPair({texture, load, {"DEPBAR.LE SB5, 0x0", 4}, use, end}, 2, {"DEPBAR.LE SB5, 0x1", 4}, Kind::MissingWait, 0,
            3);
  checkPair({load, {"LDG.E R6, desc[UR6][R4.64]", 2, 5}, {"DEPBAR.LE SB5, 0x0", 4}, {"IADD3 R7, R3, R4, RZ", 1}, end},
            2, {"DEPBAR.LE SB5, 0x1", 4}, Kind::MissingWait, 0, 3);
}

TEST_CASE("hazard: a count holds on every path to the wait") {
  // If the branch is taken, one texture is younger than the first; on the fall-through path two are.
  checkPair({{"TLD.LZ RZ, R2, R8, UR4, 0x0, 1D, 0x1", 2, 5},
             {"@P0 BRA 0x30", 5},
             {"TLD.LZ RZ, R3, R9, UR4, 0x0, 1D, 0x1", 2, 5},
             {"TLD.LZ RZ, R6, R10, UR4, 0x0, 1D, 0x1", 2, 5},
             {"DEPBAR.LE SB5, 0x1", 4},
             {"IADD3 R7, R2, R4, RZ", 1},
             {"EXIT", 5}},
            4, {"DEPBAR.LE SB5, 0x2", 4}, Kind::MissingWait, 0, 5);
}

TEST_CASE("hazard: opposite guards exclude each other") {
  CHECK(violations({{"@P0 IADD3 R2, R3, R4, RZ", 1}, {"@!P0 IADD3 R5, R2, R4, RZ", 1}, {"EXIT", 5}}).empty());
  CHECK(violations({{"@P0 IADD3 R2, R3, R4, RZ", 1}, {"@P0 IADD3 R5, R2, R4, RZ", 1}, {"EXIT", 5}}).size() == 1);
}

TEST_CASE("hazard: two writes in the wrong order") {
  checkPair({{"IADD3 R2, R3, R6, RZ", 6}, {"LDG.E R2, desc[UR4][R4.64]", 2, 0}, {"EXIT", 5, 7, 7, 1}}, 0,
            {"IADD3 R2, R3, R6, RZ", 5}, Kind::Waw, 0, 1);
}

TEST_CASE("hazard: a source is overwritten while the matrix unit reads it") {
  checkPair({{"HMMA.16816.F32 R0, R4, R8, R12", 7}, {"IADD3 R4, R20, R21, RZ", 1}, {"EXIT", 5}}, 0,
            {"HMMA.16816.F32 R0, R4, R8, R12", 6}, Kind::War, 0, 1);
}

TEST_CASE("hazard: across branches, on the shortest path") {
  // The loop's last write is read at its top: BRA takes 5 cycles, R2 needs 10.
  const std::vector<Line> loop = {{"DADD R2, R4, R6", 10}, {"DADD R4, R2, R6", 4}, {"@P0 BRA 0x0", 5}, {"EXIT", 5}};
  CHECK(violations(loop).empty());
  const std::vector<Line> tight = {
      {"IADD3 R8, R4, R6, RZ", 4}, {"DADD R4, R2, R6", 4}, {"@P0 BRA 0x0", 5}, {"EXIT", 5}};
  const auto found = violations(tight);
  REQUIRE(found.size() == 1);
  CHECK(found[0].first == 1);
  CHECK(found[0].second == 0);
  CHECK(found[0].needed == 10);
  CHECK(found[0].actual == 9);
}

TEST_CASE("hazard: a scoreboard that only one path waits for") {
  checkPair({{"LDG.E R2, desc[UR4][R4.64]", 2, 0},
             {"@P0 BRA 0x30", 5},
             {"IADD3 R8, R2, R2, RZ", 5, 7, 7, 1},
             {"IADD3 R7, R2, R4, RZ", 1, 7, 7, 1},
             {"EXIT", 5}},
            3, {"IADD3 R7, R2, R4, RZ", 1}, Kind::MissingWait, 0, 3);
}

TEST_CASE("hazard: the registers of a wgmma in flight") {
  const std::string product = "HGMMA.64x8x16.F32 R4, gdesc[UR4], R4, gsb0";
  const std::vector<Line> good = {{"WARPGROUP.ARRIVE", 6},      {product, 4},
                                  {"IADD3 R8, R9, R10, RZ", 4}, {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6},
                                  {"FADD R8, R4, R5", 5},       {"EXIT", 5}};
  checkPair(good, 2, {"IADD3 R8, R7, R10, RZ", 4}, Kind::ProductUnderWay, 1, 2);
  checkPair(good, 2, {"IADD3 R7, R9, R10, RZ", 4}, Kind::ProductUnderWay, 1, 2);
  // A wait that leaves one group in flight.
  std::vector<Line> two = {{"WARPGROUP.ARRIVE", 6},
                           {product, 4},
                           {"WARPGROUP.ARRIVE", 6},
                           {"HGMMA.64x8x16.F32 R12, gdesc[UR4], R12, gsb0", 4},
                           {"WARPGROUP.DEPBAR.LE gsb0, 0x1", 6},
                           {"FADD R20, R4, R5", 5},
                           {"EXIT", 5}};
  checkPair(two, 5, {"FADD R20, R4, R13", 5}, Kind::ProductUnderWay, 3, 5);
  // A product without a group is not waited for.
  checkPair(good, 1, {"HGMMA.64x8x16.F32 R4, gdesc[UR4], R4", 4}, Kind::ProductUnderWay, 1, 4);
  // Products of one sum are ordered. Products of another shape or of an overlapping sum are not.
  checkPair(two, 3, {"HGMMA.64x8x16.F32 R6, gdesc[UR4], R6, gsb0", 4}, Kind::ProductUnderWay, 1, 3);
  two[3] = {product, 4};
  two[4] = {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6};
  CHECK(violations(two).empty());
}

TEST_CASE("hazard: what a product of a warp group reads") {
  const std::vector<Line> good = {{"WARPGROUP.ARRIVE", 6},       {"HGMMA.64x8x16.F32 R4, R12, gdesc[UR4], R4, gsb0", 4},
                                  {"FADD R8, R12, R13", 5},      {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6},
                                  {"IADD3 R12, R4, R10, RZ", 4}, {"EXIT", 5}};
  checkPair(good, 2, {"FADD R12, R8, R9", 5}, Kind::ProductUnderWay, 1, 2);
  checkPair(good, 1, {"HGMMA.64x8x16.F32 R4, R4, gdesc[UR4], R4, gsb0", 4}, Kind::ProductUnderWay, 1, 1);
}

TEST_CASE("hazard: a product around a loop, and one that a way does not wait for") {
  std::vector<Line> loop = {{"WARPGROUP.ARRIVE", 6},
                            {"HGMMA.64x8x16.F32 R4, gdesc[UR4], R4, gsb0", 4},
                            {"WARPGROUP.DEPBAR.LE gsb0, 0x1", 6},
                            {"@P0 BRA -64", 5},
                            {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6},
                            {"FADD R8, R4, R5", 5},
                            {"EXIT", 5}};
  checkPair(loop, 4, {"WARPGROUP.DEPBAR.LE gsb0, 0x1", 6}, Kind::ProductUnderWay, 1, 5);
}

TEST_CASE("hazard: the warps of a group arrive with the registers of the product written") {
  const std::vector<Line> good = {{"LDG.E R4, desc[UR8][R10.64]", 2, 0},
                                  {"WARPGROUP.ARRIVE", 6, 7, 7, 1},
                                  {"HGMMA.64x8x16.F32 R12, R4, gdesc[UR4], RZ, !UPT, gsb0", 4, 7, 7, 1},
                                  {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6},
                                  {"EXIT", 5}};
  checkPair(good, 1, {"WARPGROUP.ARRIVE", 6}, Kind::MissingWait, 0, 1);
}

TEST_CASE("hazard: the warps of a group arrive when what the product overwrites has been read") {
  const std::vector<Line> good = {{"STG.E desc[UR8][R10.64], R4", 2, 7, 0},
                                  {"WARPGROUP.ARRIVE", 6, 7, 7, 1},
                                  {"HGMMA.64x8x16.F32 R4, gdesc[UR4], RZ, !UPT, gsb0", 4},
                                  {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6},
                                  {"EXIT", 5}};
  std::vector<Line> late = good;
  late[1] = {"WARPGROUP.ARRIVE", 6};
  late[2] = {"HGMMA.64x8x16.F32 R4, gdesc[UR4], RZ, !UPT, gsb0", 4, 7, 7, 1};
  CHECK(violations(good).empty());
  const auto found = violations(late);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Kind::MissingWait);
  CHECK(found[0].second == 1);
}

TEST_CASE("hazard: the warps of a group arrive for each group of products") {
  checkPair({{"WARPGROUP.ARRIVE", 6},
             {"HGMMA.64x8x16.F32 R4, gdesc[UR4], R4, gsb0", 4},
             {"WARPGROUP.ARRIVE", 6},
             {"HGMMA.64x8x16.F32 R4, gdesc[UR4], R4, gsb0", 4},
             {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 6},
             {"EXIT", 5}},
            2, {"NOP", 1}, Kind::NoArrival, 3, 3);
}

TEST_CASE("hazard: mbarrier.init is over when threads meet at a barrier") {
  checkPair({{"SYNCS.EXCH.64 URZ, [UR8], UR4", 2, 0, 1}, {"BAR.SYNC.DEFER_BLOCKING 0x0", 6, 7, 7, 3}, {"EXIT", 5}}, 1,
            {"BAR.SYNC.DEFER_BLOCKING 0x0", 6, 7, 7, 2}, Kind::MissingWait, 0, 1);
  CHECK(
      violations({{"SYNCS.EXCH.64 URZ, [UR8], UR4", 2, 7, 1}, {"BAR.SYNC.DEFER_BLOCKING 0x0", 6, 7, 7, 2}, {"EXIT", 5}})
          .size() == 1);
}

TEST_CASE("hazard: HADD2.F32 reads a half 5 cycles after HMUL2") {
  checkPair({{"HMUL2 R2, R3.H0_H0, R4.H0_H0", 5}, {"HADD2.F32 R5, -RZ, R2.H0_H0", 1}, {"EXIT", 5}}, 0,
            {"HMUL2 R2, R3.H0_H0, R4.H0_H0", 4}, Kind::Raw, 0, 1);
  CHECK(violations({{"HMUL2 R2, R3, R4", 4}, {"HMUL2 R5, R2, R2", 1}, {"EXIT", 5}}).empty());
}

TEST_CASE("hazard: branches have a least stall") {
  checkPair({{"BRA 0x10", 5}, {"EXIT", 5}}, 0, {"BRA 0x10", 4}, Kind::ShortStall, 0, 0);
}

TEST_CASE("hazard: the instruction after DEPBAR.LE issues 4 cycles later") {
  checkPair({{"LDGDEPBAR", 2, 0}, {"DEPBAR.LE SB0, 0x0", 4}, {"LDS R2, [R4]", 1}, {"EXIT", 5}}, 1,
            {"DEPBAR.LE SB0, 0x0", 3}, Kind::ShortStall, 1, 1);
}

TEST_CASE("hazard: the wait at the cluster's barrier comes 6 cycles after the arrival") {
  checkPair({{"UCGABAR_ARV", 1}, {"BRA 0x20", 5}, {"UCGABAR_WAIT", 1}, {"EXIT", 5}}, 1, {"NOP", 2}, Kind::TooClose, 0,
            2);
  const auto found = violations({{"UCGABAR_ARV", 1}, {"UCGABAR_WAIT", 1}, {"EXIT", 5}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].needed == 6);
  CHECK(found[0].actual == 1);
}

TEST_CASE("hazard: DEPBAR may follow what takes a scoreboard of its list at once") {
  checkPair({{"SHFL.IDX PT, R5, R9, RZ, 0x1c03", 1, 1},
             {"DEPBAR.LE SB0, 0x0, {1}", 4},
             {"IADD3 R6, R5, R5, RZ", 1},
             {"EXIT", 5}},
            1, {"NOP", 4, 7, 7, 2}, Kind::EarlyWait, 0, 1);
}

TEST_CASE("hazard: words without a row are named, and their waits count") {
  std::vector<isa::Word> words =
      assemble({{"LDG.E R2, desc[UR4][R4.64]", 2, 0}, {"NOP", 1, 7, 7, 1}, {"IADD3 R5, R2, R4, RZ", 1}, {"EXIT", 5}});
  words[1].lo |= 0xfff;
  const hazard::Report report = hazard::check(words, sm90());
  CHECK(report.unknown == std::vector<std::uint32_t>{1});
  CHECK(report.violations.empty());
}

TEST_CASE("hazard: a violation as text") {
  const auto words = assemble({{"IADD3 R2, R3, R4, RZ", 3}, {"FFMA R5, R2, R4, R6", 1}, {"EXIT", 5}});
  const hazard::Report report = hazard::check(words, sm90());
  REQUIRE(report.violations.size() == 1);
  CHECK(hazard::describe(report.violations[0], words, sm90()) ==
        "0x0000 IADD3 R2, R3, R4, RZ -> 0x0010 FFMA R5, R2, R4, R6: "
        "R2 is ready after 5 cycles, is read after 3 (observed)");
}

namespace {

/// The violations of a program on another chip.
std::vector<hazard::Violation> violationsOn(const char* chip, const std::vector<Line>& lines) {
  const isa::Target& target = *isa::Target::find(chip);
  const hazard::Report report = hazard::check(assemble(lines, target.words()), target);
  CHECK(report.unknown.empty());
  return report.violations;
}

} // namespace

// ptxas gives STS no scoreboard there, and overwrites its sources after the barrier.
TEST_CASE("hazard: BAR.SYNC of sm_75 ends the reads of the stores before it") {
  const std::vector<Line> right = {{"STS [R2], R3", 4}, {"BAR.SYNC 0x0", 5}, {"IADD3 R2, R4, R5, RZ", 4}, {"EXIT", 5}};
  CHECK(violationsOn("sm_75", right).empty());
  CHECK(violationsOn("sm_80", right).size() == 1);
  auto withoutBarrier = right;
  withoutBarrier[1] = {"NOP", 5};
  CHECK(violationsOn("sm_75", withoutBarrier).size() == 1);
  auto arrives = right;
  arrives[1] = {"BAR.ARV 0x0, 0x40", 5};
  CHECK(violationsOn("sm_75", arrives).size() == 1);
  auto guarded = right;
  guarded[1] = {"@P0 BAR.SYNC 0x0", 5};
  CHECK(violationsOn("sm_75", guarded).size() == 1);
}

TEST_CASE("hazard: fp64 arithmetic reads its registers late before sm_90") {
  const Line product{"DMUL R2, R4, R6", 2, 0, 1}, waits{"IADD3 R4, R8, R9, RZ", 4, 7, 7, 2},
      tooEarly{"IADD3 R4, R8, R9, RZ", 4};
  const Line end{"EXIT", 5};
  for (const char* chip : {"sm_75", "sm_80"}) {
    CHECK(violationsOn(chip, {product, waits, end}).empty());
    CHECK(violationsOn(chip, {product, tooEarly, end}).size() == 1);
  }
  CHECK(violations({product, tooEarly, end}).empty());
}

TEST_CASE("hazard: loads and stores of sm_75 read an address 8 cycles after arithmetic") {
  const auto load = [](unsigned stall) {
    return std::vector<Line>{{"IADD3 R4, R8, R9, RZ", stall}, {"LDS R2, [R4]", 2, 0}, {"EXIT", 5}};
  };
  CHECK(violationsOn("sm_75", load(8)).empty());
  CHECK(violationsOn("sm_75", load(7)).size() == 1);
  CHECK(violationsOn("sm_80", load(5)).empty());
}

TEST_CASE("hazard: R2UR signals a scoreboard before sm_90") {
  const std::vector<Line> right = {{"R2UR UR4, R2", 2, 0}, {"UIADD3 UR5, UR4, UR6, URZ", 2, 7, 7, 1}, {"EXIT", 5}};
  auto notAwaited = right;
  notAwaited[0].stall = 13;
  notAwaited[1].wait = 0;
  for (const char* chip : {"sm_75", "sm_80", "sm_89"}) {
    CAPTURE(chip);
    CHECK(violationsOn(chip, right).empty());
    CHECK(violationsOn(chip, notAwaited).size() == 1);
  }
  CHECK(violations(notAwaited).empty());
}

TEST_CASE("hazard: R2UR reads a product 5 cycles after it") {
  checkPair({{"IMAD.HI.U32 R2, R3, R4, RZ", 5}, {"R2UR UR4, R2", 1}, {"EXIT", 5}}, 0, {"IMAD.HI.U32 R2, R3, R4, RZ", 4},
            Kind::Raw, 0, 1);
  checkPair({{"FADD R2, R3, R4", 5}, {"R2UR UR4, R2", 1}, {"EXIT", 5}}, 0, {"FADD R2, R3, R4", 4}, Kind::Raw, 0, 1);
  checkPair({{"DADD R2, R4, R6", 8}, {"R2UR UR4, R2", 1}, {"EXIT", 5}}, 0, {"DADD R2, R4, R6", 7}, Kind::Raw, 0, 1);
  CHECK(violations({{"IADD3 R2, R3, R4, RZ", 4}, {"R2UR UR4, R2", 1}, {"EXIT", 5}}).empty());
}

TEST_CASE("hazard: WARPSYNC.COLLECTIVE reads its mask 7 cycles after the write") {
  checkPair({{"MOV R2, R3", 7}, {"WARPSYNC.COLLECTIVE R2, 0x20", 5}, {"EXIT", 5}}, 0, {"MOV R2, R3", 6}, Kind::Raw, 0,
            1);
}

TEST_CASE("hazard: a vote does not overtake what reads its uniform predicate") {
  const Line vote{"VOTEU.ALL UP0, P2", 5};
  checkPair({{"USEL UR6, URZ, 0x1, !UP0", 3}, vote, {"EXIT", 5}}, 0, {"USEL UR6, URZ, 0x1, !UP0", 2}, Kind::War, 0, 1);
  checkPair({{"UIADD3.X UR6, UR7, URZ, URZ, UP0, !UPT", 3}, vote, {"EXIT", 5}}, 0,
            {"UIADD3.X UR6, UR7, URZ, URZ, UP0, !UPT", 1}, Kind::War, 0, 1);
  CHECK(violations({{"@UP0 UIADD3 UR6, UR7, URZ, URZ", 1}, vote, {"EXIT", 5}}).empty());
  CHECK(
      violations({{"USEL UR6, URZ, 0x1, !UP0", 1}, {"UISETP.LT.AND UP0, UPT, UR7, URZ, UPT", 5}, {"EXIT", 5}}).empty());
}

TEST_CASE("hazard: USETMAXREG.TRY_ALLOC signals a scoreboard") {
  checkPair({{"USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8", 2, 0},
             {"PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0", 13, 7, 7, 1},
             {"EXIT", 5}},
            1, {"PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0", 13}, Kind::MissingWait, 0, 1);
}

TEST_CASE("hazard: before sm_90 the next instruction follows YIELD, BREAK, WARPSYNC, BMOV and guarded calls at once") {
  const auto shortStalls = [](const char* chip, const char* text) {
    const std::vector<Line> lines = {{text, 1}, {"NOP", 5}, {"EXIT", 5}};
    const auto found = chip == std::string_view("sm_90") ? violations(lines) : violationsOn(chip, lines);
    for (const hazard::Violation& violation : found)
      CHECK(violation.kind == Kind::ShortStall);
    return found.size();
  };
  for (const char* text :
       {"YIELD", "@P0 BREAK B0", "WARPSYNC.ALL", "BMOV.32.CLEAR RZ, B0", "@!P0 CALL.REL.NOINC 0x20"}) {
    CAPTURE(text);
    for (const char* chip : {"sm_75", "sm_80", "sm_89"}) {
      CAPTURE(chip);
      CHECK(shortStalls(chip, text) == 0);
    }
    CHECK(shortStalls("sm_90", text) == 1);
  }
  for (const char* text : {"BSYNC B0", "CALL.REL.NOINC 0x20"}) {
    CAPTURE(text);
    for (const char* chip : {"sm_75", "sm_80", "sm_89", "sm_90"}) {
      CAPTURE(chip);
      CHECK(shortStalls(chip, text) == 1);
    }
  }
}

TEST_CASE("hazard: sm_75 branches by a second predicate 12 cycles after its comparison") {
  const auto late = [](unsigned stall) {
    return violationsOn("sm_75", {{"ISETP.EQ.AND P1, PT, R11, 0x8, PT", stall}, {"@!P0 BRA P1, 0x20", 5}, {"EXIT", 5}})
        .size();
  };
  CHECK(late(12) == 0);
  CHECK(late(11) == 1);
}

TEST_CASE("hazard: loads from tensor memory complete in order") {
  const isa::Target& target = *isa::Target::find("sm_100a");
  const auto violations = [&](std::initializer_list<isa::Word> loads, const char* wait) {
    std::vector<isa::Word> words{loads};
    for (const isa::Word& word : assemble({{"IADD3 R6, R4, R5, RZ", 1, 7, 7, *wait == 'w' ? 1u : 0u}, {"EXIT", 5}}))
      words.push_back(word);
    const hazard::Report report = hazard::check(words, target);
    CHECK(report.unknown.empty());
    return report.violations.size();
  };
  // From ptxas, except for stalls of 2: two halves; the second has a scoreboard. The threads of one half do not write
  // the registers of the other.
  const isa::Word lower{0x00000008000479ee, 0x001fe40008a80000}, upper{0x00002008000479ee, 0x000e240008aa0000};
  CHECK(violations({lower, upper}, "waits") == 0);
  CHECK(violations({lower, upper}, "") == 3); // R4, R5, and the written R6
  // LDTM.x8 R4, tmem[UR5] without one, LDTM.x8 R44, tmem[UR7] with one.
  const isa::Word first{0x00000005000479ee, 0x000fe400081c0000}, second{0x00000007002c79ee, 0x000e2400081c0000};
  CHECK(violations({first, second}, "waits") == 0);
  CHECK(violations({first, second}, "") == 3);
  CHECK(violations({second, first}, "waits") == 3); // the scoreboard of the earlier one does not cover the later one
  // LDG.E R44, desc[UR4][R2.64] with scoreboard 0: not a load of this unit.
  const isa::Word global{0x00000004022c7981, 0x000e24000c1e1900};
  CHECK(violations({first, global}, "waits") == 3);
}
