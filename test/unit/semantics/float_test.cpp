#include "evaluate.h"

#include "support/check.h"

#include <limits>

using orias::test::bits;
using orias::test::Machine;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNan = 0x7fffffff;

std::uint32_t result(const std::string& text, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0) {
  return Machine().set(1, a).set(2, b).set(3, c).run(text).r(0);
}

std::uint32_t onFloats(const std::string& text, float a, float b = 0, float c = 0) {
  return result(text, bits(a), bits(b), bits(c));
}

std::uint64_t onDoubles(const std::string& text, double a, double b = 0, double c = 0) {
  return Machine().set64(2, bits(a)).set64(4, bits(b)).set64(6, bits(c)).run(text).r64(0);
}

} // namespace

TEST_CASE("f32 sums and products: rounding, flushing, saturation, modifiers") {
  CHECK(onFloats("FADD R0, R1, -|R2|", 1, -3) == bits(-2.0f));
  CHECK(onFloats("FADD.RP R0, R1, R2", 1, 0x1p-30f) == bits(1 + 0x1p-23f));
  CHECK(onFloats("FADD.RM R0, R1, -R2", 1, 0x1p-30f) == bits(1 - 0x1p-24f));
  CHECK(onFloats("FADD.SAT R0, R1, R2", 1, 3) == bits(1.0f));
  CHECK(result("FADD.FTZ R0, R1, R2", 0x80000001, 0x80000000) == 0x80000000);
  CHECK(result("FADD R0, R1, R2", 1, 1) == 2);
  CHECK(onFloats("FADD R0, R1, -R2", kInfinity, kInfinity) == kNan);
  CHECK(onFloats("FMUL R0, R1, 0.5", 3) == bits(1.5f));
  CHECK(onFloats("FMUL.M4 R0, R1, R2", 3, 5) == bits(60.0f));
  CHECK(onFloats("FMUL.D2 R0, R1, R2", 3, 5) == bits(7.5f));
  CHECK(onFloats("FMUL.FMZ R0, R1, R2", 0, kInfinity) == 0);
  CHECK(onFloats("FFMA R0, R1, R2, R3", 1 + 0x1p-23f, 1 - 0x1p-23f, -1) == bits(-0x1p-46f));
  CHECK(onFloats("FFMA.RZ R0, R1, R2, -R3", 2, 3, 7) == bits(-1.0f));
  CHECK(onFloats("FFMA.FMZ R0, R1, R2, R3", kInfinity, 0, 7) == bits(7.0f));
}

TEST_CASE("f32 minimum, maximum, selection and comparison") {
  CHECK(onFloats("FMNMX R0, R1, R2, PT", 1, -2) == bits(-2.0f));
  CHECK(onFloats("FMNMX R0, R1, R2, !PT", 1, -2) == bits(1.0f));
  CHECK(result("FMNMX R0, R1, R2, PT", kNan, bits(4.0f)) == bits(4.0f));
  CHECK(result("FMNMX.NAN R0, R1, R2, PT", kNan, bits(4.0f)) == kNan);
  CHECK(onFloats("FMNMX.XORSIGN R0, |R1|, |R2|, !PT", -3, 2) == bits(-3.0f));
  CHECK(onFloats("FMNMX.XORSIGN R0, |R1|, |R2|, !PT", -3, -2) == bits(3.0f));
  CHECK(onFloats("FSEL R0, R1, -R2, !PT", 1, 2) == bits(-2.0f));
  CHECK(onFloats("FSET.BF.LT.AND R0, R1, R2, PT", 1, 2) == bits(1.0f));
  Machine m;
  m.set(1, kNan).set(2, bits(1.0f));
  CHECK(!m.run("FSETP.LT.AND P0, P1, R1, R2, PT").p(0));
  CHECK(m.p(1));
  CHECK(m.run("FSETP.GEU.AND P0, PT, R1, R2, PT").p(0));
  CHECK(m.run("FSETP.NAN.AND P0, PT, R1, R2, PT").p(0));
  CHECK(!m.run("FSETP.NUM.AND P0, PT, R1, R2, PT").p(0));
  CHECK(m.set(1, 0x80000000).set(2, 0).run("FSETP.EQ.AND P0, PT, R1, R2, PT").p(0));
  m.set(1, 1);
  CHECK(m.run("FSETP.GT.AND P0, PT, R1, R2, PT").p(0));
  CHECK(!m.run("FSETP.GT.FTZ.AND P0, PT, R1, R2, PT").p(0));
}

