#pragma once

#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::phases {

/// The number of occupied registers at each point of a program. Ranges are added and the maximum is queried, both in
/// logarithmic time per segment.
class PointPressure {
 public:
  explicit PointPressure(regalloc::Point points);
  void add(const regalloc::Range& range, int amount);
  /// The highest pressure within the range.
  int highest(const regalloc::Range& range) const;

 private:
  void add(std::size_t node, std::size_t low, std::size_t high, regalloc::Segment s, int amount);
  int highest(std::size_t node, std::size_t low, std::size_t high, regalloc::Segment s) const;

  // A segment tree over the points: a node's sum applies to all points below it, `most_` is the maximum of a subtree.
  std::size_t size_ = 1;
  std::vector<int> sum_, most_;
};

} // namespace orias::phases
