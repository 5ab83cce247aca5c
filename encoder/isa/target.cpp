#include "encoder/isa/target.h"

#include "support/check.h"

#include <algorithm>

namespace orias::isa {

namespace {

using Facts = Target::Facts;

// Constant-bank offsets, ELF flags: observed in ptxas 13.0's cubins. Limits per multiprocessor: the compute-capability
// tables of the CUDA programming guide. Lowest PTX versions: the PTX manual, `.target`.
constexpr unsigned kKiB = 1024;
const Target kTargets[] = {
    Target(Facts{"sm_75", "compute_75", 75, false, 63, 0x6004b04, 0x160, 0, 0, 32, 16, 64 * kKiB, 64 * kKiB, 0, 256,
                 LatencyModel::Sm75}),
    Target(Facts{"sm_80", "compute_80", 80, false, 70, 0x6005004, 0x160, 0x118, 0, 64, 32, 164 * kKiB, 163 * kKiB, kKiB,
                 128, LatencyModel::Sm80}),
    Target(Facts{"sm_86", "compute_86", 86, false, 71, 0x6005604, 0x160, 0x118, 0, 48, 16, 100 * kKiB, 99 * kKiB, kKiB,
                 128, LatencyModel::Sm80}),
    Target(Facts{"sm_87", "compute_87", 87, false, 74, 0x6005704, 0x160, 0x118, 0, 48, 16, 164 * kKiB, 163 * kKiB, kKiB,
                 128, LatencyModel::Sm80}),
    Target(Facts{"sm_89", "compute_89", 89, false, 78, 0x6005904, 0x160, 0x118, 0, 48, 24, 100 * kKiB, 99 * kKiB, kKiB,
                 128, LatencyModel::Sm80}),
    Target(Facts{"sm_90", "compute_90", 90, false, 78, 0x6005a04, 0x210, 0x208, 0x400, 64, 32, 228 * kKiB, 227 * kKiB,
                 kKiB, 128, LatencyModel::Sm90}),
    Target(Facts{"sm_90a", "compute_90a", 90, true, 80, 0x6005a04, 0x210, 0x208, 0x400, 64, 32, 228 * kKiB, 227 * kKiB,
                 kKiB, 128, LatencyModel::Sm90}),
};

// Registers are handed out per warp, in units of 256, and warps to four schedulers, each with a quarter of the register
// file.
constexpr unsigned kRegisterUnit = 256;
constexpr unsigned kWarpThreads = 32;
constexpr unsigned kSchedulers = 4;

constexpr unsigned roundUp(unsigned value, unsigned unit) {
  return (value + unit - 1) / unit * unit;
}

} // namespace

std::span<const Target> Target::all() {
  return kTargets;
}

std::optional<ArchName> Target::parse(std::string_view arch) {
  for (const Target& target : kTargets) {
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
  case File::UR: return 63;
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
    const unsigned perWarp = roundUp(registers * kWarpThreads, kRegisterUnit);
    const unsigned warpsByRegisters = registersPerSm() / kSchedulers / perWarp * kSchedulers;
    consider(warpsByRegisters / warps, Occupancy::Limit::Registers);
  }
  const unsigned shared = roundUp(sharedBytes + facts_.sharedReserved, facts_.sharedGranule);
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
