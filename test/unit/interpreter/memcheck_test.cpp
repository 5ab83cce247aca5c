#include "run.h"

// Each kind of invalid access is reported, and valid accesses are not.

namespace orias::interp {

namespace {

std::string kindOf(const std::string& body) {
  launch::RunOptions options;
  options.memcheck = true;
  return runBody("mov.u32 %r14, s; mov.u32 %r0, 0; " + body, 1, options).kind();
}

} // namespace

TEST_CASE("memcheck: out of bounds") {
  CHECK(kindOf("ld.global.u32 %r1, [%rd7+4092];") == "");
  CHECK(kindOf("ld.global.u32 %r1, [%rd7+4096];") == "memcheck");
  CHECK(kindOf("st.global.u32 [%rd7+-4], 1;") == "memcheck");
  CHECK(kindOf("st.shared.u32 [%r14+4092], 1;") == "");
  CHECK(kindOf("st.shared.u32 [%r14+4096], 1;") == "memcheck");
}

TEST_CASE("memcheck: misaligned") {
  CHECK(kindOf("ld.global.u16 %r1, [%rd7+2];") == "");
  CHECK(kindOf("ld.global.u32 %r1, [%rd7+2];") == "memcheck");
  CHECK(kindOf("st.shared.v2.u32 [%r14+8], {%r0, %r0};") == "");
  CHECK(kindOf("st.shared.v2.u32 [%r14+4], {%r0, %r0};") == "memcheck");
}

TEST_CASE("memcheck: bytes that were never written") {
  CHECK(kindOf("st.shared.u32 [%r14], 1; ld.shared.u32 %r1, [%r14];") == "");
  CHECK(kindOf("ld.shared.u32 %r1, [%r14];") == "memcheck");
  CHECK(kindOf("st.shared.u16 [%r14], 1; ld.shared.u32 %r1, [%r14];") == "memcheck"); // half of the word
  CHECK(kindOf("{ .local .align 4 .b8 l[8]; st.local.u32 [l], 1; ld.local.u32 %r1, [l]; }") == "");
  CHECK(kindOf("{ .local .align 4 .b8 l[8]; ld.local.u32 %r1, [l+4]; }") == "memcheck");
  // A lane that does not participate has no value.
  CHECK(kindOf("shfl.sync.idx.b32 %r1, %r0, 0, 31, 1;") == "");
  CHECK(kindOf("shfl.sync.idx.b32 %r1, %r0, 1, 31, 1;") == "memcheck");
  // A return value that a function does not set is undefined.
  const auto returned = [](const std::string& body) {
    launch::RunOptions options;
    options.memcheck = true;
    return runModule(".func (.param .b32 x) f() {" + body +
                         " ret; }\n.entry k(.param .u64 out) { .reg .b32 %r<2>; { .param .b32 y; call (y), f, (); "
                         "ld.param.b32 %r0, [y]; } ret; }",
                     1, 64, options)
        .kind();
  };
  CHECK(returned("st.param.b32 [x], 1;") == "");
  CHECK(returned("") == "memcheck");
  // Without the option it is not an error.
  CHECK(runBody("mov.u32 %r14, s; ld.shared.u32 %r0, [%r14];").kind() == "");
}

} // namespace orias::interp
