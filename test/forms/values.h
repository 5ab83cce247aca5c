#pragma once

#include "test/forms/statement.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orias::forms {

/// How the elements of a register of this type are compared: packed halves are two elements.
launch::ElementType elementOf(ptx::Type type);

/// Values for a source register in `lanes` threads, one after the other, each as wide as the register (a predicate: a
/// byte). Special values of the type (zeros, infinities, limits) are mixed with random ones; where the manual leaves an
/// operand's value undefined for the instruction (a divisor of 0), it is avoided. The same for the same seed.
std::vector<std::byte> sourceValues(const Statement& statement, const Use& use, unsigned lanes, std::uint64_t seed);

/// What memory holds before the statement runs; floats whose sums are exact where an instruction adds to it.
std::vector<std::byte> memoryValues(const Statement& statement, std::size_t bytes, std::uint64_t seed);

/// Values for a reduction of elements of a type: special ones among random ones.
std::vector<std::byte> reducedValues(ptx::Type type, std::size_t bytes, std::uint64_t seed);

/// Elements of a matrix that is multiplied, packed: of floating-point types such that sums of products are exact, of
/// integers any, sums near their limits among them.
std::vector<std::byte> matrixValues(ptx::Type type, std::size_t bytes, std::uint64_t seed);

/// How many values the selector of a sparse product may have.
unsigned sparseSelectors(const ptx::Form& form);

/// The type of the values that an instruction reads, changes and writes in memory.
launch::ElementType memoryElement(const Statement& statement);

} // namespace orias::forms
