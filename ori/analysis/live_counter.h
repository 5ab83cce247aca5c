#pragma once

#include "ori/analysis/liveness.h"
#include "ori/results.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace orias::ori {

/// Counts the live components within a block, from its end upwards. It keeps no list of them, unlike LiveCursor, and is
/// faster.
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
  /// Steps upwards over the instruction. Call it for all instructions from the last of the block to the first.
  void step(const Instr& instr) {
    // The same as stepUpwards(), a word at a time.
    const Components& components = liveness_.components();
    const bool isGuarded = instr.isGuarded();
    ended_.clear();
    for (const Operand& operand : resultSlots(instr))
      if (operand.isDef)
        components.forEachWord(operand, [&](std::uint32_t word, std::uint64_t bits) {
          ended_.push_back({operand.file, word, isGuarded ? endedOf(instr, word, bits) : bits});
          add(operand.file, word, bits);
        });
    for (const auto& [file, word, bits] : ended_)
      remove(file, word, bits);
    if (instr.op == Op::PHI) return;
    for (const Operand& operand : isGuarded ? instr.refs() : instr.ops())
      if (!operand.isDef)
        components.forEachWord(operand, [&](std::uint32_t word, std::uint64_t bits) { add(operand.file, word, bits); });
  }
  bool isLive(CompId comp) const { return (live_[comp / 64] & bitOf(comp)) != 0; }
  /// The number of live registers here.
  const FileCounts& counts() const { return counts_; }
  /// The maximum number of live registers since enter(), including unused results.
  const FileCounts& maximum() const { return maximum_; }

 private:
  struct Ended {
    File file;
    std::uint32_t word;
    std::uint64_t bits;
  };

  static std::uint64_t bitOf(CompId comp) { return std::uint64_t{1} << comp % 64; }
  unsigned fileOf(CompId comp) const { return static_cast<unsigned>(liveness_.components().file(comp)); }
  static unsigned countOf(std::uint64_t bits) {
    // Mostly one bit or none. Branch-free, because the processor cannot predict which reads are the last ones.
    const std::uint64_t others = bits & (bits - 1);
    return others == 0 ? static_cast<unsigned>(bits != 0) : static_cast<unsigned>(std::popcount(bits));
  }
  void add(File ofFile, std::uint32_t word, std::uint64_t bits) {
    std::uint64_t& live = live_[word];
    if (live == 0) touched_.push_back(word);
    const auto file = static_cast<std::size_t>(ofFile);
    counts_[file] += countOf(bits & ~live);
    live |= bits;
    maximum_[file] = std::max(maximum_[file], counts_[file]);
  }
  void remove(File file, std::uint32_t word, std::uint64_t bits) {
    std::uint64_t& live = live_[word];
    counts_[static_cast<std::size_t>(file)] -= countOf(bits & live); // the operands may overlap
    live &= ~bits;
  }
  /// The results of a guarded instruction that end live ranges. Other guarded results stay live before the instruction.
  std::uint64_t endedOf(const Instr& instr, std::uint32_t word, std::uint64_t results) const {
    std::uint64_t ended = results & ~live_[word];
    for (std::uint64_t bits = results & live_[word]; bits != 0; bits &= bits - 1)
      if (liveness_.startsLife(instr, 64 * word + static_cast<CompId>(std::countr_zero(bits))))
        ended |= bits & ~(bits - 1);
    return ended;
  }

  const Liveness& liveness_;
  std::vector<std::uint64_t> live_;    // a bit for each component
  std::vector<std::uint32_t> touched_; // includes all words that are not zero
  std::vector<Ended> ended_;           // by the current instruction
  FileCounts counts_{}, maximum_{};
};

} // namespace orias::ori
