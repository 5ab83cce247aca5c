#include "frontend/instr_table.h"

// Atomic operations and reductions on memory.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.(and|or|xor|exch){.L2::cache_hint}.(b32|b64)",
     "=_d, [a], b, policy:b64@L2::cache_hint"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.cas.(b16|b32|b64)",
     "=_d, [a], b, c"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.exch{.L2::cache_hint}.b128",
     "=_d, [a], $b, policy:b64@L2::cache_hint", "8.3 sm_90"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.cas.b128",
     "=_d, [a], $b, $c", "8.3 sm_90"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.add{.L2::cache_hint}.(u32|s32|u64|f32|f64)",
     "=_d, [a], b, policy:b64@L2::cache_hint"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.(inc|dec){.L2::cache_hint}.u32",
     "=_d, [a], b, policy:b64@L2::cache_hint"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.(min|max){.L2::cache_hint}.(u32|s32|u64|s64)",
     "=_d, [a], b, policy:b64@L2::cache_hint"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.add.noftz{.L2::cache_hint}.(f16|f16x2)",
     "=_d, [a], $b, policy:b64@L2::cache_hint", "6.2 sm_60"},
    {"atom{.ATOMSEM}{.SCOPE}{.GSPACE}.add.noftz{.L2::cache_hint}.(bf16|bf16x2)",
     "=_d, [a], $b, policy:b64@L2::cache_hint", "7.8 sm_90"},
    {"atom{.ATOMSEM}{.SCOPE}{.global}.add{.L2::cache_hint}.VEC4.f32",
     "=_d*V, [a], b*V, policy:b64@L2::cache_hint", "8.1 sm_90"},
    {"atom{.ATOMSEM}{.SCOPE}{.global}.(add|min|max).noftz{.L2::cache_hint}.VEC.(f16|bf16)",
     "=_d*V, [a], $b*V, policy:b64@L2::cache_hint", "8.1 sm_90"},
    {"atom{.ATOMSEM}{.SCOPE}{.global}.(add|min|max).noftz{.L2::cache_hint}.VEC4.(f16x2|bf16x2)",
     "=_d*V, [a], $b*V, policy:b64@L2::cache_hint", "8.1 sm_90"},

    {"red{.(relaxed|release)}{.SCOPE}{.GSPACE}.(and|or|xor){.L2::cache_hint}.(b32|b64)",
     "[a], b, policy:b64@L2::cache_hint"},
    {"red{.(relaxed|release)}{.SCOPE}{.GSPACE}.add{.L2::cache_hint}.(u32|s32|u64|f32|f64)",
     "[a], b, policy:b64@L2::cache_hint"},
    {"red{.(relaxed|release)}{.SCOPE}{.GSPACE}.(inc|dec){.L2::cache_hint}.u32",
     "[a], b, policy:b64@L2::cache_hint"},
    {"red{.(relaxed|release)}{.SCOPE}{.GSPACE}.(min|max){.L2::cache_hint}.(u32|s32|u64|s64)",
     "[a], b, policy:b64@L2::cache_hint"},
    {"red{.(relaxed|release)}{.SCOPE}{.GSPACE}.add.noftz{.L2::cache_hint}.(f16|f16x2)",
     "[a], $b, policy:b64@L2::cache_hint", "6.2 sm_60"},
    {"red{.(relaxed|release)}{.SCOPE}{.GSPACE}.add.noftz{.L2::cache_hint}.(bf16|bf16x2)",
     "[a], $b, policy:b64@L2::cache_hint", "7.8 sm_90"},
    {"red{.(relaxed|release)}{.SCOPE}{.global}.add{.L2::cache_hint}.VEC4.f32",
     "[a], b*V, policy:b64@L2::cache_hint", "8.1 sm_90"},
    {"red{.(relaxed|release)}{.SCOPE}{.global}.(add|min|max).noftz{.L2::cache_hint}.VEC.(f16|bf16)",
     "[a], $b*V, policy:b64@L2::cache_hint", "8.1 sm_90"},
    {"red{.(relaxed|release)}{.SCOPE}{.global}.(add|min|max).noftz{.L2::cache_hint}.VEC4.(f16x2|bf16x2)",
     "[a], $b*V, policy:b64@L2::cache_hint", "8.1 sm_90"},

    {"red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.(inc|dec).u32",
     "[a], b, [bar:shared::cluster]", "8.1 sm_90"},
    {"red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.(min|max).(u32|s32)",
     "[a], b, [bar:shared::cluster]", "8.1 sm_90"},
    {"red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.(and|or|xor).b32",
     "[a], b, [bar:shared::cluster]", "8.1 sm_90"},
    {"red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.add.(u32|s32|u64)",
     "[a], b, [bar:shared::cluster]", "8.1 sm_90"},
    {"red.async{.mmio}.release.(gpu|sys){.global}.add.(u32|s32|u64|s64)",
     "[a], b", "8.7 sm_100"},
};
// clang-format on

} // namespace

std::span<const Row> atomicRows() {
  return kRows;
}

} // namespace orias::ptx
