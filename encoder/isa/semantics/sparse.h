#pragma once

#include <array>
#include <cstdint>
#include <optional>

// Sparse products (HMMA.SP, IMMA.SP, QMMA.SP and those of warp groups): A holds half of its elements, and metadata in
// some lanes tells where in its row each of them stands.

namespace orias::isa {

/// How a lane holds its part of a sparse A of 16 rows.
struct SparseShape {
  unsigned bits = 16;     ///< of an element
  unsigned registers = 2; ///< of A in a lane: 2 or 4
};

/// The column of A where an element stands, that with number `index` among those in the lane's registers. None where
/// the metadata is undefined, or the shape has no such selector.
///
/// Told from the register of A, as ptxas' routines for sm_100 go about it that bring the places into order
/// (__cuda_sm_10x_hmma_mdata_m16n8k16 and their like, which its code for mma.sp without .ordered_metadata calls): the
/// elements of 16 bits in a register have the four bits at 4 times the lane's number of four, in the lower half of the
/// metadata for the upper rows; bytes have the byte of that number, and the next lane's for the lower rows.
/// For elements of 32 bits the four bits speak of their halves.
std::optional<unsigned> sparseColumn(const SparseShape& shape, const std::array<std::uint32_t, 32>& metadata,
                                     unsigned selector, unsigned lane, unsigned index);

} // namespace orias::isa
