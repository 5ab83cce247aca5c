#include "phases/manager.h"

#include <algorithm>
#include <cstdint>

namespace orias::phases {

namespace {

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out;
}

/// Myers' greedy algorithm with furthest-reaching paths ("An O(ND) Difference Algorithm and Its Variations", 1986), up
/// to a bound on the number of differences. Above it all lines in between count as changed.
constexpr int kMaxDifferences = 2000;

} // namespace

std::string lineDiff(std::string_view beforeText, std::string_view afterText) {
  std::vector<std::string_view> a = lines(beforeText), b = lines(afterText);
  std::size_t prefix = 0;
  while (prefix < a.size() && prefix < b.size() && a[prefix] == b[prefix])
    ++prefix;
  std::size_t suffix = 0;
  while (suffix + prefix < a.size() && suffix + prefix < b.size() &&
         a[a.size() - 1 - suffix] == b[b.size() - 1 - suffix])
    ++suffix;
  const int n = static_cast<int>(a.size() - prefix - suffix), m = static_cast<int>(b.size() - prefix - suffix);
  auto lineA = [&](int i) { return a[prefix + static_cast<std::size_t>(i)]; };
  auto lineB = [&](int j) { return b[prefix + static_cast<std::size_t>(j)]; };

  const int most = std::min(n + m, kMaxDifferences);
  std::vector<std::vector<int>> trace;
  std::vector<int> furthest(static_cast<std::size_t>(2 * most + 3), 0);
  auto at = [&](std::vector<int>& v, int k) -> int& { return v[static_cast<std::size_t>(k + most + 1)]; };
  int found = -1;
  for (int d = 0; d <= most && found < 0; ++d) {
    trace.push_back(furthest);
    for (int k = -d; k <= d; k += 2) {
      int x = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1)) ? at(furthest, k + 1)
                                                                               : at(furthest, k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 && lineA(x) == lineB(x - k))
        ++x;
      at(furthest, k) = x;
      if (x >= n && x - k >= m) {
        found = d;
        break;
      }
    }
  }

  struct Edit {
    char sign;
    std::string_view line;
  };
  std::vector<Edit> edits;
  if (found < 0) {
    for (int i = 0; i < n; ++i)
      edits.push_back({'-', lineA(i)});
    for (int j = 0; j < m; ++j)
      edits.push_back({'+', lineB(j)});
  } else {
    int x = n, y = m;
    for (int d = found; d > 0; --d) {
      std::vector<int>& v = trace[static_cast<std::size_t>(d)];
      int k = x - y;
      bool down = k == -d || (k != d && at(v, k - 1) < at(v, k + 1));
      int fromK = down ? k + 1 : k - 1;
      int fromX = at(v, fromK), fromY = fromX - fromK;
      while (x > fromX && y > fromY && x > 0 && y > 0 && lineA(x - 1) == lineB(y - 1))
        --x, --y;
      if (down)
        edits.push_back({'+', lineB(--y)});
      else
        edits.push_back({'-', lineA(--x)});
      x = fromX;
      y = fromY;
    }
    std::reverse(edits.begin(), edits.end());
  }
  std::string out;
  for (const Edit& e : edits) {
    out += e.sign;
    out += e.line;
    out += '\n';
  }
  return out;
}

} // namespace orias::phases
