#include "frontend/instr_table.h"

// Control flow, the stack, and miscellaneous instructions.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"bra{.uni}",                               "LABEL"},
    {"brx.idx{.uni}",                           "$index:u32, TARGETS", "6.0 sm_30"},
    {"call{.uni}",                              "CALL"},
    {"ret{.uni}",                               "-"},
    {"exit",                                    "-"},

    {"stacksave.(u32|u64)",                     "=d",                     "7.3 sm_52"},
    {"stackrestore.(u32|u64)",                  "$a",                     "7.3 sm_52"},
    {"alloca.(u32|u64)",                        "=d, size, ?#align:u32",  "7.3 sm_52"},

    {"brkpt",                                   "-"},
    {"trap",                                    "-"},
    {"pmevent",                                 "#a:u32(0..15)"},
    {"pmevent.mask",                            "#a:u32(0..65535)", "3.0 sm_20"},
    {"nanosleep.u32",                           "t",                "6.0 sm_70"},
    {"setmaxnreg.inc.sync.aligned.u32",         "#count(24..256/8)", "8.0 sm_90a sm_100a sm_110a sm_120a"},
    {"setmaxnreg.dec.sync.aligned.u32",         "#count(24..256/8)", "8.0 sm_90a sm_100a sm_110a sm_120a"},
};
// clang-format on

} // namespace

std::span<const Row> controlRows() {
  return kRows;
}

} // namespace orias::ptx