TEST_CASE("MUFU flushes subnormals, except in TANH, and takes angles in turns") {
  CHECK(onFloats("MUFU.RCP R0, R1", 4) == bits(0.25f));
  CHECK(result("MUFU.RCP R0, R1", 0x80000001) == bits(-kInfinity));
  CHECK(onFloats("MUFU.RCP R0, R1", 0x1p127f) == 0);
  CHECK(onFloats("MUFU.RSQ R0, -R1", -16) == bits(0.25f));
  CHECK(onFloats("MUFU.SQRT R0, |R1|", -16) == bits(4.0f));
  CHECK(onFloats("MUFU.EX2 R0, R1", -3) == bits(0.125f));
  CHECK(onFloats("MUFU.EX2 R0, R1", -130) == 0);
  CHECK(onFloats("MUFU.LG2 R0, R1", 8) == bits(3.0f));
  CHECK(onFloats("MUFU.SIN R0, R1", 0.25f) == bits(1.0f));
  CHECK(onFloats("MUFU.COS R0, R1", 0.5f) == bits(-1.0f));
  CHECK(result("MUFU.TANH R0, R1", 5) == 5);
  CHECK((result("MUFU.EX2.F16 R0, R1.H1", 0x40003c00) & 0xffff) == 0x4400);
  CHECK((result("MUFU.EX2.BF16 R0, -R1.H1", 0x3f804000) & 0xffff) == 0x3f00);
  CHECK(result("MUFU.EX2.F16x2 R0, R1", 0x40003c00) == 0x44004000);
  CHECK(result("MUFU.EX2.BF16x2 R0, -R1", 0x3f804000) == 0x3f003e80);
  CHECK(result("MUFU.RCP64H R0, R1", 0x40100000) == 0x3fd00000);
  CHECK(result("MUFU.RCP64H R0, R1", 0) == 0x7ff00000);
  CHECK(result("MUFU.RSQ64H R0, R1", 0x40100000) == 0x3fe00000);
}

TEST_CASE("FCHK lets plain divisions pass and stops those at the ends of the range") {
  const auto stops = [](float a, float b) {
    return Machine().set(1, bits(a)).set(2, bits(b)).run("FCHK P0, R1, R2").p(0);
  };
  CHECK(!stops(1, 3));
  CHECK(!stops(-1e10f, 1e-10f));
  CHECK(stops(1, 0));
  CHECK(stops(kInfinity, 1));
  CHECK(stops(0x1p-140f, 1));
  CHECK(stops(1, 0x1p-140f));
  CHECK(stops(0x1p100f, 0x1p-100f));
  CHECK(stops(1, 0x1p127f));
}

TEST_CASE("f64 arithmetic and comparison") {
  CHECK(onDoubles("DADD R0, R2, -R4", 1, 3) == bits(-2.0));
  CHECK(onDoubles("DADD.RP R0, R2, R4", 1, 0x1p-60) == bits(1 + 0x1p-52));
  CHECK(onDoubles("DMUL R0, R2, 0.5", 3) == bits(1.5));
  CHECK(onDoubles("DFMA R0, R2, R4, R6", 1 + 0x1p-52, 1 - 0x1p-52, -1) == bits(-0x1p-104));
  Machine m;
  m.set64(2, bits(1.0)).set64(4, bits(2.0)).run("DSETP.LT.AND P0, P1, R2, R4, PT");
  CHECK(m.p(0));
  CHECK(!m.p(1));
  m.run("DSETP.MIN.AND P0, P1, R2, R4, PT");
  CHECK(m.p(0));
  CHECK(!m.p(1));
  CHECK(!m.run("DSETP.MAX.AND P0, P1, R2, R4, PT").p(0));
  const std::uint64_t nan = 0x7ff8000000000000;
  m.set64(2, nan).run("DSETP.MIN.AND P0, P1, R2, R4, PT");
  CHECK(!m.p(0));
  CHECK(!m.p(1));
  CHECK(m.set64(4, nan).run("DSETP.MIN.AND P0, P1, R2, R4, PT").p(1));
  m.set64(2, bits(-0.0)).set64(4, bits(0.0));
  CHECK(m.run("DSETP.MIN.AND P0, P1, R2, R4, PT").p(0));
}

