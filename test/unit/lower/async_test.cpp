#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

TEST_CASE("copies that pass no register") {
  CHECK(inOrder(lowered("cp.async.cg.shared.global.L2::128B [%r1+16], [%rd1], 16; cp.async.commit_group;"
                        "cp.async.wait_group 1;"),
                {"LDGSTS.E.BYPASS.LTC128B.128", "LDGDEPBAR", "DEPBAR.LE 0, 1"}));
  // A partial copy: the address encodes the missing bytes.
  CHECK(inOrder(lowered("cp.async.ca.shared.global [%r1], [%rd1], 8, %r2; cp.async.wait_all;"),
                {"ISETP.NE", "LDGSTS.E.64.ZFILL", "LDGDEPBAR", "DEPBAR.LE 0, 0"}));
  CHECK(inOrder(lowered("cp.async.ca.shared.global [%r1], [%rd1], 4, 0;"), {"LDGSTS.E", "!PT"}));
}

TEST_CASE("barriers in shared memory") {
  // The word contains complements of the counts: 2^20 - 3, shifted by 1 and by 11.
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

TEST_CASE("what one thread at most initialises needs neither a branch nor a loop") {
  const auto isBranchFree = [](std::string_view before, std::string_view guard, std::string_view bounds = "") {
    const std::string statements = std::string(before) + std::string(guard) + " mbarrier.init.shared.b64 [%r1+8], 1;";
    const std::string text = lowered(statements, {}, "sm_90", bounds);
    CAPTURE(text);
    CHECK(inOrder(text, {"FENCE.VIEW.ASYNC.S", "SYNCS.EXCH.64"}));
    const bool isFree = text.find("BRA") == std::string::npos;
    if (isFree) CHECK(inOrder(text, {"VOTEU.ANY", "FENCE.VIEW.ASYNC.S", "@%up"}));
    return isFree;
  };
  CHECK(isBranchFree("elect.sync _|%p2, -1; and.pred %p3, %p2, %p4;", "@%p3"));
  const std::string first = "mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0;";
  CHECK(isBranchFree(first, "@%p2", ".reqntid 128"));
  CHECK(isBranchFree(first, "@%p2", ".reqntid 64, 2, 1"));
  CHECK(isBranchFree("mov.u32 %r2, %tid.x; setp.ne.u32 %p2, %r2, 5;", "@!%p2", ".reqntid 128"));
  // Threads of a warp may share %tid.x; a range of threads; all threads but one; another register; a changed register.
  CHECK_FALSE(isBranchFree(first, "@%p2"));
  CHECK_FALSE(isBranchFree(first, "@%p2", ".maxntid 128"));
  CHECK_FALSE(isBranchFree(first, "@%p2", ".reqntid 16, 8, 1"));
  CHECK_FALSE(isBranchFree(first, "@!%p2", ".reqntid 128"));
  CHECK_FALSE(isBranchFree("mov.u32 %r2, %tid.x; setp.lt.u32 %p2, %r2, 5;", "@%p2", ".reqntid 128"));
  CHECK_FALSE(isBranchFree("mov.u32 %r2, %tid.y; setp.eq.u32 %p2, %r2, 0;", "@%p2", ".reqntid 128"));
  CHECK_FALSE(
      isBranchFree("mov.u32 %r2, %tid.x; shr.u32 %r2, %r2, 5; setp.eq.u32 %p2, %r2, 0;", "@%p2", ".reqntid 128"));
}

TEST_CASE("the barrier that hears of copies has its address in a uniform register") {
  // Lanes may use different barriers: a loop over them.
  const std::string several = lowered("cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+8];");
  CHECK(inOrder(several, {"R2UR", "ARRIVES.LDGSTSBAR.64.ARVCNT [", "+8]", "BRA"}));
  const std::string one = lowered("cp.async.mbarrier.arrive.noinc.shared.b64 [sm];");
  CHECK(inOrder(one, {"ARRIVES.LDGSTSBAR.64.ARVCNT ["}));
  CHECK(one.find("R2UR") == std::string::npos);
}

TEST_CASE("before sm_90 barriers in shared memory are words that count up") {
  const auto on80 = [](std::string_view statements) { return lowered(statements, {}, "sm_80"); };
  // 2^30 and 2^31 minus the count.
  CHECK(inOrder(on80("mbarrier.init.shared.b64 [sm], 3;"), {"0x3ffffffd", "0x7ffffffd", "STS.64 ["}));
  CHECK(inOrder(on80("mbarrier.arrive.shared.b64 %rd1, [%r1+8];"), {"MEMBAR.ALL.CTA", "ATOMS.ARRIVE.64 %", "+8]"}));
  CHECK(inOrder(on80("mbarrier.arrive_drop.shared.b64 %rd1, [%r1];"), {"ATOMS.ADD RZ", "ATOMS.ARRIVE.64 %"}));
  CHECK(inOrder(on80("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 2;"), {"ATOMS.ADD %", "+4]"}));
  CHECK(inOrder(on80("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;"),
                {"LDS %", "+4]", "LOP3.LUT", "ISETP.NE", "MEMBAR.ALL.CTA"}));
  CHECK(inOrder(on80("cp.async.mbarrier.arrive.shared.b64 [%r1];"),
                {"ATOMS.ADD RZ", "+4]", "R2UR", "ARRIVES.LDGSTSBAR.64 ["}));
  CHECK(on80("cp.async.mbarrier.arrive.noinc.shared.b64 [sm];").find("ATOMS") == std::string::npos);
  // A count requires sm_90 features, or a guarantee.
  CHECK(on80("mbarrier.arrive.shared.b64 %rd1, [%r1], 2;").find("sm_90") != std::string::npos);
}

TEST_CASE("before sm_90 the window of shared memory may begin anywhere") {
  for (const char* chip : {"sm_75", "sm_80"}) {
    CHECK(inOrder(lowered("cvta.shared.u64 %rd1, %rd2;", {}, chip), {"LDC.64", "0x18", "IADD64"}));
    CHECK(inOrder(lowered("cvta.to.shared.u64 %rd1, %rd2;", {}, chip), {"LDC.64", "0x18", "IADD64", "-%"}));
    CHECK(inOrder(lowered("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd2];", {}, chip),
                  {"IADD3", "-c[0x0][0x18]", "LDSM"}));
  }
  CHECK(lowered("cvta.to.shared.u64 %rd1, %rd2;").find("LDC") == std::string::npos);
}

TEST_CASE("barriers of other CTAs of the cluster") {
  CHECK(inOrder(lowered("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];"),
                {"MEMBAR.ALL.GPU", "ERRBAR", "SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ"}));
  CHECK(lowered("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r1];").find("MEMBAR") == std::string::npos);
  CHECK(inOrder(lowered("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], %r2;"),
                {"SYNCS.PHASECHK.TRANS64.TRYWAIT", "CCTL.IVALL"}));
}

TEST_CASE("arrivals that do not end the phase count the lanes of the warp before them") {
  CHECK(inOrder(lowered("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], %r2;"),
                {"SYNCS.ARRIVE.TRANS64.TMASK.ART0 %", "S2R", "LOP3", "POPC", "SHF.L", "IMAD"}));
  CHECK(inOrder(lowered("mbarrier.arrive.noComplete.shared.b64 _, [%r1], %r2;"), {"SYNCS.ARRIVE.TRANS64.ART0 RZ"}));
}

TEST_CASE("values that must be uniform are taken lane by lane where they differ") {
  // A kernel parameter is a texture handle, a loaded value is not.
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];"),
                {"ULDC", "c[0x0][0x210]", "TEX<"}));
  const std::string loop = lowered("ld.global.u64 %rd1, [%rd2];"
                                   "tex.1d.v4.u32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5}];");
  CAPTURE(loop);
  CHECK(inOrder(loop, {"R2UR %", "@!%", "TLD<", "BRA"}));
}

