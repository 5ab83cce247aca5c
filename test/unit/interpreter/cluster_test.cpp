#include "run.h"

#include "support/check.h"

// Clusters of two blocks: correct programs, and each kind of error between blocks.

namespace orias::interp {

namespace {

/// Two blocks of `threads` threads. %r15 is %tid.x, %r14 the rank, %r13 the rank of the other block. %r12 is the
/// address of the thread's word in its own shared memory, %r11 in that of the other block, %rd7 of its word in the
/// buffer. bar is a barrier.
Ran inCluster(const std::string& body, unsigned threads = 32, bool racecheck = false) {
  launch::RunOptions options;
  options.racecheck = racecheck;
  options.memcheck = racecheck;
  const Ran ran = runModule(
      ".entry k(.param .u64 out) .reqnctapercluster 2 {\n.reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"
      ".shared .align 16 .b8 s[4096]; .shared .align 8 .b64 bar;\n"
      "ld.param.u64 %rd7, [out]; mov.u32 %r15, %tid.x; mov.u32 %r14, %cluster_ctarank; xor.b32 %r13, %r14, 1;\n"
      "mov.u32 %r10, %ntid.x; mad.lo.u32 %r10, %r10, %r14, %r15; mad.wide.u32 %rd7, %r10, 4, %rd7;\n"
      "mov.u32 %r12, s; mad.lo.u32 %r12, %r15, 4, %r12; mapa.shared::cluster.u32 %r11, %r12, %r13;\n"
      "setp.ne.u32 %p3, %r15, 0; setp.ne.u32 %p2, %r14, 0; mov.u32 %r0, 0;\n" +
          body + "\nst.global.u32 [%rd7], %r0;\nret;\n}\n",
      threads, std::size_t{2} * threads, options, 2);
  if (!ran.result.reports.empty()) MESSAGE(ran.result.reports[0].where << ": " << ran.result.reports[0].text);
  return ran;
}

std::string textOf(const Ran& ran) {
  std::string all;
  for (const launch::Report& report : ran.result.reports)
    all += report.text + "\n";
  return all;
}

const std::string kSync = "barrier.cluster.arrive; barrier.cluster.wait;\n";
const std::string kRelaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n";

std::string findingOf(const std::string& body) {
  const Ran ran = inCluster(body, 32, true);
  CHECK(ran.result.completed);
  return textOf(ran);
}

} // namespace

TEST_CASE("cluster: blocks exchange words") {
  const Ran ran = inCluster(kSync + "add.u32 %r1, %r10, 7; st.shared::cluster.u32 [%r11], %r1;\n" + kSync +
                                "ld.shared.u32 %r0, [%r12];\n",
                            40, true);
  CHECK(ran.result.completed);
  CHECK(ran.kind() == "");
  for (unsigned i = 0; i < 80; ++i)
    CHECK(ran.out[i] == (i + 40) % 80 + 7);
}

TEST_CASE("cluster: a barrier that is missing is a race") {
  const std::string write = kSync + "st.shared::cluster.u32 [%r11], %r10;\n", read = "ld.shared.u32 %r0, [%r12];\n";
  CHECK(findingOf(write + kSync + read) == "");
  CHECK(findingOf(write + read + kRelaxed).find("without synchronization between them") != std::string::npos);
  // A barrier of the block does not order threads of the other one.
  CHECK(findingOf(write + "bar.sync 0;\n" + read + kRelaxed).find("without synchronization between them") !=
        std::string::npos);
}

TEST_CASE("cluster: a relaxed arrival releases what a fence has") {
  const std::string write = kSync + "st.shared::cluster.u32 [%r11], %r10;\n", read = "ld.shared.u32 %r0, [%r12];\n";
  CHECK(findingOf(write + kRelaxed + read).find("without synchronization between them") != std::string::npos);
  CHECK(findingOf(write + "fence.acq_rel.cluster;\n" + kRelaxed + read) == "");
}

TEST_CASE("cluster: another block's memory is there when that block has started") {
  const std::string exchange = "st.shared::cluster.u32 [%r11], %r10;\n" + kSync + "ld.shared.u32 %r0, [%r12];\n";
  CHECK(findingOf(exchange).find("may not have started") != std::string::npos);
  CHECK(findingOf(kRelaxed + exchange) == "");
}

TEST_CASE("cluster: and until it exits") {
  const std::string reach = "st.shared.u32 [%r12], %r10;\n" + kSync + "@!%p2 ld.shared::cluster.u32 %r0, [%r11];\n";
  CHECK(findingOf(reach).find("may still access its shared memory") != std::string::npos);
  CHECK(findingOf(reach + kRelaxed) == "");
  // An arrival is not sufficient: a block must wait before it exits.
  CHECK(findingOf(reach + "barrier.cluster.arrive;\n").find("may still access") != std::string::npos);
  // A block that has exited is not accessible.
  const Ran ran = inCluster(kSync + "@%p2 bra END;\n" + kSync + "ld.shared::cluster.u32 %r0, [%r11];\nEND:\n");
  CHECK(ran.kind() == "memcheck");
  CHECK(textOf(ran).find("a block that has exited") != std::string::npos);
}

TEST_CASE("cluster: addresses that lead elsewhere") {
  const auto fault = [](const std::string& body) {
    const Ran ran = inCluster(kSync + body + kSync);
    CHECK(!ran.result.completed);
    CHECK(ran.kind() == "memcheck");
    return textOf(ran);
  };
  CHECK(fault("mapa.shared::cluster.u32 %r1, %r12, 2; st.shared::cluster.u32 [%r1], 1;\n").find("has 2 blocks") !=
        std::string::npos);
  CHECK(fault("st.shared.u32 [%r11], 1;\n").find("of another block") != std::string::npos);
  CHECK(fault("st.shared::cluster.u32 [%r11+8192], 1;\n").find("out of bounds") != std::string::npos);
  CHECK(fault("mov.u32 %r1, bar; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r11], 1, [%r1];\n")
            .find("of the block that receives the data") != std::string::npos);
}

TEST_CASE("cluster: its barrier counts threads") {
  // Threads that have exited are not waited for.
  Ran ran = inCluster("@%p3 bra END;\n" + kSync + "mov.u32 %r0, 1;\nEND:\n");
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 1);
  // A wait for a thread that never arrives is a deadlock.
  ran = inCluster("@!%p2 bra OTHER;\nbar.sync 1, 64;\nOTHER:\n" + kSync);
  CHECK(ran.kind() == "deadlock");
  CHECK(textOf(ran).find("barrier.cluster.wait") != std::string::npos);
  CHECK(inCluster("barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;\n").kind() == "memcheck");
  CHECK(inCluster("barrier.cluster.wait;\n").kind() == "memcheck");
}

