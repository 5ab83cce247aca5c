#include "tools/interpreter/special.h"

#include "encoder/isa/target.h"

#include <string>

namespace orias::interp {

namespace {

/// Not specified by the launch: the kernel runs on the first of as many multiprocessors as an H100 has.
constexpr std::uint32_t kMultiprocessors = 132;
/// The shared memory reserved by the system on sm_90, before the block's own. On older chips it is after that.
constexpr std::uint64_t kReservedShared = 1024;

std::uint64_t part(const launch::Dim3& value, unsigned component) {
  switch (component) {
  case 0: return value.x;
  case 1: return value.y;
  case 2: return value.z;
  default: return 0;
  }
}

/// The size of the system's part at the start of shared memory.
std::uint64_t systemShared(unsigned chip) {
  const isa::Target* target = isa::Target::find("sm_" + std::to_string(chip));
  return target ? target->chip().cubin.systemShared : 0;
}

} // namespace

std::uint64_t specialRegister(const Thread& t, ptx::SpecialRegister reg, unsigned component) {
  using S = ptx::SpecialRegister;
  const launch::Launch& launch = t.machine->device.launch;
  const launch::Clusters& clusters = t.machine->clusters;
  const std::uint32_t self = 1u << t.lane;
  const std::uint64_t shared = t.machine->program.dynamicShared + launch.dynamicShared;
  const auto chip = t.machine->program.module->target.arch.number;
  const bool isOlder = chip < 90;
  switch (reg) {
  case S::Tid: return part(t.tid, component);
  case S::Ntid: return part(launch.block, component);
  case S::LaneId: return t.lane;
  case S::WarpId: return t.warp->index;
  case S::NWarpId: return t.cta->warps.size();
  case S::CtaId: return part(t.cta->id, component);
  case S::NCtaId: return part(launch.grid, component);
  case S::NSmId: return kMultiprocessors;
  case S::LaneMaskEq: return self;
  case S::LaneMaskLe: return self | (self - 1);
  case S::LaneMaskLt: return self - 1;
  case S::LaneMaskGe: return ~(self - 1) & 0xffffffff;
  case S::LaneMaskGt: return ~(self - 1) & ~self & 0xffffffff;
  case S::ClusterId: return part(clusters.cluster(t.cta->cluster->number), component);
  case S::NClusterId: return part(clusters.count, component);
  case S::ClusterCtaId: return part(clusters.inCluster(t.cta->rank), component);
  case S::ClusterNCtaId: return part(clusters.shape, component);
  case S::ClusterCtaRank: return t.cta->rank;
  case S::ClusterNCtaRank: return clusters.blocks();
  case S::IsExplicitCluster: return clusters.isExplicit ? 1 : 0;
  case S::DynamicSmemSize: return launch.dynamicShared;
  case S::TotalSmemSize: return shared;
  case S::AggrSmemSize: return kReservedShared + shared;
  case S::ReservedSmemOffsetBegin: return isOlder ? shared : 0;
  case S::ReservedSmemOffset: return isOlder ? shared : systemShared(chip);
  case S::ReservedSmemOffsetCap: return isOlder ? shared : kReservedShared;
  // %smid, %gridid, %envreg, %pm, %reserved_smem_offset_end and others without a meaning here.
  default: return 0;
  }
}

} // namespace orias::interp
