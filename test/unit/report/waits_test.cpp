#include "tools/report/waits.h"

#include "encoder/isa/target.h"
#include "test/unit/encoder/assembly.h"

#include <doctest/doctest.h>

using namespace orias;
using report::StallCause;
using report::Wait;
using test::assemble;
using test::Line;

namespace {

std::vector<Wait> waits(const std::vector<Line>& lines) {
  return report::scoreboardWaits(assemble(lines), {}, *isa::Target::find("sm_90"));
}
std::vector<StallCause> stalls(const std::vector<Line>& lines) {
  return report::stallCauses(assemble(lines), {}, *isa::Target::find("sm_90"));
}

} // namespace

TEST_CASE("a wait is for all that took the scoreboard, until somebody has waited") {
  const std::vector<Wait> found = waits({{"LDG.E R2, desc[UR4][R8.64]", 1, 0, 1},
                                         {"LDG.E R3, desc[UR4][R8.64+0x4]", 1, 0},
                                         {"IADD3 R8, R8, 0x4, RZ", 4, 7, 7, 1 << 1},
                                         {"FADD R4, R2, R3", 4, 7, 7, 1 << 0},
                                         {"FADD R5, R2, R3", 4, 7, 7, 1 << 0},
                                         {"EXIT", 5}});
  CHECK(found == std::vector<Wait>{{2, 0, 1, true}, {3, 0, 0, false}, {3, 1, 0, false}});
}

TEST_CASE("a wait sees who took the scoreboard along any path") {
  const std::vector<Wait> found = waits({{"LDG.E R2, desc[UR4][R8.64]", 1, 0},
                                         {"@P0 BRA 0x40", 5},
                                         {"LDG.E R2, desc[UR4][R8.64+0x4]", 1, 0},
                                         {"FADD R3, R2, R2", 4, 7, 7, 1},
                                         {"FADD R4, R2, R4", 4, 7, 7, 1}, // 0x40
                                         {"LDG.E R2, desc[UR4][R8.64+0x8]", 2, 0},
                                         {"@P1 BRA 0x40", 5},
                                         {"EXIT", 5}});
  CHECK(found == std::vector<Wait>{{3, 0, 0, false}, {3, 2, 0, false}, {4, 0, 0, false}, {4, 5, 0, false}});
}

TEST_CASE("DEPBAR with a count leaves the newest ones to be waited for") {
  const std::vector<Wait> found = waits({{"LDG.E R2, desc[UR4][R8.64]", 1, 0},
                                         {"LDG.E R3, desc[UR4][R8.64+0x4]", 2, 0},
                                         {"DEPBAR.LE SB0, 0x1", 4},
                                         {"FADD R4, R2, R3", 4, 7, 7, 1},
                                         {"EXIT", 5}});
  CHECK(found == std::vector<Wait>{{2, 0, 0, false}, {2, 1, 0, false}, {3, 0, 0, false}, {3, 1, 0, false}});
}

TEST_CASE("a stall has the tightest of its causes") {
  // R2 is needed immediately, R3 later.
  CHECK(stalls({{"IADD3 R3, R4, R5, RZ", 1},
                {"IADD3 R2, R4, R5, RZ", 4},
                {"IADD3 R6, R2, R5, RZ", 1},
                {"IADD3 R7, R3, R5, RZ", 5},
                {"EXIT", 5}}) == std::vector<StallCause>{{1, 1, 2}});
  // Without the stall, the next reader of the scoreboard would be too early.
  CHECK(stalls({{"LDG.E R2, desc[UR4][R8.64]", 2, 0}, {"FADD R3, R2, R2", 1, 7, 7, 1}, {"EXIT", 5}}) ==
        std::vector<StallCause>{{0, 0, 1}});
}

TEST_CASE("a stall without a reason has no cause") {
  CHECK(stalls({{"IADD3 R2, R4, R5, RZ", 9}, {"IADD3 R6, R2, R5, RZ", 1}, {"EXIT", 5}}) ==
        std::vector<StallCause>{{0, 0, 1}});
  CHECK(stalls({{"IADD3 R2, R4, R5, RZ", 9}, {"IADD3 R6, R3, R5, RZ", 1}, {"EXIT", 5}}).empty());
  CHECK(stalls({{"IADD3 R2, R4, R5, RZ", 1}, {"IADD3 R6, R3, R5, RZ", 6}, {"IADD3 R7, R2, R5, RZ", 1}, {"EXIT", 5}}) ==
        std::vector<StallCause>{{1, 0, 2}});
}
