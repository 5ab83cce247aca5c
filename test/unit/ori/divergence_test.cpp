#include "ori/analysis/branch_regions.h"
#include "ori/analysis/divergence.h"

#include "helpers.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <set>

using namespace orias;
using namespace orias::ori;

namespace {

/// The uniform and divergent registers %r0 .. of a kernel, as "u" and "v", and its blocks, as "U" and "V".
std::string registersOf(std::string_view body) {
  const auto module = test::kernel(body);
  const Function& f = *module->functions.front();
  const Cfg cfg(f);
  const Divergence divergence(cfg);
  std::string text;
  for (VRegId v = 0; v < f.vregCount(); ++v)
    text += divergence.isDivergent(v) ? 'v' : 'u';
  return text;
}

std::string blocksOf(std::string_view body, std::string_view chip = "sm_90") {
  const auto module = test::kernel(body, chip);
  const Function& f = *module->functions.front();
  const Cfg cfg(f);
  const Divergence divergence(cfg);
  std::string text;
  for (const Block* block : f.layout())
    text += divergence.isUniformBlock(block->id) ? 'U' : 'V';
  return text;
}

} // namespace

TEST_CASE("seeds: what the lanes of a warp have of their own") {
  CHECK(registersOf(".L0:\n  S2R %r0, SR_TID.X;\n  S2R %r1, SR_CTAID.X;\n  S2R %r2, SR_LANEID;\n  EXIT;\n") == "vuv");
  CHECK(registersOf("  ssa;\n.L0:\n  S2R %r0, SR_LTMASK;\n  CS2R.32 %r1, SR_CLOCKLO;\n  EXIT;\n") == "vv");
  CHECK(registersOf(".L0:\n  MOV %r0, 5;\n  SHFL.UP PT, %r1, %r0, 1, 0;\n  EXIT;\n") == "uv");
  CHECK(registersOf(".L0:\n  S2R %r0, SR_TID.X;\n  SHFL.IDX PT, %r1, %r0, 0, 31;\n  EXIT;\n") == "vu");
  CHECK(registersOf(".L0:\n  MOV %r0, 5;\n  ATOMS.ADD %r1, [%r0], %r0;\n  EXIT;\n") == "uv");
}

TEST_CASE(
    "memory: shared loads are as uniform as their address; local memory is private; strong loads are each lane's own") {
  CHECK(registersOf(".L0:\n  MOV %r0, 5;\n  LDS %r1, [%r0];\n  LDL %r2, [%r0];\n  EXIT;\n") == "uuv");
  CHECK(registersOf(".L0:\n  S2R %r0, SR_TID.X;\n  LDS %r1, [%r0];\n  EXIT;\n") == "vv");
  const std::string load = "  reg %r0:2, %ur2:2;\n.L0:\n  LDC.64 %r0:2, bank[0][0x210];\n"
                           "  ULDC.64 %ur2:2, c[0x0][0x208]:2;\n  LDG.E";
  CHECK(registersOf(load + " %r1, desc[%ur2:2][%r0:2];\n  EXIT;\n") == "uuu");
  CHECK(registersOf(load + ".STRONG.GPU %r1, desc[%ur2:2][%r0:2];\n  EXIT;\n") == "uvu");
}

TEST_CASE("rows of whole warps have one y and z") {
  const std::string body = ".L0:\n  S2R %r0, SR_TID.X;\n  S2R %r1, SR_TID.Y;\n  S2R %r2, SR_TID.Z;\n  EXIT;\n";
  CHECK(registersOf(body) == "vvv");
  CHECK(registersOf("  reqntid 64 2 2;\n" + body) == "vuu");
  CHECK(registersOf("  reqntid 48 2 2;\n" + body) == "vvv");
}

