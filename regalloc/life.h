#pragma once

#include "regalloc/webs.h"

#include <cstdint>
#include <vector>

namespace orias::regalloc {

inline constexpr std::uint32_t kNoIndex = ~0u;

/// An instruction that uses or defines members of a web.
struct Reference {
  std::uint32_t number = 0; ///< of the instruction in NumberedCode
  ori::BlockId block = ori::kNoId;
  bool reads = false, writes = false;
};

/// A part of a web's life without references, within one block: between two references, or between one and an end of
/// the block. It may be empty, where an instruction reads the result of its predecessor.
struct Gap {
  ori::BlockId block = ori::kNoId;
  Point start = 0, end = 0;
  std::uint32_t before = kNoIndex, after = kNoIndex; ///< references; kNoIndex: the end of the block
  std::uint32_t region = 0;                          ///< the same number for gaps that are connected by control flow
  friend bool operator==(const Gap&, const Gap&) = default;
};

/// The references of a web and the gaps between them. Each is kept in registers or in memory as a unit.
struct Life {
  std::vector<Reference> references; ///< in order
  std::vector<Gap> gaps;             ///< in order
  std::uint32_t regions = 0;
};

/// Finds lives of webs. Takes time proportional to the references and to the blocks in which the web is live.
class LifeFinder {
 public:
  explicit LifeFinder(const NumberedCode& code);

  Life find(const Web& web);
  /// Makes headOf and tailOf refer to a life found before.
  void select(const Life& life);

  /// The points of a block; empty for a block without instructions.
  Segment pointsOf(ori::BlockId block) const { return points_[block]; }
  /// The index in Life::gaps of the gap at the beginning (the end) of a block; kNoIndex if there is none. Refers to the
  /// life that was found or selected last.
  std::uint32_t headOf(ori::BlockId block) const { return find(heads_, block); }
  std::uint32_t tailOf(ori::BlockId block) const { return find(tails_, block); }
  const NumberedCode& code() const { return code_; }

 private:
  struct Mark {
    std::uint32_t stamp = 0, gap = kNoIndex;
  };

  std::uint32_t find(const std::vector<Mark>& marks, ori::BlockId block) const {
    return marks[block].stamp == stamp_ ? marks[block].gap : kNoIndex;
  }
  void findReferences(const Web& web, Life& life) const;
  std::vector<ori::BlockId> blocksOf(const Web& web, const Life& life);
  bool isLiveOut(const Web& web, ori::BlockId block) const;
  void connect(Life& life);

  const NumberedCode& code_;
  std::vector<Segment> points_; // by block
  std::vector<Mark> heads_, tails_;
  std::vector<std::uint32_t> seen_; // by block: the stamp of the last web
  std::uint32_t stamp_ = 0;
};

/// Whether any register of the web is live at the point.
bool isLiveAt(const Web& web, Point point);

/// Calls f(segment) for each part of the live range of each register of the web between two points.
template <typename F> void forEachOccupied(const Web& web, Point start, Point end, F&& f) {
  if (start >= end) return;
  for (const Range& range : web.components) {
    const auto segments = range.segments();
    auto at = std::upper_bound(segments.begin(), segments.end(), start, [](Point p, Segment s) { return p < s.end; });
    for (; at != segments.end() && at->start < end; ++at)
      f(Segment{std::max(at->start, start), std::min(at->end, end)});
  }
}

} // namespace orias::regalloc