TEST_CASE("conversions: rounding, clamping, NaN, parts of registers, order of halves") {
  CHECK(onFloats("F2I.TRUNC.NTZ R0, R1", -2.75f) == static_cast<std::uint32_t>(-2));
  CHECK(onFloats("F2I.NTZ R0, R1", 2.5f) == 2);
  CHECK(onFloats("F2I.U32.FLOOR.NTZ R0, R1", -2.5f) == 0);
  CHECK(onFloats("F2I.CEIL.NTZ R0, R1", 3e9f) == 0x7fffffff);
  CHECK(result("F2I.NTZ R0, R1", kNan) == 0);
  CHECK(result("F2I R0, R1", kNan) == 0x80000000);
  CHECK(onFloats("F2I.S16.NTZ R0, R1", -40000) == 0xffff8000);
  CHECK(onFloats("F2I.U8.NTZ R0, R1", 300) == 255);
  CHECK(Machine().set64(2, bits(-5e9)).run("F2I.S64.F64.TRUNC R0, R2").r64(0) ==
        static_cast<std::uint64_t>(-5000000000));
  CHECK(result("I2F.U8 R0, R1.B2", 0x00ff0000) == bits(255.0f));
  CHECK(result("I2F.S8 R0, R1.B2", 0x00ff0000) == bits(-1.0f));
  CHECK(result("I2F.S16 R0, R1.H1", 0x80000000) == bits(-32768.0f));
  CHECK(result("I2FP.F32.U32 R0, R1", 0xffffffff) == bits(0x1p32f));
  CHECK(result("I2FP.F32.U32.RZ R0, R1", 0xffffffff) == bits(0x1.fffffep31f));
  CHECK(result("I2FP.F32.S32 R0, R1", 0xffffffff) == bits(-1.0f));
  CHECK(Machine().set(2, 0xffffffff).run("I2F.F64 R0, R2").r64(0) == bits(-1.0));
  CHECK(onFloats("F2F.F16.F32.RP R0, R1", 1 + 0x1p-20f) == 0x3c01);
  CHECK(Machine().set64(2, bits(1 + 0x1p-40)).run("F2F.F32.F64.RP R0, R2").r(0) == bits(1 + 0x1p-23f));
  CHECK(Machine().set(2, bits(1.5f)).run("F2F.F64.F32 R0, R2").r64(0) == bits(1.5));
  CHECK(onFloats("FRND.FLOOR R0, R1", -1.5f) == bits(-2.0f));
  CHECK(onFloats("FRND R0, R1", 2.5f) == bits(2.0f));
  CHECK(onFloats("F2FP.F16.F32.PACK_AB R0, R1, R2", 1, 2) == 0x3c004000);
  CHECK(onFloats("F2FP.BF16.F32.PACK_AB R0, R1, R2", 1, -2) == 0x3f80c000);
  CHECK(onFloats("F2FP.RELU.F16.F32.PACK_AB R0, R1, R2", 1, -2) == 0x3c000000);
  CHECK(result("F2F.F16.BF16 R0, R1", 0x3fc0) == 0x3e00);
  CHECK(result("F2F.F16.BF16 R0, R1", 0x7f7f) == 0x7c00);
  CHECK(result("F2F.F16.BF16.RZ R0, R1", 0x7f7f) == 0x7bff);
  CHECK(Machine().set(2, 0xbfc0).run("F2F.F64.BF16 R0, R2").r64(0) == bits(-1.5));
}

TEST_CASE("F2FP.RS: numbers that random bits do not round") {
  CHECK(result("F2FP.F16.F32.PACK_AB.RS R0, R1, R2, R3", bits(1.0f), bits(-2.0f), 0x12345678) == 0x3c00c000);
  CHECK(result("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C.RS R0, R1, R2, R3", bits(1.0f), bits(-2.0f), 0x12345678) ==
        0x567838c0);
  CHECK(result("F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C.RS R0, R1, R2, R3", bits(1.0f), bits(-2.0f), 0x12345678) ==
        0x34567820);
}

