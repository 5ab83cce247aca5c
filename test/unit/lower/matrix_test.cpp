#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

namespace {

unsigned count(const std::string& text, std::string_view part) {
  unsigned found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

} // namespace

TEST_CASE("neighbors of 32 bits in a fragment are loaded and stored at once") {
  const std::string registers = "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}";
  const auto stored = [&](const std::string& layout, const std::string& stride) {
    return lowered("wmma.store.d.sync.aligned." + layout + ".m16n16k16.global.f32 [%rd1], " + registers + stride + ";");
  };
  CHECK(count(stored("row", ", %r9"), "STG.E.64 ") == 4);
  CHECK(count(stored("row", ", 20"), "STG.E.64 ") == 4);
  // Columns: adjacent elements are a stride apart. An odd stride, which PTX does not allow, uses words.
  CHECK(count(stored("col", ", %r9"), "STG.E ") == 8);
  CHECK(count(stored("row", ", 21"), "STG.E ") == 8);
  CHECK(count(lowered("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " + registers + ", [%rd1], %r9;"),
              "LDG.E.64 ") == 4);
}

TEST_CASE("fragments are loaded into runs of registers") {
  const std::string text = lowered("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1,%r2,%r3,%r4}, [%r5+64];"
                                   "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r5], {%r1,%r2};");
  CAPTURE(text);
  CHECK(inOrder(text, {"WARPSYNC.ALL", "LDSM.16.MT88.4 %", "+0x40]", "STSM.16.M88.2 ["}));
}

TEST_CASE("matrices of bytes from sm_100 on, also of numbers of four and six bits") {
  const std::string text = lowered("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r1,%r2,%r3,%r4}, [%r5+64];"
                                   "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 {%r1,%r2,%r3,%r4}, [%r5];"
                                   "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64 {%r1,%r2}, [%r5];"
                                   "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%r5], {%r1,%r2,%r3,%r4};",
                                   {}, "sm_100a");
  CAPTURE(text);
  CHECK(inOrder(text, {"LDSM.8.MT1616.2 %", "+0x40]", "LDSM.U6x16P32TO8.M816.4 %", "LDSM.U4x16P64TO8.MT1616 %",
                       "STSM.8.MT168.4 ["}));
}

TEST_CASE("narrow sparse products of sm_120") {
  const auto on120 = [](const char* statements) { return lowered(statements, {}, "sm_120a"); };
  CHECK(inOrder(on120("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32 "
                      "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 0x0;"),
                {"QMMA_SP_NARROW_16864"}));
  CHECK(
      inOrder(on120("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X."
                    "f32.e2m1.e2m1.f32.ue4m3 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, "
                    "{%f1,%f2,%f3,%f4}, %r9, 0x0, %r10, {0, 0}, %r11, {0, 0};"),
              {"OMMA.SF.SP.168128.F32.E2M1.E2M1.UE4M3.4X"}));
}

TEST_CASE("products that the hardware has in parts only") {
  CHECK(inOrder(lowered("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%fd1,%fd2,%fd3,%fd4}, {%fd5,%fd6}, {%fd7}, "
                        "{%fd1,%fd2,%fd3,%fd4};"),
                {"DMMA.8x8x4", "DMMA.8x8x4"}));
  CHECK(inOrder(lowered("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
                        "{%r5,%r6}, {%f1,%f2,%f3,%f4};"),
                {"F16.E4M3.UNPACK_B", "F16.E5M2.UNPACK_B", "HMMA.16816.F32", "HMMA.16816.F32", "FADD"}));
  CHECK(inOrder(lowered("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;"), {"WARPSYNC.ALL", "MOVM.16.MT88"}));
}

TEST_CASE("products of halves and bytes") {
  CHECK(inOrder(lowered("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
                        "{%r5,%r6}, {%f1,%f2,%f3,%f4};"),
                {"HMMA.16816.F32.BF16 %"}));
  CHECK(inOrder(
      lowered("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r7,%r8};"),
      {"HMMA.16816.F16 %"}));
  CHECK(inOrder(lowered("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
                        "{%r5,%r6}, {%r7,%r8,%r9,%r10};"),
                {"IMMA.16832.S8.U8"}));
  CHECK(inOrder(lowered("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1,%fd2}, {%fd3}, {%fd4}, {%fd1,%fd2};"),
                {"DMMA.8x8x4 %"}));
  CHECK(inOrder(lowered("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%r1,%r2}, {%r3}, {%r4}, {%r1,%r2};"),
                {"IMMA.8816.S8.S8.SAT %"}));
}

TEST_CASE("products of four bits and of one") {
  // Signed elements are 16 times as large in the upper halves of bytes.
  CHECK(inOrder(
      lowered("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
              "{%r7,%r8,%r9,%r10};"),
      {"0xf0f0f0f0", "0xf0f0f0f", "IMMA.16832.S8.U8", "IMMA.16832.S8.U8", "SHF.R.S32.HI", "IADD3"}));
  CHECK(
      inOrder(lowered("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
                      "{%r5,%r6}, {%r7,%r8,%r9,%r10};"),
              {"BMMA.168256.AND.POPC", "BMMA.168256.AND.POPC"}));
}

TEST_CASE("sparse products") {
  CHECK(inOrder(lowered("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
                        "{%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 1;"),
                {"HMMA.SP.16832.F32.BF16 %", ", 1"}));
  CHECK(inOrder(lowered("mma.sp.sync.aligned.m16n8k64.row.col.s32.u8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
                        "{%r5,%r6,%r7,%r8}, {%r1,%r2,%r3,%r4}, %r9, 0;"),
                {"IMMA.SP.16864.U8.S8 %"}));
}

TEST_CASE("four products of halves at once are made one by one") {
  for (const char* chip : {"sm_75", "sm_80", "sm_90"}) {
    const std::string text =
        lowered("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, "
                "{%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};",
                {}, chip);
    CAPTURE(text);
    CHECK(inOrder(text, {"SHFL.IDX", "HMMA.1688.F32", "HMMA.1688.F32", "HMMA.1688.F32", "HMMA.1688.F32", "SHFL.IDX"}));
  }
}

TEST_CASE("chips before sm_90 count bits that differ; sparse products of four bits are made of bytes") {
  const char* differ = "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r1,%r2}, {%r3}, {%r4}, {%r5,%r6};";
  CHECK(inOrder(lowered(differ, {}, "sm_75"), {"BMMA.88128.XOR.POPC"}));
  CHECK(inOrder(lowered(differ, {}, "sm_89"), {"BMMA.88128.XOR.POPC"}));
  CHECK(inOrder(lowered(differ), {"BMMA.88128.AND.POPC", "BMMA.88128.AND.POPC"}));
  const char* sparse = "mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r7,%r8}, "
                       "{%r1,%r2,%r3,%r4}, %r9, 0;";
  for (const char* chip : {"sm_80", "sm_90"})
    CHECK(inOrder(lowered(sparse, {}, chip), {"IMMA.SP.16832.S8.U8", "IMMA.SP.16832.S8.U8"}));
  const char* bytes = "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
                      "{%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 0;";
  CHECK(inOrder(lowered(bytes, {}, "sm_89"), {"QMMA.SP.16864.F32.E4M3.E5M2"}));
  // The product is split into two f16 products, whose metadata is in other lanes.
  CHECK(inOrder(lowered(bytes), {"SHFL.IDX", "PRMT", "SHFL.BFLY", "F2FP.F16.E4M3.UNPACK_B", "HMMA.SP.16832.F32",
                                 "HMMA.SP.16832.F32", "FADD"}));
}

TEST_CASE("sums of f16 and f32 in one product are made in f32") {
  const std::string text = lowered(
      "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, "
      "{%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};");
  CAPTURE(text);
  CHECK(inOrder(text, {"HMMA.16816.F32", "F2FP.F16.F32.PACK_AB", "F2FP.F16.F32.PACK_AB"}));
  CHECK(inOrder(lowered("wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r1}, [%r2];"), {"LDS %"}));
}

TEST_CASE("scales and metadata of a product in braces are as those without") {
  const auto scaled = [](const std::string& a, const std::string& b) {
    return lowered("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
                   "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}, " +
                       a + ", {0,1}, " + b + ", {%h1,%h2};",
                   {}, "sm_120a");
  };
  CHECK(inOrder(scaled("%r7", "%r8"), {"OMMA"}));
  CHECK(scaled("{%r7}", "{%r8}") == scaled("%r7", "%r8"));
  const auto sparse = [](const std::string& metadata) {
    return lowered("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5,%r6}, {%r7,%r8}, " +
                   metadata + ", 3;");
  };
  CHECK(inOrder(sparse("%r9"), {"HMMA.SP"}));
  CHECK(sparse("{%r9}") == sparse("%r9"));
  const auto narrow = [](const std::string& metadata, const std::string& a, const std::string& b) {
    return lowered(
        "mma.sync.aligned.kind::mxf8f6f4.sp::ordered_metadata.block_scale.scale_vec::1X.m16n8k64.row.col.f32."
        "e4m3.e4m3.f32.ue8m0 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, " +
            metadata + ", 0x0, " + a + ", {%h1,%h1}, " + b + ", {%h1,%h1};",
        {}, "sm_120a");
  };
  CHECK(inOrder(narrow("%r9", "%r10", "%r11"), {"QMMA.SF.SP.16864.F32.E4M3.E4M3.E8"}));
  CHECK(narrow("{%r9}", "{%r10}", "{%r11}") == narrow("%r9", "%r10", "%r11"));
}

TEST_CASE("from sm_100 on products of bits are eight products of bytes") {
  const std::string text = lowered("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%r1,%r2,%r3,%r4}, "
                                   "{%r5,%r6}, {%r7}, {%r1,%r2,%r3,%r4};",
                                   {}, "sm_100");
  CHECK(count(text, "IMMA.16816.U8.U8") == 8);
  CHECK(count(text, "BMMA") == 0);
}
