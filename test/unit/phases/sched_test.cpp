#include "encoder/code.h"
#include "encoder/hazard.h"
#include "ori/analysis/loops.h"
#include "ori/module.h"
#include "phases/control_info.h"
#include "phases/hw_sequences.h"
#include "phases/list_schedule.h"
#include "test/peers/lift.h"
#include "test/unit/encoder/assembly.h"

#include <doctest/doctest.h>

#include <random>

using namespace orias;
using test::Line;

namespace {

const isa::Target& sm90() {
  return *isa::Target::find("sm_90");
}

/// A function from SASS text.
struct Program {
  explicit Program(const std::vector<std::string>& lines, const isa::Target& target = sm90())
      : module(target), function(module.newFunction("f", true)) {
    std::vector<Line> assembly;
    for (const std::string& line : lines)
      assembly.push_back({line, 1});
    REQUIRE(test::lift(test::assemble(assembly), function));
  }
  std::vector<isa::Word> words(phases::ControlOptions options = {}) {
    phases::assignControlInfo(function, options);
    return encoder::encodeInstructions(function).words;
  }
  std::vector<const ori::Instr*> instrs() const {
    std::vector<const ori::Instr*> all;
    for (const ori::Block* block : function.layout())
      for (const ori::Instr& instr : *block)
        all.push_back(&instr);
    return all;
  }
  void reorder() {
    for (ori::Block* block : function.layout())
      phases::scheduleBlock(function, *block, sm90(), [](auto region, const phases::DependenceGraph& graph) {
        return phases::orderByLatency(region, graph, sm90());
      });
  }
  /// The position of the first instruction with this opcode.
  std::size_t place(isa::Op op) const {
    const auto all = instrs();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i]->op == op) return i;
    return all.size();
  }
  ori::Module module;
  ori::Function& function;
};

void checkClean(const std::vector<isa::Word>& words) {
  const hazard::Report report = hazard::check(words, sm90());
  CHECK(report.unknown.empty());
  for (const auto& violation : report.violations)
    FAIL_CHECK(hazard::describe(violation, words, sm90()));
}

const std::vector<std::vector<std::string>> kPrograms = {
    {"IADD3 R2, R3, R4, RZ", "FFMA R5, R2, R4, R6", "ISETP.GE.AND P0, PT, R5, R3, PT", "@P0 EXIT", "EXIT"},
    {"LDG.E R2, desc[UR4][R4.64]", "LDG.E R3, desc[UR4][R6.64]", "IADD3 R8, R2, R3, RZ", "STG.E desc[UR4][R4.64], R8",
     "IADD3 R8, R9, R9, RZ", "EXIT"},
    {"DADD R2, R4, R6", "DADD R4, R2, R6", "STG.E.64 desc[UR4][R8.64], R4", "IADD3 R4, R4, R7, RZ", "@P0 BRA 0x0",
     "EXIT"},
    {"LDS R2, [R4]", "LDS R3, [R5]", "MUFU.RCP R6, R2", "FMUL R7, R6, R3", "STS [R4], R7", "@P0 BRA 0x0", "EXIT"},
    {"LDG.E R2, desc[UR4][R4.64]", "@P0 BRA 0x30", "IADD3 R9, R2, R2, RZ", "IADD3 R7, R2, R4, RZ", "EXIT"},
    {"S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, R3, PT", "@P0 BRA 0x50", "IMAD.WIDE R4, R0, R2, R6",
     "LDG.E R8, desc[UR4][R4.64]", "EXIT"},
};

} // namespace

TEST_CASE("control info: what phases 115 and 116 write passes the hazard checker") {
  for (const auto& lines : kPrograms)
    for (bool isSerial : {false, true}) {
      Program program(lines);
      phases::ControlOptions options;
      options.isSerial = isSerial;
      checkClean(program.words(options));
    }
}

TEST_CASE("control info: a group of bulk copies takes a read scoreboard, at -O0 too") {
  for (bool isSerial : {false, true}) {
    Program program({"UTMACMDFLUSH", "DEPBAR.LE SB0, 0x0", "EXIT"});
    phases::ControlOptions options;
    options.isSerial = isSerial;
    program.words(options);
    const isa::Control& control = program.instrs()[0]->control;
    CHECK(control.readBarrier == 0);
    CHECK(control.writeBarrier == isa::Control::kNoBarrier);
  }
}

