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

TEST_CASE("calls that share a body say where it goes on") {
  LowerOptions options;
  options.inlining = {.small = 0, .budget = 0, .growthPercent = 0};
  const std::string two = std::string(kCallTwice) + std::string(kCallTwice);
  const std::string text = lowered(two, kTwice, "sm_90", {}, options);
  CAPTURE(text);
  CHECK(inOrder(text, {"ISETP.EQ", "IADD3", "0x63", "BRA", "EXIT", "ISETP.EQ", "BRA", "BRA"}));
  CHECK(text.find("0x63") == text.rfind("0x63"));
  CHECK(text.find("CALL") == std::string::npos);
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

TEST_CASE("a recursive function is emitted once, and keeps what it needs after a call below the stack pointer") {
  const std::string text = lowered(R"({
  .param .b32 p0; .param .b32 q0;
  st.param.b32 [p0], %r1;
  call (q0), sum, (p0);
  ld.param.b32 %r2, [q0];
  st.global.u32 [%rd1], %r2;
})",
                                   R"(
.func (.param .b32 r) sum(.param .b32 n) {
  .reg .b32 %n; .reg .b32 %rest; .reg .b32 %unused; .reg .pred %p; .reg .pred %odd;
  ld.param.u32 %n, [n];
  st.param.b32 [r], %n;
  setp.eq.u32 %p, %n, 0;
  setp.ne.u32 %odd, %n, 3;
  add.u32 %unused, %n, 5;
  @%p ret;
  sub.u32 %rest, %n, 1;
  call (%rest), sum, (%rest);
  @%odd add.u32 %rest, %rest, %n;
  st.param.b32 [r], %rest;
  ret;
}
)");
  CAPTURE(text);
  // n, the predicate and the return address.
  CHECK(
      inOrder(text, {"growsstack;", "LOP3", "R1",  "ISETP.EQ", "IADD3",    "-0x10", "STL",  "STL",      "SEL", "STL",
                     "BRA",         "LDL",  "LDL", "LDL",      "ISETP.NE", "IADD3", "0x10", "ISETP.EQ", "BRA", "STG"}));
  const auto count = [&](std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++n;
    return n;
  };
  CHECK(count("  STL ") == 3);
  CHECK(count("  LDL ") == 3);
}

TEST_CASE("a call through a pointer is a comparison for each function that it may hold") {
  constexpr std::string_view kFunctions = R"(
.func (.param .b32 r) one(.param .b32 x) { st.param.b32 [r], 1; ret; }
.func (.param .b32 r) two(.param .b32 x) { st.param.b32 [r], 2; ret; }
.func (.param .b32 r) other(.param .b64 x) { st.param.b32 [r], 3; ret; }
.func (.param .b32 r) unnamed(.param .b32 x) { st.param.b32 [r], 4; ret; }
.global .u64 table[2] = {one, other};
)";
  const std::string text = lowered(R"({
  .param .b32 p0; .param .b32 q0;
  mov.u64 %rd2, two;
  st.param.b32 [p0], %r1;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (q0), %rd1, (p0), proto;
  ld.param.b32 %r2, [q0];
})",
                                   kFunctions);
  CAPTURE(text);
  // Neither the function with other parameters nor the one whose address is not taken.
  CHECK(inOrder(text, {"MOV %", "0x20", "ISETP.NE", "0x10", "MOV %", "1;", "ISETP.NE", "0x20", "MOV %", "2;", "BPT"}));
  CHECK(text.find(", 4;") == std::string::npos);
}

TEST_CASE("functions without a body are refused; where recursion calls the driver's, functions have their own code") {
  const std::string driver =
      lowered("call f, ();", ".extern .func free(.param .b64 p);\n"
                             ".func f() { .param .b64 x; st.param.b64 [x], 0; call free, (x); call f; ret; }\n");
  CHECK(inOrder(driver, {"CALL.FUNCTION"}));
  const std::string inlined = lowered("call f, ();", ".func f() { call f; ret; }\n");
  CHECK(inlined.find("CALL.FUNCTION") == std::string::npos);
  CHECK(inOrder(lowered("call f, ();", ".extern .func f();\n"), {"Unresolved extern function 'f'"}));
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
