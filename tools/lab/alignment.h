#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace orias::lab {

/// A line of an alignment: the index of an element of each sequence, or nothing if only the other has one.
using AlignedPair = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;

/// The shortest edit script of insertions and deletions (E. W. Myers, "An O(ND) Difference Algorithm and Its
/// Variations", 1986). Equal elements share a line. Sequences with more than `most` differences are concatenated from
/// there on.
std::vector<AlignedPair> align(std::span<const std::string> left, std::span<const std::string> right,
                               std::size_t most = 4000);

} // namespace orias::lab