TEST_CASE("lanes differ in the low bits of their thread index: warps are numbered the same for all of them") {
  const auto inBlock = [](const std::string& bounds, const std::string& body) {
    return registersOf(bounds + "  reg %r0, %r1, %r2, %r3;\n.L0:\n  S2R %r0, SR_TID.X;\n" + body + "  EXIT;\n");
  };
  const std::string row = "  reqntid 128 1 1;\n", plane = "  reqntid 16 8 1;\n";
  const std::string number = "  SHF.R.U32.HI %r1, RZ, 5, %r0;\n";
  CHECK(inBlock(row, number).starts_with("vu"));
  CHECK(inBlock("  reqntid 64 2 1;\n", number).starts_with("vu"));
  CHECK(inBlock(plane, number).starts_with("vv"));
  CHECK(inBlock("", number).starts_with("vv"));
  CHECK(inBlock("  maxntid 128 1 1;\n", number).starts_with("vv"));
  CHECK(inBlock(row, "  SHF.R.U32.HI %r1, RZ, 4, %r0;\n").starts_with("vv"));
  CHECK(inBlock(row, "  LOP3.LUT PT, %r1, %r0, -32, RZ, 0xc0, !PT;\n").starts_with("vu"));
  CHECK(inBlock(row, "  LOP3.LUT PT, %r1, %r0, -32, RZ, 0x3c, !PT;\n").starts_with("vv"));
  // First a multiple of the block's number; then an addend that carries into the other bits.
  const std::string whole = "  S2R %r2, SR_CTAID.X;\n  LEA %r1, PT, %r2, %r0, ";
  const std::string warp = "  SHF.R.U32.HI %r3, RZ, 5, %r1;\n";
  CHECK(inBlock(row, whole + "7;\n" + warp) == "vvuu");
  CHECK(inBlock(row, whole + "4;\n" + warp) == "vvuv");
  CHECK(inBlock(row, "  IADD3 %r1, PT, PT, %r0, -64, RZ;\n" + warp).ends_with("u"));
  CHECK(inBlock(row, "  IADD3 %r1, PT, PT, %r0, -63, RZ;\n" + warp).ends_with("v"));
  CHECK(inBlock(row, "  IADD3 %r1, PT, PT, -%r0, 64, RZ;\n" + warp).ends_with("v"));
  CHECK(inBlock(row, "  IMAD.U32 %r1, %r0, 8, RZ;\n  SHF.R.U32.HI %r3, RZ, 8, %r1;\n").ends_with("u"));
  CHECK(inBlock(row, "  IMAD.U32 %r1, %r0, 9, RZ;\n  SHF.R.U32.HI %r3, RZ, 8, %r1;\n").ends_with("v"));
}

TEST_CASE("comparisons of the thread index with the first number of a warp are the same for all its lanes") {
  const auto compared = [](const std::string& comparison) {
    return registersOf("  reqntid 128 1 1;\n  reg %r0, %p1;\n.L0:\n  S2R %r0, SR_TID.X;\n  ISETP." + comparison +
                       ", PT;\n  EXIT;\n");
  };
  CHECK(compared("LT.U32.AND %p1, PT, %r0, 64") == "vu");
  CHECK(compared("GE.AND %p1, PT, %r0, 96") == "vu");
  CHECK(compared("GT.U32.AND %p1, PT, %r0, 31") == "vu");
  CHECK(compared("LE.U32.AND %p1, PT, %r0, 63") == "vu");
  CHECK(compared("LT.U32.AND %p1, PT, %r0, 65") == "vv");
  CHECK(compared("GT.U32.AND %p1, PT, %r0, 32") == "vv");
  CHECK(compared("EQ.U32.AND %p1, PT, %r0, 64") == "vv");
  CHECK(compared("GT.U32.AND %p1, PT, 64, %r0") == "vu");
  CHECK(compared("LT.U32.AND %p1, PT, 64, %r0") == "vv");
  // The sign is one of the divergent bits.
  const std::string load = ".L0:\n  S2R %r0, SR_TID.X;\n  LDS %r1, [%r0];\n  ISETP.";
  CHECK(registersOf(load + "LT.AND %p2, PT, %r1, RZ, PT;\n  EXIT;\n") == "vvv");
  CHECK(registersOf(load + "LE.AND %p2, PT, %r1, -1, PT;\n  EXIT;\n") == "vvv");
  CHECK(registersOf(load + "LT.U32.AND %p2, PT, %r1, RZ, PT;\n  EXIT;\n") == "vvu");
}

