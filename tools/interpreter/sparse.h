#pragma once

#include "tools/interpreter/handlers.h"

#include <vector>

// Sparse left matrices of mma.sp and wgmma.mma_async.sp: A holds half of its elements, and a register of some lanes,
// the metadata, tells where in its row each of them stands.

namespace orias::interp {

struct Sparsity {
  std::uint32_t slot = kSink; ///< the register with the metadata
  unsigned selector = 0;
  bool isOrdered = false;           ///< .sp::ordered_metadata: places rise in each chunk
  ptx::Type type = ptx::Type::None; ///< of the elements of A
  unsigned depth = 0;               ///< columns of A
};

/// The columns of A that the 16 rows of a warp have, row by row, `depth` / 2 each. Stops the run where the metadata has
/// values that are undefined, or a lane is missing.
///
/// A row is cut into chunks of 4 elements (of tf32: 2; of four bits: 8, in pairs of neighbours), of which half are
/// there. Four bits of metadata tell which two of a chunk (of tf32: 0b0100 the first, 0b1110 the second). The PTX
/// manual has that in words ("Sparse matrix storage") and draws which bits of which lane belong to a chunk. CUTLASS
/// says the same as numbers: ELayout_64x64, ELayout_64x32 and ELayout_64x16 of its traits of sparse wgmma, ELayout of
/// those of mma.sp on sm_120, and reorder_meta for sm_80. What these leave out, of the shapes of half the depth, was
/// seen in the routines that ptxas calls for sm_100 to bring the places into order (__cuda_sm_10x_hmma_mdata_m16n8k16,
/// __cuda_sm_10x_imma_mdata_m16n8k32); tf32 lies as halves of twice the depth, which hold the same bits.
std::vector<unsigned> columnsOf(Lanes lanes, const Sparsity& sparsity);

} // namespace orias::interp
