#include "allocation.h"

#include "regalloc/check.h"
#include "regalloc/live_ranges.h"
#include "regalloc/predicate_packing.h"
#include "regalloc/webs.h"

#include <fmt/format.h>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;
using isa::Op;

namespace {

/// Spills all predicates of a function, and packs them. Each register of file R is separate.
struct Packed {
  std::unique_ptr<ori::Module> module;
  Assignment assignment;
  bool changed = false;

  std::pair<unsigned, unsigned> peaks; ///< before and after

  explicit Packed(const std::string& body, bool isWorth = true) : module(ori::test::kernel(body)) {
    ori::Function& f = function();
    SpillState state(f);
    const LiveRanges ranges(f, File::P);
    const Webs webs = buildWebs(f, File::P, ranges, {});
    for (const Web& web : webs.all)
      spillWeb(f, web, File::P, state, {.remat = false});
    state.grow(f);
    changed = packSpilledPredicates(f, state, [&](unsigned before, unsigned after) {
      peaks = {before, after};
      return isWorth;
    });
    state.grow(f);
    assignment = state.assignment;
    // A temporary predicate lives for one instruction.
    std::uint32_t next = 0;
    for (ori::VRegId v = 0; v < f.vregCount(); ++v)
      assignment.physical.push_back(f.vreg(v).file == File::P ? v % 7 : next++);
  }
  ori::Function& function() const { return *module->functions.front(); }
  std::string all() const { return text(function()); }
  std::vector<std::string> faults() const { return check(function(), assignment); }
  std::vector<ori::Instr*> tests() const {
    std::vector<ori::Instr*> found;
    for (ori::Block* block : function().layout())
      for (ori::Instr& instr : *block)
        if (instr.op == Op::LOP3) found.push_back(&instr);
    return found;
  }
  SpillMove& move(const ori::Instr& instr) { return assignment.spillMoves.at(instr.id); }
};

/// `count` predicates: bits of memory. Their uses are in another block.
std::string predicates(unsigned count) {
  std::string text = ".L0:\n";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format(" LDS %r{}, [{}];\n ISETP.NE.U32.AND %p{}, PT, %r{}, RZ, PT;\n", i, 4 * i, 100 + i, i);
  text += " -> .L1;\n.L1:\n";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format(" @%p{} STS [{}], RZ;\n", 100 + i, 4 * i);
  return text + " EXIT;\n";
}

} // namespace

TEST_CASE("spilled predicates of one block share a register") {
  Packed four(predicates(4));
  CHECK(four.changed);
  const std::string all = four.all();
  CHECK(countOf(all, " SEL ") == 1);
  CHECK(countOf(all, "IADD3.X") == 3);
  CHECK(countOf(all, "LOP3") == 4);
  CHECK(four.faults().empty());
  // Bit 3 is the predicate spilled first.
  std::vector<std::int64_t> masks;
  for (const ori::Instr* test : four.tests())
    masks.push_back(test->op_(3).imm);
  CHECK(masks == std::vector<std::int64_t>{8, 4, 2, 1});
  CHECK_FALSE(Packed(predicates(1)).changed);
}

TEST_CASE("predicates are packed only if that is worth it") {
  Packed four(predicates(4), false);
  CHECK_FALSE(four.changed);
  CHECK(countOf(four.all(), " SEL ") == 4);
  CHECK(four.peaks == std::pair(4U, 2U));
}

TEST_CASE("a register holds 32 predicates") {
  const std::string all = Packed(predicates(33)).all();
  CHECK(countOf(all, "IADD3.X") == 31);
  CHECK(countOf(all, " SEL ") == 2);
  CHECK(countOf(all, "LOP3") == 32);
  CHECK(Packed(predicates(33)).faults().empty());
  CHECK(Packed(predicates(64)).faults().empty());
}

TEST_CASE("a reload between two spills reads the word at that point") {
  Packed two(".L0:\n LDS %r0, [0];\n ISETP.NE.U32.AND %p100, PT, %r0, RZ, PT;\n @%p100 STS [8], RZ;\n"
             " LDS %r1, [4];\n ISETP.NE.U32.AND %p101, PT, %r1, RZ, PT;\n -> .L1;\n"
             ".L1:\n @%p100 STS [0], RZ;\n @%p101 STS [4], RZ;\n EXIT;\n");
  CHECK(two.changed);
  std::vector<std::int64_t> masks;
  for (const ori::Instr* test : two.tests())
    masks.push_back(test->op_(3).imm);
  CHECK(masks == std::vector<std::int64_t>{1, 2, 1});
  CHECK(two.faults().empty());
}

TEST_CASE("predicates that do not live at once are not packed") {
  CHECK_FALSE(Packed(".L0:\n LDS %r0, [0];\n ISETP.NE.U32.AND %p100, PT, %r0, RZ, PT;\n @%p100 STS [8], RZ;\n"
                     " LDS %r1, [4];\n ISETP.NE.U32.AND %p101, PT, %r1, RZ, PT;\n @%p101 STS [4], RZ;\n EXIT;\n")
                  .changed);
}

TEST_CASE("a predicate with two definitions is not packed") {
  const std::string body = "  reg %p100;\n.L0:\n LDS %r0, [0];\n ISETP.NE.U32.AND %p100, PT, %r0, RZ, PT;\n"
                           " ISETP.NE.U32.AND %p101, PT, %r0, 1, PT;\n ISETP.NE.U32.AND %p102, PT, %r0, 2, PT;\n"
                           " @%p101 BRA .L2;\n -> .L1;\n.L1:\n ISETP.NE.U32.AND %p100, PT, %r0, 3, PT;\n -> .L2;\n"
                           ".L2:\n @%p100 STS [0], RZ;\n @%p101 STS [4], RZ;\n @%p102 STS [8], RZ;\n EXIT;\n";
  Packed three(body);
  CHECK(countOf(three.all(), "IADD3.X") == 1);
  CHECK(three.faults().empty());
}

TEST_CASE("the checker finds a reload of another predicate's bit") {
  Packed four(predicates(4));
  ori::Instr* test = four.tests()[1];
  four.move(*test).bit = 3;
  four.function().setOperand(test, 3, isa::Operand::immediate(8));
  const std::vector<std::string> faults = four.faults();
  REQUIRE(!faults.empty());
  CHECK(contains(faults.front(), "of virtual register"));
}

TEST_CASE("the checker finds a reload that tests other bits than it says") {
  Packed four(predicates(4));
  four.function().setOperand(four.tests()[1], 3, isa::Operand::immediate(8));
  const std::vector<std::string> faults = four.faults();
  REQUIRE(!faults.empty());
  CHECK(contains(faults.front(), "does not test its bit"));
}

TEST_CASE("the checker finds a spill that adds another predicate") {
  Packed four(predicates(4));
  for (ori::Instr& instr : *four.function().layout().front())
    if (instr.op == Op::IADD3_X) {
      for (ori::VRegId v = 0; v < four.function().vregCount(); ++v)
        if (four.function().vreg(v).file == File::P && v != instr.op_(6).reg) {
          four.function().setOperand(&instr, 6, four.function().use(v));
          break;
        }
      break;
    }
  CHECK(!four.faults().empty());
}
