#include "tools/emulator/block_trace.h"

#include <algorithm>

namespace orias::emu {

void TraceRecorder::startCluster(unsigned blocks, unsigned warpsOfEach) {
  isFull_ = blocks_.size() >= kMaxBlocks || steps_ >= kMaxSteps;
  if (isFull_) return;
  first_ = blocks_.size();
  warpsOfEach_ = warpsOfEach;
  blocks_.resize(first_ + blocks);
  for (std::size_t i = first_; i < blocks_.size(); ++i)
    blocks_[i].warps.resize(warpsOfEach);
}

void TraceRecorder::issue(unsigned warp, std::uint32_t at) {
  if (isFull_) return;
  stepsOf(warp).push_back({at, 0, 1, 0});
  ++steps_;
}

void TraceRecorder::access(unsigned warp, std::uint64_t service, std::uint64_t conflicts) {
  if (isFull_) return;
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint16_t>::max();
  BlockTrace::Step& step = stepsOf(warp).back();
  step.service = static_cast<std::uint16_t>(std::min(service, kMax));
  step.conflicts = static_cast<std::uint16_t>(std::min(conflicts, kMax));
}

void TraceRecorder::meet(std::span<const unsigned> warps) {
  if (isFull_) return;
  // The warps are sorted by number.
  for (std::size_t i = 0; i < warps.size();) {
    BlockTrace& block = blocks_[first_ + warps[i] / warpsOfEach_];
    const std::size_t begin = i;
    const auto meeting = static_cast<std::uint32_t>(block.meetings.size());
    for (; i < warps.size() && warps[i] / warpsOfEach_ == warps[begin] / warpsOfEach_; ++i)
      stepsOf(warps[i]).push_back({BlockTrace::kMeeting, meeting, 0, 0});
    block.meetings.push_back(static_cast<std::uint32_t>(i - begin));
  }
}

} // namespace orias::emu
