#include "tools/interpreter/races.h"

#include <algorithm>

namespace orias::interp {

namespace {
constexpr std::uint32_t kLanes = 32;
}

Races::Races(std::size_t warps, std::size_t sharedBytes)
    : clocks_(warps), fenced_(warps), observed_(warps), phase_(warps, 0), shared_(sharedBytes) {
  for (std::size_t w = 0; w < warps; ++w)
    clocks_[w][w] = 1;
}

void Races::join(Clock& to, const Clock& from) {
  for (std::size_t w = 0; w < to.size(); ++w)
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
    Byte& byte = memory == Memory::Shared ? shared_.at(offset + k) : global_[offset + k];
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
  join(barriers_[barrier], clocks_[warp]);
  ++clocks_[warp][warp];
  ++phase_[warp];
}

void Races::leave(std::uint32_t warp, std::size_t barrier) {
  join(clocks_[warp], barriers_[barrier]);
}

void Races::reset(std::size_t barrier) {
  barriers_[barrier] = {};
}

} // namespace orias::interp
