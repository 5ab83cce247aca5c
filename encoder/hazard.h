#pragma once

// The static hazard checker: decodes the final code of a function, recomputes every dependence, and reports
// instructions that could read too early or overwrite a value that is still needed. It is independent of the passes
// that set the control fields, except that both use the instruction table and the latency tables.

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
  EarlyWait,   ///< a scoreboard is waited for before it counts as set
  ShortStall,  ///< below the minimum stall count of the instruction
  TooClose,    ///< an instruction issues too early after another one, without a register dependence
  /// A wgmma may still be in flight when its registers are accessed, or one of its registers is not written yet when
  /// the warps of the group arrive for it.
  ProductUnderWay,
  NoArrival ///< no WARPGROUP.ARRIVE between the end of the previous group and a wgmma
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
  /// Words without a row in the table. They are assumed to only stall.
  std::vector<std::uint32_t> unknown;
};

/// Checks the encodings of one function, which start at address 0 of its section.
Report check(std::span<const isa::Word> words, const isa::Target& target);

/// "0x0120 ISETP... -> 0x0130 @P0 BRA: P0 needs 13 cycles, has 5 (observed)".
std::string describe(const Violation& violation, std::span<const isa::Word> words, const isa::Target& target);

} // namespace orias::hazard