TEST_CASE("data: a result differs when a source, or the guard, does; a vote is the same for all") {
  CHECK(registersOf(".L0:\n  S2R %r0, SR_TID.X;\n  S2R %r1, SR_CTAID.X;\n  IADD3 %r2, %r0, %r1, RZ;\n"
                    "  IADD3 %r3, %r1, %r1, RZ;\n  EXIT;\n") == "vuvu");
  CHECK(registersOf(".L0:\n  S2R %r0, SR_TID.X;\n  ISETP.GT.AND %p1, PT, %r0, 5, PT;\n  @%p1 MOV %r2, 1;\n"
                    "  VOTE.ANY %r3, PT, %p1;\n  EXIT;\n") == "vvvu");
}

TEST_CASE("a merge of uniform values after a divergent branch is divergent, after a uniform one it is not") {
  const std::string body = ":\n  ISETP.GT.AND %p1, PT, %r0, 5, PT;\n  @%p1 BRA .L2;\n  -> .L1;\n.L1:\n  MOV %r2, 1;\n"
                           "  -> .L3;\n.L2:\n  MOV %r3, 2;\n  -> .L3;\n.L3:\n"
                           "  MOV.PHI %r4, [.L1: %r2], [.L2: %r3];\n  MOV.PHI %r5, [.L1: 7], [.L2: 7];\n  EXIT;\n";
  const std::string varying = "  ssa;\n.L0:\n  S2R %r0, SR_TID.X;\n" + body.substr(2);
  const std::string uniform = "  ssa;\n.L0:\n  S2R %r0, SR_CTAID.X;\n" + body.substr(2);
  CHECK(registersOf(varying) == "vvuuvu");
  CHECK(registersOf(uniform) == "uuuuuu");
  CHECK(blocksOf(varying) == "UVVU");
  CHECK(blocksOf(uniform) == "UUUU");
}

TEST_CASE("outside of SSA form a register written on one side is divergent") {
  CHECK(registersOf(".L0:\n  S2R %r0, SR_TID.X;\n  MOV %r1, 1;\n  ISETP.GT.AND %p2, PT, %r0, 5, PT;\n"
                    "  @%p2 BRA .L2;\n  -> .L1;\n.L1:\n  MOV %r1, 2;\n  MOV %r3, 3;\n  MOV %r4, %r3;\n  -> .L2;\n"
                    ".L2:\n  STS [%r1], %r4;\n  EXIT;\n") == "vvvuv");
}

TEST_CASE(
    "outside of SSA form a register with one definition that dominates its uses stays uniform in a divergent arm") {
  const std::string body =
      ".L0:\n  S2R %r0, SR_TID.X;\n  ISETP.GT.AND %p1, PT, %r0, 5, PT;\n  @%p1 BRA .L4;\n  -> .L1;\n"
      ".L1:\n  S2R %r2, SR_CTAID.X;\n  ISETP.GT.AND %p3, PT, %r2, 5, PT;\n  @%p3 BRA .L3;\n  -> .L2;\n"
      ".L2:\n  STS [%r0], %r2;\n  -> .L3;\n.L3:\n  @%p3 BRA .L5;\n  -> .L4;\n";
  // The branch on %p3 at .L3 is uniform, like the one at .L1.
  CHECK(registersOf(body + ".L4:\n  EXIT;\n.L5:\n  EXIT;\n") == "vvuu");
  // Lanes that come from .L0 have not written %r2.
  CHECK(registersOf(body + ".L4:\n  STS [%r0], %r2;\n  EXIT;\n.L5:\n  EXIT;\n") == "vvvv");
}