TEST_CASE("control info: stalls are no longer than needed") {
  Program program({"IADD3 R2, R3, R4, RZ", "IADD3 R5, R2, R4, RZ", "FFMA R6, R5, R4, R7", "EXIT"});
  program.words();
  const auto all = program.instrs();
  CHECK(all[0]->control.stall == 4);
  CHECK(all[1]->control.stall == 5);
}

TEST_CASE("control info: a load takes a scoreboard and its user waits") {
  Program program({"LDG.E R2, desc[UR4][R4.64]", "IADD3 R8, R6, R6, RZ", "IADD3 R9, R2, R6, RZ", "EXIT"});
  program.words();
  const auto all = program.instrs();
  REQUIRE(all[0]->control.writeBarrier < 6);
  CHECK(all[0]->control.readBarrier == 7);
  CHECK(all[1]->control.waitMask == 0);
  CHECK(all[2]->control.waitMask == 1u << all[0]->control.writeBarrier);
}

TEST_CASE("control info: a store takes a scoreboard only when its data is overwritten") {
  Program kept({"STG.E desc[UR4][R4.64], R2", "IADD3 R8, R6, R6, RZ", "EXIT"});
  kept.words();
  CHECK(kept.instrs()[0]->control.readBarrier == 7);
  Program overwritten({"STG.E desc[UR4][R4.64], R2", "IADD3 R2, R6, R6, RZ", "EXIT"});
  overwritten.words();
  REQUIRE(overwritten.instrs()[0]->control.readBarrier < 6);
  CHECK(overwritten.instrs()[1]->control.waitMask == 1u << overwritten.instrs()[0]->control.readBarrier);
}

TEST_CASE("control info: more loads in flight than there are scoreboards") {
  std::vector<std::string> lines;
  for (unsigned i = 0; i < 12; ++i)
    lines.push_back("LDG.E R" + std::to_string(20 + i) + ", desc[UR4][R" + std::to_string(50 + 2 * i) + ".64]");
  for (unsigned i = 0; i < 12; ++i)
    lines.push_back("IADD3 R" + std::to_string(80 + i) + ", R" + std::to_string(20 + i) + ", R1, RZ");
  lines.push_back("EXIT");
  Program program(lines);
  checkClean(program.words());
}

TEST_CASE("control info: what waits for a store of the iteration before does not wait for a load of this one") {
  constexpr unsigned kLoads = 6;
  std::vector<std::string> lines;
  for (unsigned i = 0; i < kLoads; ++i)
    lines.push_back("LDG.E R" + std::to_string(20 + i) + ", desc[UR4][R10.64+" + std::to_string(4 * i) + "]");
  lines.push_back("IADD3 R6, R30, R31, RZ");
  for (unsigned i = 0; i < kLoads; ++i) { // with distances such that each load has its own scoreboard
    lines.push_back("FADD R9, R9, R" + std::to_string(20 + i));
    for (unsigned k = 0; k < 6; ++k)
      lines.push_back("IADD3 R40, R40, R41, RZ");
  }
  const std::size_t store = lines.size();
  lines.push_back("STG.E desc[UR4][R12.64], R6");
  lines.push_back("@P0 BRA 0x0");
  lines.push_back("EXIT");
  Program program(lines);
  checkClean(program.words());
  const auto all = program.instrs();
  const unsigned held = all[store]->control.readBarrier;
  REQUIRE(held < 6);
  CHECK(all[kLoads]->control.waitMask == 1u << held);
  for (unsigned load = 0; load < kLoads; ++load)
    CHECK(all[load]->control.writeBarrier != held);
}

TEST_CASE("control info: what reads the copies of a group issues 4 cycles after DEPBAR.LE") {
  for (const char* chip : {"sm_80", "sm_90"}) {
    CAPTURE(chip);
    Program program({"LDGSTS.E [R4], desc[UR4][R2.64]", "LDGDEPBAR", "DEPBAR.LE SB0, 0x0", "LDS R6, [R4]", "EXIT"},
                    *isa::Target::find(chip));
    program.words();
    CHECK(program.instrs()[2]->control.stall == 4);
  }
}

