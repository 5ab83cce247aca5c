#pragma once

#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::phases {

/// The number of occupied registers at each point of a program; ranges are added and the maximum is queried. Both take
/// logarithmic time for each segment.
class PointPressure {
 public:
  explicit PointPressure(regalloc::Point points);
  void add(const regalloc::Range& range, int amount);
  /// The highest pressure within the range.
  int highest(const regalloc::Range& range) const;

 private:
  void add(std::size_t node, std::size_t low, std::size_t high, regalloc::Segment s, int amount);
  int highest(std::size_t node, std::size_t low, std::size_t high, regalloc::Segment s) const;

  // A tree over the points: a node's sum counts for all points below, `most_` is the highest of a subtree.
  std::size_t size_ = 1;
  std::vector<int> sum_, most_;
};

} // namespace orias::phases
