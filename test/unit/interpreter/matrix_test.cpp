#include "run.h"

#include <bit>

// Expected values follow from the fragments in the PTX manual: lane l is number l % 4 of group l / 4.

namespace orias::interp {

namespace {

/// %r1: the group, %r2: the number in it.
const std::string kLane = "shr.u32 %r1, %r15, 2; and.b32 %r2, %r15, 3;\n";

} // namespace

TEST_CASE("A times the identity is A: fragments of m16n8k8 with tf32") {
  // A(row, k) = 8 row + k: registers hold (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4).
  const std::string body =
      kLane +
      "mad.lo.u32 %r3, %r1, 8, %r2; cvt.rn.f32.u32 %f0, %r3; add.f32 %f1, %f0, 0f42800000; "
      "add.f32 %f2, %f0, 0f40800000; add.f32 %f3, %f2, 0f42800000;\n"
      "mov.b32 %r4, %f0; mov.b32 %r5, %f1; mov.b32 %r6, %f2; mov.b32 %r7, %f3;\n"
      "setp.eq.u32 %p0, %r2, %r1; selp.b32 %r8, 0x3f800000, 0, %p0;\n"
      "add.u32 %r3, %r2, 4; setp.eq.u32 %p0, %r3, %r1; selp.b32 %r9, 0x3f800000, 0, %p0; mov.f32 %f4, 0f00000000;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, "
      "{%f4,%f4,%f4,%f4};\n";
  const unsigned offset[] = {0, 1, 64, 65};
  for (unsigned d = 0; d < 4; ++d) {
    const Ran ran = runBody(body + "cvt.rni.u32.f32 %r0, %f" + std::to_string(d) + ";", 32);
    REQUIRE(ran.result.completed);
    for (unsigned lane = 0; lane < 32; ++lane)
      CHECK(ran.out[lane] == lane / 4 * 8 + lane % 4 * 2 + offset[d]);
  }
}

TEST_CASE("halves come in pairs, and D of halves too") {
  // A is all ones, B(k, column) = 1 if k = column: D is all ones, C adds the lane.
  const Ran ran = runBody(kLane + "mov.u32 %r3, 0x3c003c00; mov.u32 %r4, 0; shl.b32 %r5, %r2, 1;\n"
                                  "setp.eq.u32 %p0, %r5, %r1; @%p0 mov.u32 %r4, 0x3c00; add.u32 %r5, %r5, 1;\n"
                                  "setp.eq.u32 %p0, %r5, %r1; @%p0 mov.u32 %r4, 0x3c000000; mov.u32 %r6, 0;\n"
                                  "cvt.rn.f16.u32 %h0, %r15; mov.b32 %r7, {%h0, %h0};\n"
                                  "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r1}, {%r3,%r3,%r3,%r3}, "
                                  "{%r4,%r6}, {%r7,%r7};",
                          32);
  REQUIRE(ran.result.completed);
  CHECK(ran.out[0] == 0x3c003c00);
  CHECK(ran.out[7] == 0x48004800);
}

TEST_CASE("products of fp8: both formats, four in a register") {
  // e4m3: 1.5 is 0x3c, -2 is 0xc0; e5m2: 1.5 is 0x3e, -2 is 0xc0.
  const auto sumOf = [](const std::string& shape, const std::string& types, const std::string& a, const std::string& b,
                        const std::string& registers) {
    const Ran ran = runBody("mov.u32 %r3, " + a + "; mov.u32 %r4, " + b + "; mov.f32 %f4, 0f40400000;\n" +
                                "mma.sync.aligned." + shape + ".row.col.f32." + types + ".f32 {%f0,%f1,%f2,%f3}, " +
                                registers + ", {%f4,%f4,%f4,%f4}; cvt.rni.s32.f32 %r0, %f2;",
                            32);
    REQUIRE(ran.result.completed);
    return static_cast<std::int32_t>(ran.out[17]);
  };
  const std::string four = "{%r3,%r3,%r3,%r3}, {%r4,%r4}", two = "{%r3,%r3}, {%r4}";
  CHECK(sumOf("m16n8k32", "e4m3.e4m3", "0x3c3c3c3c", "0xc0c0c0c0", four) == 3 - 32 * 3);
  CHECK(sumOf("m16n8k32", "e5m2.e4m3", "0x3e3e3e3e", "0xc0c0c0c0", four) == 3 - 32 * 3);
  CHECK(sumOf("m16n8k32", "e4m3.e5m2", "0xc0c0c0c0", "0x0000003e", four) == 3 - 8 * 3);
  CHECK(sumOf("m16n8k16", "e4m3.e4m3", "0x3c3c3c3c", "0xc0c0c0c0", two) == 3 - 16 * 3);
}

TEST_CASE("products of bytes are exact, and saturate when asked to") {
  const std::string product = "mov.u32 %r3, 0x80808080; mov.u32 %r4, 0x7fffffff; mov.u32 %r5, 0;\n"
                              "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {%r0,%r6,%r7,%r8}, "
                              "{%r3,%r3,%r3,%r3}, {%r3,%r3}, {%r5,%r4,%r5,%r5};\n";
  const Ran ran = runBody(product, 32);
  REQUIRE(ran.result.completed);
  CHECK(ran.out[3] == static_cast<std::uint32_t>(32 * 128 * -128));
  const Ran big =
      runBody("mov.u32 %r3, 0x7f7f7f7f; mov.u32 %r4, 0x7ffffff0;\n"
              "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%r0,%r6}, {%r3}, {%r3}, {%r4,%r4};",
              32);
  CHECK(big.out[0] == 0x7fffffff);
}

TEST_CASE("products of f64 add by rising k with one rounding a step") {
  // A(row, k) = k, B(k, column) = column: D = 6 column + C.
  const Ran ran =
      runBody(kLane + "cvt.rn.f64.u32 %d0, %r2; cvt.rn.f64.u32 %d1, %r1; mov.f64 %d2, 0d3FF0000000000000;\n"
                      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3,%d4}, {%d0}, {%d1}, {%d2,%d2};\n"
                      "cvt.rni.u32.f64 %r0, %d4;",
              32);
  REQUIRE(ran.result.completed);
  CHECK(ran.out[0] == 7);
  CHECK(ran.out[7] == 6 * 7 + 1);
}