TEST_CASE("control info: WARPGROUP.DEPBAR has no wait mask, which would make it an illegal instruction") {
  phases::ControlOptions options;
  options.isSerial = true;
  Program program({"LDS R6, [R4]", "WARPGROUP.DEPBAR.LE gsb0, 0x0", "IADD3 R8, R6, R6, RZ", "EXIT"});
  program.words(options);
  const auto all = program.instrs();
  const std::size_t at = program.place(isa::Op::WARPGROUP_DEPBAR);
  REQUIRE(at > 0);
  CHECK(all[at]->control.waitMask == 0);
  CHECK(all[at - 1]->op == isa::Op::NOP);
  CHECK((all[at - 1]->control.waitMask >> all[0]->control.writeBarrier & 1) == 1);
}

TEST_CASE("control info: CCTL.IVALL waits for the acquiring access before it") {
  const auto waits = [](const char* access) {
    Program program({access, "CCTL.IVALL", "IADD3 R8, R2, R6, RZ", "EXIT"});
    program.words();
    const auto all = program.instrs();
    return all[1]->control.waitMask == 1u << all[0]->control.writeBarrier;
  };
  CHECK(waits("LDG.E.STRONG.GPU R2, desc[UR4][R4.64]"));
  CHECK(waits("ATOMG.E.ADD.STRONG.GPU PT, R2, desc[UR4][R4.64], R7"));
  CHECK_FALSE(waits("LDG.E R2, desc[UR4][R4.64]"));
}

TEST_CASE("control info: the barrier of the cluster keeps its distance from fences and from itself") {
  Program program({"CGAERRBAR", "UCGABAR_ARV", "UCGABAR_WAIT", "EXIT"});
  program.words();
  const auto all = program.instrs();
  CHECK(all[0]->control.stall == 8);
  CHECK(all[1]->control.stall == 6);
}

TEST_CASE("control info: what depends on a fence waits for it, arithmetic does not") {
  Program program({"STS [R4], R6", "MEMBAR.ALL.CTA", "FENCE.VIEW.ASYNC.S", "FADD R8, R6, R7", "MUFU.EX2 R9, R8",
                   "FADD R10, R9, R8", "WARPGROUP.ARRIVE", "EXIT"});
  program.words();
  const auto at = [&](isa::Op op) { return program.instrs()[program.place(op)]->control; };
  const unsigned fence = 1u << at(isa::Op::FENCE_VIEW_ASYNC).writeBarrier;
  CHECK(at(isa::Op::FENCE_VIEW_ASYNC).waitMask == (1u << at(isa::Op::MEMBAR).readBarrier));
  CHECK((at(isa::Op::FADD).waitMask & fence) == 0);
  CHECK((1u << at(isa::Op::MUFU).writeBarrier) != fence);
  CHECK((at(isa::Op::WARPGROUP_ARRIVE).waitMask & fence) != 0);
  Program load({"FENCE.VIEW.ASYNC.S", "FADD R8, R6, R7", "LDS R9, [R8]", "EXIT"});
  load.words();
  CHECK(load.instrs()[load.place(isa::Op::FADD)]->control.waitMask == 0);
  CHECK(load.instrs()[load.place(isa::Op::LDS)]->control.waitMask != 0);
}

TEST_CASE("three never-executed loads precede a copy that follows a barrier or an access to shared memory") {
  const std::string copy = "LDGSTS.E [R4], desc[UR4][R2.64]";
  const auto idleLoads = [&](const std::string& between) {
    Program program({copy, between, copy, "EXIT"});
    phases::insertIdleLoads(program.function);
    unsigned inFront = 0, last = 0;
    for (const ori::Instr* instr : program.instrs()) {
      const bool isIdle = instr->op == isa::Op::LDS && instr->guard().isZeroReg() && instr->guard().inverted();
      if (isIdle) ++inFront;
      if (instr->op == isa::Op::LDGSTS) last = inFront;
      if (!isIdle) inFront = 0;
    }
    return last;
  };
  for (const std::string between : {"LDS R6, [R8]", "STS [R8], R6", "ATOMS.ADD RZ, [R8], R6",
                                    "BAR.SYNC.DEFER_BLOCKING 0x0", "LD.E R6, desc[UR4][R2.64]", "WARPSYNC.ALL"}) {
    CAPTURE(between);
    CHECK(idleLoads(between) == 3);
  }
  for (const std::string between : {"NOP", "LDGDEPBAR", "DEPBAR.LE SB0, 0x0", "LDG.E R6, desc[UR4][R2.64]"}) {
    CAPTURE(between);
    CHECK(idleLoads(between) == 0);
  }
  Program first({copy, "EXIT"});
  phases::insertIdleLoads(first.function);
  CHECK(first.place(isa::Op::LDGSTS) == 3);
  // Fences need one more, but none in functions without copies.
  Program fence({copy, "MEMBAR.ALL.CTA", "STS [R8], R6", "MEMBAR.ALL.CTA", "EXIT"});
  phases::insertIdleLoads(fence.function);
  CHECK(fence.place(isa::Op::MEMBAR) == 5);
  CHECK(fence.instrs().size() == 5 + 3 + 1 + 4);
  Program noCopy({"STS [R8], R6", "MEMBAR.ALL.CTA", "EXIT"});
  CHECK_FALSE(phases::insertIdleLoads(noCopy.function));
}

