#include "frontend/instr_table.h"

// Tensor memory and its matrix operations (tcgen05): the sm_100 family only.

namespace orias::ptx {

namespace {

constexpr const char* kSince = "8.6 sm_100a sm_101a sm_103a";

// Operands that many forms share: A from a descriptor or from tensor memory, with or without lanes to leave out.
constexpr const char* kMma =
    "[d:generic], $a:b64, $b:b64, $idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:generic], $a:b64, $b:b64, $idesc:b32, $lanes:b32*N, !enable:pred, ?#scale:u32(0..15) / "
    "[d:generic], [a:generic], $b:b64, $idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:generic], [a:generic], $b:b64, $idesc:b32, $lanes:b32*N, !enable:pred, ?#scale:u32(0..15)";
constexpr const char* kMmaBlock =
    "[d:generic], $a:b64, $b:b64, $idesc:b32, [sa:generic], [sb:generic], !enable:pred / "
    "[d:generic], $a:b64, $b:b64, $idesc:b32, $lanes:b32*N, [sa:generic], [sb:generic], !enable:pred / "
    "[d:generic], [a:generic], $b:b64, $idesc:b32, [sa:generic], [sb:generic], !enable:pred / "
    "[d:generic], [a:generic], $b:b64, $idesc:b32, $lanes:b32*N, [sa:generic], [sb:generic], !enable:pred";
constexpr const char* kMmaWs = "[d:generic], $a:b64, $b:b64, $idesc:b32, !enable:pred, ?$mask:b64 / "
                               "[d:generic], [a:generic], $b:b64, $idesc:b32, !enable:pred, ?$mask:b64";
constexpr const char* kMmaSparse =
    "[d:generic], $a:b64, $b:b64, [meta:generic], $idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:generic], $a:b64, $b:b64, [meta:generic], $idesc:b32, $lanes:b32*N, !enable:pred, ?#scale:u32(0..15) / "
    "[d:generic], [a:generic], $b:b64, [meta:generic], $idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:generic], [a:generic], $b:b64, [meta:generic], $idesc:b32, $lanes:b32*N, !enable:pred, ?#scale:u32(0..15)";
constexpr const char* kMmaSparseBlock =
    "[d:generic], $a:b64, $b:b64, [meta:generic], $idesc:b32, [sa:generic], [sb:generic], !enable:pred / "
    "[d:generic], $a:b64, $b:b64, [meta:generic], $idesc:b32, $lanes:b32*N, [sa:generic], [sb:generic], !enable:pred / "
    "[d:generic], [a:generic], $b:b64, [meta:generic], $idesc:b32, [sa:generic], [sb:generic], !enable:pred / "
    "[d:generic], [a:generic], $b:b64, [meta:generic], $idesc:b32, $lanes:b32*N, [sa:generic], [sb:generic], "
    "!enable:pred";
constexpr const char* kMmaWsSparse =
    "[d:generic], $a:b64, $b:b64, [meta:generic], $idesc:b32, !enable:pred, ?$mask:b64 / "
    "[d:generic], [a:generic], $b:b64, [meta:generic], $idesc:b32, !enable:pred, ?$mask:b64";

// clang-format off
constexpr Row kRows[] = {
    {"tcgen05.alloc.CTAGROUP.sync.aligned{.shared::cta}.b32",         "[a], n:u32",    kSince},
    {"tcgen05.dealloc.CTAGROUP.sync.aligned.b32",                     "taddr, n:u32",  kSince},
    {"tcgen05.relinquish_alloc_permit.CTAGROUP.sync.aligned",         "-",             kSince},
    {"tcgen05.fence::before_thread_sync",                             "-",             kSince},
    {"tcgen05.fence::after_thread_sync",                              "-",             kSince},
    {"tcgen05.wait::ld.sync.aligned",                                 "-",             kSince},
    {"tcgen05.wait::st.sync.aligned",                                 "-",             kSince},
    {"tcgen05.commit.CTAGROUP.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64",
     "[bar], mask:b16@multicast::cluster",                                             kSince},
    {"tcgen05.shift.CTAGROUP.down",                                   "[taddr]",       kSince},
    {"tcgen05.cp.CTAGROUP.(128x256b|4x256b|128x128b){.b8x16}{.(b6x16_p32|b4x16_p64)}", "[taddr], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.64x128b.(warpx2::02_13|warpx2::01_23){.b8x16}{.(b6x16_p32|b4x16_p64)}", "[taddr], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.32x128b.warpx4{.b8x16}{.(b6x16_p32|b4x16_p64)}", "[taddr], $desc:b64", kSince},
    {"tcgen05.ld.sync.aligned.TMEMSHAPE.TMEMCOUNT{.pack::16b}.b32",   "=d*M, [taddr]", kSince},
    {"tcgen05.ld.sync.aligned.16x32bx2.TMEMCOUNT{.pack::16b}.b32",    "=d*M, [taddr], #half:u32", kSince},
    {"tcgen05.st.sync.aligned.TMEMSHAPE.TMEMCOUNT{.unpack::16b}.b32", "[taddr], $b*M", kSince},
    {"tcgen05.st.sync.aligned.16x32bx2.TMEMCOUNT{.unpack::16b}.b32",  "[taddr], #half:u32, $b*M", kSince},
    {"tcgen05.mma.CTAGROUP.TMEMKIND{.ashift}{.COLLECTA}",                     kMma,            kSince},
    {"tcgen05.mma.CTAGROUP.BLOCKKIND.block_scale{.SCALEVEC}{.COLLECTA}",      kMmaBlock,       kSince},
    {"tcgen05.mma.sp.CTAGROUP.TMEMKIND{.ashift}{.COLLECTA}",                  kMmaSparse,      kSince},
    {"tcgen05.mma.sp.CTAGROUP.BLOCKKIND.block_scale{.SCALEVEC}{.COLLECTA}",   kMmaSparseBlock, kSince},
    {"tcgen05.mma.ws.cta_group::1.TMEMKIND{.COLLECTB}",                       kMmaWs,          kSince},
    {"tcgen05.mma.ws.sp.cta_group::1.TMEMKIND{.COLLECTB}",                    kMmaWsSparse,    kSince},
};
// clang-format on

} // namespace

std::span<const Row> tensorMemoryRows() {
  return kRows;
}

} // namespace orias::ptx
