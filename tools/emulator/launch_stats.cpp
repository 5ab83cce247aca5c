#include "tools/emulator/launch_stats.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "tools/emulator/full_machine.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

namespace {

constexpr unsigned kBanks = 32, kSectorBytes = 32;
constexpr unsigned kCacheBytes = 128; ///< bandwidth of the first cache per cycle

constexpr std::array<const char*, 12> kPipeNames = {"other", "alu", "fma", "fp64", "fp16",    "mma",
                                                    "xu",    "lsu", "tex", "cbu",  "uniform", "adu"};

/// Passes through shared memory for accesses of 4 bytes per lane: each bank gives one word per pass. Wider accesses are
/// split into groups of lanes that together access 128 bytes.
unsigned wavefronts(unsigned size, std::uint32_t lanes, const std::array<std::uint64_t, 32>& addresses,
                    unsigned& ideal) {
  const unsigned words = std::max(size / 4, 1u), group = 32 / words;
  unsigned total = 0;
  for (unsigned first = 0; first < 32; first += group) {
    std::array<std::array<std::uint64_t, 32>, kBanks> seen;
    std::array<unsigned, kBanks> count{};
    unsigned most = 0;
    for (unsigned lane = first; lane < first + group; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      for (unsigned w = 0; w < words; ++w) {
        const std::uint64_t word = addresses[lane] / 4 + w;
        const auto bank = static_cast<std::size_t>(word % kBanks);
        const auto end = seen[bank].begin() + count[bank];
        if (std::find(seen[bank].begin(), end, word) != end) continue;
        seen[bank][count[bank]++] = word;
        most = std::max(most, count[bank]);
      }
    }
    total += most;
    ideal += most != 0 ? 1 : 0;
  }
  return total;
}

unsigned sectors(std::uint32_t lanes, const std::array<std::uint64_t, 32>& addresses) {
  std::array<std::uint64_t, 32> seen;
  std::size_t count = 0;
  for (; lanes != 0; lanes &= lanes - 1) // accesses are aligned, so none spans two sectors
    seen[count++] = addresses[static_cast<std::size_t>(std::countr_zero(lanes))] / kSectorBytes;
  std::sort(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<unsigned>(std::unique(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count)) -
                               seen.begin());
}

/// The cycles of an access to local memory. Consecutive words belong to consecutive lanes, so the same word of all
/// lanes is one line.
unsigned localLines(unsigned size, std::uint32_t lanes, const std::array<std::uint64_t, 32>& addresses) {
  std::array<std::uint64_t, 32> seen;
  std::size_t count = 0;
  for (; lanes != 0; lanes &= lanes - 1)
    seen[count++] = addresses[static_cast<std::size_t>(std::countr_zero(lanes))] / 4;
  std::sort(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count));
  const auto different = std::unique(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count)) - seen.begin();
  return static_cast<unsigned>(different) * std::max(size / 4, 1u);
}

} // namespace

LaunchStats::LaunchStats(const Program& program, const Code& code, const launch::RunOptions& options)
    : program_(program), code_(code) {
  if (program.isOri) return;
  costs_ = issueCosts(program);
  if (options.fullMachine) traces_.emplace();
  if (options.profile) profile_.resize(program.code.size());
}

void LaunchStats::startCluster(unsigned ctas, unsigned warpsOfEach) {
  if (traces_) traces_->startCluster(ctas, warpsOfEach);
  warpsOfEach_ = warpsOfEach;
  clocks_.assign(std::size_t{ctas} * warpsOfEach, {});
  last_.assign(clocks_.size(), 0);
  schedulers_.assign(ctas, {});
}

void LaunchStats::issue(unsigned warp, std::uint32_t at, std::uint32_t live, std::uint32_t mask, std::uint32_t lanes) {
  ++issued_[static_cast<std::size_t>(isa::desc(code_[at].inst.op).pipe)];
  ++instructions_;
  lanes_ += static_cast<std::uint64_t>(std::popcount(lanes));
  if ((live & ~mask) != 0) ++dividedIssues_;
  if (lanes == 0) ++idleIssues_;
  const bool isIdle = lanes == 0 && !program_.isOri && costs_[at].usesMemoryUnit;
  launch::InstructionProfile* const profile = profile_.empty() ? nullptr : &profile_[at];
  if (profile) {
    ++profile->executed;
    profile->lanes += static_cast<std::uint64_t>(std::popcount(lanes));
    last_[warp] = at;
  }
  if (!program_.isOri) advance(clocks_[warp], schedulerOf(warp), isIdle ? costs_[at].idle() : costs_[at], profile);
  if (!traces_) return;
  traces_->issue(warp, at);
  if (isIdle) traces_->access(warp, 0, 0);
}

/// The warp waits for its scoreboards, issues, and may issue again after its stall count.
void LaunchStats::advance(WarpClock& clock, Scheduler& scheduler, const IssueCost& cost,
                          launch::InstructionProfile* profile) {
  const std::uint64_t start = clock.readyAt(cost);
  scoreboardStalls_ += start - clock.now();
  fixedStalls_ += cost.stall - 1;
  if (profile) {
    profile->scoreboardStalls += start - clock.now();
    profile->fixedStalls += cost.stall - 1;
  }
  clock.issue(cost, start, start, 0);
  ++scheduler.issued;
  scheduler.busy[static_cast<std::size_t>(cost.pipe)] += cost.busy;
}

