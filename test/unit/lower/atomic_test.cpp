#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

TEST_CASE("atomics on global memory are one instruction") {
  CHECK(inOrder(lowered("atom.global.add.u32 %r1, [%rd1+64], %r2;"), {"ATOMG.E.ADD.STRONG.GPU PT, %", "0x40"}));
  CHECK(inOrder(lowered("atom.global.sys.min.s64 %rd3, [%rd1], %rd2;"), {"ATOMG.E.MIN.S64.STRONG.SYS"}));
  CHECK(inOrder(lowered("red.global.add.f32 [%rd1], %f1;"), {"REDG.E.ADD.F32.FTZ.RN.STRONG.GPU"}));
  CHECK(inOrder(lowered("atom.global.add.u32 _, [%rd1], %r2;"), {"REDG.E.ADD.STRONG.GPU"}));
  CHECK(inOrder(lowered("atom.global.cas.b64 %rd3, [%rd1], %rd2, 0;"), {"ATOMG.E.CAS.64.STRONG.GPU PT"}));
}

TEST_CASE("atomics are fenced as their semantics say") {
  CHECK(inOrder(lowered("atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], %r2;"),
                {"MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR", "ATOMG.E.ADD.STRONG.GPU", "CCTL.IVALL"}));
  const std::string relaxed = lowered("atom.relaxed.cta.global.add.u32 %r1, [%rd1], %r2;");
  CHECK(relaxed.find("MEMBAR") == std::string::npos);
  CHECK(inOrder(relaxed, {"ATOMG.E.ADD.STRONG.SM"}));
}

TEST_CASE("what shared memory cannot do is a loop") {
  CHECK(inOrder(lowered("atom.shared.inc.u32 %r1, [sm+64], %r2;"), {"ATOMS.INC", "0x40"}));
  const std::string text = lowered("atom.shared.add.f32 %f1, [%r1], %f2;");
  CAPTURE(text);
  CHECK(inOrder(text, {"LDS", "FADD", "ATOMS.CAST.SPIN", "ISETP.EQ", "@!%", "BRA"}));
  CHECK(inOrder(lowered("@%p1 red.shared.max.u64 [%r1], %rd2;"),
                {"BRA", "LDS.64", "ISETP.GT.U32", "SEL", "ATOMS.CAST.SPIN.64"}));
}

TEST_CASE("generic floating-point addition asks where it is when the hardware could not do it") {
  const std::string text = lowered("red.add.f32 [%rd1], %f2;");
  CAPTURE(text);
  CHECK(inOrder(text, {"ATOM.E.ADD.F32.FTZ.RN.STRONG.GPU %", "BRA", "QSPC.E.S", "LDS", "ATOMS.CAST.SPIN", "QSPC.E.D",
                       "ATOM.E.CAST.SPIN", "LD.E", "ST.E"}));
  CHECK(lowered("atom.add.u32 %r1, [%rd1], %r2;").find("QSPC") == std::string::npos);
}

TEST_CASE("16 bits: a loop around a swap of their word, which goes on with what the swap found") {
  const std::string swap = lowered("atom.global.cas.b16 %h1, [%rd1], %h2, %h3;");
  CAPTURE(swap);
  CHECK(inOrder(swap,
                {"LDG", "PRMT", "ISETP.NE", "BRA", "PRMT", "ATOMG.E.CAS.STRONG.GPU PT", "ISETP.NE", "BRA", "SHF.R"}));
  const std::string sum = lowered("red.shared.add.noftz.f16 [%r1], %h2;");
  CAPTURE(sum);
  CHECK(inOrder(sum, {"LDS", "HADD2", "PRMT", "ATOMS.CAS", "ISETP.NE", "BRA"}));
  CHECK(sum.find("SHF.R") == std::string::npos);
}

TEST_CASE("128 bits and vectors are one instruction") {
  CHECK(
      inOrder(lowered("red.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};"), {"REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU"}));
  CHECK(inOrder(lowered("atom.global.max.noftz.v2.f16 {%h1, %h2}, [%rd1], {%h3, %h2};"),
                {"PRMT", "ATOMG.E.MAX.F16x2.RN.STRONG.GPU PT", "PRMT", "PRMT"}));
}

TEST_CASE("memory of the cluster is generic memory in the window of shared memory") {
  CHECK(inOrder(lowered("atom.shared::cluster.add.u32 %r1, [%r2], %r3;"), {"S2R", "ATOM.E.ADD.STRONG.GPU PT"}));
  CHECK(inOrder(lowered("ld.shared::cluster.b32 %r1, [%r2+4];"), {"S2R", "LD.E %"}));
  CHECK(inOrder(lowered("mapa.shared::cluster.u32 %r1, %r2, %r3;"), {"PRMT", "0x654"}));
  CHECK(inOrder(lowered("getctarank.shared::cluster.u32 %r1, %r2;"), {"SHF.R.U32.HI", "0x18"}));
}

TEST_CASE("a policy is the descriptor of an access") {
  CHECK(inOrder(
      lowered("createpolicy.fractional.L2::evict_last.b64 %rd3; ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd3;"),
      {"0x14f00000", "R2UR", "R2UR", "LDG.E"}));
  CHECK(inOrder(lowered("createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %rd3;"), {"0x17f00000"}));
  CHECK(inOrder(lowered("createpolicy.range.L2::evict_first.b64 %rd3, [%rd1], %r1, %r2;"),
                {"FLO.U32", "0x1a000000", "0x18000000"}));
  CHECK(inOrder(lowered("red.global.add.L2::cache_hint.u32 [%rd1], %r1, %rd2;"), {"R2UR", "R2UR", "REDG.E.ADD"}));
  CHECK(inOrder(lowered("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;"),
                {"R2UR", "R2UR", "LDGSTS.E.BYPASS.128"}));
  CHECK(inOrder(lowered("discard.global.L2 [%rd1], 128;"), {"CCTL.E.RML2"}));
}
