#pragma once

#include "ori/analysis/live_step.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace orias::ori {

/// Counts the live components of blocks, from their ends upwards. Unlike LiveCursor it keeps no list of them, which
/// takes time.
class LiveCounter {
 public:
  explicit LiveCounter(const Liveness& liveness) : liveness_(liveness), live_(liveness.components().count() / 64 + 1) {}

  /// Begins at the end of the block.
  void enter(const Block& block) {
    for (const std::uint32_t word : touched_)
      live_[word] = 0;
    touched_.clear();
    counts_ = {};
    liveness_.liveOut(block.id).forEachWord([&](std::uint32_t word, std::uint64_t bits) {
      live_[word] = bits;
      touched_.push_back(word);
      for (; bits != 0; bits &= bits - 1)
        ++counts_[fileOf(64 * word + static_cast<CompId>(std::countr_zero(bits)))];
    });
    maximum_ = counts_;
  }
  /// Goes over the instruction, upwards: from the last one of the block to the first.
  void step(const Instr& instr) {
    stepUpwards(
        liveness_, instr, ended_, [&](CompId comp) { return isLive(comp); }, [&](CompId comp) { add(comp); },
        [&](CompId comp) { remove(comp); });
  }
  bool isLive(CompId comp) const { return (live_[comp / 64] & bitOf(comp)) != 0; }
  /// How many are live here.
  const FileCounts& counts() const { return counts_; }
  /// The most that were live at once since enter(), including unused results.
  const FileCounts& maximum() const { return maximum_; }

 private:
  static std::uint64_t bitOf(CompId comp) { return std::uint64_t{1} << comp % 64; }
  unsigned fileOf(CompId comp) const { return static_cast<unsigned>(liveness_.components().file(comp)); }
  void add(CompId comp) {
    // Without a branch: nothing tells the processor which reads are the last ones.
    std::uint64_t& word = live_[comp / 64];
    if (word == 0) touched_.push_back(comp / 64);
    const unsigned file = fileOf(comp);
    counts_[file] += static_cast<unsigned>(~word >> comp % 64 & 1);
    word |= bitOf(comp);
    maximum_[file] = std::max(maximum_[file], counts_[file]);
  }
  void remove(CompId comp) {
    std::uint64_t& word = live_[comp / 64];
    counts_[fileOf(comp)] -= static_cast<unsigned>(word >> comp % 64 & 1); // may be named twice
    word &= ~bitOf(comp);
  }

  const Liveness& liveness_;
  std::vector<std::uint64_t> live_;    // a bit for each component
  std::vector<std::uint32_t> touched_; // its words that are not zero, and others
  std::vector<CompId> ended_;          // defined by the instruction at hand
  FileCounts counts_{}, maximum_{};
};

} // namespace orias::ori
