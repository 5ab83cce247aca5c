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
std::vector<unsigned> columnsOf(Lanes lanes, const Sparsity& sparsity);

} // namespace orias::interp
