#include "frontend/instr_table.h"

// Loads, stores, prefetches and cache control.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"ld{.weak}{.SPACE}{.LDCOP}{.L2::cache_hint}{.PREFETCH}{.VEC}.MEMTYPE",
     "=~d*V, [a], policy:b64@L2::cache_hint"},
    {"ld{.weak}{.SPACE}{.EVICT1}{.EVICT2}{.L2::cache_hint}{.PREFETCH}{.VEC}.MEMTYPE",
     "=~d*V, [a], policy:b64@L2::cache_hint"},
    {"ld.volatile{.GSPACE}{.PREFETCH}{.VEC}.MEMTYPE",
     "=~d*V, [a]"},
    {"ld.(relaxed|acquire).SCOPE{.GSPACE}{.EVICT1}{.EVICT2}{.L2::cache_hint}{.PREFETCH}{.VEC}.MEMTYPE",
     "=~d*V, [a], policy:b64@L2::cache_hint", "6.0 sm_70"},
    {"ld.mmio.relaxed.sys{.global}.MEMTYPE",
     "=~d, [a]", "8.2 sm_70"},
    {"ld.global{.(ca|cg|cs)}.nc{.L2::cache_hint}{.PREFETCH}{.VEC}.MEMTYPE",
     "=~d*V, [a], policy:b64@L2::cache_hint", "3.1 sm_32"},
    {"ld.global.nc{.EVICT1}{.EVICT2}{.L2::cache_hint}{.PREFETCH}{.VEC}.MEMTYPE",
     "=~d*V, [a], policy:b64@L2::cache_hint", "3.1 sm_32"},
    {"ldu{.global}{.VEC4}.MEMTYPE",
     "=~d*V, [a]"},

    {"st{.weak}{.STSPACE}{.STCOP}{.L2::cache_hint}{.VEC}.MEMTYPE",
     "[a], ~b*V, policy:b64@L2::cache_hint"},
    {"st{.weak}{.STSPACE}{.EVICT1}{.EVICT2}{.L2::cache_hint}{.VEC}.MEMTYPE",
     "[a], ~b*V, policy:b64@L2::cache_hint"},
    {"st.volatile{.GSPACE}{.VEC}.MEMTYPE",
     "[a], ~b*V"},
    {"st.(relaxed|release).SCOPE{.GSPACE}{.EVICT1}{.EVICT2}{.L2::cache_hint}{.VEC}.MEMTYPE",
     "[a], ~b*V, policy:b64@L2::cache_hint", "6.0 sm_70"},
    {"st.mmio.relaxed.sys{.global}.MEMTYPE",
     "[a], ~b", "8.2 sm_70"},
    {"st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.VEC4}.(b32|b64|u32|u64|s32|s64|f32|f64)",
     "[a], b*V, [bar:shared::cluster]", "8.1 sm_90"},
    {"st.async{.mmio}.release.(gpu|sys){.global}.(b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64)",
     "[a], b", "8.7 sm_100"},
    {"st.bulk{.weak}{.shared::cta}",
     "[a], size:u64, #value:u64(0..0)", "8.6 sm_100"},

    {"multimem.ld_reduce{.(relaxed|acquire)}{.SCOPE}{.global}.(min|max|add|and|or|xor).(b32|b64|u32|u64|s32|s64)",
     "=d, [a]", "8.1 sm_90"},
    {"multimem.ld_reduce.weak{.global}.(min|max|add|and|or|xor).(b32|b64|u32|u64|s32|s64)",
     "=d, [a]", "8.1 sm_90"},
    {"multimem.ld_reduce{.(relaxed|acquire)}{.SCOPE}{.global}.(min|max|add){.(acc::f32|acc::f16)}{.VEC}.MMFLOAT",
     "=d*V, [a]", "8.1 sm_90"},
    {"multimem.ld_reduce{.(relaxed|acquire)}{.SCOPE}{.global}.(min|max|add){.(acc::f32|acc::f16)}{.VEC}.MMFLOAT8",
     "=d:V*V, [a]", "8.6 sm_100a"},
    {"multimem.ld_reduce.weak{.global}.(min|max|add){.(acc::f32|acc::f16)}{.VEC}.MMFLOAT",
     "=d*V, [a]", "8.1 sm_90"},
    {"multimem.ld_reduce.weak{.global}.(min|max|add){.(acc::f32|acc::f16)}{.VEC}.MMFLOAT8",
     "=d:V*V, [a]", "8.6 sm_100a"},
    {"multimem.st{.(relaxed|release)}{.SCOPE}{.global}.(b32|b64|u32|u64|s32|s64)",
     "[a], b", "8.1 sm_90"},
    {"multimem.st.weak{.global}.(b32|b64|u32|u64|s32|s64)",
     "[a], b", "8.1 sm_90"},
    {"multimem.st{.(relaxed|release)}{.SCOPE}{.global}{.VEC}.MMFLOAT",
     "[a], b*V", "8.1 sm_90"},
    {"multimem.st{.(relaxed|release)}{.SCOPE}{.global}{.VEC}.MMFLOAT8",
     "[a], b:V*V", "8.6 sm_100a"},
    {"multimem.st.weak{.global}{.VEC}.MMFLOAT",
     "[a], b*V", "8.1 sm_90"},
    {"multimem.st.weak{.global}{.VEC}.MMFLOAT8",
     "[a], b:V*V", "8.6 sm_100a"},
    {"multimem.red{.(relaxed|release)}{.SCOPE}{.global}.(min|max|add|and|or|xor).(b32|b64|u32|u64|s32|s64)",
     "[a], b", "8.1 sm_90"},
    {"multimem.red{.(relaxed|release)}{.SCOPE}{.global}.add{.VEC}.MMFLOAT",
     "[a], b*V", "8.1 sm_90"},

    {"prefetch{.(global|local)}.(L1|L2)",             "[a]"},
    {"prefetch{.global}.(L2::evict_last|L2::evict_normal)", "[a]", "7.4 sm_80"},
    {"prefetch{.(const|param)}.tensormap",            "[a]", "8.0 sm_90"},
    {"prefetchu.L1",                                  "[a]"},
    {"applypriority{.global}.L2::evict_normal",       "[a], #size:u32(128)", "7.4 sm_80"},
    {"discard{.global}.L2",                           "[a], #size:u32(128)", "7.4 sm_80"},
    {"createpolicy.range{.global}.POLICY{.POLICYTWO}.b64", "=d, [a], primary:u32, total:u32", "7.4 sm_80"},
    {"createpolicy.fractional.POLICY{.POLICYTWO}.b64",  "=d, ?fraction:f32", "7.4 sm_80"},
    {"createpolicy.cvt.L2.b64",                       "=d, a", "7.4 sm_80"},
};
// clang-format on

} // namespace

std::span<const Row> memoryRows() {
  return kRows;
}

} // namespace orias::ptx
