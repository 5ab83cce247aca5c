#pragma once

#include <array>
#include <cstdint>
#include <optional>

// Sparse products (HMMA.SP, IMMA.SP, QMMA.SP and those of warp groups): A stores half of its elements, and metadata in
// some lanes gives their columns.

namespace orias::isa {

/// The layout of a lane's part of a sparse A of 16 rows.
struct SparseShape {
  unsigned bits = 16;     ///< of an element
  unsigned registers = 2; ///< of A in a lane: 2 or 4
};

/// The column in A of element `index` in the lane's registers. nullopt if the metadata is undefined, or if the shape
/// has no such selector.
///
/// The rule follows ptxas' routines for sm_100 that sort the metadata (__cuda_sm_10x_hmma_mdata_m16n8k16 and similar,
/// called by code for mma.sp without .ordered_metadata). The 16-bit elements in a register of A have the four metadata
/// bits at 4 times the lane's number in its group of four; for the upper rows they are in the lower half of the
/// metadata. Bytes have the byte of that number; for the lower rows it is in the next lane. For 32-bit elements the
/// four bits refer to their halves.
std::optional<unsigned> sparseColumn(const SparseShape& shape, const std::array<std::uint32_t, 32>& metadata,
                                     unsigned selector, unsigned lane, unsigned index);

} // namespace orias::isa