TEST_CASE("surfaces count bytes, and the layer comes last") {
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; sust.b.2d.v4.b8.trap [%rd1, {%r1,%r2}], {%h1,%h2,%h3,%h4};"),
                {"PRMT", "PRMT", "PRMT", "SUST<3,1,4,5,2> ["}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; suld.b.3d.v2.b32.clamp {%r1,%r2}, [%rd1, {%r3,%r4,%r5,%r6}];"),
                {"SULD<5,1,5,5,1> %"}));
}

TEST_CASE("products of a warp group") {
  const std::string text =
      lowered("wgmma.fence.sync.aligned;"
              "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 1;"
              "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
              {}, "sm_90a");
  CAPTURE(text);
  CHECK(inOrder(text, {"WARPGROUP.ARRIVE;", "R2UR", "HGMMA<0,1,0,0,0,0,1> %r7:4", "], %r8:4",
                       "HGMMA<0,0,0,0,0,0,0> RZ:2", "!UPT, 0;", "WARPGROUP.DEPBAR.LE 0, 0;"}));
  CHECK(inOrder(lowered("wgmma.wait_group.sync.aligned 3;", {}, "sm_90a"), {"WARPGROUP.DEPBAR.LE 0, 3;"}));
}

TEST_CASE("copies of boxes of tensors") {
  // The box: the destination, the barrier, the coordinates; one lane after the other.
  const std::string load = lowered(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2,%r3}], [%r4];",
      {}, "sm_90a");
  CAPTURE(load);
  CHECK(inOrder(load, {"ELECT", "R2UR", "R2UR", "R2UR", "R2UR", "UTMALDG<1> [%", "BRA"}));
  // Image offsets and the mask of receiving CTAs share a word.
  CHECK(inOrder(
      lowered("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
              "[%r1], [%rd1, {%r2,%r3,%r4,%r5}], [%r6], {%h1,%h2}, %h3;",
              {}, "sm_90a"),
      {"0x40", "0x5410", "UTMALDG.4D.IM2COL.MULTICAST [%"}));
  CHECK(inOrder(lowered("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd1, {%r1,%r2,%r3}], [%r4];"
                        "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;",
                        {}, "sm_90a"),
                {"UTMASTG.3D [%", "UTMACMDFLUSH", "DEPBAR.LE 0, 1"}));
  CHECK(inOrder(lowered("cp.async.bulk.wait_group 0;", {}, "sm_90a"), {"DEPBAR.LE 0, 0", "CCTL.IVALL"}));
  CHECK(inOrder(
      lowered("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group [%rd1, {%r1}], [%r2];", {}, "sm_90a"),
      {"UTMAREDG.1D.MIN [%"}));
  CHECK(inOrder(lowered("prefetch.tensormap [%rd1];", {}, "sm_90a"), {"R2UR", "UTMACCTL.PF [%"}));
}

