#include "run.h"

#include <fmt/format.h>

// Known results of atom and red: the old value, and the memory afterwards.

namespace orias::interp {

namespace {

/// Stores `before` to a 32-bit word, executes `operation` on [%rd1], and returns the word. `space` is "global",
/// "shared" or "generic" (shared memory through a generic address).
std::uint32_t after(std::uint32_t before, const std::string& operation, const std::string& space = "global") {
  const std::string at = space == "global"   ? "add.u64 %rd1, %rd7, 64;"
                         : space == "shared" ? "mov.u64 %rd1, s;"
                                             : "mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;";
  const std::string suffix = space == "generic" ? "" : "." + space;
  return valueOf(fmt::format("{} mov.b32 %r1, {}; st{}.b32 [%rd1], %r1; {} ld{}.b32 %r0, [%rd1];", at, before, suffix,
                             operation, suffix));
}

/// The value of %r0 after an operation on a word.
std::uint32_t returned(std::uint32_t before, const std::string& operation) {
  return valueOf(
      fmt::format("add.u64 %rd1, %rd7, 64; mov.b32 %r1, {}; st.global.b32 [%rd1], %r1; {}", before, operation));
}

/// As `after` for 64 bits of global memory: whether they are as expected.
bool leaves64(const std::string& before, const std::string& operation, std::uint64_t wanted) {
  const std::string body = "add.u64 %rd1, %rd7, 64; mov.b64 %rd2, " + before + "; st.global.b64 [%rd1], %rd2; " +
                           operation + " ld.global.b64 %rd3, [%rd1]; mov.b64 {%r2, %r3}, %rd3; mov.b32 %r0, ";
  return valueOf(body + "%r2;") == static_cast<std::uint32_t>(wanted) &&
         valueOf(body + "%r3;") == static_cast<std::uint32_t>(wanted >> 32);
}

} // namespace

TEST_CASE("atomics give the old value and leave the new one") {
  CHECK(returned(5, "atom.global.add.u32 %r0, [%rd1], 3;") == 5);
  CHECK(after(5, "atom.global.add.u32 %r0, [%rd1], 3;") == 8);
  CHECK(after(0xffffffff, "red.global.add.s32 [%rd1], 3;") == 2);
  CHECK(after(0xf0f0, "red.global.and.b32 [%rd1], 0xff00;") == 0xf000);
  CHECK(after(0xf0f0, "red.global.or.b32 [%rd1], 0xff00;") == 0xfff0);
  CHECK(after(0xf0f0, "red.global.xor.b32 [%rd1], 0xff00;") == 0x0ff0);
  CHECK(returned(5, "atom.global.exch.b32 %r0, [%rd1], 9;") == 5);
  CHECK(after(5, "atom.global.exch.b32 %r0, [%rd1], 9;") == 9);
}

TEST_CASE("the least and the greatest depend on the sign") {
  CHECK(after(0xffffffff, "red.global.min.s32 [%rd1], 1;") == 0xffffffff);
  CHECK(after(0xffffffff, "red.global.min.u32 [%rd1], 1;") == 1);
  CHECK(after(0xffffffff, "red.global.max.s32 [%rd1], 1;") == 1);
  CHECK(after(0xffffffff, "red.global.max.u32 [%rd1], 1;") == 0xffffffff);
  CHECK(leaves64("-1", "red.global.min.s64 [%rd1], 1;", ~std::uint64_t{0}));
  CHECK(leaves64("-1", "red.global.min.u64 [%rd1], 1;", 1));
  CHECK(leaves64("-1", "red.global.max.s64 [%rd1], 1;", 1));
}

TEST_CASE("inc and dec wrap at the operand") {
  CHECK(after(4, "atom.global.inc.u32 %r0, [%rd1], 5;") == 5);
  CHECK(after(5, "atom.global.inc.u32 %r0, [%rd1], 5;") == 0);
  CHECK(after(6, "red.global.inc.u32 [%rd1], 5;") == 0);
  CHECK(after(5, "atom.global.dec.u32 %r0, [%rd1], 5;") == 4);
  CHECK(after(0, "atom.global.dec.u32 %r0, [%rd1], 5;") == 5);
  CHECK(after(6, "red.global.dec.u32 [%rd1], 5;") == 5);
  CHECK(returned(6, "atom.global.dec.u32 %r0, [%rd1], 5;") == 6);
}

TEST_CASE("cas writes only where it found what it compared with") {
  CHECK(after(5, "atom.global.cas.b32 %r0, [%rd1], 5, 9;") == 9);
  CHECK(after(5, "atom.global.cas.b32 %r0, [%rd1], 6, 9;") == 5);
  CHECK(returned(5, "atom.global.cas.b32 %r0, [%rd1], 6, 9;") == 5);
  const std::string halves = "mov.b16 %h1, 0x1234; mov.b16 %h2, 0xabcd; ";
  CHECK(after(0x12345678, halves + "atom.global.cas.b16 %h0, [%rd1+2], %h1, %h2;") == 0xabcd5678);
  CHECK(after(0x12345678, halves + "atom.global.cas.b16 %h0, [%rd1], %h1, %h2;") == 0x12345678);
  CHECK(leaves64("0x100000001", "atom.global.cas.b64 %rd4, [%rd1], 1, 7;", 0x100000001));
  CHECK(leaves64("0x100000001", "atom.global.cas.b64 %rd4, [%rd1], 0x100000001, 7;", 7));
}

TEST_CASE("atomics of 64 bits carry into the upper half") {
  CHECK(leaves64("0xffffffff", "red.global.add.u64 [%rd1], 1;", 0x100000000));
  CHECK(leaves64("0xff00000000", "red.global.and.b64 [%rd1], 0xf000000000;", 0xf000000000));
  CHECK(leaves64("1", "atom.global.exch.b64 %rd4, [%rd1], 0x200000003;", 0x200000003));
}

TEST_CASE("atomics work on shared memory and through generic addresses") {
  for (const char* space : {"shared", "generic"}) {
    const std::string dot = std::string(space) == "shared" ? ".shared" : "";
    CHECK(after(5, "atom" + dot + ".add.u32 %r0, [%rd1], 3;", space) == 8);
    CHECK(after(5, "red" + dot + ".inc.u32 [%rd1], 5;", space) == 0);
  }
  CHECK(after(5, "atom.add.u32 %r0, [%rd1], 3;") == 8);
}

TEST_CASE("floating-point additions; only global memory flushes subnormals") {
  CHECK(after(0x3f800000, "red.global.add.f32 [%rd1], 0f40000000;") == 0x40400000); // 1 + 2
  CHECK(after(1, "red.global.add.f32 [%rd1], 0f00000001;") == 0);
  CHECK(after(1, "red.shared.add.f32 [%rd1], 0f00000001;", "shared") == 2);
  CHECK(after(1, "red.add.f32 [%rd1], 0f00000001;", "generic") == 2);
  CHECK(leaves64("0x3ff0000000000000", "red.global.add.f64 [%rd1], 0d4000000000000000;", 0x4008000000000000));
  // 1 + 2 in the upper half, twice the least subnormal in the lower half.
  CHECK(after(0x3c000001, "mov.b32 %r2, 0x40000001; red.global.add.noftz.f16x2 [%rd1], %r2;") == 0x42000002);
  CHECK(after(0x3f800001, "mov.b32 %r2, 0x40000001; red.global.add.noftz.bf16x2 [%rd1], %r2;") == 0x40400002);
  CHECK(after(0x3c003c00, "mov.b16 %h1, 0x4000; red.global.add.noftz.f16 [%rd1], %h1;") == 0x3c004200);
}

TEST_CASE("threads count together") {
  const Ran ran = runBody("mov.u64 %rd1, s; mov.u32 %r1, 0; setp.eq.u32 %p0, %r15, 0; @%p0 st.shared.u32 [%rd1], %r1; "
                          "bar.sync 0; atom.shared.add.u32 %r1, [%rd1], %r15; bar.sync 0; ld.shared.u32 %r0, [%rd1];",
                          100);
  CHECK(ran.result.completed);
  CHECK(ran.out[0] == 99 * 100 / 2);
  CHECK(ran.out[99] == 99 * 100 / 2);
}

TEST_CASE("an atomic operation where there can be none stops the run") {
  CHECK(runBody("mov.u64 %rd1, 64; red.global.add.u32 [%rd1], 1;").kind() == "memcheck");
  CHECK(runBody("red.global.add.u32 [%rd7+2], 1;").kind() == "memcheck");
  CHECK(runBody(".local .b32 x; mov.u64 %rd1, x; cvta.local.u64 %rd1, %rd1; red.add.u32 [%rd1], 1;").kind() ==
        "memcheck");
}

TEST_CASE("vectors: each number by itself, all in one place") {
  const std::string seed = "add.u64 %rd1, %rd7, 64; mov.b32 %r1, 0x3f800000; mov.b32 %r2, 1; "
                           "st.global.v4.b32 [%rd1], {%r1, %r1, %r2, %r1}; ";
  // 1 + 2; flushed subnormals; the old values.
  const std::string add = "atom.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1], {0f40000000, 0f3f800000, 0f00000001, "
                          "0fbf800000}; ";
  const auto word = [&](unsigned k) {
    return valueOf(seed + add + fmt::format("ld.global.b32 %r0, [%rd1+{}];", 4 * k));
  };
  CHECK(word(0) == 0x40400000);
  CHECK(word(1) == 0x40000000);
  CHECK(word(2) == 0);
  CHECK(word(3) == 0);
  CHECK(valueOf(seed + add + "mov.b32 %r0, %f2;") == 1);
  CHECK(valueOf(seed + add + "mov.b32 %r0, %f3;") == 0x3f800000);
}

TEST_CASE("vectors of halves have sums, the least and the greatest") {
  const std::string halves = "add.u64 %rd1, %rd7, 64; mov.b32 %r1, 0x3c000001; mov.b32 %r2, 0xc000bc00; "
                             "st.global.v2.b32 [%rd1], {%r1, %r2}; mov.b32 %r3, 0x40000001; mov.b32 %r4, 0xbc00bc00; ";
  const auto after = [&](const std::string& operation, unsigned k) {
    return valueOf(halves + operation + fmt::format(" ld.global.b32 %r0, [%rd1+{}];", 4 * k));
  };
  CHECK(after("red.global.add.noftz.v2.f16x2 [%rd1], {%r3, %r4};", 0) == 0x42000002);
  CHECK(after("red.global.add.noftz.v2.f16x2 [%rd1], {%r3, %r4};", 1) == 0xc200c000);
  CHECK(after("red.global.min.noftz.v2.f16x2 [%rd1], {%r3, %r4};", 1) == 0xc000bc00);
  CHECK(after("red.global.max.noftz.v2.f16x2 [%rd1], {%r3, %r4};", 1) == 0xbc00bc00);
  const std::string four = "mov.b16 %h1, 0x3c00; red.global.add.noftz.v4.f16 [%rd1], {%h1, %h1, %h1, %h1};";
  CHECK(after(four, 0) == 0x40003c00); // 1 + 1, and 1 + the least subnormal
  CHECK(after(four, 1) == 0xbc000000); // -2 + 1, -1 + 1
}

TEST_CASE("128 bits are exchanged, and compared, as a whole") {
  const std::string seed = ".reg .b128 %q<4>; mov.b64 %rd2, 5; mov.b64 %rd3, 6; mov.b64 %rd4, 7; mov.b64 %rd5, 8; "
                           "add.u64 %rd1, %rd7, 64; st.global.v2.b64 [%rd1], {%rd2, %rd3}; "
                           "mov.b128 %q1, {%rd4, %rd5}; mov.b128 %q2, {%rd2, %rd3}; ";
  const auto upper = [&](const std::string& operation) {
    return valueOf(seed + operation + " ld.global.b32 %r0, [%rd1+8];");
  };
  CHECK(upper("atom.global.exch.b128 %q0, [%rd1], %q1;") == 8);
  CHECK(upper("atom.global.cas.b128 %q0, [%rd1], %q2, %q1;") == 8);
  CHECK(upper("atom.global.cas.b128 %q0, [%rd1], %q1, %q2;") == 6);
  CHECK(valueOf(seed + "atom.global.exch.b128 %q0, [%rd1], %q1; mov.b128 {%rd4, %rd5}, %q0; cvt.u32.u64 %r0, %rd5;") ==
        6);
}

} // namespace orias::interp
