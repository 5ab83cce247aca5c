#include "tools/launch/matrix_descriptor.h"

#include <doctest/doctest.h>

// Layouts of matrices in shared memory, checked at the elements where the address pattern changes.

using orias::launch::MatrixDescriptor;

namespace {

/// A descriptor for address 0x1000, with strides in units of 16 bytes.
MatrixDescriptor described(std::uint64_t leading, std::uint64_t stride, std::uint64_t swizzle) {
  return MatrixDescriptor(0x100 | leading << 16 | stride << 32 | swizzle << 62);
}

} // namespace

TEST_CASE("blocks of 8 rows of 16 bytes") {
  const MatrixDescriptor d = described(8, 20, 0);
  CHECK(d.address(0, 0, 16, false) == 0x1000);
  CHECK(d.address(0, 7, 16, false) == 0x100e);
  CHECK(d.address(3, 8, 16, false) == 0x1000 + 3 * 16 + 8 * 16);
  CHECK(d.address(9, 0, 16, false) == 0x1000 + 20 * 16 + 16);
  CHECK(d.address(0, 5, 32, false) == 0x1000 + 8 * 16 + 4);
  CHECK(d.address(0, 17, 8, false) == 0x1000 + 8 * 16 + 1);
  CHECK(d.address(0, 200, 1, false) == 0x1000 + 8 * 16 + 9);
  CHECK(d.address(9, 10, 16, true) == 0x1000 + 20 * 16 + 8 * 16 + 2 * 16 + 2);
}

TEST_CASE("patterns of 128, 64 and 32 bytes mix the numbers of rows into those of columns") {
  CHECK(described(1, 64, 1).address(0, 8, 16, false) == 0x1010);
  CHECK(described(1, 64, 1).address(1, 0, 16, false) == 0x1000 + 128 + 16);
  CHECK(described(1, 64, 1).address(5, 8, 16, false) == 0x1000 + 5 * 128 + (1 ^ 5) * 16);
  CHECK(described(1, 64, 1).address(8, 0, 16, false) == 0x1000 + 64 * 16);
  CHECK(described(1, 32, 2).address(3, 8, 16, false) == 0x1000 + 3 * 64 + 0);
  CHECK(described(1, 16, 3).address(4, 0, 16, false) == 0x1000 + 4 * 32 + 16);
  // Transposed: eight rows along k, 64 columns in a row of the pattern.
  CHECK(described(192, 64, 1).address(63, 0, 16, true) == 0x1000 + 7 * 16 + 14);
  CHECK(described(192, 64, 1).address(64, 0, 16, true) == 0x1000 + 192 * 16);
  CHECK(described(192, 64, 1).address(8, 9, 16, true) == 0x1000 + 64 * 16 + 128);
}

TEST_CASE("what else a descriptor says") {
  const MatrixDescriptor d(std::uint64_t{5} << 49 | std::uint64_t{3} << 62 | 0x3fff);
  CHECK(d.baseOffset == 5);
  CHECK(d.swizzle == 3);
  CHECK(d.start == 0x3fff0);
}
