#include "frontend/instr_table.h"

// Video instructions: on parts of words, and on two halves or four bytes at once (types D A B).

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"vadd.SIMD2.SIMD2.SIMD2{.sat}",                    "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vadd.SIMD2.SIMD2.SIMD2{.sat}.OP2",                "=d, ^a:T2, ^b:T3, c"},
    {"vsub.SIMD2.SIMD2.SIMD2{.sat}",                    "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vsub.SIMD2.SIMD2.SIMD2{.sat}.OP2",                "=d, ^a:T2, ^b:T3, c"},
    {"vabsdiff.SIMD2.SIMD2.SIMD2{.sat}",                "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vabsdiff.SIMD2.SIMD2.SIMD2{.sat}.OP2",            "=d, ^a:T2, ^b:T3, c"},
    {"vmin.SIMD2.SIMD2.SIMD2{.sat}",                    "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vmin.SIMD2.SIMD2.SIMD2{.sat}.OP2",                "=d, ^a:T2, ^b:T3, c"},
    {"vmax.SIMD2.SIMD2.SIMD2{.sat}",                    "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vmax.SIMD2.SIMD2.SIMD2{.sat}.OP2",                "=d, ^a:T2, ^b:T3, c"},
    {"vshl.SIMD2.SIMD2.u32{.sat}.(clamp|wrap)",         "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vshl.SIMD2.SIMD2.u32{.sat}.(clamp|wrap).OP2",     "=d, ^a:T2, ^b:T3, c"},
    {"vshr.SIMD2.SIMD2.u32{.sat}.(clamp|wrap)",         "=d, ^a:T2, ^b:T3 / =^d, ^a:T2, ^b:T3, c"},
    {"vshr.SIMD2.SIMD2.u32{.sat}.(clamp|wrap).OP2",     "=d, ^a:T2, ^b:T3, c"},
    {"vmad.SIMD2.SIMD2.SIMD2{.sat}{.(shr7|shr15)}",     "=d, -^a:T2, -^b:T3, -c"},
    {"vmad.SIMD2.SIMD2.SIMD2.po{.sat}{.(shr7|shr15)}",  "=d, ^a:T2, ^b:T3, c"},
    {"vset.SIMD2.SIMD2.CMPS",                           "=d:u32, ^a, ^b:T2 / =^d:u32, ^a, ^b:T2, c:u32"},
    {"vset.SIMD2.SIMD2.CMPS.OP2",                       "=d:u32, ^a, ^b:T2, c:u32"},
    {"vadd2.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vadd2.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vsub2.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vsub2.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vavrg2.SIMD2.SIMD2.SIMD2{.sat}",                  "=^d, ^a:T2, ^b:T3, c"},
    {"vavrg2.SIMD2.SIMD2.SIMD2.add",                    "=^d, ^a:T2, ^b:T3, c"},
    {"vabsdiff2.SIMD2.SIMD2.SIMD2{.sat}",               "=^d, ^a:T2, ^b:T3, c"},
    {"vabsdiff2.SIMD2.SIMD2.SIMD2.add",                 "=^d, ^a:T2, ^b:T3, c"},
    {"vmin2.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vmin2.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vmax2.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vmax2.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vset2.SIMD2.SIMD2.CMPS",                          "=^d:u32, ^a, ^b:T2, c:u32"},
    {"vset2.SIMD2.SIMD2.CMPS.add",                      "=^d:u32, ^a, ^b:T2, c:u32"},
    {"vadd4.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vadd4.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vsub4.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vsub4.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vavrg4.SIMD2.SIMD2.SIMD2{.sat}",                  "=^d, ^a:T2, ^b:T3, c"},
    {"vavrg4.SIMD2.SIMD2.SIMD2.add",                    "=^d, ^a:T2, ^b:T3, c"},
    {"vabsdiff4.SIMD2.SIMD2.SIMD2{.sat}",               "=^d, ^a:T2, ^b:T3, c"},
    {"vabsdiff4.SIMD2.SIMD2.SIMD2.add",                 "=^d, ^a:T2, ^b:T3, c"},
    {"vmin4.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vmin4.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vmax4.SIMD2.SIMD2.SIMD2{.sat}",                   "=^d, ^a:T2, ^b:T3, c"},
    {"vmax4.SIMD2.SIMD2.SIMD2.add",                     "=^d, ^a:T2, ^b:T3, c"},
    {"vset4.SIMD2.SIMD2.CMPS",                          "=^d:u32, ^a, ^b:T2, c:u32"},
    {"vset4.SIMD2.SIMD2.CMPS.add",                      "=^d:u32, ^a, ^b:T2, c:u32"},
};
// clang-format on

} // namespace

std::span<const Row> videoRows() {
  return kRows;
}

} // namespace orias::ptx
