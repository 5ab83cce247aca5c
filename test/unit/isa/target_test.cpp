#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "encoder/isa/uniform_features.h"

#include <doctest/doctest.h>

#include <set>

using namespace orias::isa;

TEST_CASE("architecture names") {
  for (const Target& target : Target::all()) {
    CHECK(Target::find(target.name()) == &target);
    const auto asVirtual = Target::parse(target.virtualName());
    REQUIRE(asVirtual);
    CHECK(asVirtual->target == &target);
    CHECK(asVirtual->isVirtual);
    CHECK(Target::find(target.virtualName()) == nullptr);
  }
  CHECK(Target::find("sm_90") != Target::find("sm_90a"));
  for (const char* bad : {"", "sm_", "sm_9", "sm_90b", "sm_100x", "90", "compute", "SM_90", " sm_90"})
    CHECK_FALSE(Target::parse(bad));
}

TEST_CASE("ELF flags of distinct chips differ") {
  std::set<std::uint32_t> seen;
  for (const Target& target : Target::all())
    if (!target.isArchSpecific()) CHECK(seen.insert(target.elfFlags()).second);
}

// Figures from the occupancy calculator of the CUDA toolkit.
TEST_CASE("occupancy") {
  const Target& sm90 = *Target::find("sm_90");
  SUBCASE("by warps") {
    const Occupancy o = sm90.occupancy(256, 32, 0);
    CHECK(o.blocksPerSm == 8);
    CHECK(o.warpsPerSm == 64);
    CHECK(o.fraction == 1.0);
    CHECK(o.limit == Occupancy::Limit::Warps);
  }
  SUBCASE("by registers") {
    CHECK(sm90.occupancy(256, 33, 0).blocksPerSm == 6);
    CHECK(sm90.occupancy(256, 128, 0).blocksPerSm == 2);
    CHECK(sm90.occupancy(256, 128, 0).limit == Occupancy::Limit::Registers);
    CHECK(sm90.occupancy(1024, 65, 0).limit == Occupancy::Limit::Impossible);
  }
  SUBCASE("by blocks") {
    CHECK(sm90.occupancy(32, 16, 0).blocksPerSm == 32);
    CHECK(sm90.occupancy(32, 16, 0).limit == Occupancy::Limit::Blocks);
  }
  SUBCASE("by shared memory, with 1 KiB of each block for the system") {
    CHECK(sm90.occupancy(128, 32, 100 * 1024).blocksPerSm == 2);
    CHECK(sm90.occupancy(128, 32, 113 * 1024).blocksPerSm == 2);
    CHECK(sm90.occupancy(128, 32, 113 * 1024 + 1).blocksPerSm == 1);
    CHECK(sm90.occupancy(128, 32, 228 * 1024).limit == Occupancy::Limit::Impossible);
  }
  CHECK(sm90.occupancy(0, 32, 0).limit == Occupancy::Limit::Impossible);
}

TEST_CASE("registersForWarps is the inverse of the register limit") {
  for (const Target& target : Target::all())
    for (unsigned warps = 4; warps <= target.maxWarpsPerSm(); warps += 4) {
      const unsigned registers = target.registersForWarps(warps);
      CHECK(target.occupancy(warps * 32 / 4, registers, 0).warpsPerSm >=
            std::min(warps, target.maxBlocksPerSm() * warps / 4));
    }
  CHECK(Target::find("sm_90")->registersForWarps(64) == 32);
  CHECK(Target::find("sm_90")->registersForWarps(65) == 0);
}

// The literature's table of what a chip has of the uniform datapath, and the table of instructions.
TEST_CASE("the uniform datapath, chip by chip") {
  using Load = UniformFeatures::LoadConstant;
  for (unsigned sm : {30u, 52u, 72u})
    CHECK_FALSE(uniformFeatures(sm).hasRegisters);
  for (unsigned sm : {75u, 80u, 86u, 89u, 90u, 100u, 120u}) {
    const UniformFeatures features = uniformFeatures(sm);
    CHECK(features.hasRegisters);
    CHECK(features.hasInteger);
    CHECK(features.hasReduction == (sm >= 80));
    CHECK(features.hasFloat == (sm >= 100));
    CHECK(features.loadConstant == (sm >= 100 ? Load::Full : sm == 90 ? Load::TextOnly : Load::None));
  }
  constexpr Op kInteger[] = {Op::UIADD3, Op::UIMAD, Op::ULOP3, Op::UISETP, Op::UMOV, Op::UPRMT, Op::USGXT, Op::UPOPC,
                             Op::UBREV,  Op::USHF,  Op::USEL,  Op::UPLOP3, Op::UFLO, Op::UBMSK, Op::ULEA};
  for (const Target& target : Target::all()) {
    const UniformFeatures features = uniformFeatures(target);
    CHECK(features.hasRegisters == target.hasUniformDatapath());
    CHECK(target.registerCount(File::UR) == 63);
    CHECK(target.registerCount(File::UP) == 7);
    for (Op op : kInteger)
      CHECK(existsOn(target, op, makeInst(op).mods) == features.hasInteger);
    CHECK(loadConstantUniformProblem(target, false).starts_with("SM does not support LDCU."));
    CHECK(loadConstantUniformProblem(target, true).empty() == (features.loadConstant != Load::None));
  }
  for (const char* name : {"UFADD", "UFFMA", "UFSEL", "UFSETP", "LDCU"})
    CHECK(findByName(name) == nullptr); // no chip of these has them
}