TEST_CASE("temporal divergence: a count is uniform within a loop, and divergent after it") {
  const std::string loop = "  ssa;\n.L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n.L1:\n  MOV.PHI %r1, [.L0: 0], [.L1: %r2];\n"
                           "  IADD3 %r2, %r1, 1, RZ;\n  ISETP.GT.AND %p3, PT, %r2, %r0, PT;\n  @!%p3 BRA .L1;\n"
                           "  -> .L2;\n.L2:\n";
  CHECK(registersOf(loop + "  EXIT;\n") == "vuuv");
  CHECK(registersOf(loop + "  STS [RZ], %r2;\n  EXIT;\n").substr(2, 1) == "v");
  CHECK(blocksOf(loop + "  EXIT;\n") == "UVU");
}

TEST_CASE("exits of a loop at different times merge") {
  // Lanes leave at .L1 by their number, at .L2 all together, and join in .L3 with constants.
  CHECK(registersOf("  ssa;\n.L0:\n  S2R %r0, SR_TID.X;\n  S2R %r1, SR_CTAID.X;\n  -> .L1;\n.L1:\n"
                    "  MOV.PHI %r2, [.L0: 0], [.L2: %r3];\n  IADD3 %r3, %r2, 1, RZ;\n"
                    "  ISETP.GT.AND %p4, PT, %r3, %r0, PT;\n  @%p4 BRA .L3;\n  -> .L2;\n.L2:\n"
                    "  ISETP.GT.AND %p5, PT, %r3, %r1, PT;\n  @!%p5 BRA .L1;\n  -> .L3;\n.L3:\n"
                    "  MOV.PHI %r6, [.L1: 1], [.L2: 2];\n  EXIT;\n") == "vuuuvuv");
}

TEST_CASE("an exit under a guard leaves the rest together") {
  CHECK(blocksOf(".L0:\n  S2R %r0, SR_TID.X;\n  ISETP.GT.AND %p1, PT, %r0, 5, PT;\n  @%p1 EXIT;\n  -> .L1;\n.L1:\n"
                 "  EXIT;\n") == "UU");
}

TEST_CASE("lanes that nothing brings together stay apart") {
  // Each lane waits for the lanes of its own mask.
  CHECK(blocksOf(".L0:\n  S2R %r0, SR_TID.X;\n  ISETP.GT.AND %p1, PT, %r0, 5, PT;\n  -> .L1;\n.L1:\n"
                 "  WARPSYNC PT, %r0;\n  -> .L2;\n.L2:\n  EXIT;\n") == "UVV");
}

TEST_CASE("divergent branches in uniform arms that follow each other share a barrier, however many there are") {
  std::string body = ".L0:\n  S2R %r0, SR_TID.X;\n  S2R %r1, SR_CTAID.X;\n  -> .L1;\n", expected = "U";
  for (unsigned arm = 0; arm < 40; ++arm) {
    const unsigned block = 1 + 4 * arm;
    body += fmt::format(".L{0}:\n  ISETP.GT.AND %p{4}, PT, %r1, {5}, PT;\n  @%p{4} BRA .L{6};\n  -> .L{1};\n"
                        ".L{1}:\n  ISETP.GT.AND %p{7}, PT, %r0, {5}, PT;\n  @%p{7} BRA .L{3};\n  -> .L{2};\n"
                        ".L{2}:\n  STS [%r0], %r1;\n  -> .L{3};\n.L{3}:\n  STS [%r1], %r1;\n  -> .L{6};\n",
                        block, block + 1, block + 2, block + 3, 100 + arm, arm, block + 4, 200 + arm);
    expected += "UUVU";
  }
  CHECK(blocksOf(body + ".L161:\n  EXIT;\n") == expected + "U");
}

