#pragma once

#include "ori/function.h"
#include "regalloc/live_ranges.h"

#include <span>

namespace orias::regalloc {

/// The register with the address of the thread's spill slots in shared memory, and the highest register that the code
/// at the entry uses to compute it. ptxas uses R0, too.
inline constexpr unsigned kSharedSpillBase = 0, kSharedSpillScratch = 3;

/// Whether spill slots of the function may be in shared memory: a kernel without calls whose static shared memory is
/// known, and which declares no dynamic shared memory.
bool maySpillToShared(const ori::Function& function);

/// Moves spill slots from the frame to shared memory, those with the most frequent accesses per word first: at most
/// `words` words of each thread. `lives` says which slots may share words (regalloc/frame_lives.h). Each access becomes
/// one of 32 bits for each word, at `[R0 + 128 * word]`: the lanes of a warp access different banks. Extends the static
/// shared memory and computes R0 at the entry. The code has physical registers and still Frame operands. Returns the
/// number of words per thread.
///
/// The scheme (one area per warp, in it 128 bytes for each word) is that of ptxas 13.0's code for
/// `.pragma "enable_smem_spilling"` on sm_90.
unsigned moveSpillsToShared(ori::Function& function, unsigned words, std::span<const Range> lives);

/// The bytes of static shared memory of a block that has `words` words of spill slots for each thread.
std::uint32_t sharedSpillBytes(const ori::Function& function, unsigned words);

} // namespace orias::regalloc