TEST_CASE("F2FP.RS: each half is rounded by its own half of the random bits") {
  const auto rounded = [](std::string_view what, std::uint32_t a, std::uint32_t b, std::uint32_t random) {
    return result("F2FP." + std::string(what) + ".F32.PACK_AB.RS R0, R1, R2, R3", a, b, random);
  };
  // 0x3f801000 loses half of a last place to f16 (13 bits), 0x3f808000 to bf16 (16 bits).
  CHECK(rounded("F16", 0x3f801000, 0x3f801000, 0x10000fff) == 0x3c013c00);
  CHECK(rounded("F16", 0x3f801000, 0xbf801000, 0x0fff1000) == 0x3c00bc01);
  CHECK(rounded("F16", 0x3f801000, 0x3f801000, 0xefffefff) == 0x3c003c00); // the three upper bits are ignored
  CHECK(rounded("BF16", 0x3f808000, 0x3f808000, 0x80007fff) == 0x3f813f80);
  CHECK(rounded("BF16", 0x00008000, 0x80008000, 0x80008000) == 0x00018001);
  CHECK(rounded("F16", 0x477ff000, 0x477ff000, 0x10000fff) == 0x7c007bff);  // above 65504
  CHECK_THROWS_AS(rounded("F16", 0x3f801000, 0x387fffff, 0), orias::Error); // subnormal and inexact
}

TEST_CASE("F2FP.MERGE_C converts one number and keeps a half of another register") {
  CHECK(onFloats("F2FP.RELU.BF16.F32.MERGE_C R0, R1, RZ", -2) == 0);
  CHECK(onFloats("F2FP.RELU.BF16.F32.MERGE_C R0, R1, RZ", 2) == 0x4000);
  CHECK(onFloats("F2FP.SATFINITE.F16.F32.MERGE_C R0, R1, RZ", 1e9f) == 0x7bff);
  CHECK(onFloats("F2FP.F16.F32.MERGE_C.RZ R0, R1, RZ", 1e9f) == 0x7bff);
  CHECK(result("F2FP.F16.F32.MERGE_C R0, R1, R2", bits(1.0f), 0x1234abcd) == 0xabcd3c00);
  CHECK(result("F2FP.F16.F32.MERGE_C R0, R1, R2.H1", bits(1.0f), 0x1234abcd) == 0x12343c00);
}

TEST_CASE("F2IP packs bytes") {
  CHECK(onFloats("F2IP.U8.F32.NTZ R0, RZ, R1, RZ", 2.5f) == 2);
  CHECK(onFloats("F2IP.U8.F32.TRUNC.NTZ R0, RZ, R1, RZ", 2.9f) == 2);
  CHECK(onFloats("F2IP.U8.F32.NTZ R0, R1, R2, RZ", 300, -5) == 0xff00);
  CHECK(onFloats("F2IP.S8.F32.NTZ R0, R1, R2, RZ", -1, 200) == 0xff7f);
  CHECK(result("F2IP.U8.F32.NTZ R0, R1, R2, R3", 0x7fc00000, bits(1.0f), 0xaaaabbbb) == 0xbbbb0001);
}