TEST_CASE("control info: latencies beyond one stall count become NOPs") {
  Program program({"HMMA.16816.F32 R4, R8, R12, R4", "HMMA.16816.F32 R4, R8, R12, R4", "EXIT"});
  checkClean(program.words());
  const auto all = program.instrs();
  REQUIRE(all.size() == 4);
  CHECK(all[1]->op == isa::Op::NOP);
  CHECK(all[0]->control.stall + all[1]->control.stall == 24);
}

TEST_CASE("control info: reuse flags only between adjacent instructions, and never of what is written") {
  Program program({"FFMA R2, R4, R5, R6", "FFMA R3, R4, R5, R7", "FFMA R4, R4, R8, R7", "FFMA R9, R4, R8, R7", "EXIT"});
  program.words();
  const auto all = program.instrs();
  const auto isKept = [&](std::size_t i) { return all[i]->op_(isa::desc(all[i]->op).slot(isa::SlotId::Ra)).reuse(); };
  CHECK(isKept(0));
  CHECK(isKept(1));
  CHECK_FALSE(isKept(2));
  CHECK_FALSE(isKept(3));
}

TEST_CASE("schedule: a long latency starts first") {
  Program program(
      {"IADD3 R8, R6, R6, RZ", "IADD3 R9, R8, R6, RZ", "LDG.E R2, desc[UR4][R4.64]", "IADD3 R10, R2, R9, RZ", "EXIT"});
  program.reorder();
  CHECK(program.place(isa::Op::LDG) == 0);
}

TEST_CASE("schedule: what the iteration before has loaded is used late, and what it has computed is not") {
  // Two copies of a loop; each uses the value that the other has loaded.
  Program program({"LDG.E R3, desc[UR4][R10.64]", "FADD R6, R2, R6", "FADD R7, R14, R7", "IADD3 R8, R8, 0x1, RZ",
                   "IADD3 R9, R9, 0x1, RZ", "@P0 BRA 0xc0", "LDG.E R2, desc[UR4][R12.64]", "FADD R6, R3, R6",
                   "IADD3 R14, R14, 0x1, RZ", "IADD3 R15, R15, 0x1, RZ", "IADD3 R16, R16, 0x1, RZ", "@P1 BRA 0x0",
                   "EXIT"});
  const ori::Cfg cfg(program.function);
  const ori::Loops loops(cfg, ori::DomTree::dominators(cfg));
  ori::Block* first = program.function.layout()[0];
  const phases::Arrivals arrivals =
      phases::arrivalsAt(program.function, loops, cfg.predecessors(first->id), first->id, sm90());
  REQUIRE(arrivals.size() == 1);
  CHECK(arrivals.begin()->first == std::pair(isa::File::R, std::uint32_t{2}));
  CHECK(arrivals.begin()->second < sm90().expectedLatency(isa::LatencyClass::Load));
  phases::scheduleBlock(program.function, *first, sm90(), [&](auto region, const phases::DependenceGraph& graph) {
    return phases::orderByLatency(region, graph, sm90(), arrivals);
  });
  const auto all = program.instrs();
  REQUIRE(all[4]->op == isa::Op::FADD);
  CHECK(all[4]->op_(1).reg == 2);
  CHECK(phases::arrivalsAt(program.function, loops, cfg.predecessors(program.function.layout().back()->id),
                           program.function.layout().back()->id, sm90())
            .empty()); // outside the loop
}

