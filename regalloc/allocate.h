#pragma once

#include "ori/debug_def.h"
#include "ori/function.h"
#include "regalloc/assignment.h"
#include "regalloc/frame_record.h"
#include "regalloc/register_fate.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace orias::regalloc {

struct AllocationOptions {
  unsigned maxRegisters = 255;  ///< maximum register count as reported (including reserved registers)
  bool spillEverything = false; ///< knob RegAllocSpillEverything
  bool singlePass = false;      ///< knob RegAllocFastSinglePass (638)
  unsigned noSpillAttempts = 2; ///< knob RegAllocNoSpillAttempts (639)
  bool remat = true;            ///< knob RegAllocRematEnable
  bool optimizedRemat = true;   ///< knob RegAllocEnableOptimizedRemat
  bool sharesFrame = true;      ///< unless knob DisableSsc is set
  bool uniformPromotion = true; ///< knob RegAllocUniformPromotion (628)
  /// Words of spill slots that each thread may have in shared memory, where the code allows it
  /// (`regalloc/shared_spills.h`). Knob RegAllocSpillToShared, or `.pragma "enable_smem_spilling"`.
  unsigned sharedSpillWords = 0;
  /// Returns the highest register count in the occupancy class of the given one. If empty, no more registers are used
  /// than needed.
  std::function<unsigned(unsigned)> freeRegisters;
  /// Returns how many warps fit on a multiprocessor with this register count. If empty, values are spilled only where
  /// they do not fit.
  std::function<double(unsigned)> warps;
  bool check = false; ///< run the allocation checker; an error is an InternalError
  std::function<void(const ori::Instr*, std::string, std::int64_t)>
      remark; ///< one per spilled or rematerialized register
  /// Emits a note to the user: where a wgmma wait is inserted that the program does not have.
  std::function<void(const ori::Instr&, std::string)> tell;
  std::vector<ori::DebugDef>* debugDefs = nullptr; ///< filled if not null
  std::vector<RegisterFate>* fates = nullptr;      ///< by virtual register; filled if not null
  std::vector<ori::FrameRecord>* frame = nullptr;  ///< the objects of the frame; filled if not null
};

/// Allocates all register files of a function, rewrites its operands to physical registers, lays out the frame and
/// fills Function::stats. On failure (a single instruction needs more than the limit) returns a message that gives the
/// function, the file and the budget; the function is then unusable. Empty on success.
///
/// Order of the files: B, UP, P, UR, R. Files that spill into R come before it.
std::string allocateRegisters(ori::Function& function, const AllocationOptions& options);

/// How hard fitsRegisters() searches: Thorough also moves webs that have registers already, which takes most of the
/// time.
enum class Search : std::uint8_t { Quick, Thorough };

/// Whether all values of file R can be assigned to this many registers (not counting those that the target reserves)
/// for the current schedule without spilling. For schedulers; true for code with calls.
bool fitsRegisters(ori::Function& function, unsigned registers, Search search);

} // namespace orias::regalloc
