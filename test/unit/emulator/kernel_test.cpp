#include "encoder/isa/target.h"
#include "ori/parse.h"
#include "orias/orias.h"
#include "tools/emulator/emulator.h"

#include <bit>
#include <cstring>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

// Complete kernels with known results: our cubin, and Ori after every phase.

using namespace orias;

namespace {

constexpr std::uint32_t kThreads = 128, kBlocks = 3, kCount = kThreads * kBlocks;

constexpr std::string_view kHead = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                   ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                                   ".reg .b64 %rd<9>; .reg .b32 %r<16>; .reg .f32 %f<9>; .reg .pred %p<5>;\n";
constexpr std::string_view kIndex = "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
                                    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
                                    "mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd3, %r4, 4;\n"
                                    "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; ld.global.u32 %r5, [%rd4];\n";

std::string kernel(std::string_view declarations, std::string_view body) {
  return fmt::format("{}{}{}{}\nret;\n}}\n", kHead, declarations, kIndex, body);
}

/// Element i of the input is (7 i) % 50.
std::uint32_t input(std::uint32_t i) {
  return 7 * i % 50;
}

std::vector<std::uint32_t> run(const emu::Program& program) {
  launch::Launch launch;
  launch.kernel = "k";
  launch.grid = {kBlocks, 1, 1};
  launch.block = {kThreads, 1, 1};
  std::vector<std::uint32_t> values(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i)
    values[i] = input(i);
  const auto bytes = std::as_bytes(std::span(values));
  launch.buffers.push_back({"in", launch::ElementType::U32, kCount, {bytes.begin(), bytes.end()}, {}, {}, {}});
  launch.buffers.push_back({"out", launch::ElementType::U32, kCount, {}, {}, {}, {}});
  launch.arguments.resize(2);
  launch.arguments[0].buffer = 0;
  launch.arguments[1].buffer = 1;
  launch::Device device(launch);
  const launch::RunResult result = emu::run(program, device);
  for (const launch::Report& report : result.reports)
    FAIL_CHECK(report.kind << ": " << report.where << ": " << report.text);
  CHECK(result.completed);
  std::memcpy(values.data(), device.bufferBytes(1).data(), kCount * sizeof values[0]);
  return values;
}

/// Runs the cubin, and the Ori text after each phase.
void check(const std::string& ptx, std::uint32_t (*wanted)(std::uint32_t i)) {
  std::vector<std::uint32_t> expected(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i)
    expected[i] = wanted(i);
  const Result whole = assemble(ptx);
  REQUIRE_MESSAGE(whole.status == Status::Ok, whole.diagnostics);
  CHECK(run(emu::loadCubin(whole.cubin, "k")) == expected);
  std::string last;
  for (const std::string phase : {"3", "5", "10", "16", "23", "29", "45", "70", "97", "99", "101", "110", "115"}) {
    CAPTURE(phase);
    Options options;
    options.phases.dumpAfter = {phase};
    options.phases.stopAfter = phase;
    const Result result = assemble(ptx, options);
    REQUIRE(result.status == Status::Ok);
    const std::string text = "module sm_90 ptx 8 0;\n" + result.phaseText;
    Diagnostics diagnostics("k.ori", text);
    const auto module = ori::parse(text, diagnostics);
    REQUIRE_MESSAGE(module, text);
    CHECK(run(emu::loadOri(*module, *module->findFunction("k"))) == expected);
  }
}

} // namespace

TEST_CASE("lanes whose guard is false find garbage in what is undefined for them") {
  const auto ran = [](std::string_view mark) {
    const std::string text =
        "module sm_90 ptx 8 0;\nkernel \"k\" {\n  param \"in\" offset 0 size 8;\n  param \"out\" offset 8 size 8;\n"
        "  reg %r2:2, %ur6:2;\n.L0:\n  S2R %r0, SR_TID.X;\n  S2R %r8, SR_CTAID.X;\n  IMAD %r1, %r8, 128, %r0;\n"
        "  IMAD.WIDE %r2:2, %r1, 4, c[0x0][0x218]:2;\n  ULDC.64 %ur6:2, c[0x0][0x208];\n  MOV %r4, 5;\n"
        "  ISETP.LT.U32.AND %p5, PT, %r0, 2, PT;\n  @%p5 MOV %r4, 6" +
        std::string(mark) + ";\n  STG.E desc[%ur6:2][%r2:2], %r4;\n  EXIT;\n}\n";
    Diagnostics diagnostics("k.ori", text);
    const auto module = ori::parse(text, diagnostics);
    REQUIRE(module);
    return run(emu::loadOri(*module, *module->findFunction("k")));
  };
  const auto kept = ran(""), undefined = ran(" {undef}");
  CHECK(kept[1] == 6);
  CHECK(kept[2] == 5);
  CHECK(undefined[1] == 6);
  CHECK(undefined[2] != 5);
}

