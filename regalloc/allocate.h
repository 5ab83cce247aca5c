#pragma once

#include "ori/function.h"
#include "regalloc/assignment.h"
#include "regalloc/frame_record.h"
#include "regalloc/named_write.h"
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
  /// How many registers may be used at the price of so many; none: no more than needed.
  std::function<unsigned(unsigned)> freeRegisters;
  bool check = false; ///< run the allocation checker; an error is an InternalError
  std::function<void(const ori::Instr*, std::string, std::int64_t)>
      remark; ///< one per spilled or rematerialised register
  /// Emits a note to the user: where a wgmma wait is inserted that the program does not have.
  std::function<void(const ori::Instr&, std::string)> tell;
  std::vector<NamedWrite>* namedWrites = nullptr; ///< filled if not null
  std::vector<RegisterFate>* fates = nullptr;     ///< by virtual register; filled if not null
  std::vector<FrameRecord>* frame = nullptr;      ///< the objects of the frame; filled if not null
};

/// Allocates all register files of a function, rewrites its operands to physical registers, lays out the frame and
/// fills Function::stats. On failure (the limit is below the need of a single instruction) returns a message
/// that names the function, the file and the budget; the function is then of no further use. Empty on success.
///
/// Order of the files: B, UP, P, UR, R, so that those that spill into R come before it.
std::string allocateRegisters(ori::Function& function, const AllocationOptions& options);

/// How hard fitsRegisters() looks: Thorough also moves webs that have a place already, which takes most of the time.
enum class Search : std::uint8_t { Quick, Thorough };

/// Whether all values of file R can be assigned to so many registers, without those that the target reserves,
/// for the current order and without spilling. For schedulers; true for code with calls.
bool fitsRegisters(ori::Function& function, unsigned registers, Search search);

} // namespace orias::regalloc
