#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

TEST_CASE("barriers take numbers and counts as immediates or registers") {
  const std::string text =
      lowered("bar.sync 0; bar.sync 1, 64; bar.sync %r1; bar.sync 2, %r2; bar.sync %r1, %r2; bar.arrive 5, 64;");
  CAPTURE(text);
  CHECK(inOrder(text, {"WARPSYNC.ALL", "BAR_SYNC<1> 0;", "BAR_SYNC<1> 1, 0x40;", "BAR_SYNC<1> %r0;",
                       "BAR_SYNC<1> 2, %r1;", "SHF.L.U32", "LOP3.LUT", "BAR_SYNC_R<1> %", "BAR_ARV<> 5, 0x40;"}));
  // The warp is converged after the first one.
  CHECK(text.find("WARPSYNC.ALL") == text.rfind("WARPSYNC.ALL"));
}

TEST_CASE("a barrier that reduces gives its result through B2R") {
  const std::string text = lowered("bar.red.popc.u32 %r4, 7, %p1; bar.red.and.pred %p2, 8, 64, !%p1;");
  CAPTURE(text);
  CHECK(inOrder(text, {"BAR_RED<0,1> 7, %p1;", "B2R.RESULT %r", "BAR_RED<1,1> 8, 0x40, !%p1;", "B2R.RESULT RZ, %p2;"}));
}

TEST_CASE("a cluster's barrier is one of the CTA where the launch made no clusters") {
  const std::string both = lowered("barrier.cluster.arrive.aligned; barrier.cluster.wait.acquire.aligned;");
  CAPTURE(both);
  CHECK(inOrder(both, {"c[0x0][0x140]", "ISETP.EQ.U32", "BRA", "MEMBAR.ALL.GPU", "ERRBAR", "CGAERRBAR", "UCGABAR_ARV",
                       "c[0x0][0x140]", "BRA", "UCGABAR_WAIT", "CCTL.IVALL", "BAR_SYNC<1>"}));
  const std::string relaxed = lowered("barrier.cluster.arrive.relaxed;");
  CHECK(inOrder(relaxed, {"UCGABAR_ARV"}));
  CHECK(relaxed.find("MEMBAR") == std::string::npos);
  CHECK(inOrder(lowered("@%p1 barrier.cluster.arrive;"), {"BRA", "c[0x0][0x140]", "UCGABAR_ARV"}));
}

TEST_CASE("nothing runs after a trap, except after a breakpoint and a guarded trap") {
  const auto isEnd = [](std::string_view statement) {
    const std::string text = lowered(std::string(statement) + " st.shared.u32 [sm], %r1;");
    CAPTURE(text);
    CHECK(inOrder(text, {"BPT.TRAP 1;", "STS"}));
    return text.find("EXIT;") < text.find("STS");
  };
  CHECK(isEnd("trap;"));
  CHECK(!isEnd("brkpt;"));
  CHECK(!isEnd("@%p1 trap;"));
}

TEST_CASE("fences go as far as their scope") {
  CHECK(inOrder(lowered("membar.gl;"), {"MEMBAR.SC.GPU", "ERRBAR", "CGAERRBAR", "CCTL.IVALL"}));
  CHECK(inOrder(lowered("fence.acq_rel.sys;"), {"MEMBAR.ALL.SYS", "ERRBAR", "CGAERRBAR", "CCTL.IVALL"}));
  const std::string cta = lowered("fence.acq_rel.cta;");
  CHECK(inOrder(cta, {"MEMBAR.ALL.CTA"}));
  CHECK(cta.find("ERRBAR") == std::string::npos);
  CHECK(inOrder(lowered("fence.proxy.alias;"), {"MEMBAR.SC.SYS", "CCTL.IVALL"}));
  CHECK(inOrder(lowered("membar.proxy.alias;"), {"MEMBAR.SC.SYS", "CCTL.IVALL"}));
}

TEST_CASE("a branch passes guarded fences beyond the CTA") {
  for (const char* text : {"@%p1 fence.acq_rel.gpu;", "@%p1 membar.sys;"}) {
    const std::string fence = lowered(text);
    CAPTURE(fence);
    CHECK(inOrder(fence, {"@!%p0 BRA", "\n  MEMBAR"}));
  }
  const std::string atom = lowered("@!%p1 atom.global.gpu.acq_rel.add.u32 %r4, [%rd1], %r5;");
  CAPTURE(atom);
  CHECK(inOrder(atom, {"@%p0 BRA", "\n  MEMBAR.ALL.GPU", "\n  ATOMG", "\n  CCTL.IVALL"}));
  CHECK(inOrder(lowered("@%p1 st.release.gpu.global.u32 [%rd1], %r5;"), {"@!%p0 BRA", "\n  MEMBAR.ALL.GPU", "STG"}));
  CHECK(inOrder(lowered("@%p1 fence.acq_rel.cta;"), {"@%p0 MEMBAR.ALL.CTA"}));
  CHECK(inOrder(lowered("@%p1 atom.global.relaxed.gpu.add.u32 %r4, [%rd1], %r5;"), {"@%p0 ATOMG"}));
}

TEST_CASE("shuffles synchronise their lanes first") {
  const std::string text =
      lowered("shfl.sync.down.b32 %r4|%p3, %r3, 1, 31, -1; shfl.sync.idx.b32 %r5, %r3, %r4, 0, %r6;");
  CAPTURE(text);
  CHECK(inOrder(text, {"WARPSYNC.ALL", "SHFL.DOWN %", ", 1, 0x1f", "WARPSYNC %", "SHFL.IDX PT"}));
}

TEST_CASE("a barrier of the warp after a shuffle still orders memory") {
  const std::string text = lowered("shfl.sync.down.b32 %r4, %r3, 1, 31, -1; st.shared.b32 [%r3], %r4; "
                                   "bar.warp.sync -1; ld.shared.b32 %r5, [%r3+4];");
  CAPTURE(text);
  CHECK(inOrder(text, {"WARPSYNC.ALL", "SHFL.DOWN", "STS", "WARPSYNC.ALL", "LDS"}));
}

TEST_CASE("votes of a mask in a register look at no other lanes") {
  const std::string text =
      lowered("vote.sync.ballot.b32 %r5, %p1, %r3; vote.sync.uni.pred %p2, !%p1, -1; redux.sync.min.s32 %r6, %r5, -1;");
  CAPTURE(text);
  CHECK(inOrder(text,
                {"WARPSYNC.EXCLUSIVE %", "VOTE.ANY %", ", PT, %", "WARPSYNC.ALL", "VOTE.EQ %", "REDUX.MIN.S32 %ur"}));
}

TEST_CASE("guarded warp operations are branched around") {
  const std::string text = lowered("@%p1 shfl.sync.down.b32 %r4, %r3, 1, 31, -1;");
  CAPTURE(text);
  CHECK(inOrder(text, {"@!%", "BRA", "\n  WARPSYNC.ALL", "\n  SHFL.DOWN"}));
}

TEST_CASE("a block of many matrix products brings its warp together once, and again after what splits it") {
  const std::string product =
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
      "{%r5, %r6}, {%f1, %f2, %f3, %f4};\n";
  const auto count = [](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = text.find("WARPSYNC.ALL"); at != std::string::npos; at = text.find("WARPSYNC.ALL", at + 1))
      ++found;
    return found;
  };
  CHECK(count(lowered(product + product + product)) == 1);
  CHECK(count(lowered(product + product + "bar.warp.sync %r9;\n" + product + product)) == 2);
  CHECK(count(lowered(product + "bra L;\nL:\n" + product + product)) == 2);
}
