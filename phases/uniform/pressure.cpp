#include "phases/uniform/pressure.h"

#include <algorithm>

namespace orias::phases {

using regalloc::Segment;

PointPressure::PointPressure(regalloc::Point points) {
  while (size_ < points)
    size_ *= 2;
  sum_.assign(2 * size_, 0);
  most_.assign(2 * size_, 0);
}

void PointPressure::add(const regalloc::Range& range, int amount) {
  for (Segment s : range.segments())
    add(1, 0, size_, s, amount);
}

int PointPressure::highest(const regalloc::Range& range) const {
  int most = 0;
  for (Segment s : range.segments())
    most = std::max(most, highest(1, 0, size_, s));
  return most;
}

void PointPressure::add(std::size_t node, std::size_t low, std::size_t high, Segment s, int amount) {
  if (s.end <= low || high <= s.start) return;
  if (s.start <= low && high <= s.end) {
    sum_[node] += amount;
    most_[node] += amount;
    return;
  }
  const std::size_t middle = (low + high) / 2;
  add(2 * node, low, middle, s, amount);
  add(2 * node + 1, middle, high, s, amount);
  most_[node] = sum_[node] + std::max(most_[2 * node], most_[2 * node + 1]);
}

int PointPressure::highest(std::size_t node, std::size_t low, std::size_t high, Segment s) const {
  if (s.end <= low || high <= s.start) return 0;
  if (s.start <= low && high <= s.end) return most_[node];
  const std::size_t middle = (low + high) / 2;
  return sum_[node] + std::max(highest(2 * node, low, middle, s), highest(2 * node + 1, middle, high, s));
}

} // namespace orias::phases