TEST_CASE("multiply and add") {
  check(kernel("", "cvt.rn.f32.u32 %f1, %r5; fma.rn.f32 %f2, %f1, 0f40200000, 0f3F800000; st.global.f32 [%rd5], %f2;"),
        [](std::uint32_t i) { return std::bit_cast<std::uint32_t>(2.5f * static_cast<float>(input(i)) + 1.0f); });
}

TEST_CASE("a sum of the block in shared memory") {
  check(kernel(".shared .align 4 .b32 s[128];\n",
               "mov.u32 %r6, s; shl.b32 %r7, %r1, 2; add.u32 %r8, %r6, %r7; st.shared.u32 [%r8], %r5;\n"
               "mov.u32 %r9, 64;\nloop: bar.sync 0; setp.ge.u32 %p1, %r1, %r9; @%p1 bra skip;\n"
               "shl.b32 %r10, %r9, 2; add.u32 %r11, %r8, %r10; ld.shared.u32 %r12, [%r11];\n"
               "ld.shared.u32 %r13, [%r8]; add.u32 %r13, %r13, %r12; st.shared.u32 [%r8], %r13;\n"
               "skip: shr.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra loop;\n"
               "bar.sync 0; ld.shared.u32 %r14, [%r6]; st.global.u32 [%rd5], %r14;"),
        [](std::uint32_t i) {
          std::uint32_t sum = 0;
          for (std::uint32_t t = 0; t < kThreads; ++t)
            sum += input(i / kThreads * kThreads + t);
          return sum;
        });
}

TEST_CASE("lanes leave a loop at different times, and vote after it") {
  check(kernel("", "mov.u32 %r6, 0; mov.u32 %r7, %r5;\n"
                   "loop: setp.eq.u32 %p1, %r7, 0; @%p1 bra done; and.b32 %r8, %r7, 1; setp.eq.u32 %p2, %r8, 0;\n"
                   "@%p2 bra even; mad.lo.u32 %r6, %r6, 3, %r7; bra next; even: add.u32 %r6, %r6, %r7;\n"
                   "next: sub.u32 %r7, %r7, 1; bra loop;\n"
                   "done: setp.gt.u32 %p3, %r5, 24; vote.sync.ballot.b32 %r9, %p3, 0xffffffff; add.u32 %r6, %r6, %r9;\n"
                   "st.global.u32 [%rd5], %r6;"),
        [](std::uint32_t i) {
          std::uint32_t sum = 0, ballot = 0;
          for (std::uint32_t n = input(i); n != 0; --n)
            sum = n % 2 == 0 ? sum + n : 3 * sum + n;
          for (std::uint32_t lane = 0; lane < 32; ++lane)
            ballot |= (input(i / 32 * 32 + lane) > 24 ? 1u : 0u) << lane;
          return sum + ballot;
        });
}

TEST_CASE("16 bytes of a constant through a generic pointer") {
  const std::string table = ".const .align 16 .b32 t[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n";
  std::string text =
      kernel("", "mov.u64 %rd6, t; cvta.const.u64 %rd6, %rd6; ld.v4.u32 {%r6, %r7, %r8, %r9}, [%rd6+16];\n"
                 "add.u32 %r6, %r6, %r9; st.global.u32 [%rd5], %r6;");
  text.insert(text.find(".visible"), table);
  const Result whole = assemble(text); // a dump of a function does not contain the module's variables
  REQUIRE_MESSAGE(whole.status == Status::Ok, whole.diagnostics);
  CHECK(run(emu::loadCubin(whole.cubin, "k")) == std::vector<std::uint32_t>(kCount, 5 + 8));
}

TEST_CASE("lanes leave a loop with two entries at different times, and vote after it") {
  check(kernel("", "mov.u32 %r6, 0; mov.u32 %r7, %r5; and.b32 %r8, %r1, 1; setp.eq.u32 %p1, %r8, 0;\n"
                   "@%p1 bra middle;\nhead: add.u32 %r6, %r6, 3;\n"
                   "middle: sub.s32 %r7, %r7, 1; setp.ge.s32 %p2, %r7, 0; @%p2 bra head;\n"
                   "setp.ge.u32 %p3, %r6, 0; vote.sync.ballot.b32 %r9, %p3, 0xffffffff;\n"
                   "not.b32 %r9, %r9; add.u32 %r6, %r6, %r9; st.global.u32 [%rd5], %r6;"),
        [](std::uint32_t i) { return 3 * (input(i) + (i % 2)); });
}
