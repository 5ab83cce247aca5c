#include "frontend/instr_table.h"

// Integer arithmetic, with carry too, and bit operations on integers.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"add.INT",                            "=d, a, b"},
    {"add{.sat}.s32",                      "=d, a, b"},
    {"add.(u16x2|s16x2)",                  "=d:b32, a:b32, b:b32", "8.0 sm_90"},
    {"sub.INT",                            "=d, a, b"},
    {"sub{.sat}.s32",                      "=d, a, b"},
    {"mul.(lo|hi).INT",                    "=d, a, b"},
    {"mul.wide.(u16|s16|u32|s32)",         "=d:W, a, b"},
    {"mad.(lo|hi).INT",                    "=d, a, b, c"},
    {"mad.wide.(u16|s16|u32|s32)",         "=d:W, a, b, c:W"},
    {"mad.hi.sat.s32",                     "=d, a, b, c"},
    {"mul24.(lo|hi).(u32|s32)",            "=d, a, b"},
    {"mad24.(lo|hi).(u32|s32)",            "=d, a, b, c"},
    {"mad24.hi.sat.s32",                   "=d, a, b, c"},
    {"sad.INT",                            "=d, a, b, c"},
    {"div.INT",                            "=d, a, b"},
    {"rem.INT",                            "=d, a, b"},
    {"abs.(s16|s32|s64)",                  "=d, a"},
    {"neg.(s16|s32|s64)",                  "=d, a"},
    {"min.INT",                            "=d, a, b"},
    {"min.u16x2",                          "=d:b32, a:b32, b:b32", "8.0 sm_90"},
    {"min{.relu}.s16x2",                   "=d:b32, a:b32, b:b32", "8.0 sm_90"},
    {"min.relu.s32",                       "=d, a, b",             "8.0 sm_90"},
    {"max.INT",                            "=d, a, b"},
    {"max.u16x2",                          "=d:b32, a:b32, b:b32", "8.0 sm_90"},
    {"max{.relu}.s16x2",                   "=d:b32, a:b32, b:b32", "8.0 sm_90"},
    {"max.relu.s32",                       "=d, a, b",             "8.0 sm_90"},

    // Extended precision
    {"add.cc.WORD",                        "=d, a, b"},
    {"addc{.cc}.WORD",                     "=d, a, b"},
    {"sub.cc.WORD",                        "=d, a, b"},
    {"subc{.cc}.WORD",                     "=d, a, b"},
    {"mad.(lo|hi).cc.WORD",                "=d, a, b, c"},
    {"madc.(lo|hi){.cc}.WORD",             "=d, a, b, c"},

    // Bits
    {"popc.(b32|b64)",                     "=d:u32, a"},
    {"clz.(b32|b64)",                      "=d:u32, a"},
    {"bfind{.shiftamt}.WORD",              "=d:u32, a"},
    {"brev.(b32|b64)",                     "=d, a"},
    {"bfe.WORD",                           "=d, a, b:u32(0..255), c:u32(0..255)"},
    {"bfi.(b32|b64)",                      "=d, a, b, c:u32(0..255), e:u32(0..255)"},
    {"fns.b32",                            "=d, a, b:u32, c:s32",  "6.0 sm_30"},
    {"bmsk.(clamp|wrap).b32",              "=d, a, b:u32",         "7.6 sm_70"},
    {"szext.(clamp|wrap).(u32|s32)",       "=d, a, b:u32",         "7.6 sm_70"},
    {"dp4a.(u32|s32).(u32|s32)",           "=d:s32, a:s32, b:s32, c:s32", "5.0 sm_61"},
    {"dp2a.(lo|hi).(u32|s32).(u32|s32)",   "=d:s32, a:s32, b:s32, c:s32", "5.0 sm_61"},
};
// clang-format on

} // namespace

std::span<const Row> integerRows() {
  return kRows;
}

} // namespace orias::ptx