TEST_CASE("cluster: a thread that arrives and exits counts once") {
  // Thread 0 of block 0 arrives and exits immediately. Block 1 arrives last, with a word that all threads then read.
  const Ran ran = inCluster("st.shared.u32 [%r12], 0;\n" + kSync +
                            "barrier.cluster.arrive;\n@%p2 bra STAY;\n@!%p3 bra END;\nSTAY:\nbarrier.cluster.wait;\n"
                            "mov.u32 %r0, 1;\nEND:\n");
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 0);
  CHECK(ran.out[1] == 1);
  // The exited thread does not complete the count: the other block has not arrived and waits at its own barrier.
  const Ran stuck =
      inCluster("@%p2 bra OTHER;\nbarrier.cluster.arrive;\n@!%p3 bra END;\nbarrier.cluster.wait;\n"
                "bra END;\nOTHER:\n@%p3 bra SLEEP;\nbarrier.cluster.arrive;\nSLEEP:\nbar.sync 1, 64;\nEND:\n");
  CHECK(stuck.kind() == "deadlock");
  CHECK(textOf(stuck).find("barrier.cluster.wait") != std::string::npos);
}

TEST_CASE("cluster: remote barriers order what was written before") {
  const std::string ready = "@%p3 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 32;\n"
                            "fence.mbarrier_init.release.cluster;\nREADY:\n" +
                            kSync +
                            "mov.u32 %r1, bar; mapa.shared::cluster.u32 %r2, %r1, %r13;\n"
                            "st.shared::cluster.u32 [%r11], %r10;\n";
  const std::string arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];\n";
  const std::string wait = "WAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [%r1], 0;\n"
                           "@!%p0 bra WAIT;\n";
  const std::string read = "ld.shared.u32 %r0, [%r12];\n" + kRelaxed;
  CHECK(findingOf(ready + arrive + wait + read) == "");
  CHECK(findingOf(ready + arrive + read).find("without synchronization between them") != std::string::npos);
}

TEST_CASE("cluster: a launch that does not fit is refused") {
  CHECK_THROWS_AS(runModule(".entry k(.param .u64 out) .reqnctapercluster 2 { ret; }", 32, 64, {}, 3), Error);
  CHECK_THROWS_AS(runModule(".entry k(.param .u64 out) .explicitcluster { ret; }", 32, 64, {}, 2), Error);
}

} // namespace orias::interp
