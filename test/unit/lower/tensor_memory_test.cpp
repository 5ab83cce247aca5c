#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

namespace {

std::string on100(std::string_view statements) {
  return lowered(statements, {}, "sm_100a");
}

} // namespace

TEST_CASE("tensor memory: loads and stores have a uniform address and an offset") {
  CHECK(
      inOrder(on100("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3+8];"), {"R2UR", "LDTM.x2 %", "[%", "+8]"}));
  CHECK(inOrder(on100("tcgen05.st.sync.aligned.16x128b.x1.unpack::16b.b32 [%r3], {%r1, %r2};"),
                {"STTM.16dp128bit.EXPAND16BIT [%"}));
  CHECK(inOrder(on100("tcgen05.wait::st.sync.aligned;"), {"FENCE_VIEW_ASYNC<2>"}));
}

TEST_CASE("tensor memory: each half of the threads has its own load of 16x32bx2") {
  const std::string text = on100("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r3], 32;");
  CAPTURE(text);
  CHECK(inOrder(text, {"LDTM.16dp32bit_t0_t15 %", "LDTM.16dp32bit_t16_t31 %", "+0x20], %r"})); // the first one's result
  CHECK(text.find("SEL") == std::string::npos);
}

TEST_CASE("tensor memory: a load with a reduction") {
  const auto on103 = [](std::string_view statements) { return lowered(statements, {}, "sm_103a"); };
  CHECK(inOrder(on103("tcgen05.ld.red.sync.aligned.32x32b.x2.min.s32 {%r1, %r2}, %r4, [%r3+8];"),
                {"R2UR", "LDTM.STAT.x2.MIN.S32 %", "[%", "+8]"}));
  CHECK(inOrder(on103("tcgen05.ld.red.sync.aligned.32x32b.x2.u32.max {%r1, %r2}, {%r4}, [%r3];"),
                {"LDTM.STAT.x2.MAX %"}));
  // Each half of the threads has its own instruction.
  CHECK(inOrder(on103("tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.abs.NaN.f32 {%r1, %r2}, %f4, [%r3], 16;"),
                {"LDTM.STAT.16dp32bit_t0_t15.x2.MAXABS.F32.NAN %", "LDTM.STAT.16dp32bit_t16_t31.x2.MAXABS.F32.NAN %",
                 "+0x10], %r", "SEL"}));
}

TEST_CASE("tensor memory: one thread after the other asks for a product") {
  const std::string product = on100("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;");
  CHECK(inOrder(product, {"SEL", "ELECT", "R2UR", "UISETP.NE", "UTCHMMA gdesc[", "BRA"}));
  CHECK(inOrder(on100("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, 0;"), {"UTCHMMA", "!UPT"}));
  CHECK(inOrder(on100("tcgen05.mma.cta_group::1.kind::i8 [%r1], [%r4+4], %rd2, 5, 1;"),
                {"IADD3", "UTCIMMA_T", "gdesc[", " UPT;"}));
  CHECK(
      inOrder(on100("tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16 [%r1], %rd1, %rd2, %r2, [%r5], [%r6], "
                    "%p1;"),
              {"UTCOMMA.2CTA.4X gdesc["}));
  CHECK(inOrder(on100("tcgen05.mma.ws.cta_group::1.kind::f16.collector::b2::use [%r1], %rd1, %rd2, %r2, %p1;"),
                {"UTCHMMA.WS", "B_REUSE.B_KEEP"}));
  // For a pair of blocks there are eight words of lanes.
  CHECK(inOrder(on100("tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
                      "%p1;"),
                {"UTCHMMA.2CTA gdesc[", ":8"}));
}

TEST_CASE("tensor memory: a barrier hears of the end") {
  CHECK(inOrder(on100("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [sm+8];"),
                {"IADD3", "R2UR", "UTCBAR [%", "], URZ"}));
  CHECK(inOrder(on100("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], "
                      "%h1;"),
                {"UTCBAR_MULTICAST<1,1> [%"}));
}

TEST_CASE("tensor memory: what a block has is noted below its shared memory") {
  CHECK(inOrder(on100("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [sm], 64;"),
                {"LDS.U8", "-0x3a4", "BPT.TRAP", "ELECT", "DEPBAR.LE 0, 0x36", "UTCATOMSWS.FIND_AND_SET.ALIGN",
                 "NANOSLEEP", "ATOMS.OR", "-0x3ac", "ATOMS.OR", "-0x3a8", "STS", "WARPSYNC.ALL"}));
  CHECK(inOrder(on100("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r2;"),
                {"LDS", "BPT.TRAP", "LDS", "BPT.TRAP", "UTCATOMSWS<0,0> URZ", "ATOMS.AND", "ATOMS.AND"}));
  CHECK(inOrder(on100("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"),
                {"ELECT", "UVIRTCOUNT.DEALLOC.SMPOOL 0x80", "STS.U8"}));
}

TEST_CASE("tensor memory: the even block of a pair asks for both and tells the other") {
  CHECK(inOrder(on100("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [sm], 64;"),
                {"LDS.U8",   "BPT.TRAP",  "ELECT",    "PRMT",      "UTCATOMSWS.2CTA.FIND_AND_SET.ALIGN",
                 "PHASECHK", "ARRIVE",    "STS",      "STAS",      "ATOMS.OR",
                 "ATOMS.OR", "ATOMS.XOR", "PHASECHK", "LDS",       "STS",
                 "ATOMS.OR", "ATOMS.OR",  "ARRIVE",   "ATOMS.XOR", "WARPSYNC.ALL"}));
  CHECK(inOrder(on100("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, %r2;"), {"UTCATOMSWS<0,0> URZ"}));
}

