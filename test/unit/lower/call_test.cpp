#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

namespace {

constexpr std::string_view kTwice = R"(
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r<3>; .reg .pred %p;
  ld.param.u32 %r1, [x];
  setp.eq.u32 %p, %r1, 7;
  @%p bra OUT;
  add.u32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
OUT:
  st.param.b32 [r], 99;
  ret;
}
)";

constexpr std::string_view kCallTwice = R"({
  .param .b32 p0; .param .b32 q0;
  st.param.b32 [p0], %r1;
  call (q0), twice, (p0);
  ld.param.b32 %r2, [q0];
})";

} // namespace

TEST_CASE("a call is the body of the function") {
  const std::string text = lowered(kCallTwice, kTwice);
  CAPTURE(text);
  CHECK(inOrder(text, {"ISETP.EQ", "BRA", "IADD3", "BRA", "MOV %", "0x63", "BRA", "COPY", "EXIT"}));
  CHECK(text.find("CALL") == std::string::npos);
}

TEST_CASE("each call has its own blocks") {
  const std::string text = lowered(std::string(kCallTwice) + std::string(kCallTwice), kTwice);
  CAPTURE(text);
  CHECK(inOrder(text, {"ISETP.EQ", "ISETP.EQ"}));
}

TEST_CASE("bytes of a parameter are put together and taken apart") {
  const std::string text = lowered(R"({
  .param .b8 p0[8]; .param .b32 q0;
  st.param.b16 [p0+2], %h1;
  call (q0), pick, (p0);
  ld.param.b32 %r2, [q0];
})",
                                   R"(
.func (.param .b32 r) pick(.param .b8 x[8]) {
  .reg .b32 %r<3>;
  ld.param.s8 %r1, [x+3];
  st.param.b32 [r], %r1;
  ret;
}
)");
  CAPTURE(text);
  CHECK(inOrder(text, {"PRMT %", "0x5410", "PRMT %", "0xbbb3"}));
}

TEST_CASE("recursion and functions without a body are refused") {
  CHECK(inOrder(lowered("call f, ();", ".func f() { call f, (); ret; }\n"),
                {"not supported yet: the recursive function 'f'"}));
  CHECK(inOrder(lowered("call f, ();", ".extern .func f();\n"), {"not supported yet: a call of 'f'"}));
}

TEST_CASE("the driver's functions are called, with words at multiples of their sizes") {
  const std::string text = lowered(R"({
  .param .b32 p0; .param .b64 p1; .param .b32 q0;
  st.param.b32 [p0], %r1;
  st.param.b64 [p1], %rd1;
  call (q0), vprintf, (p0, p1);
  ld.param.b32 %r2, [q0];
})",
                                   ".extern .func (.param .b32 r) vprintf(.param .b32 a, .param .b64 b);\n");
  CAPTURE(text);
  CHECK(inOrder(text, {"COPY", "COPY", "COPY", "COPY", "CALL.EXTERN", ", 0"}));
}
