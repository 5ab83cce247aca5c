#include "tools/interpreter/races.h"

#include <algorithm>

namespace orias::interp {

namespace {
constexpr std::uint32_t kLanes = 32;
constexpr unsigned kRankBit = 24;
constexpr std::uint64_t kInBlock = (1u << kRankBit) - 1;
} // namespace

Races::Races(std::size_t blocks, std::size_t warpsOfEach, std::size_t sharedBytes)
    : clocks_(blocks * warpsOfEach, Clock(blocks * warpsOfEach)), fenced_(clocks_.size()), observed_(clocks_.size()),
      phase_(clocks_.size(), 0), warpsOfEach_(warpsOfEach), barriers_(blocks * kBarriers), reached_(clocks_.size()),
      reachedBefore_(clocks_.size()), knowsAll_(clocks_.size()), reaching_(blocks, Clock(clocks_.size())),
      shared_(blocks, std::vector<Byte>(sharedBytes)) {
  for (std::size_t w = 0; w < clocks_.size(); ++w)
    clocks_[w][w] = 1;
}

void Races::join(Clock& to, const Clock& from) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t w = 0; w < from.size(); ++w)
    to[w] = std::max(to[w], from[w]);
}

bool Races::isOrdered(const Stamp& before, std::uint32_t thread) const {
  const std::uint32_t from = before.thread / kLanes, to = thread / kLanes;
  if (from != to) return before.clock <= clocks_[to][from];
  return before.thread == thread || before.phase != phase_[to];
}

std::optional<Races::Conflict> Races::note(std::uint32_t thread, Memory memory, std::uint64_t offset, std::size_t size,
                                           std::span<const std::byte> data, Strength strength) {
  std::optional<Conflict> conflict;
  const std::uint32_t warp = thread / kLanes;
  const Stamp now{static_cast<std::uint16_t>(thread), strength.isStrong, clocks_[warp][warp], phase_[warp]};
  const auto conflicts = [&](const Stamp& before) {
    return before.exists() && !(before.isStrong && strength.isStrong) && !isOrdered(before, thread);
  };
  const auto report = [&](const Stamp& before, bool withWrite, std::uint64_t at) {
    if (!conflict) conflict = {before.thread, withWrite, at};
  };
  for (std::size_t k = 0; k < size; ++k) {
    Byte& byte =
        memory == Memory::Shared ? shared_.at(offset >> kRankBit).at((offset & kInBlock) + k) : global_[offset + k];
    const bool writesSame = !data.empty() && byte.write.thread / kLanes == warp && byte.value == data[k];
    if (conflicts(byte.write) && !writesSame) report(byte.write, true, offset + k);
    if (!data.empty()) {
      for (const Stamp& read : byte.reads)
        if (conflicts(read)) report(read, false, offset + k);
      byte.write = now;
      byte.value = data[k];
      continue;
    }
    auto& [last, otherWarp, otherLane] = byte.reads;
    if (last.exists() && last.thread != now.thread) (last.thread / kLanes == warp ? otherLane : otherWarp) = last;
    last = now;
  }
  return conflict;
}

void Races::acquire(std::uint32_t warp, const Clock& from) {
  join(clocks_[warp], from);
  ++phase_[warp];
}

void Races::strongRead(std::uint32_t thread, std::uint64_t address, Strength strength) {
  const auto found = places_.find(address);
  if (found == places_.end()) return;
  const std::uint32_t warp = thread / kLanes;
  if (strength.acquires)
    acquire(warp, found->second);
  else
    join(observed_[warp], found->second);
}

void Races::strongWrite(std::uint32_t thread, std::uint64_t address, Strength strength) {
  const std::uint32_t warp = thread / kLanes;
  join(places_[address], strength.releases ? clocks_[warp] : fenced_[warp]);
  if (strength.releases) ++clocks_[warp][warp];
}

void Races::fence(std::uint32_t thread) {
  const std::uint32_t warp = thread / kLanes;
  acquire(warp, observed_[warp]);
  fenced_[warp] = clocks_[warp];
  ++clocks_[warp][warp];
}

void Races::arrive(std::uint32_t warp, std::size_t barrier) {
  join(barriers_[warp / warpsOfEach_ * kBarriers + barrier], clocks_[warp]);
  ++clocks_[warp][warp];
  ++phase_[warp];
}

void Races::leave(std::uint32_t warp, std::size_t barrier) {
  join(clocks_[warp], barriers_[warp / warpsOfEach_ * kBarriers + barrier]);
}

void Races::reset(std::size_t block, std::size_t barrier) {
  barriers_[block * kBarriers + barrier].clear();
}

void Races::clusterArrive(std::uint32_t thread, bool releases) {
  const std::uint32_t warp = thread / kLanes;
  join(arriving_, releases ? clocks_[warp] : fenced_[warp]);
  reached_[warp] = clocks_[warp][warp]++;
}

void Races::clusterComplete() {
  arrived_ = arriving_;
  reachedBefore_ = reached_;
  for (std::uint32_t& phase : phase_)
    ++phase;
}

void Races::clusterWait(std::uint32_t thread) {
  const std::uint32_t warp = thread / kLanes;
  join(clocks_[warp], arrived_);
  knowsAll_[warp] = true;
  // A warp that has arrived has completed its accesses, even if its arrival released nothing.
  Clock& own = reaching_[warp / warpsOfEach_];
  for (std::size_t w = 0; w < own.size(); ++w)
    if (own[w] <= reachedBefore_[w]) own[w] = 0;
}

bool Races::noteRemote(std::uint32_t thread, std::uint32_t block) {
  const std::uint32_t warp = thread / kLanes;
  reaching_[block][warp] = clocks_[warp][warp];
  bool knows = knowsAll_[warp];
  for (std::size_t w = block * warpsOfEach_; w < (block + 1) * warpsOfEach_; ++w)
    knows |= clocks_[warp][w] != 0;
  return knows;
}

std::optional<std::uint32_t> Races::stillReaching(std::uint32_t block) const {
  const Clock& last = reaching_[block];
  for (std::uint32_t w = 0; w < last.size(); ++w) {
    bool isDone = last[w] == 0;
    for (std::size_t own = block * warpsOfEach_; own < (block + 1) * warpsOfEach_; ++own)
      isDone |= clocks_[own][w] >= last[w];
    if (!isDone) return w;
  }
  return std::nullopt;
}

} // namespace orias::interp
