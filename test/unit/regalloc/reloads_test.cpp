#include "allocation.h"

#include "regalloc/live_ranges.h"
#include "regalloc/recompute.h"
#include "regalloc/reloads.h"
#include "regalloc/webs.h"

#include <numeric>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;

namespace {

/// A function whose values of four registers are spilled. The temporaries of spill code are in R4 to R7, or each in
/// separate registers.
struct Spilled {
  std::unique_ptr<ori::Module> module;
  SpillState state;

  Spilled(std::string_view body, bool isApart) : module(ori::test::kernel(body, "sm_90a")), state(function()) {
    const LiveRanges ranges(function(), File::R);
    const Webs webs = buildWebs(function(), File::R, ranges, {});
    for (const Web& web : webs.all)
      if (web.width == 4) spillWeb(function(), web, File::R, state, {.remat = false});
    state.grow(function());
    std::vector<std::uint32_t>& physical = state.assignment.physical;
    physical.assign(function().vregCount(), ~0u);
    for (ori::VRegId v = 0; v < function().vregCount(); ++v)
      physical[v] = function().vreg(v).width != 4 ? 0 : isApart ? 4 * (v + 1) : 4;
  }
  ori::Function& function() const { return *module->functions.front(); }
  std::string forwarded() {
    forwardReloads(function(), state);
    return text(function());
  }
};

} // namespace

TEST_CASE("a chain of wgmmas does not reload the sum that its registers hold") {
  const std::string chain =
      "  reg %r1:4, %r2:4, %r3:4, %ur0:4;\n.L0:\n"
      " HGMMA<0,1,0,0,0,0,0> %r1:4, gdesc[%ur0:4], RZ:4, !UPT, 7;\n"
      " HGMMA<0,1,0,0,0,0,0> %r2:4, gdesc[%ur0:4], %r1:4, UPT, 7;\n"
      " HGMMA<0,1,0,0,0,0,0> %r3:4, gdesc[%ur0:4], %r2:4, UPT, 0;\n STS.128 [0], %r3:4;\n EXIT;\n";
  Spilled same(chain, false);
  CHECK(same.state.loadBytes == 3 * 16);
  CHECK(countOf(same.forwarded(), "LDL") == 0);
  CHECK(same.state.loadBytes == 0);
  // From other registers the sum would have to be copied: the two reloads of the chain remain.
  Spilled apart(chain, true);
  CHECK(countOf(apart.forwarded(), "LDL") == 2);
}

/// Stores four words of a spill slot twice, with `between` in between. Returns the number of remaining stores if the
/// words are in registers from `first` on.
static unsigned storesAround(std::string_view between, std::uint32_t first) {
  const auto module = ori::test::kernel("  frame \"spill\" size 16 align 16 spill;\n  reg %r1:4, %r2:2;\n.L0:\n"
                                        " LDS.64 %r2:2, [0x40];\n LDS.128 %r1:4, [0];\n"
                                        " STL.128 [R1+frame[0]], %r1:4;\n" +
                                            std::string(between) + " STL.128 [R1+frame[0]], %r1:4;\n EXIT;\n",
                                        "sm_90a");
  ori::Function& function = *module->functions.front();
  SpillState state(function);
  state.grow(function);
  state.assignment.physical.assign(function.vregCount(), 0);
  unsigned stores = 0;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block) {
      if (instr.op != isa::Op::STL) continue;
      for (std::uint8_t i = 0; i < instr.operandCount; ++i)
        if (instr.op_(i).isVirtual()) {
          state.assignment.spillMoves[instr.id] = {SpillMove::Kind::Store, i};
          state.assignment.physical[instr.op_(i).reg] = first;
        }
      ++stores;
    }
  state.storeBytes = 16 * stores;
  state.loadBytes = 16; // without reloads there is nothing to do
  forwardReloads(function, state);
  const unsigned left = countOf(text(function), "STL");
  CHECK(state.storeBytes == 16 * left);
  return left;
}

TEST_CASE("a word is not stored again from registers that it was stored from") {
  const std::string again = " STL.128 [R1+frame[0]], %r1:4;\n";
  CHECK(storesAround(again + " LDS.128 %r1:4, [0x10];\n", 4) == 2);
  // A call preserves some registers; setmaxnreg preserves no known register.
  const std::string call = " CALL.EXTERN RZ, 8, %r2:2, RZ, RZ;\n";
  CHECK(storesAround(call, 24) == 1);
  CHECK(storesAround(call, 4) == 2);
  CHECK(storesAround(call, 20) == 2);
  CHECK(storesAround(" USETMAXREG.DEALLOC.CTAPOOL 0x18;\n", 24) == 2);
}

namespace {

/// The text of a function whose values of one register are rematerialized at each use. The n-th temporary is in
/// register `placeOf(n)`.
template <typename F> std::string withConstants(std::string_view body, F&& placeOf) {
  const auto module = ori::test::kernel(body);
  ori::Function& function = *module->functions.front();
  SpillState state(function);
  const LiveRanges ranges(function, File::R);
  const Webs webs = buildWebs(function, File::R, ranges, {});
  const std::size_t before = function.vregCount();
  std::vector<std::uint32_t> victims(webs.all.size());
  std::iota(victims.begin(), victims.end(), 0U);
  Recomputation recomputation(function, File::R, ranges, state);
  recomputation.choose(webs, victims);
  for (const std::uint32_t w : victims)
    CHECK(spillWeb(function, webs.all[w], File::R, state, {.recomputation = &recomputation}));
  state.grow(function);
  unsigned temporaries = 0;
  for (ori::VRegId v = 0; v < function.vregCount(); ++v)
    state.assignment.physical.push_back(v < before ? ~0u : placeOf(temporaries++));
  forwardReloads(function, state);
  return text(function);
}

constexpr const char* kThreadTwice = ".L0:\n S2R %r0, SR_TID.X;\n STS [0], %r0;\n STS [4], %r0;\n EXIT;\n";

} // namespace

TEST_CASE("a special register that a register still has is not read again") {
  CHECK(countOf(withConstants(kThreadTwice, [](unsigned) { return 2u; }), "S2R") == 1);
  CHECK(countOf(withConstants(kThreadTwice, [](unsigned n) { return 2 + n; }), "S2R") == 1);
}

TEST_CASE("a special register is read again where its register has another value") {
  const std::string two = ".L0:\n S2R %r0, SR_TID.X;\n S2R %r1, SR_TID.Y;\n STS [0], %r0;\n STS [4], %r1;\n"
                          " STS [8], %r0;\n EXIT;\n";
  CHECK(countOf(withConstants(two, [](unsigned) { return 2u; }), "S2R") == 3);
  CHECK(countOf(withConstants(two, [](unsigned n) { return 2 + n; }), "S2R") == 2);
}
