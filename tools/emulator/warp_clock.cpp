#include "tools/emulator/warp_clock.h"

#include <algorithm>

namespace orias::emu {

void WarpClock::Queue::add(std::uint64_t time) {
  all = std::max(all, time);
  upTo[count++ % kKept] = all;
}

std::uint64_t WarpClock::Queue::allBut(std::uint32_t newest) const {
  if (newest == 0) return all;
  if (newest >= count) return 0;
  // Results older than the recorded ones arrived no later than the oldest of those.
  return upTo[(count - 1 - std::min(newest, kKept - 1)) % kKept];
}

std::uint64_t WarpClock::readyAt(const IssueCost& cost) const {
  std::uint64_t start = now_;
  for (unsigned s = 0; s < kScoreboards; ++s)
    if ((cost.awaited >> s & 1) != 0) start = std::max(start, queues_[s].all);
  if (cost.kind == IssueCost::Kind::ScoreboardWait && cost.scoreboard < kScoreboards)
    start = std::max(start, queues_[cost.scoreboard].allBut(cost.count));
  if (cost.kind == IssueCost::Kind::ProductWait) start = std::max(start, queues_[kProducts].allBut(cost.count));
  return start;
}

void WarpClock::issue(const IssueCost& cost, std::uint64_t start, std::uint64_t begin, std::uint64_t extra) {
  now_ = start + cost.stall;
  std::uint64_t done = begin + cost.latency + extra;
  switch (cost.kind) {
  case IssueCost::Kind::Copy: copies_ = std::max(copies_, done); break;
  case IssueCost::Kind::CopyGroup: done = std::max(done, copies_); break;
  case IssueCost::Kind::Product:
    products_ = std::max(products_, begin) + cost.busy;
    if (cost.closesGroup) queues_[kProducts].add(products_);
    break;
  default: break;
  }
  if (cost.writeBarrier < kScoreboards) queues_[cost.writeBarrier].add(done);
  if (cost.readBarrier < kScoreboards) queues_[cost.readBarrier].add(begin + cost.sourceLatency);
  last_ = cost.writeBarrier;
}

void WarpClock::delayResult(std::uint64_t cycles) {
  if (last_ < kScoreboards) {
    Queue& queue = queues_[last_];
    queue.all += cycles;
    queue.upTo[(queue.count - 1) % kKept] = queue.all;
  }
}

} // namespace orias::emu
