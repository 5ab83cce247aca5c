#include "run.h"

namespace orias::interp {

TEST_CASE("divergent branches and loops") {
  const Ran ran = runBody("mov.u32 %r0, 0; mov.u32 %r1, %r15;\n"
                          "loop: setp.eq.u32 %p0, %r1, 0; @%p0 bra done;\n"
                          "add.u32 %r0, %r0, %r1; sub.u32 %r1, %r1, 1; bra loop;\ndone:",
                          40);
  CHECK(ran.result.completed);
  CHECK(ran.out[39] == 39 * 40 / 2);
}

TEST_CASE("shared memory and a barrier reverse a block") {
  const Ran ran = runBody("mov.u64 %rd1, s; mad.wide.u32 %rd2, %r15, 4, %rd1; st.shared.u32 [%rd2], %r15;\n"
                          "bar.sync 0; sub.u32 %r1, 99, %r15; mad.wide.u32 %rd2, %r1, 4, %rd1;\n"
                          "ld.shared.u32 %r0, [%rd2];",
                          100);
  CHECK(ran.out[0] == 99);
  CHECK(ran.out[99] == 0);
}

TEST_CASE("lanes exchange values") {
  const Ran ran = runBody("shfl.sync.bfly.b32 %r0, %r15, 1, 31, -1;", 32);
  CHECK(ran.out[6] == 7);
  const Ran vote = runBody("setp.lt.u32 %p0, %r15, 3; vote.sync.ballot.b32 %r0, %p0, -1;", 32);
  CHECK(vote.out[20] == 7);
}

TEST_CASE("calls and recursion") {
  const Ran ran =
      runModule(".func (.param .b32 r) fact(.param .b32 n) { .reg .b32 %r<4>; .reg .pred %p;\n"
                "ld.param.b32 %r1, [n]; mov.u32 %r2, 1; setp.eq.u32 %p, %r1, 0; @%p bra end;\n"
                "{ .param .b32 a; .param .b32 b; sub.u32 %r3, %r1, 1; st.param.b32 [a], %r3; call (b), fact, (a); "
                "ld.param.b32 %r2, [b]; } mul.lo.u32 %r2, %r2, %r1;\nend: st.param.b32 [r], %r2; ret; }\n"
                ".entry k(.param .u64 out) { .reg .b64 %rd; .reg .b32 %r; .param .b32 a; .param .b32 b;\n"
                "ld.param.u64 %rd, [out]; st.param.b32 [a], 6; call (b), fact, (a); ld.param.b32 %r, [b];\n"
                "st.global.u32 [%rd], %r; ret; }\n");
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 720);
}

TEST_CASE("what goes wrong stops the run and is told with its place") {
  CHECK(runBody("trap;").kind() == "trap");
  const Ran outside = runBody("mov.u64 %rd1, 64; ld.global.u32 %r0, [%rd1];");
  CHECK(outside.kind() == "memcheck");
  CHECK(outside.result.reports[0].where.find("ld.global.u32 %r0, [%rd1]") != std::string::npos);
  launch::RunOptions options;
  options.instructionBudget = 1000;
  CHECK(runBody("forever: bra forever;", 1, options).kind() == "budget");
  const Ran stuck = runBody("setp.eq.u32 %p0, %r15, 0; @%p0 bar.warp.sync 3; @!%p0 bar.sync 1;", 2);
  CHECK(stuck.kind() == "deadlock");
}

} // namespace orias::interp
