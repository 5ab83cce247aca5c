#pragma once

#include <span>
#include <string_view>

namespace orias::launch {

/// The keys that one kind of object in a launch file may have. launch.schema.json describes the same objects under the
/// same names; a test compares the two.
struct ObjectKeys {
  std::string_view object;
  std::span<const std::string_view> keys;
};

std::span<const ObjectKeys> objectKeys();
/// The keys of one kind of object, which must exist.
std::span<const std::string_view> keysOf(std::string_view object);

} // namespace orias::launch
