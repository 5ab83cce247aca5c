#include "tools/report/states.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace orias::report;

namespace {

using Sequence = std::vector<std::uint32_t>;

Sequence applied(const Sequence& before, const std::vector<Edit>& edits) {
  Sequence after;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    after.insert(after.end(), before.begin() + static_cast<std::ptrdiff_t>(at), before.begin() + edit.at);
    after.insert(after.end(), edit.added.begin(), edit.added.end());
    at = edit.at + edit.removed;
  }
  after.insert(after.end(), before.begin() + static_cast<std::ptrdiff_t>(at), before.end());
  return after;
}

} // namespace

TEST_CASE("a difference has what changed and no more") {
  CHECK(difference({}, {}).empty());
  CHECK(difference({1, 2, 3}, {1, 2, 3}).empty());
  CHECK(difference({}, {4, 5}) == std::vector<Edit>{{0, 0, {4, 5}}});
  CHECK(difference({4, 5}, {}) == std::vector<Edit>{{0, 2, {}}});
  CHECK(difference({1, 2, 3, 4}, {1, 9, 3, 4}) == std::vector<Edit>{{1, 1, {9}}});
  CHECK(difference({1, 2, 3, 4}, {1, 3, 4, 8}) == std::vector<Edit>{{1, 1, {}}, {4, 0, {8}}});
  // A moved element is removed at one position and inserted at another; the others are unchanged.
  CHECK(difference({1, 2, 3, 4, 5}, {2, 3, 4, 1, 5}) == std::vector<Edit>{{0, 1, {}}, {4, 0, {1}}});
}

TEST_CASE("a difference makes one sequence the other, whatever occurs twice") {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    Sequence before(random() % 30), after;
    for (std::uint32_t& e : before)
      e = static_cast<std::uint32_t>(random() % (1 + random() % 40));
    for (const std::uint32_t e : before) {
      if (random() % 5 != 0) after.push_back(e);
      if (random() % 6 == 0) after.push_back(static_cast<std::uint32_t>(random() % 40));
    }
    if (random() % 3 == 0) std::shuffle(after.begin(), after.end(), random);
    CHECK(applied(before, difference(before, after)) == after);
  }
}
