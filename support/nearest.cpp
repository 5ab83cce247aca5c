#include "support/nearest.h"

#include <algorithm>
#include <vector>

namespace orias {

namespace {
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
} // namespace

unsigned editDistance(std::string_view a, std::string_view b) {
  std::vector<unsigned> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      unsigned substitute = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

bool sameText(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

void NearestName::offer(std::string_view candidate) {
  unsigned d = editDistance(written_, candidate);
  if (d < distance_) {
    distance_ = d;
    best_ = candidate;
  }
}

std::string_view NearestName::best() const {
  return distance_ <= std::max<std::size_t>(2, written_.size() / 3) ? best_ : std::string_view{};
}

} // namespace orias
