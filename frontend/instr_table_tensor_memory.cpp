#include "frontend/instr_table.h"

// Tensor memory and its matrix operations (tcgen05): the sm_100 family only.

namespace orias::ptx {

namespace {

constexpr const char* kSince = "8.6 sm_100a sm_101a sm_103a";

// The reduced value may be in braces, too.
constexpr const char* kReducedSince = "8.8 sm_103a sm_101a";
constexpr const char* kReduced = "=d:b32*M, =value:b32*V, [taddr:tensor]";
constexpr const char* kReducedHalves = "=d:b32*M, =value:b32*V, [taddr:tensor], #half:u32";

// Operands that many forms share: A from a descriptor or from tensor memory, with or without disabled lanes.
constexpr const char* kMma = "[d:tensor], $a:b64, $b:b64, idesc:b32, !enable:pred / "
                             "[d:tensor], $a:b64, $b:b64, idesc:b32, $lanes:b32*L, !enable:pred / "
                             "[d:tensor], [a:tensor], $b:b64, idesc:b32, !enable:pred / "
                             "[d:tensor], [a:tensor], $b:b64, idesc:b32, $lanes:b32*L, !enable:pred";
constexpr const char* kMmaScaled =
    "[d:tensor], $a:b64, $b:b64, idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:tensor], $a:b64, $b:b64, idesc:b32, $lanes:b32*L, !enable:pred, ?#scale:u32(0..15) / "
    "[d:tensor], [a:tensor], $b:b64, idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:tensor], [a:tensor], $b:b64, idesc:b32, $lanes:b32*L, !enable:pred, ?#scale:u32(0..15)";
constexpr const char* kMmaShifted = "[d:tensor], [a:tensor], $b:b64, idesc:b32, !enable:pred / "
                                    "[d:tensor], [a:tensor], $b:b64, idesc:b32, $lanes:b32*L, !enable:pred";
constexpr const char* kMmaBlock = "[d:tensor], $a:b64, $b:b64, idesc:b32, [sa:tensor], [sb:tensor], !enable:pred / "
                                  "[d:tensor], [a:tensor], $b:b64, idesc:b32, [sa:tensor], [sb:tensor], !enable:pred";
constexpr const char* kMmaWs = "[d:tensor], $a:b64, $b:b64, idesc:b32, !enable:pred, ?$mask:b64 / "
                               "[d:tensor], [a:tensor], $b:b64, idesc:b32, !enable:pred, ?$mask:b64";
constexpr const char* kMmaSparse =
    "[d:tensor], $a:b64, $b:b64, [meta:tensor], idesc:b32, !enable:pred / "
    "[d:tensor], $a:b64, $b:b64, [meta:tensor], idesc:b32, $lanes:b32*L, !enable:pred / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, !enable:pred / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, $lanes:b32*L, !enable:pred";
constexpr const char* kMmaSparseScaled =
    "[d:tensor], $a:b64, $b:b64, [meta:tensor], idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:tensor], $a:b64, $b:b64, [meta:tensor], idesc:b32, $lanes:b32*L, !enable:pred, ?#scale:u32(0..15) / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, !enable:pred, ?#scale:u32(0..15) / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, $lanes:b32*L, !enable:pred, ?#scale:u32(0..15)";
constexpr const char* kMmaSparseShifted =
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, !enable:pred / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, $lanes:b32*L, !enable:pred";
constexpr const char* kMmaSparseBlock =
    "[d:tensor], $a:b64, $b:b64, [meta:tensor], idesc:b32, [sa:tensor], [sb:tensor], !enable:pred / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, [sa:tensor], [sb:tensor], !enable:pred";
constexpr const char* kMmaSparseWs =
    "[d:tensor], $a:b64, $b:b64, [meta:tensor], idesc:b32, !enable:pred, ?$mask:b64 / "
    "[d:tensor], [a:tensor], $b:b64, [meta:tensor], idesc:b32, !enable:pred, ?$mask:b64";

// clang-format off
constexpr Row kRows[] = {
    {"tcgen05.alloc.CTAGROUP.sync.aligned{.shared::cta}.b32",         "[a], n:u32",    kSince},
    {"tcgen05.dealloc.CTAGROUP.sync.aligned.b32",                     "$taddr, n:u32",  kSince},
    {"tcgen05.relinquish_alloc_permit.CTAGROUP.sync.aligned",         "-",             kSince},
    {"tcgen05.fence::before_thread_sync",                             "-",             kSince},
    {"tcgen05.fence::after_thread_sync",                              "-",             kSince},
    {"tcgen05.wait::ld.sync.aligned",                                 "-",             kSince},
    {"tcgen05.wait::st.sync.aligned",                                 "-",             kSince},
    {"tcgen05.commit.CTAGROUP.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64",
     "[bar], mask:b16@multicast::cluster",                                             kSince},
    {"tcgen05.shift.CTAGROUP.down",                                   "[taddr:tensor]",       kSince},
    {"tcgen05.cp.CTAGROUP.(128x256b|4x256b|128x128b)",                "[taddr:tensor], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.64x128b.(warpx2::02_13|warpx2::01_23)",     "[taddr:tensor], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.32x128b.warpx4",                            "[taddr:tensor], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.(128x256b|4x256b|128x128b).b8x16.(b6x16_p32|b4x16_p64)",            "[taddr:tensor], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.64x128b.(warpx2::02_13|warpx2::01_23).b8x16.(b6x16_p32|b4x16_p64)", "[taddr:tensor], $desc:b64", kSince},
    {"tcgen05.cp.CTAGROUP.32x128b.warpx4.b8x16.(b6x16_p32|b4x16_p64)", "[taddr:tensor], $desc:b64", kSince},
    {"tcgen05.ld.sync.aligned.TMEMSHAPE.TMEMCOUNT{.pack::16b}.b32",   "=d*M, [taddr:tensor]", kSince},
    {"tcgen05.ld.sync.aligned.16x32bx2.TMEMCOUNT{.pack::16b}.b32",    "=d*M, [taddr:tensor], #half:u32", kSince},
    {"tcgen05.ld.red.sync.aligned.32x32b.TMEMCOUNT2.(min|max).(u32|s32)",         kReduced, kReducedSince},
    {"tcgen05.ld.red.sync.aligned.32x32b.TMEMCOUNT2.(min|max){.abs}{.NaN}.f32",   kReduced, kReducedSince},
    {"tcgen05.ld.red.sync.aligned.16x32bx2.TMEMCOUNT2.(min|max).(u32|s32)",       kReducedHalves, kReducedSince},
    {"tcgen05.ld.red.sync.aligned.16x32bx2.TMEMCOUNT2.(min|max){.abs}{.NaN}.f32", kReducedHalves, kReducedSince},
    {"tcgen05.st.sync.aligned.TMEMSHAPE.TMEMCOUNT{.unpack::16b}.b32", "[taddr:tensor], $b*M", kSince},
    {"tcgen05.st.sync.aligned.16x32bx2.TMEMCOUNT{.unpack::16b}.b32",  "[taddr:tensor], #half:u32, $b*M", kSince},
    {"tcgen05.mma.CTAGROUP.(kind::f16|kind::tf32){.COLLECTA}",             kMmaScaled, kSince},
    {"tcgen05.mma.CTAGROUP.(kind::f8f6f4|kind::i8){.COLLECTA}",            kMma, kSince},
    {"tcgen05.mma.CTAGROUP.TMEMKIND.ashift{.(collector::a::lastuse|collector::a::discard)}", kMmaShifted, kSince},
    {"tcgen05.mma.CTAGROUP.kind::mxf8f6f4.block_scale{.(scale_vec::1X|block32)}{.COLLECTA}", kMmaBlock, kSince},
    {"tcgen05.mma.CTAGROUP.kind::mxf4.block_scale{.(scale_vec::2X|block32)}{.COLLECTA}", kMmaBlock, kSince},
    {"tcgen05.mma.CTAGROUP.kind::mxf4nvf4.block_scale.(scale_vec::2X|scale_vec::4X|block16|block32){.COLLECTA}", kMmaBlock, kSince},
    {"tcgen05.mma.ws.cta_group::1.TMEMKIND{.COLLECTB}",                    kMmaWs, kSince},
    {"tcgen05.mma.sp.CTAGROUP.(kind::f16|kind::tf32){.COLLECTA}",             kMmaSparseScaled, kSince},
    {"tcgen05.mma.sp.CTAGROUP.(kind::f8f6f4|kind::i8){.COLLECTA}",            kMmaSparse, kSince},
    {"tcgen05.mma.sp.CTAGROUP.TMEMKIND.ashift{.(collector::a::lastuse|collector::a::discard)}", kMmaSparseShifted, kSince},
    {"tcgen05.mma.sp.CTAGROUP.kind::mxf8f6f4.block_scale{.(scale_vec::1X|block32)}{.COLLECTA}", kMmaSparseBlock, kSince},
    {"tcgen05.mma.sp.CTAGROUP.kind::mxf4.block_scale{.(scale_vec::2X|block32)}{.COLLECTA}", kMmaSparseBlock, kSince},
    {"tcgen05.mma.sp.CTAGROUP.kind::mxf4nvf4.block_scale.(scale_vec::2X|scale_vec::4X|block16|block32){.COLLECTA}", kMmaSparseBlock, kSince},
    {"tcgen05.mma.ws.sp.cta_group::1.TMEMKIND{.COLLECTB}",                    kMmaSparseWs, kSince},
};
// clang-format on

} // namespace

std::span<const Row> tensorMemoryRows() {
  return kRows;
}

} // namespace orias::ptx