TEST_CASE("ldmatrix, stmatrix and movmatrix") {
  // Rows of eight halves: element (row, column) = 8 row + column, two to a word.
  const std::string fill =
      "mov.u64 %rd1, s; mad.wide.u32 %rd2, %r15, 4, %rd1; shl.b32 %r1, %r15, 1; add.u32 %r2, %r1, 1;\n"
      "shl.b32 %r2, %r2, 16; or.b32 %r1, %r1, %r2; st.shared.u32 [%rd2], %r1; bar.sync 0;\n"
      "and.b32 %r3, %r15, 7; mad.wide.u32 %rd3, %r3, 16, %rd1;\n";
  const Ran plain = runBody(fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%rd3];", 32);
  REQUIRE(plain.result.completed);
  CHECK(plain.out[5] == (11u << 16 | 10));
  const Ran turned = runBody(fill + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r0}, [%rd3];", 32);
  CHECK(turned.out[5] == ((3u * 8 + 1) << 16 | (2 * 8 + 1)));
  // The address register may also be a result.
  const Ran reused =
      runBody(fill + "cvt.u32.u64 %r4, %rd3; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4,%r0}, [%r4];", 32);
  REQUIRE(reused.result.completed);
  CHECK(reused.out == plain.out);
  const Ran moved = runBody(fill + "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", 32);
  CHECK(moved.out == turned.out);
  const Ran stored = runBody(fill + "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%rd3+512], {%r1}; bar.sync 0; "
                                    "ld.shared.u32 %r0, [%rd2+512];",
                             32);
  CHECK(stored.out == turned.out);
}

TEST_CASE("wmma: load, multiply, store, in both layouts") {
  // A(row, k) = row == k at s, B = the values at s + 1024 as columns: D = B as floats.
  const std::string fill =
      "mov.u64 %rd1, s; mov.u32 %r1, %r15;\n"
      "l: mad.wide.u32 %rd2, %r1, 2, %rd1; shr.u32 %r2, %r1, 4; and.b32 %r3, %r1, 15; setp.eq.u32 %p0, %r2, %r3;\n"
      "selp.b32 %r4, 0x3c00, 0, %p0; cvt.u16.u32 %h0, %r4; st.shared.u16 [%rd2], %h0; cvt.rn.f16.u32 %h1, %r1;\n"
      "st.shared.u16 [%rd2+1024], %h1; add.u32 %r1, %r1, 32; setp.lt.u32 %p0, %r1, 256; @%p0 bra l; bar.sync 0;\n"
      "mov.f32 %f0, 0f00000000; .reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%rd1], 16;\n"
      "add.u64 %rd3, %rd1, 1024;\n"
      "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%rd3], 16;\n"
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, "
      "{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, {%f0,%f0,%f0,%f0,%f0,%f0,%f0,%f0};\n"
      "add.u64 %rd3, %rd1, 2048;\n"
      "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%rd3], {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7};\n"
      "bar.sync 0; mad.wide.u32 %rd4, %r15, 4, %rd3; ld.shared.f32 %f1, [%rd4+64]; cvt.rni.u32.f32 %r0, %f1;";
  const Ran ran = runBody(fill, 32);
  REQUIRE(ran.result.completed);
  // Row 1 and row 2 of D: B(k, column) is at 16 column + k.
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(ran.out[lane] == lane % 16 * 16 + 1 + lane / 16);
}

TEST_CASE("a matrix instruction needs the whole warp") {
  CHECK(runBody("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", 16).kind() == "unsupported");
}

} // namespace orias::interp
