#pragma once

#include "tools/emulator/block_trace.h"
#include "tools/emulator/issue_cost.h"

#include <span>

namespace orias::emu {

/// The second estimate of cycles: one multiprocessor that is full of blocks of the kernel. Four schedulers issue from
/// the resident warps, which compete for the pipes and for the memory unit. When a block ends, the next one begins.
/// README.md describes the method and its omissions.
struct FullMachine {
  unsigned residentBlocks = 0;
  std::uint64_t blocks = 0;       ///< blocks executed
  std::uint64_t instructions = 0; ///< warp instructions
  std::uint64_t cycles = 0;       ///< cycles for all of them

  double cyclesPerBlock() const { return static_cast<double>(cycles) / static_cast<double>(blocks); }
  double issueSlotsUsed() const {
    return static_cast<double>(instructions) / static_cast<double>(cycles * kSchedulers);
  }
};

/// Runs `traces` in sequence, repeatedly, with `residentBlocks` of them at a time.
FullMachine fillMachine(std::span<const BlockTrace> traces, std::span<const IssueCost> costs, unsigned residentBlocks);

} // namespace orias::emu
