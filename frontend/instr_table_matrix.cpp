#include "frontend/instr_table.h"

// Matrix operations of a warp (mma, wmma) and of a warp group (wgmma).

namespace orias::ptx {

namespace {

// Operands that many forms share.
constexpr const char* kMma = "=d*D, $a*A, $b*B, c*C";
// Metadata and scales may be in braces. Sparse: of four lanes, one has the metadata of A, or a pair of them, or all;
// the selector tells which.
constexpr const char* kMmaSparseOne = "=d*D, $a*A, $b*B, $c*C, $meta:b32*V, #selector:u32(0..3)";
constexpr const char* kMmaSparsePair = "=d*D, $a*A, $b*B, $c*C, $meta:b32*V, #selector:u32(0..1)";
constexpr const char* kMmaSparseAll = "=d*D, $a*A, $b*B, $c*C, $meta:b32*V, #selector:u32(0..0)";
constexpr const char* kMmaScale = "=d*D, $a*A, $b*B, $c*C, $sa:b32*V, sab:u16*2, $sb:b32*V, sbb:u16*2";
constexpr const char* kMmaSparseScale =
    "=d*D, $a*A, $b*B, $c*C, $meta:b32*V, #selector:u32(0..0), $sa:b32*V, sab:u16*2, $sb:b32*V, sbb:u16*2";
// wgmma: A from a descriptor (it may then be transposed, too) or from registers.
constexpr const char* kWgmmaTransposable =
    "=d*D, $a:b64, $b:b64, !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1), #transA:s32(0..1), #transB:s32(0..1) / "
    "=d*D, $a*A, $b:b64, !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1), #transB:s32(0..1)";
constexpr const char* kWgmmaScaled = "=d*D, $a:b64, $b:b64, !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1) / "
                                     "=d*D, $a*A, $b:b64, !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1)";
constexpr const char* kWgmmaPlain = "=d*D, $a:b64, $b:b64, !scaleD:pred / =d*D, $a*A, $b:b64, !scaleD:pred";
constexpr const char* kWgmmaSparseTransposable =
    "=d*D, $a:b64, $b:b64, $meta:b32, #selector:u32(0..1), !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1), "
    "#transA:s32(0..1), #transB:s32(0..1) / "
    "=d*D, $a*A, $b:b64, $meta:b32, #selector:u32(0..1), !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1), "
    "#transB:s32(0..1)";
constexpr const char* kWgmmaSparseScaled =
    "=d*D, $a:b64, $b:b64, $meta:b32, #selector:u32(0..1), !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1) / "
    "=d*D, $a*A, $b:b64, $meta:b32, #selector:u32(0..1), !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1)";
constexpr const char* kWgmmaSparseScaledAll =
    "=d*D, $a:b64, $b:b64, $meta:b32, #selector:u32(0..0), !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1) / "
    "=d*D, $a*A, $b:b64, $meta:b32, #selector:u32(0..0), !scaleD:pred, #scaleA:s32(-1|1), #scaleB:s32(-1|1)";
constexpr const char* kWgmmaSparsePlain = "=d*D, $a:b64, $b:b64, $meta:b32, #selector:u32(0..0), !scaleD:pred / "
                                          "=d*D, $a*A, $b:b64, $meta:b32, #selector:u32(0..0), !scaleD:pred";

// clang-format off
constexpr Row kRows[] = {
    {"ldmatrix.sync.aligned.m8n8.(x1|x2|x4){.trans}{.SHARED}.b16",                   "=d:b32*X, [a]", "6.5 sm_75"},
    {"ldmatrix.sync.aligned.m16n16.x1.trans{.SHARED}.b8",                             "=d:b32*2, [a]", "8.6 sm_100a sm_120a"},
    {"ldmatrix.sync.aligned.m16n16.x2.trans{.SHARED}.b8",                             "=d:b32*4, [a]", "8.6 sm_100a sm_120a"},
    {"ldmatrix.sync.aligned.m8n16.(x1|x2|x4){.SHARED}.b8x16.(b6x16_p32|b4x16_p64)",   "=d:b32*X, [a]", "8.6 sm_100a sm_120a"},
    {"ldmatrix.sync.aligned.m16n16.x1.trans{.SHARED}.b8x16.(b6x16_p32|b4x16_p64)",    "=d:b32*2, [a]", "8.6 sm_100a sm_120a"},
    {"ldmatrix.sync.aligned.m16n16.x2.trans{.SHARED}.b8x16.(b6x16_p32|b4x16_p64)",    "=d:b32*4, [a]", "8.6 sm_100a sm_120a"},
    {"stmatrix.sync.aligned.m8n8.(x1|x2|x4){.trans}{.SHARED}.b16",                   "[a], $b:b32*X", "7.8 sm_90"},
    {"stmatrix.sync.aligned.m16n8.(x1|x2|x4).trans{.SHARED}.b8",                     "[a], $b:b32*X", "8.6 sm_100a sm_120a"},
    {"movmatrix.sync.aligned.m8n8.trans.b16",                                        "=d:b32, $a:b32", "7.8 sm_75"},

    // mma: types D A B C
    {"mma.sync.aligned.m8n8k4.LAYOUT.LAYOUT.(f16|f32).f16.f16.f16",                  kMma, "6.4 sm_70"},
    {"mma.sync.aligned.m8n8k4.LAYOUT.LAYOUT.f32.f16.f16.f32",                        kMma, "6.4 sm_70"},
    {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",                             kMma, "6.5 sm_75"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",                             kMma, "6.5 sm_75"},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",                            kMma, "7.0 sm_80"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",                            kMma, "7.0 sm_80"},
    {"mma.sync.aligned.(m16n8k8|m16n8k16).row.col.f32.bf16.bf16.f32",                kMma, "7.0 sm_80"},
    {"mma.sync.aligned.(m16n8k4|m16n8k8).row.col.f32.tf32.tf32.f32",                 kMma, "7.0 sm_80"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.FLOAT8.FLOAT8.f32",                      kMma, "8.4 sm_89"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.FLOAT8.FLOAT8.f32",                      kMma, "8.7 sm_89"},
    {"mma.sync.aligned.(m16n8k16|m16n8k32).row.col.f16.FLOAT8.FLOAT8.f16",           kMma, "8.7 sm_89"},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.FLOAT864.FLOAT864.f16",     kMma, "8.7 sm_120a"},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.FLOAT864.FLOAT864.f32",     kMma, "8.7 sm_120a"},
    {"mma.sync.aligned.m8n8k4.row.col{.RND}.f64.f64.f64.f64",                        kMma, "7.0 sm_80"},
    {"mma.sync.aligned.(m16n8k4|m16n8k8|m16n8k16).row.col{.RND}.f64.f64.f64.f64",    kMma, "7.8 sm_90"},
    {"mma.sync.aligned.m8n8k16.row.col{.satfinite}.s32.INT8.INT8.s32",               kMma, "6.5 sm_75"},
    {"mma.sync.aligned.(m16n8k16|m16n8k32).row.col{.satfinite}.s32.INT8.INT8.s32",   kMma, "7.0 sm_80"},
    {"mma.sync.aligned.m8n8k32.row.col{.satfinite}.s32.INT4.INT4.s32",               kMma, "6.5 sm_75"},
    {"mma.sync.aligned.(m16n8k32|m16n8k64).row.col{.satfinite}.s32.INT4.INT4.s32",   kMma, "7.0 sm_80"},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",                      kMma, "7.0 sm_75"},
    {"mma.sync.aligned.(m16n8k128|m16n8k256).row.col.s32.b1.b1.s32.xor.popc",         kMma, "7.0 sm_80"},
    {"mma.sync.aligned.(m8n8k128|m16n8k128|m16n8k256).row.col.s32.b1.b1.s32.and.popc", kMma, "7.1 sm_80"},
    {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0",
     kMmaScale, "8.7 sm_120a"},
    {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", kMmaScale, "8.7 sm_120a"},
    {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", kMmaScale, "8.7 sm_120a"},
    {"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.FLOAT864.FLOAT864.f32.ue8m0",
     kMmaScale, "8.7 sm_120a"},

    // Sparse: half of A, and its metadata
    {"mma.SPARSE.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",                      kMmaSparseOne, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",                      kMmaSparsePair, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",                      kMmaSparseOne, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",                      kMmaSparsePair, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",                    kMmaSparseOne, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",                    kMmaSparsePair, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",                     kMmaSparseOne, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",                    kMmaSparsePair, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k64.row.col.f32.FLOAT8.FLOAT8.f32",                kMmaSparseAll, "8.4 sm_89"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16.FLOAT864.FLOAT864.f16", kMmaSparseAll, "8.7 sm_120a"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.FLOAT864.FLOAT864.f32", kMmaSparseAll, "8.7 sm_120a"},
    {"mma.SPARSE.sync.aligned.m16n8k32.row.col{.satfinite}.s32.INT8.INT8.s32",        kMmaSparsePair, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k64.row.col{.satfinite}.s32.INT8.INT8.s32",        kMmaSparseAll, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k64.row.col{.satfinite}.s32.INT4.INT4.s32",        kMmaSparsePair, "7.1 sm_80"},
    {"mma.SPARSE.sync.aligned.m16n8k128.row.col{.satfinite}.s32.INT4.INT4.s32",       kMmaSparseAll, "7.1 sm_80"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0",
     kMmaSparseScale, "8.7 sm_120a"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
     kMmaSparseScale, "8.7 sm_120a"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
     kMmaSparseScale, "8.7 sm_120a"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}"
     ".f32.FLOAT864.FLOAT864.f32.ue8m0",
     kMmaSparseScale, "8.7 sm_120a"},

    // wmma: the same matrices as values of a warp
    {"wmma.load.a.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.f16",                     "=d*A, [p], ?stride:u32", "6.0 sm_70"},
    {"wmma.load.a.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.(s8|u8)",                 "=d*A, [p], ?stride:u32", "6.3 sm_72"},
    {"wmma.load.a.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.bf16",                    "=d*A, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.b.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.f16",                     "=d*B, [p], ?stride:u32", "6.0 sm_70"},
    {"wmma.load.b.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.(s8|u8)",                 "=d*B, [p], ?stride:u32", "6.3 sm_72"},
    {"wmma.load.b.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.bf16",                    "=d*B, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.c.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.(f16|f32|s32)",           "=d*C, [p], ?stride:u32", "6.0 sm_70"},
    {"wmma.load.a.sync.aligned.LAYOUT.m16n16k8{.WMMASPACE}.tf32",                     "=d*A, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.b.sync.aligned.LAYOUT.m16n16k8{.WMMASPACE}.tf32",                     "=d*B, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.c.sync.aligned.LAYOUT.m16n16k8{.WMMASPACE}.f32",                      "=d*C, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.a.sync.aligned.LAYOUT.m8n8k4{.WMMASPACE}.f64",                        "=d*A, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.b.sync.aligned.LAYOUT.m8n8k4{.WMMASPACE}.f64",                        "=d*B, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.c.sync.aligned.LAYOUT.m8n8k4{.WMMASPACE}.f64",                        "=d*C, [p], ?stride:u32", "7.0 sm_80"},
    {"wmma.load.a.sync.aligned.row.m8n8k32{.WMMASPACE}.(s4|u4)",                      "=d*A, [p], ?stride:u32", "6.3 sm_75"},
    {"wmma.load.b.sync.aligned.col.m8n8k32{.WMMASPACE}.(s4|u4)",                      "=d*B, [p], ?stride:u32", "6.3 sm_75"},
    {"wmma.load.a.sync.aligned.row.m8n8k128{.WMMASPACE}.b1",                          "=d*A, [p], ?stride:u32", "6.3 sm_75"},
    {"wmma.load.b.sync.aligned.col.m8n8k128{.WMMASPACE}.b1",                          "=d*B, [p], ?stride:u32", "6.3 sm_75"},
    {"wmma.load.c.sync.aligned.LAYOUT.(m8n8k32|m8n8k128){.WMMASPACE}.s32",            "=d*C, [p], ?stride:u32", "6.3 sm_75"},
    {"wmma.store.d.sync.aligned.LAYOUT.WMMASHAPE{.WMMASPACE}.(f16|f32|s32)",          "[p], $d*D, ?stride:u32", "6.0 sm_70"},
    {"wmma.store.d.sync.aligned.LAYOUT.(m8n8k32|m8n8k128){.WMMASPACE}.s32",           "[p], $d*D, ?stride:u32", "6.3 sm_75"},
    {"wmma.store.d.sync.aligned.LAYOUT.m16n16k8{.WMMASPACE}.f32",                     "[p], $d*D, ?stride:u32", "7.0 sm_80"},
    {"wmma.store.d.sync.aligned.LAYOUT.m8n8k4{.WMMASPACE}.f64",                       "[p], $d*D, ?stride:u32", "7.0 sm_80"},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.WMMASHAPE.(f16|f32).(f16|f32)",              kMma, "6.0 sm_70"},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.WMMASHAPE.s32.u8.u8.s32{.satfinite}",        kMma, "6.3 sm_72"},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.WMMASHAPE.s32.s8.s8.s32{.satfinite}",        kMma, "6.3 sm_72"},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.WMMASHAPE.f32.bf16.bf16.f32",                kMma, "7.0 sm_80"},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.m16n16k8.f32.tf32.tf32.f32",                 kMma, "7.0 sm_80"},
    {"wmma.mma.sync.aligned.LAYOUT.LAYOUT.m8n8k4{.RND}.f64.f64.f64.f64",               kMma, "7.0 sm_80"},
    {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32{.satfinite}",                kMma, "6.3 sm_75"},
    {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32{.satfinite}",                kMma, "6.3 sm_75"},
    {"wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",                 kMma, "6.3 sm_75"},
    {"wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",                 kMma, "7.1 sm_80"},

    // wgmma: types D A B
    {"wgmma.fence.sync.aligned",        "-",            "8.0 sm_90a"},
    {"wgmma.commit_group.sync.aligned", "-",            "8.0 sm_90a"},
    {"wgmma.wait_group.sync.aligned",   "#n:u32(0..2147483647)", "8.0 sm_90a"},
    {"wgmma.mma_async.sync.aligned.m64nNk16.(f16|f32).f16.f16",            kWgmmaTransposable, "8.0 sm_90a"},
    {"wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16",                kWgmmaTransposable, "8.0 sm_90a"},
    {"wgmma.mma_async.sync.aligned.m64nNk8.f32.tf32.tf32",                 kWgmmaScaled,       "8.0 sm_90a"},
    {"wgmma.mma_async.sync.aligned.m64nNk32.(f16|f32).FLOAT8.FLOAT8",      kWgmmaScaled,       "8.0 sm_90a"},
    {"wgmma.mma_async.sync.aligned.m64nMk32{.satfinite}.s32.INT8.INT8",    kWgmmaPlain,        "8.0 sm_90a"},
    {"wgmma.mma_async.sync.aligned.m64nMk256.s32.b1.b1.and.popc",          kWgmmaPlain,        "8.0 sm_90a"},
    {"wgmma.mma_async.sp.sync.aligned.m64nNk32.(f16|f32).f16.f16",         kWgmmaSparseTransposable, "8.2 sm_90a"},
    {"wgmma.mma_async.sp.sync.aligned.m64nNk32.f32.bf16.bf16",             kWgmmaSparseTransposable, "8.2 sm_90a"},
    {"wgmma.mma_async.sp.sync.aligned.m64nNk16.f32.tf32.tf32",             kWgmmaSparseScaled, "8.2 sm_90a"},
    {"wgmma.mma_async.sp.sync.aligned.m64nNk64.(f16|f32).FLOAT8.FLOAT8",   kWgmmaSparseScaledAll, "8.2 sm_90a"},
    {"wgmma.mma_async.sp.sync.aligned.m64nMk64{.satfinite}.s32.INT8.INT8", kWgmmaSparsePlain,  "8.2 sm_90a"},
};
// clang-format on

} // namespace

std::span<const Row> matrixRows() {
  return kRows;
}

} // namespace orias::ptx
