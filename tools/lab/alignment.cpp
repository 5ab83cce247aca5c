#include "tools/lab/alignment.h"

#include <algorithm>

namespace orias::lab {

std::vector<AlignedPair> align(std::span<const std::string> left, std::span<const std::string> right,
                               std::size_t most) {
  const auto n = static_cast<std::ptrdiff_t>(left.size()), m = static_cast<std::ptrdiff_t>(right.size());
  const auto bound = static_cast<std::ptrdiff_t>(std::min(left.size() + right.size(), most));
  // furthest[k]: the furthest x reached in `left` on diagonal k = x - y. The state for each number of differences is
  // kept for the backtrace.
  std::vector<std::ptrdiff_t> furthest(2 * static_cast<std::size_t>(bound) + 3, 0);
  const auto at = [&](std::ptrdiff_t k) { return static_cast<std::size_t>(k + bound + 1); };
  std::vector<std::vector<std::ptrdiff_t>> states;
  std::ptrdiff_t x = 0, y = 0;
  const auto isDown = [&](const std::vector<std::ptrdiff_t>& f, std::ptrdiff_t k, std::ptrdiff_t d) {
    return k == -d || (k != d && f[at(k - 1)] < f[at(k + 1)]);
  };
  bool isFound = false;
  for (std::ptrdiff_t d = 0; d <= bound && !isFound; ++d) {
    states.push_back(furthest);
    for (std::ptrdiff_t k = -d; k <= d && !isFound; k += 2) {
      x = isDown(furthest, k, d) ? furthest[at(k + 1)] : furthest[at(k - 1)] + 1;
      y = x - k;
      while (x < n && y < m && left[static_cast<std::size_t>(x)] == right[static_cast<std::size_t>(y)])
        ++x, ++y;
      furthest[at(k)] = x;
      isFound = x >= n && y >= m;
    }
  }
  std::vector<AlignedPair> pairs;
  if (!isFound) { // the rest after the furthest point is not aligned
    x = y = -1;
    for (std::ptrdiff_t k = -bound; k <= bound; k += 2) {
      const std::ptrdiff_t reached = furthest[at(k)];
      if (reached <= n && reached - k >= 0 && reached - k <= m && 2 * reached - k > x + y) {
        x = reached;
        y = reached - k;
      }
    }
    for (std::ptrdiff_t j = m; j > y; --j)
      pairs.emplace_back(std::nullopt, static_cast<std::size_t>(j - 1));
    for (std::ptrdiff_t i = n; i > x; --i)
      pairs.emplace_back(static_cast<std::size_t>(i - 1), std::nullopt);
  }
  const auto same = [&] {
    --x, --y;
    pairs.emplace_back(static_cast<std::size_t>(x), static_cast<std::size_t>(y));
  };
  for (auto d = static_cast<std::ptrdiff_t>(states.size()) - 1; d > 0; --d) {
    const std::ptrdiff_t k = x - y;
    const bool goesDown = isDown(states[static_cast<std::size_t>(d)], k, d);
    const std::ptrdiff_t before = goesDown ? k + 1 : k - 1;
    const std::ptrdiff_t start = states[static_cast<std::size_t>(d)][at(before)];
    while (x > start + (goesDown ? 0 : 1) && y > start - before + (goesDown ? 1 : 0))
      same();
    if (goesDown)
      pairs.emplace_back(std::nullopt, static_cast<std::size_t>(--y));
    else
      pairs.emplace_back(static_cast<std::size_t>(--x), std::nullopt);
  }
  while (x > 0 && y > 0)
    same();
  std::ranges::reverse(pairs);
  return pairs;
}

} // namespace orias::lab
