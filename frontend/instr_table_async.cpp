#include "frontend/instr_table.h"

// Asynchronous copies, bulk copies, tensor copies and tensor maps.

namespace orias::ptx {

namespace {

constexpr const char* kBlackwell = "8.6 sm_100a sm_101a sm_103a";
constexpr const char* kReduceShared = "[d], [a:2], size:u32(0..1048560/16), [bar:shared::cluster]";
constexpr const char* kReduceGlobal = "[d], [a:2], size:u32(0..1048560/16), policy:b64@L2::cache_hint";

// clang-format off
constexpr Row kRows[] = {
    {"cp.async.ca.SHARED.global{.L2::cache_hint}{.PREFETCH}",
     "[d], [a:2], #size:u32(4|8|16), ?from:u32, policy:b64@L2::cache_hint / "
     "[d], [a:2], #size:u32(4|8|16), !ignore:pred, policy:b64@L2::cache_hint", "7.0 sm_80"},
    {"cp.async.cg.SHARED.global{.L2::cache_hint}{.PREFETCH}",
     "[d], [a:2], #size:u32(16), ?from:u32, policy:b64@L2::cache_hint / "
     "[d], [a:2], #size:u32(16), !ignore:pred, policy:b64@L2::cache_hint", "7.0 sm_80"},
    {"cp.async.commit_group",                   "-",           "7.0 sm_80"},
    {"cp.async.wait_group",                     "#n:u32",      "7.0 sm_80"},
    {"cp.async.wait_all",                       "-",           "7.0 sm_80"},
    {"cp.async.mbarrier.arrive{.noinc}{.SHARED}.b64", "[bar]", "7.0 sm_80"},

    {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}",
     "[d], [a:2], size:u32(0..1048560/16), [bar:shared::cta], policy:b64@L2::cache_hint", "8.6 sm_90"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}",
     "[d], [a:2], size:u32(0..1048560/16), [bar:shared::cluster], mask:b16@multicast::cluster, policy:b64@L2::cache_hint",
     "8.0 sm_90"},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
     "[d], [a:2], size:u32(0..1048560/16), [bar:shared::cluster]", "8.0 sm_90"},
    {"cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}{.cp_mask}",
     "[d], [a:2], size:u32(0..1048560/16), policy:b64@L2::cache_hint, mask:b16@cp_mask", "8.0 sm_90"},
    {"cp.async.bulk.prefetch.L2.global{.L2::cache_hint}",
     "[a], size:u32(0..1048560/16), policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.commit_group",              "-",      "8.0 sm_90"},
    {"cp.async.bulk.wait_group{.read}",         "#n:u32", "8.0 sm_90"},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.(and|or|xor).b32",  kReduceShared, "8.0 sm_90"},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.(u32|s32|u64)", kReduceShared, "8.0 sm_90"},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.(inc|dec).u32",     kReduceShared, "8.0 sm_90"},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.(min|max).(u32|s32)", kReduceShared, "8.0 sm_90"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.(and|or|xor).(b32|b64)",      kReduceGlobal, "8.0 sm_90"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.(u32|s32|u64|f32|f64)",   kReduceGlobal, "8.0 sm_90"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.noftz.(f16|bf16)",        kReduceGlobal, "8.0 sm_90"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.(inc|dec).u32",               kReduceGlobal, "8.0 sm_90"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.(min|max).(u32|s32|u64|s64|f16|bf16)", kReduceGlobal, "8.0 sm_90"},

    // Tensors: with coordinates in tiles, or as images with an offset for each inner dimension
    {"cp.async.bulk.tensor.DIM.shared::cta.global{.tile}.mbarrier::complete_tx::bytes{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cta], policy:b64@L2::cache_hint", "8.6 sm_90"},
    {"cp.async.bulk.tensor.DIM.shared::cta.global{.tile}.mbarrier::complete_tx::bytes.CTAGROUP{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cta], policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes{.CTAGROUP}{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cta], policy:b64@L2::cache_hint", "8.6 sm_100"},
    {"cp.async.bulk.tensor.(3d|4d|5d).shared::cta.global.im2col.mbarrier::complete_tx::bytes{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cta], im2col:u16*I, policy:b64@L2::cache_hint", "8.6 sm_90"},
    {"cp.async.bulk.tensor.(3d|4d|5d).shared::cta.global.im2col.mbarrier::complete_tx::bytes.CTAGROUP{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cta], im2col:u16*I, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.(3d|4d|5d).shared::cta.global.(im2col::w|im2col::w::128).mbarrier::complete_tx::bytes{.CTAGROUP}"
     "{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cta], im2col:u16*I, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.DIM.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cluster], mask:b16@multicast::cluster, policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.tensor.DIM.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.multicast::cluster}.CTAGROUP"
     "{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cluster], mask:b16@multicast::cluster, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{.multicast::cluster}{.CTAGROUP}"
     "{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cluster], mask:b16@multicast::cluster, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.(3d|4d|5d).shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.multicast::cluster}"
     "{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cluster], im2col:u16*I, mask:b16@multicast::cluster, policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.tensor.(3d|4d|5d).shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.multicast::cluster}.CTAGROUP"
     "{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cluster], im2col:u16*I, mask:b16@multicast::cluster, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.(3d|4d|5d).shared::cluster.global.(im2col::w|im2col::w::128).mbarrier::complete_tx::bytes"
     "{.multicast::cluster}{.CTAGROUP}{.L2::cache_hint}",
     "[d], TENSOR, [bar:shared::cluster], im2col:u16*I, mask:b16@multicast::cluster, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.DIM.global.shared::cta{.tile}.bulk_group{.L2::cache_hint}",
     "TENSOR, [a:2], policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{.L2::cache_hint}",
     "TENSOR, [a:2], policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.tensor.(3d|4d|5d).global.shared::cta.im2col_no_offs.bulk_group{.L2::cache_hint}",
     "TENSOR, [a:2], policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.prefetch.tensor.DIM.L2.global{.tile}{.L2::cache_hint}",
     "TENSOR, policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{.L2::cache_hint}",
     "TENSOR, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.async.bulk.prefetch.tensor.(3d|4d|5d).L2.global.im2col{.L2::cache_hint}",
     "TENSOR, im2col:u16*I, policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.async.bulk.prefetch.tensor.(3d|4d|5d).L2.global.(im2col::w|im2col::w::128){.L2::cache_hint}",
     "TENSOR, im2col:u16*I, policy:b64@L2::cache_hint", kBlackwell},
    {"cp.reduce.async.bulk.tensor.DIM.global.shared::cta.(add|min|max|inc|dec|and|or|xor){.tile}.bulk_group{.L2::cache_hint}",
     "TENSOR, [a:2], policy:b64@L2::cache_hint", "8.0 sm_90"},
    {"cp.reduce.async.bulk.tensor.(3d|4d|5d).global.shared::cta.(add|min|max|inc|dec|and|or|xor).im2col_no_offs.bulk_group"
     "{.L2::cache_hint}",
     "TENSOR, [a:2], policy:b64@L2::cache_hint", "8.0 sm_90"},

    {"tensormap.replace.tile.global_address{.MAPSPACE}.b1024.b64",        "[a], value:T2", "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.rank{.MAPSPACE}.b1024.b32",                  "[a], value:T2", "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.(box_dim|global_dim|element_stride){.MAPSPACE}.b1024.b32",
     "[a], #ord:u32(0..4), value:T2",                                                      "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.global_stride{.MAPSPACE}.b1024.b64",
     "[a], #ord:u32(0..4), value:T2",                                                      "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.elemtype{.MAPSPACE}.b1024.b32",              "[a], #value:u32(0..15)", "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.interleave_layout{.MAPSPACE}.b1024.b32",     "[a], #value:u32(0..2)",  "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.swizzle_mode{.MAPSPACE}.b1024.b32",          "[a], #value:u32(0..3)",  "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.replace.tile.swizzle_atomicity{.MAPSPACE}.b1024.b32",     "[a], #value:u32(0..3)",  "8.6 sm_100a sm_120a"},
    {"tensormap.replace.tile.fill_mode{.MAPSPACE}.b1024.b32",             "[a], #value:u32(0..1)",  "8.3 sm_90a sm_100a sm_120a"},
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned",
     "[d], [a:2], #size:u32(128)", "8.3 sm_90"},
};
// clang-format on

} // namespace

std::span<const Row> asyncRows() {
  return kRows;
}

} // namespace orias::ptx