TEST_CASE("numbers of eight bits, and tf32") {
  // Eight bits: 1 is 0x38 in e4m3 (bias 7) and 0x3c in e5m2; 448 and 57344 are the greatest.
  CHECK(onFloats("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R0, R1, R2, RZ", 1, -2) == 0x38c0);
  CHECK(onFloats("F2FP.SATFINITE.E5M2.F32.PACK_AB_MERGE_C R0, R1, R2, RZ", 1, 1e30f) == 0x3c7b);
  CHECK(onFloats("F2FP.SATFINITE.RELU.E4M3.F32.PACK_AB_MERGE_C R0, R1, R2, RZ", 1e30f, -2) == 0x7e00);
  CHECK(result("F2FP.SATFINITE.E4M3.F16.UNPACK_B_MERGE_C R0, R1, R2", 0x3c00c000, 0x1234) == 0x123438c0);
  CHECK(result("F2FP.SATFINITE.E5M2.F16.UNPACK_B_MERGE_C R0, R1, R2.H1", 0x3c00c000, 0x12345678) == 0x12343cc0);
  CHECK(result("F2FP.SATFINITE.E4M3.BF16.UNPACK_B_MERGE_C R0, R1, R2", 0x3f80c000, 0x1234) == 0x123438c0);
  CHECK(result("F2FP.SATFINITE.RELU.E5M2.BF16.UNPACK_B_MERGE_C R0, R1, R2.H1", 0x3f80c000, 0x12345678) == 0x12343c00);
  CHECK(result("F2FP.F16.E4M3.UNPACK_B R0, R1", 0x38c0) == 0x3c00c000);
  CHECK(result("F2FP.F16.E4M3.UNPACK_B R0, R1.H1", 0x38c00000) == 0x3c00c000);
  CHECK(result("F2FP.RELU.F16.E5M2.UNPACK_B R0, R1", 0x3cc0) == 0x3c000000);
  // A NaN loses its sign.
  CHECK(result("F2FP.F16.E4M3.UNPACK_B R0, R1", 0xff38) == 0x7fff3c00);
  CHECK(result("F2FP.F16.E5M2.UNPACK_B R0, R1", 0xfd3c) == 0x7fff3c00);
  CHECK(result("F2FP.TF32.F32.PACK_B R0, R1", 0x3f801000) == 0x3f800000); // a tie, to even
  CHECK(result("F2FP.TF32.F32.PACK_B R0, R1", 0x3f803000) == 0x3f804000);
  CHECK(result("F2FP.TF32.F32.PACK_B.RZ R0, R1", 0x3f803fff) == 0x3f802000);
  CHECK(result("F2FP.TF32.F32.PACK_B R0, R1", 0x7f7fffff) == 0x7f800000);
  CHECK(result("F2FP.SATFINITE.TF32.F32.PACK_B R0, R1", 0x7f7fffff) == 0x7f7fe000);
  CHECK(result("F2FP.SATFINITE.TF32.F32.PACK_B.RZ R0, R1", 0xff800000) == 0xff7fe000);
  CHECK(result("F2FP.SATFINITE.RELU.TF32.F32.PACK_B R0, R1", 0xff800000) == 0);
}

TEST_CASE("F2FP.RELU: negative numbers and -0 become 0, NaN becomes the one NaN, whatever bit is the sign") {
  CHECK(result("F2FP.RELU.TF32.F32.PACK_B R0, R1", 0xbf800000) == 0);
  CHECK(result("F2FP.RELU.TF32.F32.PACK_B R0, R1", 0x80000000) == 0);
  CHECK(result("F2FP.RELU.TF32.F32.PACK_B R0, R1", 0x3f80a000) == 0x3f80a000); // bit 15 is not a sign here
  CHECK(result("F2FP.RELU.TF32.F32.PACK_B R0, R1", 0xffc01234) == 0x7fffffff);
  CHECK(result("F2FP.RELU.F16.E4M3.UNPACK_B R0, R1", 0x38c0) == 0x3c000000);
  CHECK(result("F2FP.RELU.F16.E4M3.UNPACK_B R0, R1", 0xff80) == 0x7fff0000);
  CHECK(result("F2FP.SATFINITE.RELU.E4M3.F16.UNPACK_B_MERGE_C R0, R1, RZ", 0x3c00c000) == 0x3800);
  CHECK(result("F2FP.SATFINITE.RELU.E4M3.F16.UNPACK_B_MERGE_C R0, R1, RZ", 0xfe00bc00) == 0x7f00);
}

TEST_CASE("conversions of the high half of a register") {
  CHECK(result("F2F.F32.F16 R0, R1.H1", 0x40003c00) == bits(2.0f));
  CHECK(result("F2F.F32.BF16 R0, -R1.H1", 0x40003f80) == bits(-2.0f));
  CHECK(Machine().set(2, 0xc0003c00).run("F2F.F64.F16 R0, -R2.H1").r64(0) == bits(2.0));
  CHECK(result("F2I.F16.TRUNC.NTZ R0, R1.H1", 0xc1003c00) == 0xfffffffe); // -2.5
  CHECK(Machine().set(2, 0xc1003c00).run("F2I.S64.F16.FLOOR R0, R2.H1").r64(0) == 0xfffffffffffffffd);
  CHECK(result("FRND.F16 R0, R1.H1", 0xc1003c00) == 0xc000);
}

