// Uniform values where parts of a warp may run separately.

#include "../ori/helpers.h"
#include "ori/verify.h"
#include "phases/uniform/local_values.h"

using namespace orias;

namespace {

struct Outcome {
  bool isChanged;
  std::string code;
  unsigned count(std::string_view part) const {
    unsigned n = 0;
    for (std::size_t at = code.find(part); at != std::string::npos; at = code.find(part, at + 1))
      ++n;
    return n;
  }
};

Outcome local(const std::string& head, const std::string& body) {
  const auto module = ori::test::parsed("module sm_90 ptx 8 8;\n" + head + " \"f\" {\n" + body + "}\n");
  ori::Function& f = *module->functions.front();
  const bool isChanged = phases::keepUniformValuesLocal(f);
  const auto faults = ori::verify(f);
  CHECK_MESSAGE(!ori::hasErrors(faults), ori::render(faults));
  return {isChanged, ori::print(f, ori::PrintOptions{false})};
}

const std::string kTwoBlocks = "  reg %r0:2, %ur8:2;\n.L0:\n LDC.64 %r0:2, bank[0][0x210];\n"
                               " ULDC<5> %ur8:2, c[0x0][0x208]:2;\n STG.E desc[%ur8:2][%r0:2], %r0.0;\n -> .L1;\n"
                               ".L1:\n STG.E desc[%ur8:2][%r0:2], %r0.1;\n";

} // namespace

TEST_CASE("a kernel that calls nothing keeps its uniform values") {
  const Outcome outcome = local("kernel", kTwoBlocks + " EXIT;\n");
  CHECK(!outcome.isChanged);
  CHECK(outcome.count("ULDC") == 1);
}

TEST_CASE("in a function a uniform value is made again in each block that wants it") {
  const Outcome outcome = local("function", kTwoBlocks + " FUNCTION.RETURN;\n");
  CAPTURE(outcome.code);
  CHECK(outcome.isChanged);
  CHECK(outcome.count("ULDC") == 2);
  CHECK(outcome.count("R2UR") == 0);
}

TEST_CASE("a call ends what a uniform value is good for, in a kernel too") {
  const std::string body =
      "  reg %r0:2, %r1:2, %ur8:2;\n.L0:\n LDC.64 %r0:2, bank[0][0x210];\n LDC.64 %r1:2, bank[0][0x218];\n"
      " ULDC<5> %ur8:2, c[0x0][0x208]:2;\n STG.E desc[%ur8:2][%r0:2], %r0.0;\n"
      " STG.E desc[%ur8:2][%r0:2], %r0.1;\n CALL.FUNCTION RZ, RZ, RZ, %r1:2;\n"
      " STG.E desc[%ur8:2][%r0:2], %r0.1;\n STG.E desc[%ur8:2][%r0:2], %r0.0;\n EXIT;\n";
  const Outcome outcome = local("kernel", body);
  CAPTURE(outcome.code);
  CHECK(outcome.isChanged);
  CHECK(outcome.count("ULDC") == 2); // once for each side of the call
}

TEST_CASE("what cannot be made again waits in registers of the lanes") {
  const std::string body =
      "  reg %r0:2, %ur8:2;\n.L0:\n LDC.64 %r0:2, bank[0][0x210];\n R2UR %ur8.0, %r0.0;\n R2UR %ur8.1, %r0.1;\n"
      " -> .L1;\n.L1:\n STG.E desc[%ur8:2][%r0:2], %r0.1;\n FUNCTION.RETURN;\n";
  const Outcome outcome = local("function", body);
  CAPTURE(outcome.code);
  CHECK(outcome.isChanged);
  CHECK(outcome.count("R2UR") == 4);
  CHECK(outcome.count("MOV ") == 4); // after each of the two writes, both words
}

TEST_CASE("a value that is used where it is made stays") {
  const std::string body =
      "  reg %r0:2, %ur8:2;\n.L0:\n LDC.64 %r0:2, bank[0][0x210];\n ULDC<5> %ur8:2, c[0x0][0x208]:2;\n"
      " STG.E desc[%ur8:2][%r0:2], %r0.1;\n FUNCTION.RETURN;\n";
  const Outcome outcome = local("function", body);
  CHECK(!outcome.isChanged);
  CHECK(outcome.count("ULDC") == 1);
}