void LaunchStats::access(unsigned warp, Space space, unsigned size, std::uint32_t lanes,
                         const std::array<std::uint64_t, 32>& addresses) {
  if (space == Space::Constant || lanes == 0) return;
  unsigned ideal = 0;
  const unsigned parts = space == Space::Shared ? wavefronts(size, lanes, addresses, ideal) : sectors(lanes, addresses);
  Traffic& traffic = space == Space::Shared ? shared_ : space == Space::Local ? local_ : global_;
  ++traffic.requests;
  traffic.parts += parts;
  traffic.ideal += ideal;
  if (traces_) {
    const bool isShared = space == Space::Shared;
    const unsigned service = isShared                ? parts
                             : space == Space::Local ? localLines(size, lanes, addresses)
                                                     : (parts * kSectorBytes + kCacheBytes - 1) / kCacheBytes;
    traces_->access(warp, service, isShared ? parts - ideal : 0);
  }
  if (space != Space::Shared || parts <= ideal || program_.isOri) return;
  // Additional passes occupy the unit and delay the result.
  clocks_[warp].delayResult(parts - ideal);
  schedulerOf(warp).busy[static_cast<std::size_t>(isa::Pipe::Lsu)] += parts - ideal;
}

void LaunchStats::meet(std::span<const unsigned> warps) {
  std::uint64_t last = 0;
  for (const unsigned w : warps)
    last = std::max(last, clocks_[w].now());
  for (const unsigned w : warps) {
    barrierStalls_ += last - clocks_[w].now();
    if (!profile_.empty()) profile_[last_[w]].barrierStalls += last - clocks_[w].now();
    clocks_[w].waitUntil(last);
  }
  if (traces_) traces_->meet(warps);
}

void LaunchStats::endCluster() {
  for (std::size_t cta = 0; cta < schedulers_.size(); ++cta) {
    std::uint64_t latency = 0, busy = 0;
    for (std::size_t w = cta * warpsOfEach_; w < (cta + 1) * warpsOfEach_; ++w)
      latency = std::max(latency, clocks_[w].now());
    for (const Scheduler& scheduler : schedulers_[cta])
      busy = std::max({busy, scheduler.issued, *std::max_element(scheduler.busy.begin(), scheduler.busy.end())});
    ++ctas_;
    latency_ += latency;
    busy_ += busy;
  }
}

isa::Occupancy LaunchStats::occupancy(const launch::Launch& launch) const {
  return program_.target->occupancy(static_cast<unsigned>(launch.block.count()), program_.registers,
                                    program_.staticShared + launch.dynamicShared);
}

/// Each multiprocessor runs as many CTAs at once as fit. A batch of them takes as long as a single CTA, or as long as
/// the busiest unit needs for all of them.
double LaunchStats::estimatedCycles(const launch::Launch& launch) const {
  const std::uint64_t together = std::max(occupancy(launch).blocksPerSm, 1u);
  const std::uint64_t ofOne = (launch.grid.count() + kProcessors - 1) / kProcessors; // CTAs per multiprocessor
  const double latency = static_cast<double>(latency_) / static_cast<double>(ctas_);
  const double busy = static_cast<double>(busy_) / static_cast<double>(ctas_);
  const auto batch = [&](std::uint64_t count) { return std::max(latency, busy * static_cast<double>(count)); };
  double cycles = static_cast<double>(ofOne / together) * batch(together);
  if (ofOne % together != 0) cycles += batch(ofOne % together);
  return cycles;
}

std::vector<std::pair<std::string, double>> LaunchStats::report(const launch::Launch& launch) const {
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](std::string name, std::uint64_t figure) {
    all.emplace_back(std::move(name), static_cast<double>(figure));
  };
  const auto ratio = [&](std::string name, std::uint64_t a, std::uint64_t b) {
    if (b != 0) all.emplace_back(std::move(name), static_cast<double>(a) / static_cast<double>(b));
  };
  add("warp instructions", instructions_);
  ratio("lanes enabled per instruction", lanes_, instructions_);
  for (std::size_t pipe = 0; pipe < kPipes; ++pipe)
    if (issued_[pipe] != 0) add(fmt::format("issued to {}", kPipeNames[pipe]), issued_[pipe]);
  add("divergent branches", divided_);
  add("issued while the warp was diverged", dividedIssues_);
  add("issued with no lane enabled", idleIssues_);
  if (shared_.requests != 0) {
    add("shared requests", shared_.requests);
    add("shared wavefronts", shared_.parts);
    add("shared bank conflicts", shared_.parts - shared_.ideal);
  }
  if (global_.requests != 0) {
    add("global requests", global_.requests);
    add("global sectors", global_.parts);
    ratio("global sectors per request", global_.parts, global_.requests);
  }
  if (local_.requests != 0) add("local requests", local_.requests);
  if (program_.isOri || ctas_ == 0) return all;
  add("stall cycles, fixed", fixedStalls_);
  add("stall cycles, scoreboards", scoreboardStalls_);
  add("stall cycles, barriers", barrierStalls_);
  all.emplace_back("estimated cycles", estimatedCycles(launch));
  const isa::Occupancy fits = occupancy(launch);
  if (!traces_ || fits.blocksPerSm == 0) return all;
  const FullMachine full = fillMachine(traces_->blocks(), costs_, fits.blocksPerSm);
  add("full machine: resident blocks", fits.blocksPerSm);
  add("full machine: resident warps", fits.warpsPerSm);
  all.emplace_back("full machine: issue slots used", full.issueSlotsUsed());
  all.emplace_back("full machine: cycles per block", full.cyclesPerBlock());
  return all;
}

} // namespace orias::emu