TEST_CASE("schedule: memory keeps its order where addresses may meet") {
  SUBCASE("the same address") {
    Program program({"STG.E desc[UR4][R4.64], R6", "LDG.E R2, desc[UR4][R4.64]", "IADD3 R8, R2, R2, RZ", "EXIT"});
    program.reorder();
    CHECK(program.place(isa::Op::STG) < program.place(isa::Op::LDG));
  }
  SUBCASE("another base may be the same address") {
    Program program({"STG.E desc[UR4][R4.64], R6", "LDG.E R2, desc[UR4][R10.64]", "IADD3 R8, R2, R2, RZ", "EXIT"});
    program.reorder();
    CHECK(program.place(isa::Op::STG) < program.place(isa::Op::LDG));
  }
  SUBCASE("other spaces are free") {
    Program program({"STS [R4], R6", "LDG.E R2, desc[UR4][R10.64]", "IADD3 R8, R2, R2, RZ", "EXIT"});
    program.reorder();
    CHECK(program.place(isa::Op::LDG) < program.place(isa::Op::STS));
  }
  SUBCASE("a barrier stops everything") {
    Program program(
        {"STS [R4], R6", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDG.E R2, desc[UR4][R10.64]", "IADD3 R8, R2, R2, RZ", "EXIT"});
    program.reorder();
    CHECK(program.place(isa::Op::LDG) == 2);
  }
  SUBCASE("a fence of the block stops accesses and WGMMA, and lets arithmetic pass") {
    Program program({"STS [R4], R6", "MUFU.EX2 R9, R8", "FADD R10, R9, R8", "FADD R11, R10, R8", "FENCE.VIEW.ASYNC.S",
                     "LDS R2, [R12]", "EXIT"});
    program.reorder();
    CHECK(program.place(isa::Op::STS) < program.place(isa::Op::FENCE_VIEW_ASYNC));
    CHECK(program.place(isa::Op::FENCE_VIEW_ASYNC) < program.place(isa::Op::LDS));
    CHECK(program.place(isa::Op::FENCE_VIEW_ASYNC) < program.place(isa::Op::FADD));
  }
  SUBCASE("a wider fence stops everything") {
    Program program({"STS [R4], R6", "MUFU.EX2 R9, R8", "FADD R10, R9, R8", "MEMBAR.SC.GPU", "LDS R2, [R12]", "EXIT"});
    program.reorder();
    CHECK(program.place(isa::Op::FADD) < program.place(isa::Op::MEMBAR));
  }
}

// Every pair of dependent instructions keeps its order, and the words of the new schedule pass the checker.
TEST_CASE("schedule: random code keeps its dependences") {
  std::mt19937 random(7);
  const auto reg = [&] { return "R" + std::to_string(2 + 2 * (random() % 8)); };
  for (unsigned round = 0; round < 30; ++round) {
    std::vector<std::string> lines;
    for (unsigned i = 0; i < 40; ++i) {
      const std::string d = reg(), a = reg(), b = reg(), c = reg();
      switch (random() % 6) {
      case 0: lines.push_back("IADD3 " + d + ", " + a + ", " + b + ", RZ"); break;
      case 1: lines.push_back("FFMA " + d + ", " + a + ", " + b + ", " + c); break;
      case 2: lines.push_back("DADD " + d + ", " + a + ", " + b); break;
      case 3: lines.push_back("LDG.E " + d + ", desc[UR4][" + a + ".64]"); break;
      case 4: lines.push_back("STS [" + a + "], " + b); break;
      case 5: lines.push_back("@P0 MUFU.RCP " + d + ", " + a); break;
      }
    }
    lines.push_back("EXIT");
    Program program(lines);
    const auto before = program.instrs();
    program.reorder();
    const auto after = program.instrs();
    REQUIRE(before.size() == after.size());
    const phases::FlatCode code(program.function);
    const auto conflict = [&](std::size_t a, std::size_t b) {
      for (const auto& x : code.touches(code.instrs[a]))
        for (const auto& y : code.touches(code.instrs[b]))
          if (x.unit == y.unit && (x.isDef || y.isDef)) return true;
      return false;
    };
    std::vector<std::size_t> placeBefore(program.function.instrIdCount());
    for (std::size_t i = 0; i < before.size(); ++i)
      placeBefore[before[i]->id] = i;
    bool isKept = true;
    for (std::size_t a = 0; a < after.size(); ++a)
      for (std::size_t b = a + 1; b < after.size(); ++b)
        if (conflict(a, b)) isKept &= placeBefore[after[a]->id] < placeBefore[after[b]->id];
    CHECK(isKept);
    checkClean(program.words());
  }
}
