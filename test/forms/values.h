#pragma once

#include "test/forms/statement.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orias::forms {

/// The element type for comparing a register of this type: packed halves are two elements.
launch::ElementType elementOf(ptx::Type type);

/// Values for a source register in `lanes` threads, in sequence, each with the width of the register (a predicate: a
/// byte). Special values of the type (zeros, infinities, limits) are mixed with random ones. Values with undefined
/// results according to the manual (a divisor of 0) are avoided. Deterministic for a seed.
std::vector<std::byte> sourceValues(const Statement& statement, const Use& use, unsigned lanes, std::uint64_t seed);

/// The memory before the statement; floats with exact sums if the instruction adds to it.
std::vector<std::byte> memoryValues(const Statement& statement, std::size_t bytes, std::uint64_t seed);

/// Values for a reduction of elements of a type: special and random ones.
std::vector<std::byte> reducedValues(ptx::Type type, std::size_t bytes, std::uint64_t seed);

/// Packed elements of a matrix that is multiplied: floating-point elements with exact sums of products, or any
/// integers, including some with sums near the limits.
std::vector<std::byte> matrixValues(ptx::Type type, std::size_t bytes, std::uint64_t seed);

/// The number of selector values of a sparse product.
unsigned sparseSelectors(const ptx::Form& form);

/// The type of the values that an instruction reads, changes and writes in memory.
launch::ElementType memoryElement(const Statement& statement);

} // namespace orias::forms
