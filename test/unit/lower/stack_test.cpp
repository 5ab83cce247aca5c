#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

TEST_CASE("memory from the stack lies below the frame, and R1 stays where it is") {
  const std::string text = lowered(".local .align 8 .b8 own[8];\nalloca.u64 %rd1, %rd2, 32;\nst.local.u32 [own], %r1;");
  CAPTURE(text);
  CHECK(text.find("growsstack") != std::string::npos);
  // The register with the lowest address in use starts as R1, and is decreased by the aligned size.
  CHECK(inOrder(text, {"LOP3", "R1, -0x10", "IADD3", "-%r", "LOP3", "-0x20", "STL"}));
  CHECK(text.find("IADD3 R1") == std::string::npos);
}

TEST_CASE("memory from the stack is aligned to 16 at least") {
  const std::string text = lowered("alloca.u64 %rd1, 24;\nalloca.u32 %r1, %r2, 8;");
  CAPTURE(text);
  CHECK(inOrder(text, {"R1, -0x10", "IADD3", "-0x10", "IADD3", "-0x10"}));
}

TEST_CASE("a function that is inlined gives its memory back, one that takes none does not touch the stack") {
  constexpr std::string_view kTakes = ".func takes(.param .b64 n) {\n.reg .b64 %d<3>;\nld.param.u64 %d1, [n];\n"
                                      "alloca.u64 %d2, %d1;\nst.local.u64 [%d2], %d1;\n}\n"
                                      ".func plain(.param .b64 n) {\n.reg .b64 %d<3>;\nld.param.u64 %d1, [n];\n}\n";
  const auto calling = [&](const std::string& name) {
    return lowered("{ .param .b64 x; st.param.b64 [x], %rd1; call " + name + ", (x); }", kTakes);
  };
  const std::string text = calling("takes");
  CAPTURE(text);
  // The register that is copied before it is copied back after it.
  const std::size_t first = text.find("COPY"), last = text.rfind("COPY");
  CHECK(first != last);
  CHECK(inOrder(text, {"LOP3", "COPY", "IADD3", "STL", "COPY", "EXIT"}));
  CHECK(calling("plain").find("R1") == std::string::npos);
}

TEST_CASE("saving and restoring the stack copies that register") {
  const std::string text = lowered("stacksave.u64 %rd1;\nstackrestore.u64 %rd1;");
  CAPTURE(text);
  CHECK(inOrder(text, {"LOP3", "R1, -0x10", "COPY", "COPY", "EXIT"}));
}
