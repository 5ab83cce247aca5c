#include "frontend/instr_table.h"

// Comparison, selection, logic and shifts.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"setp.CMPS.(s16|s32|s64)",                 "=p{|q}:pred, a, b"},
    {"setp.CMPS.BOOLOP.(s16|s32|s64)",          "=p{|q}:pred, a, b, !c:pred"},
    {"setp.CMPU.(u16|u32|u64)",                 "=p{|q}:pred, a, b"},
    {"setp.CMPU.BOOLOP.(u16|u32|u64)",          "=p{|q}:pred, a, b, !c:pred"},
    {"setp.CMPB.BITS",                          "=p{|q}:pred, a, b"},
    {"setp.CMPB.BOOLOP.BITS",                   "=p{|q}:pred, a, b, !c:pred"},
    {"setp.CMPF{.ftz}.f32",                     "=p{|q}:pred, a, b"},
    {"setp.CMPF.BOOLOP{.ftz}.f32",              "=p{|q}:pred, a, b, !c:pred"},
    {"setp.CMPF.f64",                           "=p{|q}:pred, a, b"},
    {"setp.CMPF.BOOLOP.f64",                    "=p{|q}:pred, a, b, !c:pred"},
    {"setp.CMPF{.ftz}.f16",                     "=p:pred, $a, $b",               "4.2 sm_53"},
    {"setp.CMPF.BOOLOP{.ftz}.f16",              "=p:pred, $a, $b, !c:pred",      "4.2 sm_53"},
    {"setp.CMPF{.ftz}.f16x2",                   "=p{|q}:pred, $a, $b",           "4.2 sm_53"},
    {"setp.CMPF.BOOLOP{.ftz}.f16x2",            "=p{|q}:pred, $a, $b, !c:pred",  "4.2 sm_53"},
    {"setp.CMPF.bf16",                          "=p:pred, $a, $b",               "7.8 sm_90"},
    {"setp.CMPF.BOOLOP.bf16",                   "=p:pred, $a, $b, !c:pred",      "7.8 sm_90"},
    {"setp.CMPF.bf16x2",                        "=p{|q}:pred, $a, $b",           "7.8 sm_90"},
    {"setp.CMPF.BOOLOP.bf16x2",                 "=p{|q}:pred, $a, $b, !c:pred",  "7.8 sm_90"},

    {"set.CMPS.(u32|s32|f32).(s16|s32|s64)",            "=d, a:T2, b:T2"},
    {"set.CMPS.BOOLOP.(u32|s32|f32).(s16|s32|s64)",     "=d, a:T2, b:T2, !c:pred"},
    {"set.CMPU.(u32|s32|f32).(u16|u32|u64)",            "=d, a:T2, b:T2"},
    {"set.CMPU.BOOLOP.(u32|s32|f32).(u16|u32|u64)",     "=d, a:T2, b:T2, !c:pred"},
    {"set.CMPB.(u32|s32|f32).BITS",                     "=d, a:T2, b:T2"},
    {"set.CMPB.BOOLOP.(u32|s32|f32).BITS",              "=d, a:T2, b:T2, !c:pred"},
    {"set.CMPF{.ftz}.(u32|s32|f32).(f32|f64)",          "=d, a:T2, b:T2"},
    {"set.CMPF.BOOLOP{.ftz}.(u32|s32|f32).(f32|f64)",   "=d, a:T2, b:T2, !c:pred"},
    {"set.CMPS.f16.(s16|s32|s64)",                      "=d, a:T2, b:T2",            "4.2 sm_53"},
    {"set.CMPS.bf16.(s16|s32|s64)",                     "=d, a:T2, b:T2",            "7.8 sm_90"},
    {"set.CMPS.BOOLOP.f16.(s16|s32|s64)",               "=d, a:T2, b:T2, !c:pred",   "4.2 sm_53"},
    {"set.CMPS.BOOLOP.bf16.(s16|s32|s64)",              "=d, a:T2, b:T2, !c:pred",   "7.8 sm_90"},
    {"set.CMPU.f16.(u16|u32|u64)",                      "=d, a:T2, b:T2",            "4.2 sm_53"},
    {"set.CMPU.bf16.(u16|u32|u64)",                     "=d, a:T2, b:T2",            "7.8 sm_90"},
    {"set.CMPU.BOOLOP.f16.(u16|u32|u64)",               "=d, a:T2, b:T2, !c:pred",   "4.2 sm_53"},
    {"set.CMPU.BOOLOP.bf16.(u16|u32|u64)",              "=d, a:T2, b:T2, !c:pred",   "7.8 sm_90"},
    {"set.CMPB.f16.BITS",                               "=d, a:T2, b:T2",            "4.2 sm_53"},
    {"set.CMPB.bf16.BITS",                              "=d, a:T2, b:T2",            "7.8 sm_90"},
    {"set.CMPB.BOOLOP.f16.BITS",                        "=d, a:T2, b:T2, !c:pred",   "4.2 sm_53"},
    {"set.CMPB.BOOLOP.bf16.BITS",                       "=d, a:T2, b:T2, !c:pred",   "7.8 sm_90"},
    {"set.CMPF{.ftz}.f16.(f16|f32|f64)",                "=d, a:T2, b:T2",            "4.2 sm_53"},
    {"set.CMPF.BOOLOP{.ftz}.f16.(f16|f32|f64)",         "=d, a:T2, b:T2, !c:pred",   "4.2 sm_53"},
    {"set.CMPF.bf16.(f16|bf16|f32|f64)",                "=d, a:T2, b:T2",            "7.8 sm_90"},
    {"set.CMPF.BOOLOP.bf16.(f16|bf16|f32|f64)",         "=d, a:T2, b:T2, !c:pred",   "7.8 sm_90"},
    {"set.CMPF{.ftz}.(u16|s16|u32|s32).f16",            "=d, $a:T2, $b:T2",          "6.5 sm_53"},
    {"set.CMPF.BOOLOP{.ftz}.(u16|s16|u32|s32).f16",     "=d, $a:T2, $b:T2, !c:pred", "6.5 sm_53"},
    {"set.CMPF.(u16|s16|u32|s32).bf16",                 "=d, $a:T2, $b:T2",          "7.8 sm_90"},
    {"set.CMPF.BOOLOP.(u16|s16|u32|s32).bf16",          "=d, $a:T2, $b:T2, !c:pred", "7.8 sm_90"},
    {"set.CMPF{.ftz}.f16x2.f16x2",                      "=d, $a:T2, $b:T2",          "4.2 sm_53"},
    {"set.CMPF.BOOLOP{.ftz}.f16x2.f16x2",               "=d, $a:T2, $b:T2, !c:pred", "4.2 sm_53"},
    {"set.CMPF{.ftz}.(u32|s32).f16x2",                  "=d, $a:T2, $b:T2",          "6.5 sm_53"},
    {"set.CMPF.BOOLOP{.ftz}.(u32|s32).f16x2",           "=d, $a:T2, $b:T2, !c:pred", "6.5 sm_53"},
    {"set.CMPF.(bf16x2|u32|s32).bf16x2",                "=d, $a:T2, $b:T2",          "7.8 sm_90"},
    {"set.CMPF.BOOLOP.(bf16x2|u32|s32).bf16x2",         "=d, $a:T2, $b:T2, !c:pred", "7.8 sm_90"},

    {"selp.SCALAR",                             "=d, a, b, !c:pred"},
    {"slct.SCALAR.s32",                         "=d, a, b, c:s32"},
    {"slct{.ftz}.SCALAR.f32",                   "=d, a, b, c:f32"},

    {"and.pred",                                "=d, !a, !b"},
    {"and.BITS",                                "=d, a, b"},
    {"or.pred",                                 "=d, !a, !b"},
    {"or.BITS",                                 "=d, a, b"},
    {"xor.pred",                                "=d, !a, !b"},
    {"xor.BITS",                                "=d, a, b"},
    {"not.pred",                                "=d, !a"},
    {"not.BITS",                                "=d, a"},
    {"cnot.BITS",                               "=d, a"},
    {"lop3.b32",                                "=d, a, b, c, #lut:b32",               "4.3 sm_50"},
    {"lop3.LOPOP.b32",                          "=d|p, a, b, c, #lut:b32, !q:pred",    "8.2 sm_70"},

    {"shl.BITS",                                "=d, a, b:u32"},
    {"shr.(b16|b32|b64|u16|u32|u64|s16|s32|s64)", "=d, a, b:u32"},
    {"shf.(l|r).(clamp|wrap).b32",              "=d, a, b, c:u32",                     "3.1 sm_32"},
};
// clang-format on

} // namespace

std::span<const Row> logicRows() {
  return kRows;
}

} // namespace orias::ptx
