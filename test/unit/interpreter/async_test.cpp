#include "run.h"

namespace orias::interp {

TEST_CASE("cp.async is visible when it has been waited for, not before") {
  // The thread's word of `out` is 7; it is copied to shared memory.
  const std::string start =
      "mov.u32 %r1, 7; st.global.u32 [%rd7], %r1; mov.u64 %rd1, s; mad.wide.u32 %rd2, %r15, 4, %rd1;\n"
      "mov.u32 %r2, 0; st.shared.u32 [%rd2], %r2; st.shared.u32 [%rd2+512], %r2;\n";
  const std::string copy = "cp.async.ca.shared.global [%rd2], [%rd7], 4;\n";
  const std::string read = "ld.shared.u32 %r0, [%rd2];";
  CHECK(runBody(start + copy + read, 4).out[3] == 0);
  CHECK(runBody(start + copy + "cp.async.commit_group; cp.async.wait_group 1;" + read, 4).out[3] == 0);
  CHECK(runBody(start + copy + "cp.async.commit_group; cp.async.wait_group 0;" + read, 4).out[3] == 7);
  CHECK(runBody(start + copy + "cp.async.wait_all;" + read, 4).out[3] == 7);
  // The older of two groups is complete.
  const std::string two = start + copy +
                          "cp.async.commit_group; cp.async.ca.shared.global [%rd2+512], [%rd7], 4; "
                          "cp.async.commit_group; cp.async.wait_group 1;\n";
  CHECK(runBody(two + read, 4).out[3] == 7);
  CHECK(runBody(two + "ld.shared.u32 %r0, [%rd2+512];", 4).out[3] == 0);
  // Missing bytes are filled with zeros.
  CHECK(runBody(start +
                    "mov.u32 %r3, 0x1010101; st.global.u32 [%rd7], %r3; mov.u32 %r3, 2;\n"
                    "cp.async.ca.shared.global [%rd2], [%rd7], 4, %r3; cp.async.wait_all;" +
                    read,
                1)
            .out[0] == 0x101);
  CHECK(runBody(start +
                    "st.shared.u32 [%rd2], %r1; setp.eq.u32 %p0, %r1, 7;\n"
                    "cp.async.ca.shared.global [%rd2], [%rd7], 4, %p0; cp.async.wait_all;" +
                    read,
                1)
            .out[0] == 0);
}

TEST_CASE("mbarrier: phases, states and parities") {
  const std::string start = "mov.u64 %rd1, s; setp.ne.u32 %p0, %r15, 0; mov.u32 %r0, 0;\n"
                            "@!%p0 mbarrier.init.shared.b64 [%rd1], 64; bar.sync 0;\n";
  // Every thread arrives and waits; thread 63 stores first.
  const std::string wait = "mbarrier.arrive.shared.b64 %rd2, [%rd1];\n"
                           "w: mbarrier.test_wait.shared.b64 %p1, [%rd1], %rd2; @!%p1 bra w;\n";
  const Ran all = runBody(start + "setp.eq.u32 %p2, %r15, 63; mov.u32 %r1, 5; @%p2 st.shared.u32 [%rd1+8], %r1;\n" +
                              wait + "ld.shared.u32 %r0, [%rd1+8];",
                          64);
  REQUIRE(all.result.completed);
  CHECK(all.out[0] == 5);
  const Ran parity = runBody(start + "mbarrier.arrive.shared.b64 _, [%rd1];\n"
                                     "v: mbarrier.try_wait.parity.shared.b64 %p1, [%rd1], 0; @!%p1 bra v;\n"
                                     "mbarrier.test_wait.parity.shared.b64 %p1, [%rd1], 1; selp.u32 %r0, 2, 1, %p1;",
                             64);
  REQUIRE(parity.result.completed);
  CHECK(parity.out[0] == 1);
  // The state contains the pending count; a dropped arrival is not expected again.
  const Ran one = runBody(
      "mov.u64 %rd1, s; mbarrier.init.shared.b64 [%rd1], 3; mbarrier.arrive.noComplete.shared.b64 %rd2, [%rd1], 1;\n"
      "mbarrier.arrive_drop.shared.b64 %rd2, [%rd1]; mbarrier.pending_count.b64 %r1, %rd2;\n"
      "mbarrier.arrive.shared.b64 %rd2, [%rd1]; mbarrier.arrive.shared.b64 %rd3, [%rd1];\n"
      "mbarrier.pending_count.b64 %r0, %rd3; mad.lo.u32 %r0, %r1, 10, %r0;");
  REQUIRE(one.result.completed);
  CHECK(one.out[0] == 22);
  CHECK(runBody("mov.u64 %rd1, s; mbarrier.init.shared.b64 [%rd1], 1; mbarrier.arrive.shared.b64 %rd2, [%rd1], 2;")
            .kind() == "mbarrier");
}

TEST_CASE("copies end a phase: cp.async.mbarrier.arrive and bulk copies") {
  const Ran ran =
      runBody("mov.u64 %rd1, s; mov.u32 %r1, 9; st.global.u32 [%rd7], %r1; mbarrier.init.shared.b64 [%rd1], 1;\n"
              "cp.async.ca.shared.global [%rd1+16], [%rd7], 4;\n"
              "cp.async.mbarrier.arrive.noinc.shared.b64 [%rd1];\n"
              "w: mbarrier.test_wait.parity.shared.b64 %p1, [%rd1], 0; @!%p1 bra w; ld.shared.u32 %r0, [%rd1+16];");
  REQUIRE(ran.result.completed);
  CHECK(ran.out[0] == 9);
  const Ran bulk =
      runBody("mov.u64 %rd1, s; mov.u32 %r1, 8; st.global.u32 [%rd7+16], %r1; add.u64 %rd3, %rd1, 16;\n"
              "mbarrier.init.shared.b64 [%rd1], 1; mbarrier.arrive.expect_tx.shared.b64 %rd2, [%rd1], 32;\n"
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd3], [%rd7], 32, [%rd1];\n"
              "w: mbarrier.test_wait.shared.b64 %p1, [%rd1], %rd2; @!%p1 bra w; ld.shared.u32 %r0, [%rd1+32];");
  REQUIRE(bulk.result.completed);
  CHECK(bulk.out[0] == 8);
}

TEST_CASE("bulk sums of single precision keep subnormals, which atomics flush") {
  const std::string values = "mov.u64 %rd1, s; mov.b32 %r1, 0x4f2dd0; mov.b32 %r2, 0xe171e;\n"
                             "st.global.u32 [%rd7], %r1; st.shared.u32 [%rd1], %r2;\n";
  const Ran bulk =
      runBody(values + "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd7], [%rd1], 16;\n"
                       "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.u32 %r0, [%rd7];");
  REQUIRE(bulk.result.completed);
  CHECK(bulk.out[0] == 0x5d44ee);
  CHECK(runBody(values + "mov.b32 %f1, %r2; red.global.add.f32 [%rd7], %f1; ld.global.u32 %r0, [%rd7];").out[0] == 0);
}

} // namespace orias::interp
