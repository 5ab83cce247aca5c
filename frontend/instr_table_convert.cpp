#include "frontend/instr_table.h"

// Conversion between types.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"cvt{.sat}.CVTTYPE.CVTTYPE",               "=~d, ~%a:T2"},
    {"cvt.IRND{.ftz}{.sat}.CVTTYPE.f32",        "=~d, ~a:T2"},
    {"cvt.IRND{.sat}.CVTTYPE.f64",              "=~d, ~a:T2"},
    {"cvt.IRND{.sat}.CVTTYPE.f16",              "=~d, ~a:T2"},
    {"cvt.RND{.ftz}{.sat}.f32.CVTTYPE",         "=~d, ~a:T2"},
    {"cvt.RND{.sat}.f64.CVTTYPE",               "=~d, ~a:T2"},
    {"cvt.RND{.sat}.f16.CVTTYPE",               "=~d, ~a:T2"},
    {"cvt{.IRND}{.ftz}{.sat}.f32.f32",          "=~d, ~a:T2"},
    {"cvt{.IRND}{.sat}.f64.f64",                "=~d, ~a:T2"},
    {"cvt{.IRND}{.sat}.f16.f16",                "=~d, ~a:T2"},
    {"cvt.RND{.ftz}{.sat}.f32.f64",             "=~d, ~a:T2"},
    {"cvt{.ftz}{.sat}.f64.f32",                 "=~d, ~a:T2"},
    {"cvt.RND{.ftz}{.sat}.f16.f32",             "=~d, ~a:T2"},
    {"cvt.RND{.sat}.f16.f64",                   "=~d, ~a:T2"},
    {"cvt{.ftz}{.sat}.f32.f16",                 "=~d, ~a:T2"},
    {"cvt{.sat}.f64.f16",                       "=~d, ~a:T2"},
    {"cvt.(rn|rz){.relu}{.satfinite}.f16.f32",  "=~d, ~a:T2", "7.0 sm_80"},

    // bf16: registers of exactly the right width
    {"cvt.(rn|rz){.relu}{.satfinite}.bf16.f32", "=d, a:T2", "7.0 sm_80"},
    {"cvt.RND.bf16.(f16|f32|f64)",              "=d, a:T2", "7.8 sm_90"},
    {"cvt.bf16.f16",                            "=d, a:T2", "7.8 sm_90"},
    {"cvt.RND.bf16.CVTTYPE",                    "=d, a:T2", "7.8 sm_90"},
    {"cvt{.IRND}.bf16.bf16",                    "=d, a:T2", "7.8 sm_90"},
    {"cvt.IRND.CVTTYPE.bf16",                   "=d, a:T2", "7.8 sm_90"},
    {"cvt.f32.bf16",                            "=d, a:T2", "7.1 sm_80"},
    {"cvt.f64.bf16",                            "=d, a:T2", "7.8 sm_90"},
    {"cvt.RND.f16.bf16",                        "=d, a:T2", "7.8 sm_90"},

    // Packed and small formats
    {"cvt.(rn|rz){.relu}{.satfinite}.f16x2.f32",  "=~d, a:T2, b:T2",               "7.0 sm_80"},
    {"cvt.(rn|rz){.relu}{.satfinite}.bf16x2.f32", "=d, a:T2, b:T2",                "7.0 sm_80"},
    {"cvt.rs{.relu}{.satfinite}.(f16x2|bf16x2).f32", "=d, a:T2, b:T2, bits:b32",   "8.7 sm_100a sm_103a"},
    {"cvt.rna{.satfinite}.tf32.f32",            "=d:u32, a:T2",                    "7.0 sm_80"},
    {"cvt.(rn|rz){.relu}.tf32.f32",             "=d:u32, a:T2",                    "7.8 sm_90"},
    {"cvt.(rn|rz){.relu}.satfinite.tf32.f32",   "=d:u32, a:T2",                    "8.6 sm_100"},
    {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2).f32",   "=d:b16, a:T2, b:T2",        "7.8 sm_89"},
    {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2).f16x2", "=d:b16, $a:b32",             "7.8 sm_89"},
    {"cvt.rn{.relu}.f16x2.(e4m3x2|e5m2x2)",     "=d:b32, $a:b16",                   "7.8 sm_89"},
    {"cvt.rs{.relu}.satfinite.(e4m3x4|e5m2x4).f32",   "=d:b32, a:T2*4, bits:b32",  "8.7 sm_100a sm_103a"},
    {"cvt.rn.satfinite{.relu}.e2m1x2.f32",      "=d:b8, a:T2, b:T2",               "8.6 sm_100a sm_120a"},
    {"cvt.rn{.relu}.f16x2.e2m1x2",              "=d:b32, $a:b8",                    "8.6 sm_100a sm_120a"},
    {"cvt.rs{.relu}.satfinite.e2m1x4.f32",      "=d:b16, a:T2*4, bits:b32",        "8.7 sm_100a sm_103a"},
    {"cvt.rn.satfinite{.relu}.(e2m3x2|e3m2x2).f32", "=d:b16, a:T2, b:T2",          "8.6 sm_100a sm_120a"},
    {"cvt.rn{.relu}.f16x2.(e2m3x2|e3m2x2)",     "=d:b32, $a:b16",                   "8.6 sm_100a sm_120a"},
    {"cvt.rs{.relu}.satfinite.(e2m3x4|e3m2x4).f32", "=d:b32, a:T2*4, bits:b32",    "8.7 sm_100a sm_103a"},
    {"cvt.(rz|rp){.satfinite}.ue8m0x2.f32",     "=d:b16, a:T2, b:T2",              "8.6 sm_100a sm_120a"},
    {"cvt.(rz|rp){.satfinite}.ue8m0x2.bf16x2",  "=d:b16, $a:b32",                   "8.6 sm_100a sm_120a"},
    {"cvt.rn.bf16x2.ue8m0x2",                   "=d:b32, $a:b16",                   "8.6 sm_100a sm_120a"},
    {"cvt.pack.sat.(u16|s16).s32",              "=d:b32, a:T2, b:T2",              "6.5 sm_72"},
    {"cvt.pack.sat.(u2|s2|u4|s4|u8|s8).s32.b32", "=d:b32, a:T2, b:T2, c:b32",      "6.5 sm_72"},
};
// clang-format on

} // namespace

std::span<const Row> convertRows() {
  return kRows;
}

} // namespace orias::ptx
