#pragma once

// The static hazard checker: decodes the final code of a function, recomputes every dependence, and reports where an
// instruction could read too early or write over what is still needed. It knows nothing of the passes that chose the
// control information; it shares the instruction table and the latency tables with them.

#include "encoder/isa/effects.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orias::hazard {

enum class Kind : std::uint8_t {
  Raw,         ///< a register is read before it is written
  Waw,         ///< two writes could land in the wrong order
  War,         ///< a register is overwritten before it is read
  MissingWait, ///< a scoreboarded result or late read is not waited for
  EarlyWait,   ///< a scoreboard is waited for before it counts as taken
  ShortStall,  ///< below the least stall count of the instruction
  TooClose,    ///< an instruction follows another one too early, without a register dependence
  /// A wgmma may still be in flight when its registers are accessed, or when the warps of the group
  /// arrive for it while a register of it is not written yet.
  ProductUnderWay,
  NoArrival ///< no WARPGROUP.ARRIVE stands between a wgmma and the end of the group before it
};

/// One violation. `first` and `second` are instruction indices; for ShortStall both are the same.
struct Violation {
  Kind kind = Kind::Raw;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  isa::File file = isa::File::R;
  std::uint32_t reg = 0;
  unsigned needed = 0; ///< cycles, from issue to issue
  unsigned actual = 0;
  isa::Evidence evidence = isa::Evidence::Observed;
};

struct Report {
  std::vector<Violation> violations; ///< by `second`, then `first`
  /// Words that the table has no row for. They are taken to do nothing but to stall.
  std::vector<std::uint32_t> unknown;
};

/// Checks the encodings of one function, which start at address 0 of its section.
Report check(std::span<const isa::Word> words, const isa::Target& target);

/// "0x0120 ISETP... -> 0x0130 @P0 BRA: P0 needs 13 cycles, has 5 (observed)".
std::string describe(const Violation& violation, std::span<const isa::Word> words, const isa::Target& target);

} // namespace orias::hazard
