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
    if (target.chip().suffix == 0) CHECK(seen.insert(target.elfFlags()).second);
}

// Values from the occupancy calculator of the CUDA toolkit.
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

// The literature's table of uniform datapath features, and the instruction table.
TEST_CASE("the uniform datapath, chip by chip") {
  using Load = UniformFeatures::LoadConstant;
  const auto of = [](const char* chip) { return uniformFeatures(*Target::find(chip)); };
  CHECK_FALSE(of("sm_75").hasReduction);
  CHECK(of("sm_80").hasReduction);
  CHECK(of("sm_89").loadConstant == Load::None);
  CHECK(of("sm_90").loadConstant == Load::TextOnly);
  constexpr Op kInteger[] = {Op::UIADD3, Op::UIMAD, Op::ULOP3, Op::UISETP, Op::UMOV, Op::UPRMT, Op::USGXT, Op::UPOPC,
                             Op::UBREV,  Op::USHF,  Op::USEL,  Op::UPLOP3, Op::UFLO, Op::UBMSK, Op::ULEA};
  for (const Target& target : Target::all()) {
    const UniformFeatures features = uniformFeatures(target);
    CHECK(features.hasRegisters == target.has(Capability::UniformRegisters));
    CHECK(target.registerCount(File::UR) == (target.words() < WordFormat::Sm100 ? 63 : 80));
    CHECK(target.registerCount(File::UP) == 7);
    for (Op op : kInteger)
      CHECK(existsOn(target, op, makeInst(op).mods) == features.hasInteger);
    CHECK(loadConstantUniformProblem(target, false).starts_with("SM does not support LDCU.") ==
          (features.loadConstant != Load::Full));
    CHECK(loadConstantUniformProblem(target, true).empty() == (features.loadConstant != Load::None));
  }
  for (const Target& target : Target::known())
    for (Op op : {Op::UFADD, Op::UFFMA, Op::UFSEL, Op::UFSETP})
      CHECK(isListedFor(target, op) == uniformFeatures(target).hasFloat);
  for (const Target& target : Target::known())
    CHECK(isListedFor(target, Op::LDCU) == (uniformFeatures(target).loadConstant == Load::Full));
}

TEST_CASE("a chip that no row describes is none, whatever its number") {
  for (const char* unknown : {"sm_81", "sm_91", "sm_99", "sm_130", "compute_130", "sm_88a"})
    CHECK_FALSE(Target::parse(unknown));
}

// Capabilities that phases use and that differ between generations.
TEST_CASE("capabilities are those of the chip's row") {
  const auto has = [](const char* chip, Capability capability) { return Target::find(chip)->has(capability); };
  CHECK(has("sm_90a", Capability::Clusters));
  CHECK_FALSE(has("sm_89", Capability::Clusters));
  CHECK(has("sm_87", Capability::BarrierSetup));
  CHECK_FALSE(has("sm_88", Capability::BarrierSetup));
  CHECK(has("sm_75", Capability::EmptyBarriers));
  CHECK_FALSE(has("sm_75", Capability::MemoryDescriptors));
  CHECK(Target::find("sm_75")->globalDescriptorOffset() == std::nullopt);
  CHECK(Target::find("sm_80")->globalDescriptorOffset() == 0x118);
}

// ptxas generates the same code for both (observed); only the flags differ.
TEST_CASE("sm_88 is sm_86 under another number") {
  const Chip &newer = Target::find("sm_88")->chip(), &older = Target::find("sm_86")->chip();
  CHECK(newer.capabilities.bits == older.capabilities.bits);
  CHECK(newer.instructions == older.instructions);
  CHECK(newer.latencyModel == older.latencyModel);
  CHECK(newer.cubin.elfFlags == 0x6005804);
}

TEST_CASE("kernels are compiled for every chip of the table, by its variants, too") {
  for (const char* name :
       {"sm_90", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_121a"})
    CHECK(Target::find(name)->isAssembled());
  CHECK(Target::find("sm_100")->registerCount(File::UR) == 80);
  CHECK(Target::find("sm_100a")->isArchSpecific());
  CHECK_FALSE(Target::find("sm_100f")->isArchSpecific());
}