TEST_CASE("packed halves") {
  CHECK(result("HADD2 R0, R1, R2", 0x3c004000, 0x3c003c00) == 0x40004200);
  CHECK(result("HADD2 R0, R1.H0_H0, -R2.H1_H1", 0x3c004000, 0x3c000000) == 0x3c003c00);
  CHECK(result("HADD2.F32 R0, -RZ, R1.H1_H1", 0x3c004000) == bits(1.0f));
  CHECK(result("HADD2.F32 R0, -RZ, R1.H0_H0", 0x3c004000) == bits(2.0f));
  CHECK(result("HMUL2 R0, R1, R2", 0x3c004000, 0x42004200) == 0x42004600);
  CHECK(result("HFMA2.MMA R0, R1, 1, 1, R2", 0x3c004000, 0xbc003c00) == 0x00004200);
  CHECK(result("HFMA2.MMA.SAT R0, R1, 1, 1, R2", 0x3c00bc00, 0x3c000000) == 0x3c000000);
  CHECK(result("HFMA2.MMA.BF16_V2 R0, R1, R2, R3", 0x3f804000, 0x40004000, 0x3f803f80) == 0x404040a0);
  CHECK(result("HMNMX2 R0, R1, R2, PT", 0x3c00bc00, 0x40000000) == 0x3c00bc00);
  CHECK(result("VHMNMX R0, R1, R2, R3, PT", 0x3c00bc00, 0x40000000, 0x0000c000) == 0x0000c000);
  CHECK(result("VHMNMX R0, R1, -R2, |R3|, !PT", 0x3c00bc00, 0xc0000000, 0xbc00c000) == 0x40004000);
  CHECK(result("HSET2.BF.LT.AND R0, R1, R2, PT", 0x3c00bc00, 0x00000000) == 0x00003c00);
  Machine m;
  m.set(1, 0x3c00bc00).set(2, 0).run("HSETP2.LT.AND P0, P1, R1, R2, PT");
  CHECK(m.p(0));
  CHECK(!m.p(1));
}

TEST_CASE("what is not known is refused, not guessed") {
  CHECK_THROWS_AS(result("FLO.U32 R0, P0, R1", 1), orias::Error);
  CHECK_THROWS_AS(result("HFMA2.BF16_V2 R0, R1, R2.H0_NH1, R3", 1, 2, 3), orias::Error);
}

TEST_CASE("approximate functions as macros compute what MUFU does in phase 8's sequences") {
  CHECK(onFloats("FLG2.F32.APPROX R0, R1", 8) == bits(3.0f));
  CHECK(onFloats("FLG2.F32.APPROX R0, R1", 0x1p-140f) == bits(-140.0f));
  CHECK(onFloats("FLG2.F32.APPROX.FTZ R0, R1", 0x1p-140f) == bits(-kInfinity));
  CHECK(onFloats("FEX2.F32.APPROX R0, R1", -130) == bits(0x1p-130f));
  CHECK(onFloats("FEX2.F32.APPROX.FTZ R0, R1", -130) == 0);
  CHECK(onFloats("FRSQRT.F32.APPROX R0, R1", 0x1p-140f) == bits(0x1p70f));
  for (const float angle : {0.0f, 1.0f, -2.5f, 0x1p-130f}) {
    Machine m;
    m.set(1, bits(angle)).run("FMUL.RZ R2, R1, 0.15915493667125701904").run("MUFU.SIN R0, R2").run("MUFU.COS R3, R2");
    CHECK(onFloats("FSIN.F32.APPROX R0, R1", angle) == m.r(0));
    CHECK(onFloats("FCOS.F32.APPROX R0, R1", angle) == m.r(3));
  }
  CHECK_THROWS_AS(onFloats("FLG2.F32.RN R0, R1", 8), orias::Error);
}
