#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace orias::lab {

/// A line of an alignment: the index of an element of each sequence, or nothing where only the other has one.
using AlignedPair = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;

/// The shortest way from one sequence to the other by insertions and deletions (E. W. Myers, "An O(ND) Difference
/// Algorithm and Its Variations", 1986). Equal elements stand in one line. Sequences that differ in more than `most`
/// places are put one behind the other from there on.
std::vector<AlignedPair> align(std::span<const std::string> left, std::span<const std::string> right,
                               std::size_t most = 4000);

} // namespace orias::lab
