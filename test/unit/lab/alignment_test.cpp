#include "tools/lab/alignment.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace orias::lab;

namespace {

using Words = std::vector<std::string>;

Words letters(const std::string& text) {
  Words words;
  for (const char c : text)
    words.emplace_back(1, c);
  return words;
}

/// The number of lines with only one side. Fails if a line is out of order, or pairs different elements.
std::size_t differences(const Words& left, const Words& right, const std::vector<AlignedPair>& pairs) {
  std::size_t l = 0, r = 0, differ = 0;
  for (const auto& [a, b] : pairs) {
    REQUIRE((a || b));
    if (a) CHECK(*a == l++);
    if (b) CHECK(*b == r++);
    if (a && b) CHECK(left[*a] == right[*b]);
    differ += !a || !b;
  }
  CHECK(l == left.size());
  CHECK(r == right.size());
  return differ;
}

/// The length of the longest common subsequence, computed by definition.
std::size_t longestCommon(const Words& left, const Words& right) {
  std::vector<std::vector<std::size_t>> best(left.size() + 1, std::vector<std::size_t>(right.size() + 1, 0));
  for (std::size_t i = 1; i <= left.size(); ++i)
    for (std::size_t j = 1; j <= right.size(); ++j)
      best[i][j] = left[i - 1] == right[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
  return best[left.size()][right.size()];
}

} // namespace

TEST_CASE("sequences are aligned with the fewest differences") {
  const auto count = [](const std::string& a, const std::string& b) {
    const Words left = letters(a), right = letters(b);
    return differences(left, right, align(left, right));
  };
  CHECK(count("", "") == 0);
  CHECK(count("abc", "abc") == 0);
  CHECK(count("", "abc") == 3);
  CHECK(count("abc", "") == 3);
  CHECK(count("abcabba", "cbabac") == 5); // the example of the paper
  std::mt19937 random(7);
  for (unsigned n = 0; n < 200; ++n) {
    std::string a, b;
    for (unsigned i = random() % 20; i > 0; --i)
      a += static_cast<char>('a' + random() % 3);
    for (unsigned i = random() % 20; i > 0; --i)
      b += static_cast<char>('a' + random() % 3);
    const Words left = letters(a), right = letters(b);
    CHECK(count(a, b) == left.size() + right.size() - 2 * longestCommon(left, right));
  }
}

TEST_CASE("sequences that differ in too many places are still whole") {
  const Words left = letters("abcdefghij"), right = letters("abxyzuvwst");
  CHECK(differences(left, right, align(left, right, 4)) == 16);
  const Words none;
  CHECK(differences(left, none, align(left, none, 2)) == 10);
  CHECK(differences(none, right, align(none, right, 2)) == 10);
}
