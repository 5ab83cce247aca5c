#include "ori/analysis/convergence_cycles.h"

#include <algorithm>
#include <optional>

namespace orias::ori {

namespace {

/// The maximum number of steps on paths through regions.
constexpr std::size_t kMaxSteps = 4'000'000;

/// By region: the regions that its lanes may wait for.
using Waits = std::vector<std::vector<std::uint32_t>>;

/// By region: the regions at whose reconvergence points lanes wait inside of it. No value if there are too many
/// paths.
std::optional<Waits> waitsInside(const Cfg& cfg, const std::vector<ConvergenceRegion>& regions) {
  std::vector<std::uint32_t> regionOf(cfg.idCount(), kNoId); // by meet
  for (std::uint32_t i = 0; i < regions.size(); ++i)
    regionOf[regions[i].meet] = i;

  Waits waitsFor(regions.size());
  std::vector<std::uint32_t> seen(cfg.idCount(), kNoId);
  std::vector<BlockId> work;
  std::size_t steps = 0;
  for (std::uint32_t i = 0; i < regions.size(); ++i) {
    const ConvergenceRegion& r = regions[i];
    work.assign(1, r.from);
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      for (BlockId next : cfg.successors(at)) {
        if (++steps > kMaxSteps) return std::nullopt;
        const bool isReconvergence = regionOf[next] != kNoId && !cfg.isRetreating(at, next);
        if (isReconvergence && regionOf[next] == i) continue;
        if (std::find(r.leaving.begin(), r.leaving.end(), std::pair(at, next)) != r.leaving.end()) continue;
        if (isReconvergence) waitsFor[i].push_back(regionOf[next]);
        if (seen[next] == i) continue;
        seen[next] = i;
        work.push_back(next);
      }
    }
  }
  return waitsFor;
}

} // namespace

std::vector<BlockId> dropCyclesOfWaits(const Cfg& cfg, std::vector<ConvergenceRegion>& regions) {
  const auto isLeft = [](const ConvergenceRegion& r) { return !r.leaving.empty(); };
  if (std::none_of(regions.begin(), regions.end(), isLeft)) return {};
  std::vector<bool> isFree(regions.size());
  if (const std::optional<Waits> waitsFor = waitsInside(cfg, regions)) {
    std::vector<std::uint32_t> holdsUp(regions.size(), 0);
    for (const std::vector<std::uint32_t>& waits : *waitsFor)
      for (std::uint32_t other : waits)
        ++holdsUp[other];

    // Regions that no cycle leads to are removed until nothing changes.
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < regions.size(); ++i)
      if (holdsUp[i] == 0) free.push_back(i);
    while (!free.empty()) {
      const std::uint32_t i = free.back();
      free.pop_back();
      isFree[i] = true;
      for (std::uint32_t other : (*waitsFor)[i])
        if (--holdsUp[other] == 0) free.push_back(other);
    }
  }
  std::vector<ConvergenceRegion> kept;
  std::vector<BlockId> dropped;
  for (std::uint32_t i = 0; i < regions.size(); ++i)
    if (isFree[i] || !isLeft(regions[i]))
      kept.push_back(std::move(regions[i]));
    else
      dropped.push_back(regions[i].meet);
  regions = std::move(kept);
  return dropped;
}

void dropCyclesOfWaits(const Cfg& cfg, std::vector<ConvergenceRegion>& regions, std::size_t first,
                       const std::vector<unsigned>& saved) {
  if (first == regions.size()) return;
  const std::optional<Waits> waitsFor = waitsInside(cfg, regions);
  if (!waitsFor) return regions.resize(first);
  std::vector<std::vector<std::uint32_t>> heldUpBy(regions.size());
  std::vector<std::size_t> waits(regions.size()), holdsUp(regions.size());
  std::vector<std::uint32_t> free, bySaved;
  for (std::uint32_t i = 0; i < regions.size(); ++i) {
    waits[i] = (*waitsFor)[i].size();
    for (std::uint32_t other : (*waitsFor)[i]) {
      heldUpBy[other].push_back(i);
      ++holdsUp[other];
    }
    if (i >= first) bySaved.push_back(i);
  }
  std::ranges::stable_sort(bySaved, {}, [&](std::uint32_t i) { return saved[regions[i].meet]; });
  for (std::uint32_t i = 0; i < regions.size(); ++i)
    if (waits[i] == 0 || holdsUp[i] == 0) free.push_back(i);
  std::vector<bool> isOut(regions.size()), isDropped(regions.size());
  const auto takeOut = [&] { // regions in no cycle
    while (!free.empty()) {
      const std::uint32_t i = free.back();
      free.pop_back();
      if (isOut[i]) continue;
      isOut[i] = true;
      for (std::uint32_t other : (*waitsFor)[i])
        if (--holdsUp[other] == 0) free.push_back(other);
      for (std::uint32_t other : heldUpBy[i])
        if (--waits[other] == 0) free.push_back(other);
    }
  };
  takeOut();
  for (std::uint32_t i : bySaved) {
    if (isOut[i]) continue;
    isDropped[i] = true;
    free.push_back(i);
    takeOut();
  }
  std::size_t at = first;
  for (std::size_t i = first; i < regions.size(); ++i)
    if (!isDropped[i]) {
      if (at != i) regions[at] = std::move(regions[i]);
      ++at;
    }
  regions.resize(at);
}

} // namespace orias::ori
