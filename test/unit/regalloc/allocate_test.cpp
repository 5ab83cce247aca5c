#include "allocation.h"

#include "ori/builder.h"
#include "ori/cfg_edit.h"

#include <fmt/format.h>
#include <random>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;

namespace {

struct Allocated {
  std::unique_ptr<ori::Module> module;
  std::string problem;
  ori::Function& function() const { return *module->functions.front(); }
  std::string text() const { return test::text(function()); }
  const ori::FunctionStats& stats() const { return function().stats; }
};

Allocated allocated(std::string_view body, const AllocationOptions& options = {}) {
  Allocated a{ori::test::kernel(body), {}};
  a.problem = test::allocate(a.function(), options);
  return a;
}

/// Options that do not rotate registers.
AllocationOptions inFewest() {
  AllocationOptions options;
  options.singlePass = true;
  return options;
}

AllocationOptions budget(unsigned registers) {
  AllocationOptions options;
  options.maxRegisters = registers;
  return options;
}

/// `count` values that are all live at once, then stored in sequence.
std::string manyLive(unsigned count, std::string_view definition = "S2R %r{}, SR_CLOCKLO;\n") {
  std::string body = ".L0:\n";
  for (unsigned i = 0; i < count; ++i) {
    std::string line(definition);
    line.replace(line.find("{}"), 2, std::to_string(i));
    body += line;
  }
  for (unsigned i = 0; i < count; ++i)
    body += "STS [%r" + std::to_string(i) + "], %r" + std::to_string(count - 1 - i) + ";\n";
  return body + "EXIT;\n";
}

} // namespace

