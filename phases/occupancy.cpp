#include "phases/occupancy.h"

#include "encoder/isa/target.h"
#include "ori/calls.h"
#include "regalloc/function_abi.h"

#include <algorithm>

namespace orias::phases {

namespace {

/// Block sizes used for an unknown one. More threads make wider occupancy classes, fewer make narrower ones.
constexpr std::initializer_list<unsigned> kCommonBlockSizes = {128, 256, 512};
/// For an unknown block size: the share of the warps that a class may lose from its lowest count to its highest.
constexpr double kToleratedLoss = 0.1;
/// Registers are allocated in units of this many per thread.
constexpr unsigned kUnit = 8;
constexpr unsigned kWarpThreads = 32;

bool needsStackPointer(const ori::Function& function) {
  return !function.frame.empty() || function.growsStack || ori::hasCalls(function) || regalloc::isCallable(function);
}

} // namespace

OccupancyClasses::OccupancyClasses(const isa::Target& target, const ori::LaunchBounds& bounds,
                                   std::uint32_t sharedBytes, unsigned maxRegisters, unsigned taken)
    : target_(target), reserved_(target.reservedRegisters() + taken), sharedBytes_(sharedBytes),
      ceiling_(std::max(maxRegisters, reserved_) - reserved_) {
  const unsigned threads = bounds.threads();
  if (threads != 0)
    blockSizes_ = {threads};
  else
    blockSizes_ = kCommonBlockSizes;
  for (unsigned size : blockSizes_)
    warpsPerBlock_ += static_cast<double>((size + kWarpThreads - 1) / kWarpThreads) / blockSizes_.size();
  // About twenty phases request the same classes.
  struct Known {
    const isa::Target* target = nullptr;
    std::uint32_t sharedBytes = 0;
    std::vector<unsigned> blockSizes;
    std::vector<double> warps;
  };
  static thread_local Known known;
  if (known.target != &target || known.sharedBytes != sharedBytes || known.blockSizes != blockSizes_)
    known = {&target, sharedBytes, blockSizes_, computeWarps()};
  warps_ = known.warps;
  const double kept = threads != 0 ? 1 : 1 - kToleratedLoss;
  const unsigned last = unitOf(ceiling_);
  for (unsigned begin = 0; begin <= last;) {
    unsigned end = begin;
    while (end < last && warps_[end + 1] >= warps_[begin] * kept)
      ++end;
    ends_.push_back(std::min(std::max(end * kUnit, reserved_) - reserved_, ceiling_));
    begin = end + 1;
  }
}

OccupancyClasses::OccupancyClasses(const ori::Function& function, const PhaseContext& context)
    : OccupancyClasses(context.target, function.bounds, function.sharedBytes, context.maxRegisters,
                       !function.allocated && needsStackPointer(function) ? 1 : 0) {}

std::vector<double> OccupancyClasses::computeWarps() const {
  std::vector<double> warps;
  const unsigned units = (target_.maxRegistersPerThread() + kUnit) / kUnit;
  for (unsigned unit = 0; unit <= units; ++unit) {
    double sum = 0;
    for (unsigned size : blockSizes_)
      sum += target_.occupancy(size, std::min(unit * kUnit, target_.maxRegistersPerThread()), sharedBytes_).warpsPerSm;
    warps.push_back(sum / static_cast<double>(blockSizes_.size()));
  }
  return warps;
}

/// The number of allocation units of a thread.
unsigned OccupancyClasses::unitOf(unsigned live) const {
  return (live + reserved_ + kUnit - 1) / kUnit;
}

double OccupancyClasses::warps(unsigned live) const {
  return warps_[std::min<std::size_t>(unitOf(live), warps_.size() - 1)];
}

unsigned OccupancyClasses::end(unsigned live) const {
  const auto found = std::ranges::lower_bound(ends_, live);
  return found == ends_.end() ? ceiling_ : *found;
}

unsigned registersUpToCliff(const ori::Function& function, unsigned live, const PhaseContext& context) {
  const unsigned end = OccupancyClasses(function, context).end(live);
  const auto adjusted = static_cast<std::int64_t>(end) + context.knobs.get(Knob::RegTargetAdjust);
  return adjusted == end ? end : static_cast<unsigned>(std::clamp<std::int64_t>(adjusted, 0, context.maxRegisters));
}

unsigned namedRegisters(const ori::Function& function, isa::File file) {
  unsigned count = 0;
  for (ori::VRegId id = 0; id < function.vregCount(); ++id)
    if (const ori::VReg& reg = function.vreg(id); reg.file == file && reg.hasRefs()) count += reg.width;
  return count;
}

} // namespace orias::phases
