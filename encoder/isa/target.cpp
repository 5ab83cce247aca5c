#include "encoder/isa/target.h"

#include "encoder/isa/desc.h"

#include "support/align.h"
#include "support/check.h"

#include <algorithm>
#include <vector>

namespace orias::isa {

namespace {

constexpr unsigned kKiB = 1024;
#include "encoder/isa/chips.inc"

// Registers are allocated per warp, in units of 256. Warps are distributed over four schedulers, each with a quarter of
// the register file.
constexpr unsigned kRegisterUnit = 256;
constexpr unsigned kWarpThreads = 32;
constexpr unsigned kSchedulers = 4;

} // namespace

std::span<const Target> Target::known() {
  static const std::vector<Target> all(std::begin(kChips), std::end(kChips));
  return all;
}

std::span<const Target> Target::all() {
  static const std::size_t assembled = static_cast<std::size_t>(
      std::count_if(std::begin(kChips), std::end(kChips), [](const Chip& chip) { return chip.isAssembled; }));
  return known().first(assembled); // they come first
}

std::optional<ArchName> Target::parse(std::string_view arch) {
  for (const Target& target : known()) {
    if (arch == target.name()) return ArchName{&target, false};
    if (arch == target.virtualName()) return ArchName{&target, true};
  }
  return std::nullopt;
}

const Target* Target::find(std::string_view smName) {
  const auto parsed = parse(smName);
  return parsed && !parsed->isVirtual ? parsed->target : nullptr;
}

unsigned Target::registerCount(File file) const {
  switch (file) {
  case File::R: return maxRegistersPerThread();
  case File::UR: return chip_.uniformRegisters;
  case File::P: return 7;
  case File::UP: return 7;
  case File::B: return 16;
  }
  ORIAS_UNREACHABLE("register file");
}

Occupancy Target::occupancy(unsigned threadsPerBlock, unsigned registers, std::uint32_t sharedBytes) const {
  Occupancy result;
  const unsigned warps = (threadsPerBlock + kWarpThreads - 1) / kWarpThreads;
  if (warps == 0 || warps > maxWarpsPerSm() || registers > maxRegistersPerThread() + reservedRegisters() ||
      sharedBytes > maxSharedPerBlock())
    return result;

  auto consider = [&](unsigned blocks, Occupancy::Limit limit) {
    if (result.limit == Occupancy::Limit::Impossible || blocks < result.blocksPerSm) {
      result.blocksPerSm = blocks;
      result.limit = limit;
    }
  };
  consider(maxWarpsPerSm() / warps, Occupancy::Limit::Warps);
  consider(maxBlocksPerSm(), Occupancy::Limit::Blocks);
  if (registers != 0) {
    const unsigned perWarp = alignUp(registers * kWarpThreads, kRegisterUnit);
    const unsigned warpsByRegisters = registersPerSm() / kSchedulers / perWarp * kSchedulers;
    consider(warpsByRegisters / warps, Occupancy::Limit::Registers);
  }
  const unsigned shared = alignUp(sharedBytes + chip_.occupancy.sharedReserved, chip_.occupancy.sharedGranule);
  if (shared != 0) consider(sharedPerSm() / shared, Occupancy::Limit::SharedMemory);

  if (result.blocksPerSm == 0) result.limit = Occupancy::Limit::Impossible;
  result.warpsPerSm = result.blocksPerSm * warps;
  result.fraction = static_cast<double>(result.warpsPerSm) / maxWarpsPerSm();
  return result;
}

unsigned Target::registersForWarps(unsigned warps) const {
  if (warps == 0 || warps > maxWarpsPerSm()) return 0;
  const unsigned perScheduler = (warps + kSchedulers - 1) / kSchedulers;
  const unsigned perWarp = registersPerSm() / kSchedulers / perScheduler / kRegisterUnit * kRegisterUnit;
  return std::min(perWarp / kWarpThreads, maxRegistersPerThread());
}

} // namespace orias::isa
