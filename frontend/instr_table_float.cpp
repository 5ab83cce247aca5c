#include "frontend/instr_table.h"

// Floating-point arithmetic: single and double precision, half precision, mixed precision.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"testp.(finite|infinite|number|notanumber|normal|subnormal).(f32|f64)", "=p:pred, a"},
    {"copysign.(f32|f64)",                 "=d, a, b"},

    {"add{.RND}{.ftz}{.sat}.f32",          "=d, a, b"},
    {"add{.RND}{.ftz}.f32x2",              "=d:b64, a:b64, b:b64", "8.6 sm_100"},
    {"add{.RND}.f64",                      "=d, a, b"},
    {"sub{.RND}{.ftz}{.sat}.f32",          "=d, a, b"},
    {"sub{.RND}{.ftz}.f32x2",              "=d:b64, a:b64, b:b64", "8.6 sm_100"},
    {"sub{.RND}.f64",                      "=d, a, b"},
    {"mul{.RND}{.ftz}{.sat}.f32",          "=d, a, b"},
    {"mul{.RND}{.ftz}.f32x2",              "=d:b64, a:b64, b:b64", "8.6 sm_100"},
    {"mul{.RND}.f64",                      "=d, a, b"},
    {"fma.RND{.ftz}{.sat}.f32",            "=d, a, b, c"},
    {"fma.RND{.ftz}.f32x2",                "=d:b64, a:b64, b:b64, c:b64", "8.6 sm_100"},
    {"fma.RND.f64",                        "=d, a, b, c"},
    {"mad.RND{.ftz}{.sat}.f32",            "=d, a, b, c"},
    {"mad.RND.f64",                        "=d, a, b, c"},
    {"div.approx{.ftz}.f32",               "=d, a, b"},
    {"div.full{.ftz}.f32",                 "=d, a, b"},
    {"div.RND{.ftz}.f32",                  "=d, a, b"},
    {"div.RND.f64",                        "=d, a, b"},
    {"abs{.ftz}.f32",                      "=d, a"},
    {"abs.f64",                            "=d, a"},
    {"neg{.ftz}.f32",                      "=d, a"},
    {"neg.f64",                            "=d, a"},
    {"min{.ftz}{.NaN}.f32",                "=d, a, b / =d, a, b, c", " / 8.8 sm_100"},
    {"min{.ftz}{.NaN}.xorsign.abs.f32",    "=d, a, b",    "7.2 sm_86"},
    {"min{.ftz}{.NaN}.abs.f32",            "=d, a, b, c", "8.8 sm_100"},
    {"min.f64",                            "=d, a, b"},
    {"max{.ftz}{.NaN}.f32",                "=d, a, b / =d, a, b, c", " / 8.8 sm_100"},
    {"max{.ftz}{.NaN}.xorsign.abs.f32",    "=d, a, b",    "7.2 sm_86"},
    {"max{.ftz}{.NaN}.abs.f32",            "=d, a, b, c", "8.8 sm_100"},
    {"max.f64",                            "=d, a, b"},
    {"rcp.approx{.ftz}.f32",               "=d, a"},
    {"rcp.RND{.ftz}.f32",                  "=d, a"},
    {"rcp.RND.f64",                        "=d, a"},
    {"rcp.approx.ftz.f64",                 "=d, a"},
    {"sqrt.approx{.ftz}.f32",              "=d, a"},
    {"sqrt.RND{.ftz}.f32",                 "=d, a"},
    {"sqrt.RND.f64",                       "=d, a"},
    {"rsqrt.approx{.ftz}.f32",             "=d, a"},
    {"rsqrt.approx{.ftz}.f64",             "=d, a"},
    {"sin.approx{.ftz}.f32",               "=d, a"},
    {"cos.approx{.ftz}.f32",               "=d, a"},
    {"lg2.approx{.ftz}.f32",               "=d, a"},
    {"ex2.approx{.ftz}.f32",               "=d, a"},
    {"tanh.approx.f32",                    "=d, a", "7.0 sm_75"},

    // Half precision
    {"add{.rn}{.ftz}{.sat}.(f16|f16x2)",   "=d, $a, $b", "4.2 sm_53"},
    {"add{.rn}.(bf16|bf16x2)",             "=d, $a, $b", "7.8 sm_90"},
    {"sub{.rn}{.ftz}{.sat}.(f16|f16x2)",   "=d, $a, $b", "4.2 sm_53"},
    {"sub{.rn}.(bf16|bf16x2)",             "=d, $a, $b", "7.8 sm_90"},
    {"mul{.rn}{.ftz}{.sat}.(f16|f16x2)",   "=d, $a, $b", "4.2 sm_53"},
    {"mul{.rn}.(bf16|bf16x2)",             "=d, $a, $b", "7.8 sm_90"},
    {"fma.rn{.ftz}{.sat}.(f16|f16x2)",     "=d, $a, $b, $c", "4.2 sm_53"},
    {"fma.rn{.ftz}.relu.(f16|f16x2)",      "=d, $a, $b, $c", "7.0 sm_80"},
    {"fma.rn{.relu}.(bf16|bf16x2)",        "=d, $a, $b, $c", "7.0 sm_80"},
    {"fma.rn.oob{.relu}.(f16|f16x2|bf16|bf16x2)", "=d, $a, $b, $c", "8.1 sm_90"},
    {"neg{.ftz}.(f16|f16x2)",              "=d, $a",     "6.0 sm_53"},
    {"neg.(bf16|bf16x2)",                  "=d, $a",     "7.0 sm_80"},
    {"abs{.ftz}.(f16|f16x2)",              "=d, $a",     "6.5 sm_53"},
    {"abs.(bf16|bf16x2)",                  "=d, $a",     "7.0 sm_80"},
    {"min{.ftz}{.NaN}.(f16|f16x2)",        "=d, $a, $b", "7.0 sm_80"},
    {"min{.ftz}{.NaN}.xorsign.abs.(f16|f16x2)", "=d, $a, $b", "7.2 sm_86"},
    {"min{.NaN}.(bf16|bf16x2)",            "=d, $a, $b", "7.0 sm_80"},
    {"min{.NaN}.xorsign.abs.(bf16|bf16x2)", "=d, $a, $b", "7.2 sm_86"},
    {"max{.ftz}{.NaN}.(f16|f16x2)",        "=d, $a, $b", "7.0 sm_80"},
    {"max{.ftz}{.NaN}.xorsign.abs.(f16|f16x2)", "=d, $a, $b", "7.2 sm_86"},
    {"max{.NaN}.(bf16|bf16x2)",            "=d, $a, $b", "7.0 sm_80"},
    {"max{.NaN}.xorsign.abs.(bf16|bf16x2)", "=d, $a, $b", "7.2 sm_86"},
    {"tanh.approx.(f16|f16x2)",            "=d, $a",     "7.0 sm_75"},
    {"tanh.approx.(bf16|bf16x2)",          "=d, $a",     "7.8 sm_90"},
    {"ex2.approx.(f16|f16x2)",             "=d, $a",     "7.0 sm_75"},
    {"ex2.approx.ftz.(bf16|bf16x2)",       "=d, $a",     "7.8 sm_90"},

    // Mixed precision: the sum is single precision
    {"add{.RND}{.sat}.f32.(f16|bf16)",     "=d, $a:T2, c",        "8.6 sm_100"},
    {"sub{.RND}{.sat}.f32.(f16|bf16)",     "=d, $a:T2, c",        "8.6 sm_100"},
    {"fma.RND{.sat}.f32.(f16|bf16)",       "=d, $a:T2, $b:T2, c", "8.6 sm_100"},
};
// clang-format on

} // namespace

std::span<const Row> floatRows() {
  return kRows;
}

} // namespace orias::ptx
