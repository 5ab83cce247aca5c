// Functions that others call: locations of parameters and results, saved registers, alignment of frames.

#include "allocation.h"

#include "encoder/isa/mods.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "regalloc/check.h"
#include "regalloc/frame.h"
#include "regalloc/spill.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

std::unique_ptr<ori::Module> function(const std::string& body) {
  return ori::test::parsed("module sm_90 ptx 8 8;\nfunction \"f\" {\n" + body + "}\n");
}

std::string allocated(const std::string& body, AllocationOptions options = {}) {
  auto module = function(body);
  CHECK(allocate(*module->functions.front(), options) == "");
  return text(*module->functions.front());
}

/// `count` values, all live at once, and their sum as the result.
std::string manyValues(unsigned count) {
  std::string body = ".L0:\n FUNCTION.ENTRY %r900, RZ, RZ;\n";
  for (unsigned i = 0; i < count; ++i)
    body += " S2R %r" + std::to_string(i) + ", SR_CLOCKLO;\n";
  for (unsigned i = 0; i < count; ++i)
    body += " IADD3 %r900, %r900, %r" + std::to_string(i) + ", RZ;\n";
  return body + " FUNCTION.RETURN %r900;\n";
}

/// A load of a parameter on the stack, with an aligned frame object.
std::unique_ptr<ori::Module> withParameterOnStack(std::uint32_t ofParameter, std::uint32_t ofObject) {
  auto module = function("  reg %r0, %r1;\n.L0:\n FUNCTION.ENTRY %r0, RZ, RZ;\n FUNCTION.RETURN %r1;\n");
  ori::Function& f = *module->functions.front();
  ori::FrameObject parameter, object;
  parameter.size = 8;
  parameter.align = ofParameter;
  parameter.offset = 24;
  parameter.isIncoming = true;
  object.size = object.align = ofObject;
  f.frame = {parameter, object};
  ori::Builder b = ori::Builder::before(f, f.entry()->last);
  isa::Operand where;
  where.kind = isa::Operand::Kind::Frame;
  where.reg = 0;
  where.imm = 4;
  b.emit(ori::Op::LDL, {f.use(1), isa::Operand::physical(isa::File::R, ori::kStackPointer), isa::Operand(), where},
         {{isa::Mod::Size, isa::MemSize::B32}});
  where.reg = 1; // an unused object has no bytes
  b.emit(ori::Op::IADD3, {f.use(1), isa::Operand::pt(), isa::Operand::pt(), f.use(1), where, isa::Operand::rz()});
  return module;
}

} // namespace

TEST_CASE("a function with few values needs no frame") {
  const std::string text =
      allocated(".L0:\n FUNCTION.ENTRY %r0, RZ, RZ;\n IADD3 %r1, %r0, 3, RZ;\n FUNCTION.RETURN %r1;\n");
  CAPTURE(text);
  CHECK(contains(text, "MOV R0, R4;"));
  CHECK(contains(text, "MOV R4, R0;"));
  CHECK(contains(text, "RET.ABS.NODEC PT, R20:2"));
  CHECK(!contains(text, "R1,"));
  CHECK(!contains(text, "STL"));
}

TEST_CASE("parameters and results that exchange registers use a free register") {
  const std::string text =
      allocated("  reg %r0:2;\n.L0:\n FUNCTION.ENTRY %r0:2, RZ, RZ;\n FUNCTION.RETURN %r0.1, %r0.0;\n");
  CAPTURE(text);
  CHECK(countOf(text, "MOV ") == 3);
}

TEST_CASE("a function saves what it changes of its caller's registers, and no other") {
  for (unsigned count : {4u, 12u, 40u, 100u}) {
    CAPTURE(count);
    const std::string text = allocated(manyValues(count));
    CAPTURE(text);
    CHECK(countOf(text, "STL ") == countOf(text, "LDL "));
    // Thirteen are free: R0, and R3 to R15 except for the one that the entry needs.
    CHECK((countOf(text, "STL ") == 0) == (count <= 12));
    CHECK(countOf(text, "IADD3 R1, R1") == (count <= 12 ? 0 : 2));
  }
}

TEST_CASE("short of registers, a function spills besides") {
  AllocationOptions options;
  options.maxRegisters = 32;
  const std::string text = allocated(manyValues(100), options);
  CHECK(countOf(text, "LDL ") > 16);
}

TEST_CASE("a pointer is called from R14, or below the arguments where these take all that") {
  const auto calling = [](unsigned arguments) {
    std::string body = "  reg %r900:2;\n.L0:\n FUNCTION.ENTRY %r900:2, RZ, RZ;\n CALL.FUNCTION %r901, RZ, RZ, %r900:2";
    for (unsigned i = 0; i < arguments; ++i)
      body += ", %r900.1";
    return allocated(body + ";\n IADD3 %r902, %r901, %r900.0, RZ;\n FUNCTION.RETURN %r902;\n");
  };
  CHECK(contains(calling(0), "CALL_ABS_R<1> R14:2"));
  CHECK(contains(calling(10), "CALL_ABS_R<1> R14:2"));
  CHECK(contains(calling(11), "CALL_ABS_R<1> R2:2"));
  CHECK(contains(calling(12), "CALL_ABS_R<1> R2:2"));
}

TEST_CASE("the checker knows that a call below its arguments loses R2") {
  const auto faults = [](unsigned arguments, std::uint32_t kept) {
    std::string body = "  reg %r0:2;\n.L0:\n S2R %r0.0, SR_TID.X;\n S2R %r0.1, SR_TID.Y;\n S2R %r1, SR_TID.Z;\n"
                       " CALL.FUNCTION RZ, RZ, RZ, %r0:2";
    for (unsigned i = 0; i < arguments; ++i)
      body += ", 7";
    auto module = ori::test::kernel(body + ";\n STS [RZ], %r1;\n EXIT;\n");
    const ori::Function& f = *module->functions.front();
    SpillState state(f);
    Assignment assignment = state.assignment;
    assignment.physical = {4, kept};
    assignment.physical.resize(f.vregCount(), ~0u);
    return check(f, assignment).size();
  };
  CHECK(faults(10, 2) == 0);
  CHECK(faults(11, 2) == 1);
  CHECK(faults(11, 16) == 0);
  CHECK(faults(10, 15) == 1);
}

TEST_CASE("what a caller put on the stack is counted from its stack pointer when the frame is aligned") {
  auto module = withParameterOnStack(8, 16);
  ori::Function& f = *module->functions.front();
  CHECK(alignsStack(f));
  CHECK(allocate(f) == "");
  const std::string code = text(f);
  CAPTURE(code);
  CHECK(contains(code, "MOV R3, R1;"));
  CHECK(contains(code, "MOV R1, R3;"));
  // Loads the caller's stack pointer from its slot, then the parameter at +24 + 4 bytes.
  CHECK(contains(code, "+0x1c]"));
  CHECK(!contains(code, "[R1+0x1c]"));
}

TEST_CASE("an aligned parameter on the stack says what the stack pointer is a multiple of") {
  CHECK(!alignsStack(*withParameterOnStack(16, 16)->functions.front()));
  CHECK(alignsStack(*withParameterOnStack(16, 32)->functions.front()));
  auto module = withParameterOnStack(16, 16);
  ori::Function& f = *module->functions.front();
  CHECK(allocate(f) == "");
  CHECK(f.stats.frameBytes == 16);
  CHECK(contains(text(f), "[R1+0x2c]")); // 16 + 24 + 4
}
