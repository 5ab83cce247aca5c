#include "run.h"

// Each kind of race is reported, and the program with the missing synchronization is not.

namespace orias::interp {

namespace {

/// Two warps; %r14 is the address of the thread's word, %r13 that of the thread 32 away, %r12 that of the next lane.
std::string kindOf(const std::string& body, unsigned threads = 64) {
  launch::RunOptions options;
  options.racecheck = true;
  const Ran ran = runBody("mov.u32 %r11, s; mad.lo.u32 %r14, %r15, 4, %r11; xor.b32 %r10, %r15, 32;\n"
                          "mad.lo.u32 %r13, %r10, 4, %r11; xor.b32 %r9, %r15, 1; mad.lo.u32 %r12, %r9, 4, %r11;\n"
                          "mov.u32 %r0, 0; setp.lt.u32 %p0, %r15, 32;\n" +
                              body,
                          threads, options);
  if (!ran.result.reports.empty()) MESSAGE(ran.result.reports[0].where << ": " << ran.result.reports[0].text);
  CHECK(ran.result.completed);
  return ran.kind();
}

} // namespace

TEST_CASE("racecheck: an exchange between warps needs a barrier") {
  CHECK(kindOf("st.shared.u32 [%r14], %r15; bar.sync 0; ld.shared.u32 %r0, [%r13];") == "");
  CHECK(kindOf("st.shared.u32 [%r14], %r15; ld.shared.u32 %r0, [%r13];") == "racecheck");
  // Reads first, then writes.
  CHECK(kindOf("ld.shared.u32 %r0, [%r13]; bar.sync 0; st.shared.u32 [%r14], %r15;") == "");
  CHECK(kindOf("ld.shared.u32 %r0, [%r13]; st.shared.u32 [%r14], %r15;") == "racecheck");
  // Two writes.
  CHECK(kindOf("st.shared.u32 [%r14], %r15; bar.sync 0; st.shared.u32 [%r13], %r15;") == "");
  CHECK(kindOf("st.shared.u32 [%r14], %r15; st.shared.u32 [%r13], %r15;") == "racecheck");
  // Shared memory may be addressed generically.
  CHECK(kindOf("cvt.u64.u32 %rd1, %r13; cvta.shared.u64 %rd1, %rd1; st.shared.u32 [%r14], %r15; ld.u32 %r0, [%rd1];") ==
        "racecheck");
}

TEST_CASE("racecheck: a barrier orders those only that take part") {
  const std::string body = "st.shared.u32 [%r14], %r15; bar.sync BARRIER, 64; ld.shared.u32 %r0, [%r13];";
  const auto at = [&](const char* first) {
    std::string text = "@%p0 bra one; " + body + " bra.uni done; one: " + body + " done: mov.u32 %r1, 0;";
    text.replace(text.find("BARRIER"), 7, "1");
    text.replace(text.find("BARRIER"), 7, first);
    return text;
  };
  CHECK(kindOf(at("1")) == "");
  // Four warps, two at each barrier: those at one barrier do not wait for those at the other.
  const std::string pairs =
      "shr.u32 %r8, %r15, 6; add.u32 %r8, %r8, 1; st.shared.u32 [%r14], %r15; bar.sync %r8, 64;\n";
  CHECK(kindOf(pairs + "ld.shared.u32 %r0, [%r13];", 128) == "");
  CHECK(kindOf(pairs + "xor.b32 %r7, %r15, 64; mad.lo.u32 %r7, %r7, 4, %r11; ld.shared.u32 %r0, [%r7];", 128) ==
        "racecheck");
  // A thread that only arrives has not waited.
  CHECK(kindOf("@%p0 bra one; st.shared.u32 [%r14], %r15; bar.arrive 1, 64; bra.uni done;\n"
               "one: bar.sync 1, 64; ld.shared.u32 %r0, [%r13]; done: mov.u32 %r1, 0;") == "");
  CHECK(kindOf("@%p0 bra one; bar.arrive 1, 64; ld.shared.u32 %r0, [%r13]; bra.uni done;\n"
               "one: st.shared.u32 [%r14], %r15; bar.sync 1, 64; done: mov.u32 %r1, 0;") == "racecheck");
}

TEST_CASE("racecheck: lanes of a warp need bar.warp.sync") {
  CHECK(kindOf("st.shared.u32 [%r14], %r15; bar.warp.sync 0xffffffff; ld.shared.u32 %r0, [%r12];") == "");
  CHECK(kindOf("st.shared.u32 [%r14], %r15; ld.shared.u32 %r0, [%r12];") == "racecheck");
  // Volatile accesses are strong: they do not conflict with strong accesses.
  CHECK(kindOf("st.volatile.shared.u32 [%r14], %r15; ld.volatile.shared.u32 %r0, [%r12];") == "");
  // Lanes that write the same value to one address.
  CHECK(kindOf("st.shared.u32 [%r11], 7;", 32) == "");
  CHECK(kindOf("st.shared.u32 [%r11], %r15;", 32) == "racecheck");
}

TEST_CASE("racecheck: atomics may meet each other, but nothing else") {
  CHECK(kindOf("red.shared.add.u32 [%r11], 1;") == "");
  CHECK(kindOf("red.shared.add.u32 [%r11], 1; bar.sync 0; ld.shared.u32 %r0, [%r11];") == "");
  CHECK(kindOf("red.shared.add.u32 [%r11], 1; ld.shared.u32 %r0, [%r11];") == "racecheck");
}

TEST_CASE("racecheck: a flag orders what was written before it, if it is released and acquired") {
  const auto handOver = [](const std::string& fenceOfWriter, const std::string& store, const std::string& load,
                           const std::string& fenceOfReader) {
    return "setp.eq.u32 %p1, %r15, 0; setp.eq.u32 %p2, %r15, 32; @%p1 bra write; @%p2 bra read; bra.uni done;\n"
           "write: st.shared.u32 [%r11+256], 5; " +
           fenceOfWriter + store +
           " bra.uni done;\n"
           "read: " +
           load + " %r1, [%r11+512]; setp.eq.u32 %p3, %r1, 0; @%p3 bra read; " + fenceOfReader +
           " ld.shared.u32 %r0, [%r11+256];\n"
           "done: bar.sync 0;";
  };
  CHECK(kindOf(handOver("", "st.release.cta.shared.u32 [%r11+512], 1;", "ld.acquire.cta.shared.u32", "")) == "");
  CHECK(kindOf(handOver("fence.acq_rel.cta;", "st.relaxed.cta.shared.u32 [%r11+512], 1;", "ld.relaxed.cta.shared.u32",
                        "fence.acq_rel.cta;")) == "");
  CHECK(kindOf(handOver("", "st.relaxed.cta.shared.u32 [%r11+512], 1;", "ld.acquire.cta.shared.u32", "")) ==
        "racecheck");
  CHECK(kindOf(handOver("", "st.release.cta.shared.u32 [%r11+512], 1;", "ld.relaxed.cta.shared.u32", "")) ==
        "racecheck");
}

TEST_CASE("racecheck: mbarrier orders those that wait for it") {
  const auto exchange = [](const char* wait) {
    return "setp.eq.u32 %p1, %r15, 0; @%p1 mbarrier.init.shared.b64 [%r11+1024], 64; bar.sync 0;\n"
           "st.shared.u32 [%r14], %r15; mbarrier.arrive.shared.b64 %rd1, [%r11+1024];\n" +
           std::string(wait) + " ld.shared.u32 %r0, [%r13];";
  };
  CHECK(kindOf(exchange("again: mbarrier.try_wait.shared.b64 %p2, [%r11+1024], %rd1; @!%p2 bra again;")) == "");
  CHECK(kindOf(exchange("")) == "racecheck");
}

TEST_CASE("racecheck: global memory, by the threads of one block") {
  // %rd6 is the address of the word of the thread 32 away.
  const std::string other = "ld.param.u64 %rd6, [out]; mad.wide.u32 %rd6, %r10, 4, %rd6; ";
  CHECK(kindOf(other + "st.global.u32 [%rd7], %r15; bar.sync 0; ld.global.u32 %r0, [%rd6]; bar.sync 0;") == "");
  CHECK(kindOf(other + "st.global.u32 [%rd7], %r15; ld.global.u32 %r0, [%rd6]; bar.sync 0;") == "racecheck");
  CHECK(kindOf(other + "red.global.add.u32 [%rd7], 1; red.global.add.u32 [%rd6], 1; bar.sync 0;") == "");
}

TEST_CASE("racecheck: global memory, by different blocks") {
  const auto blocks = [](const std::string& body) {
    launch::RunOptions options;
    options.racecheck = true;
    return runModule(".entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n"
                     "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;\n"
                     "setp.ne.u32 %p1, %r1, 0;\n" +
                         body + " ret; }",
                     1, 64, options, 2)
        .kind();
  };
  CHECK(blocks("st.global.u32 [%rd2], %r1;") == "");
  CHECK(blocks("st.global.u32 [%rd1], %r1;") == "racecheck");
  CHECK(blocks("st.global.u32 [%rd1], 7;") == ""); // the same value
  CHECK(blocks("ld.global.u32 %r2, [%rd1];") == "");
  CHECK(blocks("@!%p1 ld.global.u32 %r2, [%rd1]; @%p1 st.global.u32 [%rd1], 1;") == "racecheck");
  CHECK(blocks("@%p1 ld.global.u32 %r2, [%rd1]; @!%p1 st.global.u32 [%rd1], 1;") == "racecheck");
  CHECK(blocks("red.global.add.u32 [%rd1], 1;") == "");
  // The last block reads the values of all.
  const std::string last = "st.global.u32 [%rd2+8], %r1; FENCE atom.global.add.u32 %r2, [%rd1], 1;\n"
                           "setp.eq.u32 %p1, %r2, 1; @%p1 ld.global.u32 %r3, [%rd1+8];";
  const auto with = [&](const char* fence) {
    std::string text = last;
    return text.replace(text.find("FENCE"), 5, fence);
  };
  CHECK(blocks(with("membar.gl;")) == "");
  CHECK(blocks(with("")) == "racecheck");
}

} // namespace orias::interp
