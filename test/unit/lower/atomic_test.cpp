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

TEST_CASE("operations without an instruction or loop are refused") {
  CHECK(inOrder(lowered("atom.global.cas.b16 %h1, [%rd1], %h2, %h3;"), {"not supported yet: atom.global.cas.b16"}));
}
