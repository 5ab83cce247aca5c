#pragma once

#include "regalloc/spill.h"

#include <functional>

namespace orias::regalloc {

/// Predicates that share a register.
inline constexpr unsigned kMaxPackedPredicates = 32;

/// Whether a change of the highest pressure gains something.
using PressureGain = std::function<bool(unsigned before, unsigned after)>;

/// Packs predicates that are spilled to registers of file R: up to 32 of one block share a register, one bit each. Each
/// spill shifts the predicates before it up by one bit and adds its own: `IADD3.X R5, R4, R4, RZ, P0`. A reload tests
/// its bit: `LOP3 P0, RZ, R5, 0x4, RZ, 0xc0`. That is as many instructions as with one register for each.
///
/// Each spill waits for the one before it, so packing must be worth it: `isWorth` is called with the highest pressure
/// of file R as it is, and with all predicates packed.
///
/// Packs only predicates with one spill and no use of their word other than reloads. Call it after
/// `combineSpilledPredicates`, and before the allocation of file R. Returns whether it changed the code.
bool packSpilledPredicates(ori::Function& function, SpillState& state, const PressureGain& isWorth);

} // namespace orias::regalloc
