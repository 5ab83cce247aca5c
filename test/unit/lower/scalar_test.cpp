#include "encoder/isa/target.h"
#include "frontend/lower/lower.h"
#include "frontend/parse.h"
#include "ori/print.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

// Bits, floating point and conversions: lowering from PTX to Ori.

namespace orias::ptx {

namespace {

/// The Ori text of a kernel with this body, or the diagnostics.
std::string lowered(std::string_view body, const LowerOptions& options = {}) {
  const std::string text =
      std::string(".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
                  ".reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n"
                  ".reg .pred %p<4>;\n") +
      std::string(body) + "\nret;\n}\n";
  Diagnostics diagnostics("t.ptx", text);
  std::unique_ptr<Module> module = parse(text, diagnostics);
  std::unique_ptr<ori::Module> result;
  if (!diagnostics.hasErrors()) result = lower(*module, *isa::Target::find("sm_90"), diagnostics, options);
  if (diagnostics.hasErrors()) return "error: " + diagnostics.all().front().message;
  return ori::print(*result);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

unsigned count(std::string_view text, std::string_view part) {
  unsigned n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

} // namespace

TEST_CASE("logic works word by word and on predicates") {
  CHECK(count(lowered("and.b64 %rd1, %rd2, %rd3;"), "LOP3.LUT") == 2);
  CHECK(contains(lowered("not.b32 %r1, %r2;"), "0xf"));
  CHECK(contains(lowered("xor.pred %p1, %p2, %p3;"), "PLOP3"));
  CHECK(contains(lowered("lop3.and.b32 %r1|%p1, %r2, %r3, %r4, 0x1e, %p2;"), "PAND"));
}

TEST_CASE("right shifts of 16 bits extend first") {
  CHECK(contains(lowered("shr.s16 %h1, %h2, %r1;"), "0x9910"));
  CHECK(contains(lowered("shr.u16 %h1, %h2, %r1;"), "0x5410"));
  CHECK_FALSE(contains(lowered("shl.b16 %h1, %h2, %r1;"), "PRMT"));
}

TEST_CASE("bit fields take the low byte of position and length") {
  CHECK(count(lowered("bfe.u32 %r1, %r2, %r3, %r4;"), "0xff") == 2);
  CHECK(contains(lowered("bfi.b32 %r1, %r2, %r3, %r4, %r5;"), "BMSK"));
}

TEST_CASE("functions become macros") {
  CHECK(contains(lowered("lg2.approx.f32 %f1, %f2;"), "FLG2.F32.APPROX %"));
  CHECK(contains(lowered("lg2.approx.ftz.f32 %f1, %f2;"), "FLG2.F32.APPROX.FTZ %"));
  CHECK(contains(lowered("rsqrt.approx.f64 %fd1, %fd2;"), "FRSQRT.F64.APPROX"));
  CHECK(contains(lowered("div.rn.f32 %f1, %f2, %f3;"), "FDIV"));
  CHECK(contains(lowered("min.f64 %fd1, %fd2, %fd3;"), "DSETP.MIN"));
}

TEST_CASE("mul and add without a rounding modifier may be contracted, unless --fmad=false") {
  CHECK(contains(lowered("mul.f32 %f1, %f2, %f3;"), "{contract}"));
  CHECK(contains(lowered("sub.f64 %fd1, %fd2, %fd3;"), "{contract}"));
  CHECK_FALSE(contains(lowered("mul.rn.f32 %f1, %f2, %f3;"), "{contract}"));
  CHECK_FALSE(contains(lowered("add.rz.f32 %f1, %f2, %f3;"), "{contract}"));
  orias::ptx::LowerOptions exact;
  exact.contractFma = false;
  CHECK_FALSE(contains(lowered("mul.f32 %f1, %f2, %f3;", exact), "{contract}"));
}

TEST_CASE("conversions") {
  CHECK(contains(lowered("cvt.rn.f32.s32 %f1, %r1;"), "I2FP.F32.S32"));
  CHECK(contains(lowered("cvt.rzi.s32.f32 %r1, %f1;"), "F2I"));
  CHECK(contains(lowered("cvt.f64.f32 %fd1, %f1;"), "F2F.F64.F32"));
  CHECK(contains(lowered("cvt.rn.f16x2.f32 %r1, %f1, %f2;"), "F2FP.F16.F32.PACK_AB"));
  CHECK(contains(lowered("cvt.f32.f16 %f1, %h1;"), "HADD2.F32"));
  CHECK(contains(lowered("cvt.sat.s8.s32 %r1, %r2;"), "VIMNMX"));
  CHECK(contains(lowered("cvt.rz.relu.tf32.f32 %r1, %f1;"), "F2FP.RELU.TF32.F32.PACK_B.RZ"));
  CHECK(contains(lowered("cvt.rn.relu.f16x2.e4m3x2 %r1, %h1;"), "F2FP.RELU.F16.E4M3.UNPACK_B"));
  // A truncation to a 16-bit register does not change the upper half.
  CHECK_FALSE(contains(lowered("cvt.u16.u32 %h1, %r1;"), "PRMT"));
}

TEST_CASE("a float that is converted into a wider register has zeros above it") {
  for (const char* statement : {"cvt.f32.f16 %rd1, %h1;", "cvt.rn.f16.f32 %rd1, %f1;", "cvt.rn.f32.f64 %rd1, %rd1;",
                                "cvt.rn.f32.s32 %rd1, %r1;", "cvt.rni.f32.f32 %rd1, %f1;",
                                "cvt.rn.sat.f16.s32 %rd1, %r1;", "cvt.rn.f16x2.f32 %rd1, %f1, %f2;"}) {
    const std::string text = lowered(statement);
    CHECK_MESSAGE((contains(text, "%r0.0, ") || contains(text, "%r1.0, ")), statement << '\n' << text);
    CHECK_MESSAGE((contains(text, "MOV %r0.1, RZ") || contains(text, "MOV %r1.1, RZ")), statement << '\n' << text);
  }
}

TEST_CASE("a conversion reads the low word of a wider register") {
  for (const char* statement : {
           "cvt.rzi.s32.f16 %r1, %rd1;",
           "cvt.rzi.s64.f32 %rd2, %rd1;",
           "cvt.f32.f16 %f1, %rd1;",
           "cvt.f32.bf16 %f1, %rd1;",
           "cvt.f64.f32 %fd1, %rd1;",
           "cvt.rn.f16.f32 %h1, %rd1;",
           "cvt.rni.f32.f32 %f1, %rd1;",
           "cvt.rn.f32.s32 %f1, %rd1;",
           "cvt.rn.f32.s16 %f1, %rd1;",
           "cvt.rn.f64.u8 %fd1, %rd1;",
       }) {
    const std::string text = lowered(statement);
    CHECK_MESSAGE((contains(text, "%r0.0") || contains(text, "%r1.0")), statement << '\n' << text);
  }
  // Both words of 64 bits are read.
  CHECK_FALSE(contains(lowered("cvt.rn.f64.s64 %fd1, %rd1;"), "%r1.0"));
}

TEST_CASE("halves are read from the low half, pairs whole") {
  CHECK(contains(lowered("add.f16 %h1, %h2, %h3;"), "H0_H0"));
  CHECK_FALSE(contains(lowered("fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), "H0_H0"));
  CHECK(contains(lowered("max.NaN.bf16x2 %r1, %r2, %r3;"), "HMNMX2"));
}

} // namespace orias::ptx
