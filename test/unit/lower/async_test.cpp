#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

TEST_CASE("copies that pass no register") {
  CHECK(inOrder(lowered("cp.async.cg.shared.global.L2::128B [%r1+16], [%rd1], 16; cp.async.commit_group;"
                        "cp.async.wait_group 1;"),
                {"LDGSTS.E.BYPASS.LTC128B.128", "LDGDEPBAR", "DEPBAR.LE 0, 1"}));
  // A part: the address says what is missing.
  CHECK(inOrder(lowered("cp.async.ca.shared.global [%r1], [%rd1], 8, %r2; cp.async.wait_all;"),
                {"ISETP.NE", "LDGSTS.E.64.ZFILL", "LDGDEPBAR", "DEPBAR.LE 0, 0"}));
  CHECK(inOrder(lowered("cp.async.ca.shared.global [%r1], [%rd1], 4, 0;"), {"LDGSTS.E", "!PT"}));
}

TEST_CASE("barriers in shared memory") {
  // The word counts by complements: 2^20 - 3, shifted by 1 and by 11.
  CHECK(inOrder(lowered("mbarrier.init.shared.b64 [sm], 3;"),
                {"UMOV", "0x1ffffa", "UMOV", "0x7fffe800", "SYNCS.EXCH.64 URZ"}));
  CHECK(inOrder(lowered("mbarrier.arrive.shared.b64 %rd1, [%r1+8];"), {"SYNCS.ARRIVE.TRANS64.A1T0 %", "+8], RZ"}));
  CHECK(inOrder(lowered("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;"), {"SYNCS.ARRIVE.TRANS64 RZ"}));
  CHECK(inOrder(lowered("mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;"),
                {"0x1f", "SYNCS.PHASECHK.TRANS64.TRYWAIT %"}));
  CHECK(inOrder(lowered("cp.async.mbarrier.arrive.shared.b64 [%r1];"),
                {"SYNCS.ARRIVE.TRANS64.RED.A0T1 RZ", "ARRIVES.LDGSTSBAR.64.TRANSCNT ["}));
  CHECK(inOrder(lowered("fence.proxy.async.shared::cta;"), {"MEMBAR.ALL.CTA", "FENCE.VIEW.ASYNC.S"}));
}

TEST_CASE("barriers of other CTAs of the cluster") {
  CHECK(inOrder(lowered("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];"),
                {"MEMBAR.ALL.GPU", "ERRBAR", "SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ"}));
  CHECK(lowered("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r1];").find("MEMBAR") == std::string::npos);
  CHECK(inOrder(lowered("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], %r2;"),
                {"SYNCS.PHASECHK.TRANS64.TRYWAIT", "CCTL.IVALL"}));
  CHECK(inOrder(lowered("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], %r2;"), {"not supported yet"}));
}

TEST_CASE("values that must be uniform are taken lane by lane where they differ") {
  // The handle of a texture: a parameter of the kernel is one, what was loaded is not.
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];"),
                {"ULDC", "c[0x0][0x210]", "TEX<"}));
  const std::string loop = lowered("ld.global.u64 %rd1, [%rd2];"
                                   "tex.1d.v4.u32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5}];");
  CAPTURE(loop);
  CHECK(inOrder(loop, {"R2UR %", "@!%", "TLD<", "BRA"}));
}

TEST_CASE("surfaces count bytes, and the layer comes last") {
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; sust.b.2d.v4.b8.trap [%rd1, {%r1,%r2}], {%h1,%h2,%h3,%h4};"),
                {"PRMT", "PRMT", "PRMT", "SUST.D.BA.2D.STRONG.SM.TRAP ["}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; suld.b.3d.v2.b32.clamp {%r1,%r2}, [%rd1, {%r3,%r4,%r5,%r6}];"),
                {"SULD.D.BA.3D.64.STRONG.SM %"}));
}

TEST_CASE("products of a warp group") {
  const std::string text =
      lowered("wgmma.fence.sync.aligned;"
              "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 1;"
              "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
              {}, "sm_90a");
  CAPTURE(text);
  CHECK(inOrder(text, {"R2UR", "HGMMA<0,1,0,0,1,0,0> %", "RZ:4, !UPT, 0", "FADD", "FADD", "FADD", "FADD"}));
}
