#pragma once

// Control information: scoreboards, wait masks, stall counts, yield hints and reuse flags of an allocated and scheduled
// function. Phases 115 and 116 call this with different options.

#include "phases/flat_code.h"

namespace orias::phases {

struct ControlOptions {
  /// Wait for every scoreboard right after the instruction that sets it, and let every fixed latency pass before the
  /// next instruction: slow but safe.
  bool isSerial = false;
  /// Set `.reuse` where the next instruction reads the same register through the same port.
  bool setsReuse = true;
};

/// Writes the control field of every instruction and inserts NOPs where one stall count is not enough. Earlier control
/// fields are ignored.
void assignControlInfo(ori::Function& function, const ControlOptions& options = {});

// The two parts, in their order; for tests.

/// Chooses scoreboards and wait masks.
void assignScoreboards(FlatCode& code, bool isSerial);
/// Chooses stall counts; scoreboards must be assigned. Returns for each instruction the cycles until the next one,
/// which may exceed the largest stall count, and for each block the cycles to wait before its first instruction.
struct Stalls {
  std::vector<unsigned> after;  ///< by instruction
  std::vector<unsigned> before; ///< by block
};
Stalls computeStalls(const FlatCode& code, bool isSerial);

} // namespace orias::phases
