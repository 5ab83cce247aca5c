#pragma once

#include "tools/interpreter/handlers.h"

#include <vector>

// Sparse left matrices of mma.sp and wgmma.mma_async.sp: A stores half of its elements, and a register of some lanes,
// the metadata, gives the position of each in its row.

namespace orias::interp {

struct Sparsity {
  std::uint32_t slot = kSink; ///< the register with the metadata
  unsigned selector = 0;
  bool isOrdered = false;           ///< .sp::ordered_metadata: positions ascend in each chunk
  ptx::Type type = ptx::Type::None; ///< of the elements of A
  unsigned depth = 0;               ///< columns of A
};

/// The columns of the stored elements of A for the 16 rows of a warp, row by row, `depth` / 2 each. Stops the run if
/// the metadata has undefined values, or a lane is missing.
///
/// A row consists of chunks of 4 elements (tf32: 2; four-bit elements: 8, in pairs of neighbors), half of which are
/// stored. Four bits of metadata select two of a chunk (tf32: 0b0100 the first, 0b1110 the second). The PTX manual
/// describes that in words ("Sparse matrix storage") and shows in figures which bits of which lane belong to a chunk.
/// CUTLASS has the same as numbers: ELayout_64x64, ELayout_64x32 and ELayout_64x16 of its traits of sparse wgmma,
/// ELayout of those of mma.sp on sm_120, and reorder_meta for sm_80. The remaining shapes, those of half the depth,
/// come from the routines that ptxas calls for sm_100 to reorder the metadata (__cuda_sm_10x_hmma_mdata_m16n8k16,
/// __cuda_sm_10x_imma_mdata_m16n8k32). tf32 has the layout of halves of twice the depth, with the same bits.
std::vector<unsigned> columnsOf(Lanes lanes, const Sparsity& sparsity);

} // namespace orias::interp
