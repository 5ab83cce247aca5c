#include "tools/emulator/race_check.h"

#include <algorithm>

namespace orias::emu {

void RaceCheck::start(std::size_t bytes, unsigned ctas, unsigned warpsOfEach) {
  const unsigned warps = ctas * warpsOfEach;
  warpsOfEach_ = warpsOfEach;
  bytes_.assign(ctas, std::vector<Byte>(bytes));
  clocks_.assign(warps, Clock(warps));
  for (unsigned w = 0; w < warps; ++w)
    clocks_[w][w] = 1;
  barriers_.assign(std::size_t{ctas} * kCluster + 1, {});
  places_.clear();
}

void RaceCheck::join(Clock& to, const Clock& from) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t w = 0; w < from.size(); ++w)
    to[w] = std::max(to[w], from[w]);
}

void RaceCheck::arrive(unsigned warp, unsigned barrier) {
  join(barrierOf(warp / warpsOfEach_, barrier), clocks_[warp]);
  ++clocks_[warp][warp];
}

void RaceCheck::synchronise(unsigned warp, std::uint64_t address) {
  Clock& place = places_[address];
  join(clocks_[warp], place);
  join(place, clocks_[warp]);
  ++clocks_[warp][warp];
}

RaceCheck::Conflict RaceCheck::note(const Access& access) {
  Conflict conflict;
  const auto report = [&](bool withWrite, std::uint16_t warp, std::size_t offset) {
    if (!conflict.found) conflict = {true, withWrite, warp, offset};
  };
  const Stamp now{access.warp, clocks_[access.warp][access.warp]};
  for (std::size_t k = 0; k < access.size && access.offset + k < bytes_[access.cta].size(); ++k) {
    Byte& byte = bytes_[access.cta][access.offset + k];
    const bool bothAtomic = byte.isAtomicWrite && access.isAtomic;
    if (byte.write.clock != 0 && !bothAtomic) {
      const bool sameInstruction = access.isWrite && byte.write.warp == access.warp &&
                                   byte.instruction == access.instruction && access.data &&
                                   byte.value != access.data[k];
      if (!isOrdered(byte.write, access.warp) || sameInstruction) report(true, byte.write.warp, access.offset + k);
    }
    if (access.isWrite) {
      // The read of an atomic is part of its write.
      for (const Stamp& read : byte.reads)
        if (read.clock != 0 && !isOrdered(read, access.warp)) report(false, read.warp, access.offset + k);
      byte.write = now;
      byte.isAtomicWrite = access.isAtomic;
      byte.instruction = access.instruction;
      if (access.data) byte.value = access.data[k];
    } else if (!access.isAtomic) {
      // Warps that are ordered after this warp are also ordered after everything before this warp.
      auto& [first, second] = byte.reads;
      (first.clock == 0 || isOrdered(first, access.warp) ? first : second) = now;
    }
  }
  return conflict;
}

} // namespace orias::emu