TEST_CASE("what a store to tensor memory reads is data, and no mask of lanes") {
  CHECK(blocksOf(".L0:\n  S2R %r0, SR_TID.X;\n  UMOV %ur1, 0;\n  STTM [%ur1], %r0;\n  -> .L1;\n.L1:\n  EXIT;\n",
                 "sm_100a") == "UU");
}

namespace {

/// Blocks that branch to random ones, most of them further on.
std::string randomBranches(std::mt19937& random) {
  const unsigned count = 3 + static_cast<unsigned>(random() % 40), reach = 1 + static_cast<unsigned>(random() % 20);
  const bool hasLoops = random() % 2;
  std::string text = ".L0:\n  S2R %r0, SR_TID.X;\n  ISETP.GT.AND %p1, PT, %r0, 5, PT;\n";
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0) text += ".L" + std::to_string(i) + ":\n";
    if (i + 1 == count || random() % 12 == 0) {
      text += "  EXIT;\n";
      continue;
    }
    const auto ahead = static_cast<unsigned>(random() % reach);
    const unsigned to =
        hasLoops && random() % 10 == 0 ? static_cast<unsigned>(random() % count) : std::min(count - 1, i + 1 + ahead);
    text += "  @%p1 BRA .L" + std::to_string(to) + ";\n  -> .L" + std::to_string(i + 1) + ";\n";
  }
  return text;
}

std::vector<BlockId> reachableWithout(const Cfg& cfg, std::span<const BlockId> from, BlockId stop) {
  std::vector<BlockId> found;
  const auto add = [&](BlockId id) {
    if (id != stop && std::ranges::find(found, id) == found.end()) found.push_back(id);
  };
  std::ranges::for_each(from, add);
  for (std::size_t i = 0; i < found.size(); ++i)
    std::ranges::for_each(cfg.successors(found[i]), add);
  return found;
}

} // namespace

TEST_CASE("regions and joins of branches are those of each branch alone, in whatever order the branches come") {
  std::mt19937 random(11);
  unsigned checked = 0, onCycles = 0;
  for (unsigned round = 0; round < 400; ++round) {
    const auto module = test::kernel(randomBranches(random));
    const Cfg cfg(*module->functions.front());
    const DomTree dominators = DomTree::dominators(cfg), postDominators = DomTree::postDominators(cfg);
    IteratedFrontier iterated(cfg, dominators);
    BranchRegions regions(cfg, dominators, postDominators);
    std::vector<BlockId> branches(cfg.reversePostOrder().begin(), cfg.reversePostOrder().end());
    std::ranges::shuffle(branches, random);
    std::set<BlockId> region, joins, wantedRegion, wantedJoins;
    for (const BlockId b : branches) {
      if (cfg.successors(b).size() < 2 || random() % 4 == 0) continue;
      const BlockId meet = postDominators.idom(b);
      const auto own = reachableWithout(cfg, cfg.successors(b), meet);
      if (regions.mayBeOnCycle(b)) {
        ++onCycles;
        continue;
      }
      CHECK(std::ranges::find(own, b) == own.end());
      std::vector<BlockId> sides;
      for (const BlockId side : cfg.successors(b))
        if (side != meet) sides.push_back(side);
      const auto merging = iterated.compute(sides, [&](BlockId id) { return std::ranges::find(own, id) != own.end(); });
      wantedRegion.insert(own.begin(), own.end());
      wantedJoins.insert(merging.begin(), merging.end());
      if (meet < cfg.idCount()) wantedJoins.insert(meet);
      const BranchRegions::Found& found = regions.add(b);
      region.insert(found.region.begin(), found.region.end());
      joins.insert(found.joins.begin(), found.joins.end());
      CHECK(region == wantedRegion);
      CHECK(joins == wantedJoins);
      ++checked;
    }
  }
  CHECK(checked > 1000);
  CHECK(onCycles > 100);
}