TEST_CASE("what an elected thread asks for of the tensor unit needs no loop over threads") {
  const std::string product = " tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;";
  const auto hasLoop = [&](const std::string& statements, const std::string& guard) {
    const std::string text = on100(statements + guard + product);
    CAPTURE(text);
    CHECK(inOrder(text, {"UTCHMMA"}));
    const bool isVoted = text.find("VOTEU.ANY") != std::string::npos;
    CHECK(isVoted == (text.find("BRA") == std::string::npos));
    return !isVoted;
  };
  CHECK_FALSE(hasLoop("elect.sync _|%p2, -1;", "@%p2"));
  CHECK_FALSE(hasLoop("elect.sync %r3|%p2, 0xffffffff; and.pred %p3, %p4, %p2;", "@%p3"));
  CHECK_FALSE(hasLoop("mov.b32 %r4, -1; elect.sync _|%p2, %r4; not.pred %p3, %p2;", "@!%p3"));
  CHECK_FALSE(hasLoop("elect.sync _|%p2, -1; mov.u32 %r3, 0; @%p2 mov.u32 %r3, 1; setp.ne.s32 %p3, %r3, 0;", "@%p3"));
  CHECK_FALSE(hasLoop("elect.sync _|%p2, -1; selp.b32 %r3, 7, 5, %p2; setp.eq.s32 %p3, %r3, 5;", "@!%p3"));
  CHECK(inOrder(
      on100("elect.sync _|%p2, -1; @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r5];"),
      {"ELECT", "VOTEU.ANY", "R2UR", "UTCBAR"}));
  // All threads except one, a part of the warp, another predicate, a conditional one, and one of two elections.
  CHECK(hasLoop("elect.sync _|%p2, -1;", "@!%p2"));
  CHECK(hasLoop("elect.sync _|%p2, 0xffff;", "@%p2"));
  CHECK(hasLoop("elect.sync _|%p2, -1;", "@%p3"));
  CHECK(hasLoop("elect.sync _|%p2, -1; setp.eq.u32 %p2, %r1, %r2;", "@%p2"));
  CHECK(hasLoop("elect.sync _|%p2, -1; L: and.pred %p3, %p4, %p2; M:", "@%p3")); // some may have passed L before
  CHECK(hasLoop("elect.sync _|%p2, -1; @%p5 and.pred %p3, %p4, %p2;", "@%p3"));
  CHECK(hasLoop("mov.b32 %r4, 0xffff; elect.sync _|%p2, %r4;", "@%p2"));
  CHECK(hasLoop("elect.sync _|%p2, -1; or.pred %p3, %p4, %p2;", "@%p3"));
  CHECK(hasLoop("elect.sync _|%p2, -1; mov.u32 %r3, 0; @%p4 mov.u32 %r3, 1; setp.ne.s32 %p3, %r3, 0;", "@%p3"));
  CHECK(hasLoop("elect.sync _|%p2, -1; mov.u32 %r3, 0; @%p2 mov.u32 %r3, 1; setp.ne.s32 %p3, %r3, 2;", "@%p3"));
  CHECK(hasLoop("elect.sync _|%p2, -1; mov.u32 %r3, 0; @%p2 mov.u32 %r3, 1; mov.u32 %r3, %r5; setp.ne.s32 %p3, %r3, 0;",
                "@%p3"));
}

TEST_CASE("code that only an elected thread reaches needs no loop over threads") {
  const std::string product = "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;";
  const auto loops = [&](const std::string& before, const std::string& behind) {
    const std::string text = on100(before + product + behind);
    CAPTURE(text);
    CHECK(inOrder(text, {"UTCHMMA"}));
    return inOrder(text, {"ELECT", "ELECT", "UTCHMMA"});
  };
  const std::string elect = "elect.sync _|%p2, -1; ";
  CHECK_FALSE(loops(elect + "@!%p2 bra L; ", "L: ret;"));
  CHECK_FALSE(loops(elect + "not.pred %p3, %p2; @%p3 bra L; ", "L: ret;"));
  CHECK_FALSE(loops(elect + "@%p2 bra L; bra.uni M; L: ", "M: ret;"));
  CHECK_FALSE(loops(elect + "mov.u32 %r3, 0; @%p2 mov.u32 %r3, 1; setp.eq.s32 %p3, %r3, 0; @%p3 bra L; ", "L: ret;"));
  CHECK_FALSE(loops(elect + "@!%p2 bra L; M: ", "setp.eq.u32 %p4, %r4, 0; @%p4 bra M; L: ret;"));
  // The other threads, and the point where they reconverge.
  CHECK(loops(elect + "@%p2 bra L; ", "L: ret;"));
  CHECK(loops(elect + "@!%p2 bra L; L: ", "ret;"));
  CHECK(loops(elect + "@!%p2 bra L; M: ", "bra.uni N; L: setp.eq.u32 %p4, %r4, 0; @%p4 bra M; N: ret;"));
  CHECK(loops(elect + "L: @!%p2 bra M; ", elect + "setp.eq.u32 %p4, %r4, 0; @%p4 bra L; M: ret;"));
}