TEST_CASE("fences of tensor maps order nothing but the map") {
  const std::string copy =
      lowered("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
              "[%rd1], [%r1], 128;",
              {}, "sm_90a");
  CHECK(inOrder(copy, {"LDS", "ATOMG.E.EXCH.STRONG.GPU"}));
  CHECK(copy.find("MEMBAR") == std::string::npos);
  const std::string acquire = lowered("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", {}, "sm_90a");
  CHECK(inOrder(acquire, {"MEMBAR.ALL.GPU", "UTMACCTL.IV [%"}));
  CHECK(acquire.find("CCTL.IVALL") == std::string::npos);
  CHECK(inOrder(lowered("fence.proxy.tensormap::generic.release.gpu;", {}, "sm_90a"), {"MEMBAR.ALL.GPU", "ERRBAR"}));
}

TEST_CASE("bulk copies between all spaces") {
  CHECK(inOrder(
      lowered("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [%r1], %r2, %rd2;", {}, "sm_90a"),
      {"ELECT", "UBLKCP.G.S [%", "desc[%"}));
  CHECK(inOrder(
      lowered("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%rd1], [%r1], 64;", {}, "sm_90a"),
      {"UBLKRED.G.S.ADD.BF16.RN [%"}));
  CHECK(
      inOrder(lowered("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 64, [%r3];",
                      {}, "sm_90a"),
              {"UBLKCP.S.S [%"}));
}

TEST_CASE("the map of a tensor is written field by field") {
  // Box sizes start from 1, the fields from 0; the byte of the second one is at the start of a word.
  CHECK(inOrder(lowered("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, %r2;", {}, "sm_90a"),
                {"IADD3", "LDS", "0x38", "LOP3", "0xff", "STS", "0x38"}));
  CHECK(inOrder(lowered("tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 11;", {}, "sm_90a"),
                {"LDG", "0x10000", "0x380", "STG"}));
  CHECK(inOrder(lowered("tensormap.replace.tile.global_stride.b1024.b64 [%rd1], 1, %rd2;", {}, "sm_90a"),
                {"SHF", "SHF", "LD", "0x1c", "ST", "0x10", "0xf0", "ST", "0x1c"}));
}

TEST_CASE("stores of which a barrier of another CTA hears") {
  CHECK(inOrder(
      lowered("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], {%r2,%r3}, [%r4];", {}, "sm_90a"),
      {"STAS.64 [%"}));
  CHECK(inOrder(
      lowered("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.min.s32 [%rd1], %r3, [%r4];", {}, "sm_90a"),
      {"REDAS.MIN.S32 [%"}));
}

TEST_CASE("addresses that stand for several GPUs") {
  CHECK(inOrder(lowered("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v2.f16x2 {%r1,%r2}, [%rd1];", {}, "sm_90a"),
                {"LDGMC.E.F32ADD.F16x4.RN.STRONG.SYS %"}));
  CHECK(inOrder(lowered("multimem.red.add.u32 [%rd1], %r1;", {}, "sm_90a"), {"REDG.E.ADD.STRONG.SYS"}));
  CHECK(inOrder(lowered("multimem.st.release.gpu.b32 [%rd1], %r1;", {}, "sm_90a"),
                {"MEMBAR.ALL.GPU", "ST.E.STRONG.GPU"}));
}

TEST_CASE("st.async and red.async of global memory are done at once") {
  CHECK(inOrder(lowered("st.async.release.gpu.global.b32 [%rd1], %r1;", {}, "sm_100a"), {"MEMBAR.ALL.GPU", "STG.E"}));
  CHECK(inOrder(lowered("st.async.release.sys.b32 [%rd1], %r1;", {}, "sm_120a"), {"MEMBAR.ALL.SYS", "STG.E"}));
  CHECK(inOrder(lowered("red.async.release.gpu.add.u32 [%rd1], %r1;", {}, "sm_100a"),
                {"MEMBAR.ALL.GPU", "REDG.E.ADD.STRONG.GPU"}));
}
