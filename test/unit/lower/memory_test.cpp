#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

TEST_CASE("acquire and release are fences around strong accesses") {
  CHECK(inOrder(lowered("ld.acquire.gpu.global.u32 %r1, [%rd1];"), {"LDG.E.STRONG.GPU", "CCTL.IVALL"}));
  CHECK(inOrder(lowered("st.release.sys.global.u32 [%rd1], %r1;"), {"MEMBAR.ALL.SYS", "ERRBAR", "STG.E.STRONG.SYS"}));
  CHECK(inOrder(lowered("ld.volatile.global.u32 %r1, [%rd1];"), {"LDG.E.STRONG.SYS"}));
  CHECK(inOrder(lowered("ld.u32 %r1, [%rd1+64];"), {"LD.E %r", "desc[%", "+0x40]"}));
}

TEST_CASE("accesses of devices have no descriptor") {
  const std::string text =
      lowered("ld.mmio.relaxed.sys.u32 %r1, [%rd1+4096]; ld.mmio.relaxed.sys.global.u32 %r2, [%rd1]; "
              "st.mmio.relaxed.sys.u32 [%rd1], %r2;");
  CAPTURE(text);
  CHECK(inOrder(text, {"LD.E.MMIO.SYS %r", "+0x1000]", "LDG.E.MMIO.SYS %r", "ST.E.MMIO.SYS desc[_][%r"}));
  CHECK(text.find("desc[%") == std::string::npos);
}

TEST_CASE("volatile and relaxed accesses to shared memory are not marked as ones that may be done with others") {
  CHECK(inOrder(lowered("ld.shared.u32 %r1, [%r2]; st.weak.shared.u32 [%r2], %r1;"),
                {"LDS %r", "{contract}", "STS [%r", "{contract}"}));
  const std::string ordered = lowered("ld.volatile.shared.u32 %r1, [%r2]; ld.relaxed.cta.shared.u32 %r3, [%r2+4]; "
                                      "st.volatile.shared.u32 [%r2], %r1;");
  CHECK(inOrder(ordered, {"LDS %r", "LDS %r", "STS [%r"}));
  CHECK(ordered.find("{contract}") == std::string::npos);
}

TEST_CASE("cache operators are orders and priorities") {
  CHECK(inOrder(lowered("ld.global.cg.u32 %r1, [%rd1]; ld.global.cs.u32 %r1, [%rd1]; "
                        "ld.global.nc.L1::no_allocate.L2::128B.u32 %r1, [%rd1];"),
                {"LDG.E.STRONG.GPU", "LDG.E.EF", "LDG.E.NA.LTC128B.CONSTANT"}));
  CHECK(inOrder(lowered("st.global.wt.u32 [%rd1], %r1; st.global.cs.u32 [%rd1], %r1;"),
                {"STG.E.STRONG.SYS", "STG.E.EF"}));
}

TEST_CASE("a guarded load has a register of its own, so that its result has one value") {
  const std::string text = lowered("@%p1 ld.global.u32 %r1, [%rd1]; @%p1 ld.shared.u16 %h1, [%r3];");
  CAPTURE(text);
  CHECK(inOrder(text, {"COPY %r6, %r1;", "@%p0 LDG.E %r6", "COPY %r1, %r6;", "COPY", "@%p0 LDS.U16", "COPY"}));
}

TEST_CASE("a signed parameter is extended to a wide register") {
  CHECK(inOrder(lowered("ld.param.s32 %rd1, [n];"), {"LDC %", "SHF.R.S32.HI"}));
}

TEST_CASE("the shared window is that of SR_SWINHI") {
  CHECK(inOrder(lowered("cvta.shared.u64 %rd1, %rd2;"), {"S2R %", "SR_SWINHI"}));
}

TEST_CASE("special registers of clusters and grids") {
  const std::string text = lowered("mov.u32 %r1, %cluster_ctarank; mov.u64 %rd1, %gridid; mov.u32 %r2, %clusterid.y;");
  CAPTURE(text);
  CHECK(inOrder(text, {"SR_CgaCtaId", "LDC.64 %", "I2F", "FMUL", "F2I"}));
}

TEST_CASE("prefetches and address spaces") {
  CHECK(inOrder(lowered("prefetch.global.L2 [%rd1]; isspacep.shared %p1, %rd1;"), {"CCTL.E.PF2", "QSPC.E.S %p"}));
}
