#pragma once

#include <cstdint>

// The addresses of matrix elements in shared memory for wgmma: the 64 bits of a matrix descriptor (PTX manual, "Matrix
// Descriptor Format"; the canonical layouts are described in the public sources of CUTLASS). Shared by both engines.

namespace orias::launch {

struct MatrixDescriptor {
  explicit MatrixDescriptor(std::uint64_t bits)
      : start((bits & 0x3fff) << 4), leading(bits >> 16 & 0x3fff), stride(bits >> 32 & 0x3fff),
        baseOffset(static_cast<unsigned>(bits >> 49 & 7)), swizzle(static_cast<unsigned>(bits >> 62)) {}

  std::uint64_t start;   ///< address in shared memory
  std::uint64_t leading; ///< in units of 16 bytes
  std::uint64_t stride;  ///< in units of 16 bytes
  unsigned baseOffset;   ///< for a pattern that does not start at a multiple of its size
  unsigned swizzle;      ///< 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes

  /// The address of the element's byte: `at` counts rows of A or columns of B, `k` is the index along the sum. `bits`
  /// is the size of an element; for elements smaller than a byte, the address is that of the containing byte.
  /// `isTransposed`: neighbors in memory differ in `at`, which is supported only for 16-bit elements.
  std::uint64_t address(unsigned at, unsigned k, unsigned bits, bool isTransposed) const;
  /// Whether rows of `depth` elements along the sum are no longer than those of the swizzle pattern. (Those of B in a
  /// sparse product have 64 bytes.)
  bool holds(unsigned depth, unsigned bits, bool isTransposed) const;
};

} // namespace orias::launch