TEST_CASE("straight-line code takes as few registers as are live at once") {
  auto a = allocated(
      ".L0:\n S2R %r0, SR_TID.X;\n IADD3 %r1, %r0, 1, RZ;\n IADD3 %r2, %r1, %r0, RZ;\n STS [%r0], %r2;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().registers == 2 + 2);
  CHECK(a.stats().frameBytes == 0);
}

TEST_CASE("pairs and quads are aligned, and their parts may be written one by one") {
  auto a = allocated(
      "  reg %r1:2, %r2:4;\n.L0:\n  S2R %r0, SR_TID.X;\n  IMAD.WIDE %r1:2, %r0, 4, c[0x0][0x210]:2;\n"
      "  LDS.128 %r2:4, [%r0];\n  MOV %r2.1, 7;\n  STS.128 [%r1.0], %r2:4;\n  STS.64 [%r0], %r1:2;\n  EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().registers <= 8 + 2);
}

TEST_CASE("a copy and its source share a register when neither is in the other's way") {
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n COPY %r1, %r0;\n STS [%r1], %r1;\n EXIT;\n");
  CHECK(contains(a.text(), "COPY R0, R0;"));
  // Here the source stays live, and changes.
  auto b = allocated(".L0:\n S2R %r0, SR_TID.X;\n COPY %r1, %r0;\n IADD3 %r0, %r0, 1, RZ;\n STS [%r1], %r0;\n EXIT;\n");
  CHECK(b.problem == "");
  CHECK(b.stats().registers == 2 + 2);
}

TEST_CASE("a value that a loop carries keeps one register") {
  auto a = allocated(
      ".L0:\n COPY %r0, 0;\n -> .L1;\n"
      ".L1 depth 1:\n IADD3 %r1, %r0, 1, RZ;\n ISETP.LT.U32.AND %p2, PT, %r1, 9, PT;\n COPY %r0, %r1;\n @%p2 BRA .L1;\n"
      " -> .L2;\n.L2:\n STS [%r0], %r0;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(contains(a.text(), "COPY R0, R0;"));
  CHECK(a.stats().registers == 1 + 2);
}

TEST_CASE("a guarded definition leaves the old value where it is") {
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n MOV %r1, 3;\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n"
                     " @%p2 MOV %r1, 4;\n IADD3 %r3, %r0, 1, RZ;\n STS [%r3], %r1;\n EXIT;\n");
  CHECK(a.problem == "");
}

TEST_CASE("a register written under guards only is not live before") {
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n"
                     " IADD3 %r3, %r0, 1, RZ;\n STS [%r0], %r3;\n @%p2 LDS %r1, [RZ];\n @%p2 STS [RZ], %r1;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().registers == 2 + 2);
}

TEST_CASE("values that are written and read under one guard are free around the loop") {
  // Forty values are live throughout the loop.
  std::string body = ".L0:\n S2R %r0, SR_TID.X;\n -> .L1;\n.L1:\n ISETP.LT.U32.AND %p1, PT, %r0, 9, PT;\n";
  for (unsigned i = 0; i < 40; ++i) {
    const std::string r = "%r" + std::to_string(10 + i);
    body += " @%p1 LDS " + r + ", [%r0+" + std::to_string(4 * i) + "];\n @%p1 STS [" + r + "], " + r + ";\n";
  }
  body += " ISETP.LT.U32.AND %p2, PT, %r0, 5, PT;\n @%p2 BRA .L1;\n -> .L2;\n.L2:\n EXIT;\n";
  auto a = allocated(body);
  CHECK(a.problem == "");
  CHECK(a.stats().registers <= 2 + 2);
}

TEST_CASE("a result without a use overwrites nothing") {
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n MOV %r1, 5;\n @%p3 MOV %r2, 6;\n STS [%r0], %r0;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(!contains(a.text(), "MOV R0,"));
}

TEST_CASE("a register without a definition can be read") {
  auto a = allocated("  reg %r1:2;\n.L0:\n MOV %r1.0, 5;\n STS.64 [%r0], %r1:2;\n EXIT;\n");
  CHECK(a.problem == "");
}

TEST_CASE("the base of a bindless constant is a register like another") {
  auto a = allocated(".L0:\n S2UR %ur1, SR_CTAID.X;\n S2UR %ur2, SR_CTAID.Y;\n"
                     " MOV %r3, cx[%ur1][0x10];\n MOV %r4, %ur2;\n STS [%r3], %r4;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(contains(a.text(), "cx[UR4"));
  CHECK(contains(a.text(), "S2UR UR5"));
}

TEST_CASE("more predicates than there are go to registers") {
  std::string body = ".L0:\n S2R %r0, SR_TID.X;\n";
  for (unsigned i = 1; i <= 12; ++i)
    body += " ISETP.LT.U32.AND %p" + std::to_string(i) + ", PT, %r0, " + std::to_string(i) + ", PT;\n";
  body += " IADD3 %r0, %r0, 1, RZ;\n";
  for (unsigned i = 1; i <= 12; ++i)
    body += " @%p" + std::to_string(i) + " STS [%r0], " + "%r0;\n";
  auto a = allocated(body + " EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().predicates <= 7);
  CHECK(contains(a.text(), "SEL "));
  CHECK(a.stats().frameBytes == 0);
}

TEST_CASE("more uniform registers than there are go to registers") {
  std::string body = ".L0:\n S2R %r0, SR_TID.X;\n";
  for (unsigned i = 1; i <= 80; ++i)
    body += " S2UR %ur" + std::to_string(i) + ", SR_CTAID.X;\n";
  for (unsigned i = 1; i <= 80; ++i)
    body += " IADD3 %r0, %r0, %ur" + std::to_string(i) + ", RZ;\n";
  auto a = allocated(body + " STS [%r0], %r0;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().uniformRegisters <= 63);
  CHECK(contains(a.text(), "R2UR "));
}

TEST_CASE("UR0 to UR3 are never used") {
  auto many = [](unsigned count) {
    std::string body = ".L0:\n S2R %r0, SR_TID.X;\n";
    for (unsigned i = 1; i <= count; ++i)
      body += " S2UR %ur" + std::to_string(i) + ", SR_CTAID.X;\n";
    for (unsigned i = 1; i <= count; ++i)
      body += " IADD3 %r0, %r0, %ur" + std::to_string(i) + ", RZ;\n";
    return allocated(body + " STS [%r0], %r0;\n EXIT;\n");
  };
  auto all = many(59);
  auto more = many(60);
  for (const char* name : {"UR0,", "UR1,", "UR2,", "UR3,"}) {
    CHECK(!contains(all.text(), name));
    CHECK(!contains(more.text(), name));
  }
  CHECK(all.stats().uniformRegisters == 63);
  CHECK(!contains(all.text(), "R2UR "));
  CHECK(contains(more.text(), "R2UR "));
}

TEST_CASE("warp-uniform values on the two sides of a branch are kept apart") {
  // Each side has one that is live across its blocks, and lanes of both sides may be interleaved.
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p1, PT, %r0, 9, PT;\n @%p1 BRA .L3;\n -> .L1;\n"
                     ".L1:\n S2UR %ur2, SR_CTAID.X;\n -> .L2;\n.L2:\n IADD3 %r0, %r0, %ur2, RZ;\n BRA .L5;\n"
                     ".L3:\n S2UR %ur3, SR_CTAID.Y;\n -> .L4;\n.L4:\n IADD3 %r0, %r0, %ur3, RZ;\n -> .L5;\n"
                     ".L5:\n STS [%r0], %r0;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().uniformRegisters == 6); // two, from UR4 on
}

TEST_CASE("a branch with one side keeps warp-uniform values no longer than needed") {
  auto a =
      allocated(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p1, PT, %r0, 9, PT;\n @%p1 BRA .L3;\n -> .L1;\n"
                ".L1:\n S2UR %ur2, SR_CTAID.X;\n -> .L2;\n.L2:\n IADD3 %r0, %r0, %ur2, RZ;\n S2UR %ur3, SR_CTAID.Y;\n"
                " IADD3 %r0, %r0, %ur3, RZ;\n -> .L3;\n.L3:\n STS [%r0], %r0;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().uniformRegisters == 5); // one, from UR4 on
}

TEST_CASE("barriers of sibling regions differ") {
  const std::string side = [] {
    return std::string(
        " BSSY %bN, .LJ;\n @%p1 BRA .LJ;\n -> .LM;\n.LM:\n STS [%r0], %r0;\n -> .LJ;\n.LJ:\n BSYNC %bN;\n");
  }();
  auto with = [&](std::string n, std::string m, std::string j) {
    std::string s = side;
    for (auto [from, to] : {std::pair{std::string("bN"), "b" + n}, {"LM", "L" + m}, {"LJ", "L" + j}})
      for (std::size_t at; (at = s.find(from)) != std::string::npos;)
        s.replace(at, from.size(), to);
    return s;
  };
  auto a =
      allocated(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p1, PT, %r0, 9, PT;\n @%p1 BRA .L3;\n -> .L1;\n"
                ".L1:\n" +
                with("10", "20", "21") + " BRA .L9;\n.L3:\n" + with("11", "22", "23") + " -> .L9;\n.L9:\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(contains(a.text(), "BSSY B0"));
  CHECK(contains(a.text(), "BSSY B1"));
}

TEST_CASE("every budget that can be met is met, with spilling") {
  for (unsigned registers : {255u, 32u, 16u, 12u, 8u, 6u}) {
    CAPTURE(registers);
    auto a = allocated(manyLive(40), budget(registers));
    CHECK(a.problem == "");
    CHECK(a.stats().registers <= registers);
    CHECK((a.stats().spillStoreBytes > 0) == (registers < 42));
    CHECK((a.stats().frameBytes > 0) == (registers < 42));
    CHECK(a.stats().frameBytes % 8 == 0);
    if (a.stats().frameBytes) CHECK(contains(a.text(), "LDC R1, "));
  }
}

TEST_CASE("tuples spill as rows of their own width") {
  std::string body = "  reg";
  for (unsigned i = 1; i <= 8; ++i)
    body += std::string(i > 1 ? "," : "") + " %r" + std::to_string(i) + ":4";
  body += ";\n.L0:\n S2R %r0, SR_TID.X;\n";
  for (unsigned i = 1; i <= 8; ++i)
    body += " LDS.128 %r" + std::to_string(i) + ":4, [%r0];\n";
  for (unsigned i = 1; i <= 8; ++i)
    body += " STS.128 [%r0], %r" + std::to_string(i) + ":4;\n";
  for (unsigned registers : {255u, 24u, 16u, 12u}) {
    CAPTURE(registers);
    auto a = allocated(body + " EXIT;\n", budget(registers));
    CHECK(a.problem == "");
    if (registers < 32) CHECK(contains(a.text(), "STL.128"));
  }
}

TEST_CASE("a spilled value that is written under a guard is stored under it, and not loaded first") {
  AllocationOptions options;
  options.spillEverything = true;
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.U32.AND %p2, PT, %r0, 9, PT;\n LDS %r1, [%r0];\n"
                     " @%p2 LDS %r1, [%r0+4];\n STS [%r0], %r1;\n EXIT;\n",
                     options);
  CHECK(a.problem == "");
  CHECK(countOf(a.text(), "@P0 STL") == 1);
  CHECK(countOf(a.text(), "LDL") == 4 + 1); // the reads of both
}

TEST_CASE("what cannot be done is an error that names the function, the file and the budget") {
  auto a = allocated("  reg %r1:4;\n.L0:\n LDS.128 %r1:4, [RZ];\n STS.128 [RZ], %r1:4;\n EXIT;\n", budget(5));
  CHECK(contains(a.problem, "'k'"));
  CHECK(contains(a.problem, " R registers"));
  CHECK(contains(a.problem, "3"));
  // Barriers cannot be spilled.
  std::string body = ".L0:\n";
  for (unsigned i = 1; i <= 17; ++i)
    body += " BSSY %b" + std::to_string(i) + ", .L1;\n";
  body += " -> .L1;\n.L1:\n";
  for (unsigned i = 1; i <= 17; ++i)
    body +=
        " BSYNC %b" + std::to_string(i) + ";\n -> .L" + std::to_string(i + 1) + ";\n.L" + std::to_string(i + 1) + ":\n";
  auto b = allocated(body + " EXIT;\n");
  CHECK(contains(b.problem, " B registers"));
}

TEST_CASE("the knob spills everything") {
  AllocationOptions options;
  options.spillEverything = true;
  options.remat = false;
  auto a = allocated(".L0:\n S2R %r0, SR_TID.X;\n IADD3 %r1, %r0, 1, RZ;\n STS [%r0], %r1;\n EXIT;\n", options);
  CHECK(a.problem == "");
  CHECK(countOf(a.text(), "STL ") == 2);
  CHECK(a.stats().spillStoreBytes == 8);
  CHECK(a.stats().spillLoadBytes == 12);
  CHECK(a.stats().frameBytes == 8);
}

TEST_CASE("constants are made again instead of stored") {
  const std::string body = manyLive(20, "MOV %r{}, 77;\n");
  auto a = allocated(body, budget(8));
  CHECK(a.problem == "");
  CHECK(a.stats().spillStoreBytes == 0);
  CHECK(a.stats().frameBytes == 0);
  AllocationOptions without = budget(8);
  without.remat = false;
  auto b = allocated(body, without);
  CHECK(b.problem == "");
  CHECK(b.stats().spillStoreBytes == 0);
  CHECK(b.stats().uniformRegisters > 0); // all lanes share them
  without.uniformPromotion = false;
  auto c = allocated(body, without);
  CHECK(c.problem == "");
  CHECK(c.stats().spillStoreBytes > 0);
  CHECK(c.stats().uniformRegisters == 0);
}

TEST_CASE("the frame: alignment, order, prologue, and a stack pointer that is reserved") {
  auto a =
      allocated("  frame \"small\" size 4 align 4;\n  frame \"big\" size 16 align 16;\n.L0:\n"
                " S2R %r0, SR_TID.X;\n S2R %r2, SR_TID.Y;\n STL [R1+frame[0]], %r0;\n STL [R1+frame[1]+4], %r2;\n"
                " LDL %r0, [R1+frame[0]];\n STS [RZ], %r0;\n LDL %r2, [R1+frame[1]+4];\n STS [RZ], %r2;\n EXIT;\n");
  CHECK(a.problem == "");
  CHECK(a.stats().frameBytes == 32);
  CHECK(a.function().frame[1].offset == 0);
  CHECK(a.function().frame[0].offset == 16);
  CHECK(contains(a.text(), "STL [R1+0x10], R0;"));
  CHECK(contains(a.text(), "STL [R1+4], R2;"));
  CHECK(contains(a.text(), "IADD3 R1, R1, -0x20, RZ;"));
  CHECK(a.stats().registers == 3 + 2);
}

TEST_CASE("a remark for each register that is spilled") {
  unsigned remarks = 0;
  AllocationOptions options = budget(8);
  options.remark = [&](const ori::Instr*, const std::string& text, std::int64_t) {
    remarks += contains(text, "spilled R");
  };
  auto a = allocated(manyLive(20), options);
  CHECK(a.problem == "");
  CHECK(remarks >= 13);
}

TEST_CASE("a spilled pair that is copied into a row is read from its own place before the copy too") {
  // The copy is first in the text, so its references are rewritten before the others.
  std::string body =
      "  reg %r100:2, %r101:2, %r102:4;\n"
      ".L0:\n  S2R %r99, SR_TID.X;\n  LDS.64 %r100:2, [%r99];\n  LDS.64 %r101:2, [%r99+8];\n  BRA .L2;\n"
      ".L1:\n  COPY %r102.0:2, %r101:2;\n  COPY %r102.2:2, %r100:2;\n  STS.128 [%r99], %r102:4;\n  EXIT;\n"
      ".L2:\n  IADD3 %r98, %r100.0, %r100.1, RZ;\n";
  for (unsigned i = 0; i < 12; ++i)
    body += "  S2R %r" + std::to_string(i) + ", SR_TID.X;\n";
  for (unsigned i = 0; i < 12; ++i)
    body += "  STS [%r" + std::to_string(i) + "], %r" + std::to_string(11 - i) + ";\n";
  body += "  STS [%r98], %r98;\n  BRA .L1;\n";
  for (unsigned registers = 12; registers <= 24; ++registers)
    CHECK(allocated(body, budget(registers)).problem == "");
}

TEST_CASE("uniform registers that copies read late are given out in turn") {
  std::string body = "  reg %ur1:4, %ur2:2, %ur3:4, %ur4:2;\n.L0:\n";
  for (const char* run : {"%ur1", "%ur2", "%ur3", "%ur4"})
    for (unsigned w = 0; w < (run[3] % 2 == 0 ? 2u : 4u); ++w)
      body += std::string("  UMOV ") + run + "." + std::to_string(w) + ", 1;\n" +
              (run[3] == '2' && w == 1 ? "  UTMALDG<1> [%ur1:4], [%ur2:2], desc[_];\n" : "");
  body += "  UTMALDG<1> [%ur3:4], [%ur4:2], desc[_];\n  EXIT;\n";
  CHECK(allocated(body).stats().uniformRegisters > allocated(body, inFewest()).stats().uniformRegisters);
}

TEST_CASE("uniform registers that an elected lane writes are free around the loop") {
  // Twelve tuples of eight are live throughout the outer loop: 96 of 63 registers.
  std::string declarations, body = ".L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n.L1:\n";
  for (unsigned i = 0; i < 12; ++i) {
    const std::string run = "%ur" + std::to_string(10 + i), elected = "%p" + std::to_string(40 + i);
    declarations += "  reg " + run + ":8 align 8;\n";
    body +=
        "  -> .L" + std::to_string(2 + i) + ";\n.L" + std::to_string(2 + i) + ":\n  ELECT " + elected + ", URZ, PT;\n";
    for (unsigned w = 0; w < 8; ++w)
      body += "  @" + elected + " R2UR " + run + "." + std::to_string(w) + ", %r0;\n";
    body += "  UTMALDG<1> [" + run + ".0:4], [" + run + ".4:2], desc[_];\n  @!" + elected + " BRA .L" +
            std::to_string(2 + i) + ";\n";
  }
  body += "  -> .L14;\n.L14:\n  ISETP.LT.AND %p60, PT, %r0, 5, PT;\n  @%p60 BRA .L1;\n  -> .L15;\n.L15:\n  EXIT;\n";
  auto a = allocated(declarations + body, inFewest());
  CHECK(a.problem == "");
  CHECK(a.stats().uniformRegisters <= 16);
  CHECK(countOf(a.text(), "MOV R") == 0);
}

TEST_CASE("results that no instruction reads go to the zero registers") {
  auto a = allocated("  reg %r2:2;\n.L0:\n  S2R %r0, SR_TID.X;\n  COPY %r2:2, 0;\n"
                     "  ATOMG.E.ADD PT, %r4, [%r2:2], %r0;\n  SHFL.BFLY %p5, %r6, %r0, 1, 31;\n"
                     "  STG.E [%r2:2], %r6;\n  EXIT;\n");
  CHECK(a.problem == "");
  CHECK(contains(a.text(), "ATOMG.E.ADD PT, RZ,"));
  CHECK(contains(a.text(), "SHFL.BFLY PT, R"));
  CHECK(a.stats().predicates == 0);
}

TEST_CASE("registers are taken in turn as far as they cost nothing") {
  std::string body = ".L0:\n  S2R %r0, SR_TID.X;\n";
  for (unsigned i = 1; i <= 4; ++i) {
    const std::string value = "%r" + std::to_string(2 * i), less = "%p" + std::to_string(2 * i + 1);
    body += "  LDS " + value + ", [%r0+" + std::to_string(4 * i) + "];\n  ISETP.LT.AND " + less + ", PT, " + value +
            ", 5, PT;\n  @" + less + " STS [%r0], " + value + ";\n";
  }
  AllocationOptions options;
  CHECK(allocated(body + "  EXIT;\n", options).stats().registers == 2 + 2);
  options.freeRegisters = [](unsigned) { return 16u; };
  const auto a = allocated(body + "  EXIT;\n", options);
  CHECK(a.problem == "");
  CHECK(a.stats().registers == 5 + 2);
  CHECK(a.stats().predicates == 4);
}

TEST_CASE("a placement in fewer registers is looked for where what is live allows it") {
  // Pairs and single registers that begin and end in any order: the standard placements leave holes.
  const auto body = [](unsigned seed) {
    std::mt19937 random(seed);
    std::string code = ".L0:\n  S2R %r0, SR_TID.X;\n", declared = "  reg";
    std::vector<std::pair<unsigned, bool>> live;
    for (unsigned i = 1; i <= 60; ++i) {
      const bool isPair = random() % 3 == 0;
      if (isPair) declared += fmt::format("{} %r{}:2", declared == "  reg" ? "" : ",", i);
      code += isPair ? fmt::format("  LDS.64 %r{}:2, [%r0];\n", i) : fmt::format("  LDS %r{}, [%r0];\n", i);
      live.emplace_back(i, isPair);
      while (live.size() > 6 || (i == 60 && !live.empty())) {
        const std::size_t at = random() % live.size();
        const auto [value, isWide] = live[at];
        code += isWide ? fmt::format("  STS.64 [%r0], %r{}:2;\n", value) : fmt::format("  STS [%r0], %r{};\n", value);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    return declared + ";\n" + code + "  EXIT;\n";
  };
  AllocationOptions narrow;
  narrow.freeRegisters = [](unsigned used) { return used; };
  unsigned fewer = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const auto usual = allocated(body(seed)), tight = allocated(body(seed), narrow);
    REQUIRE(tight.problem == "");
    CHECK(tight.stats().registers <= usual.stats().registers);
    fewer += tight.stats().registers < usual.stats().registers ? 1 : 0;
  }
  CHECK(fewer > 0);
}

TEST_CASE("predicates that are conjunctions of comparisons are computed again instead of waiting in registers") {
  // Eight rows and eight columns: a mask for each of 64 stores, all computed before the first one.
  std::string body = ".L0:\n";
  for (unsigned i = 0; i < 16; ++i)
    body += " LDS %r" + std::to_string(i) + ", [RZ+" + std::to_string(4 * i) + "];\n";
  for (unsigned i = 0; i < 16; ++i)
    body += " ISETP.LT.AND %p" + std::to_string(20 + i) + ", PT, %r" + std::to_string(i) + ", c[0x0][0x210], PT;\n";
  for (unsigned i = 0; i < 64; ++i)
    body += " PLOP3<> %p" + std::to_string(40 + i) + ", PT, %p" + std::to_string(20 + i / 8) + ", %p" +
            std::to_string(28 + i % 8) + ", PT, 0x80, 0;\n";
  for (unsigned i = 0; i < 64; ++i)
    body += " @%p" + std::to_string(40 + i) + " STS [RZ+" + std::to_string(4 * i) + "], RZ;\n";
  auto a = allocated(body + " EXIT;\n");
  CHECK(a.problem == "");
  // 73 if each of them is in a separate register.
  CHECK(a.stats().registers <= 16 + 4);
  CHECK(countOf(a.text(), "PLOP3") <= 7);
}

TEST_CASE("a spilled value whose operands are live is computed again, and one whose operand changes is not") {
  const auto body = [](bool changes) {
    std::string text = ".L0:\n S2R %r0, SR_CLOCKLO;\n LOP3.LUT %r1, %r0, 31, RZ, 0xc0, !PT;\n";
    for (unsigned i = 10; i < 16; ++i)
      text += " LDS %r" + std::to_string(i) + ", [%r0+" + std::to_string(4 * i) + "];\n";
    if (changes) text += " IADD3 %r0, %r0, 1, RZ;\n";
    for (unsigned i = 10; i < 16; ++i)
      text += " STS [%r0], %r" + std::to_string(i) + ";\n STS [%r0], %r" + std::to_string(i) + ";\n";
    return text + " STS [%r0], %r1;\n EXIT;\n";
  };
  auto a = allocated(body(false), budget(9));
  CHECK(a.problem == "");
  auto b = allocated(body(true), budget(9));
  CHECK(b.problem == "");
  CHECK(a.stats().spillStoreBytes < b.stats().spillStoreBytes);
}

TEST_CASE("a reload whose value a register still holds is not done again") {
  std::string body = ".L0:\n";
  for (unsigned i = 0; i < 10; ++i)
    body += fmt::format(" LDS %r{}, [RZ+{}];\n", i, 4 * i);
  for (unsigned i = 0; i < 10; ++i)
    body += fmt::format(" STS [RZ], %r{0};\n STS [RZ+4], %r{0};\n", i);
  AllocationOptions options = budget(8);
  options.uniformPromotion = false;
  auto a = allocated(body + " EXIT;\n", options);
  CHECK(a.problem == "");
  const unsigned spilled = countOf(a.text(), "STL ");
  CHECK(spilled > 0);
  CHECK(countOf(a.text(), "LDL ") == spilled); // for two reads each
  CHECK(a.stats().spillLoadBytes == 4 * spilled);
}

TEST_CASE("a reload stays where the paths before it disagree") {
  // The value is in memory until many others are stored. One side reads it, the other does not.
  std::string body = ".L0:\n LDS %r0, [RZ];\n";
  for (unsigned i = 10; i < 16; ++i)
    body += fmt::format(" LDS %r{}, [RZ+{}];\n", i, 4 * i);
  for (unsigned i = 10; i < 16; ++i)
    body += fmt::format(" STS [RZ], %r{0};\n", i);
  for (unsigned i = 16; i-- > 10;)
    body += fmt::format(" STS [RZ+4], %r{0};\n", i);
  body += " S2R %r20, SR_TID.X;\n ISETP.NE.AND %p1, PT, %r20, 0, PT;\n @%p1 BRA .L2;\n -> .L1;\n"
          ".L1:\n STS [RZ], %r0;\n -> .L2;\n.L2:\n STS [RZ+4], %r0;\n STS [RZ+8], %r0;\n EXIT;\n";
  AllocationOptions options = budget(8);
  options.uniformPromotion = false;
  auto a = allocated(body, options);
  CHECK(a.problem == "");
  const std::string text = a.text();
  CHECK(countOf(text, "STL ") > 0);
  const std::string after = text.substr(text.find("S2R "));
  CHECK(countOf(after, "LDL ") == 2); // one on the side, one after it for both reads
}

TEST_CASE("the question whether registers are enough counts predicates that wait in them") {
  // Three or four of ten predicates have no register, and the sources of their comparisons are dead.
  std::string body = ".L0:\nS2R %r0, SR_TID.X;\n";
  for (unsigned i = 0; i < 10; ++i)
    body += fmt::format("LDS %r{0}, [%r0+{1}];\nISETP.LT.AND %p{2}, PT, %r{0}, 5, PT;\n", i + 1, 4 * i, i + 20);
  for (unsigned i = 0; i < 10; ++i)
    body += fmt::format("@%p{} STS [%r0+{}], %r0;\n", i + 20, 64 + 4 * i);
  const auto module = ori::test::kernel(body + "EXIT;\n");
  ori::Function& function = *module->functions.front();
  CHECK(!fitsRegisters(function, 3, Search::Thorough));
  CHECK(fitsRegisters(function, 7, Search::Thorough));
}

TEST_CASE("the question whether registers are enough counts those that a callee may change") {
  const auto fits = [](const char* call) {
    std::string body = ".L0:\n S2R %r0, SR_TID.X;\n";
    for (unsigned i = 1; i < 11; ++i)
      body += fmt::format(" LDS %r{}, [%r0+{}];\n", i, 4 * i);
    body += call;
    for (unsigned i = 1; i < 11; ++i)
      body += fmt::format(" STS [RZ+{}], %r{};\n", 4 * i, i);
    const auto module = ori::test::kernel(body + " EXIT;\n");
    return fitsRegisters(*module->functions.front(), 14, Search::Thorough);
  };
  CHECK(fits(""));
  CHECK(!fits(" CALL.EXTERN RZ, 8, %r0, RZ, RZ;\n"));
}
