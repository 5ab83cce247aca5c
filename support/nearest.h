#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace orias {

/// Edit distance (insertions, deletions, substitutions; ignores ASCII case).
unsigned editDistance(std::string_view a, std::string_view b);

/// Whether the texts are equal, ignoring ASCII case.
bool sameText(std::string_view a, std::string_view b);

/// Finds the candidate nearest to a misspelled name, for "did you mean" hints.
class NearestName {
 public:
  explicit NearestName(std::string_view written) : written_(written) {}
  void offer(std::string_view candidate);
  /// Empty if no candidate is near enough.
  std::string_view best() const;

 private:
  std::string_view written_;
  std::string_view best_;
  unsigned distance_ = ~0u;
};

} // namespace orias
