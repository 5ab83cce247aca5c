#pragma once

#include "encoder/isa/isa.h"

#include <array>
#include <cstdint>
#include <span>

// The results of instructions: one function for each row of the table, on plain values. The constant folder calls it
// with constants, the emulator with registers of Ori or SASS code. Memory, control flow, barriers and special registers
// are in the emulator and have no function here.

namespace orias::isa {

/// The value of one operand for one lane: up to four 32-bit registers, the low one first. A predicate is 0 or 1 in
/// w[0].
struct LaneValue {
  std::array<std::uint32_t, 4> w{};

  std::uint64_t u64() const { return w[0] | static_cast<std::uint64_t>(w[1]) << 32; }
  static LaneValue of(std::uint32_t low) { return {{low, 0, 0, 0}}; }
  static LaneValue of64(std::uint64_t bits) {
    return {{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), 0, 0}};
  }
};

/// One lane's operands, by slot. The caller fills the Use slots with the bits of the register, immediate or constant,
/// *without* the operand's -, | |, ~, ! and half-word selection, which the function applies. An immediate or constant
/// in a slot of two registers is extended as in hardware: see immediateValue(). The function sets the Def slots.
using LaneValues = std::array<LaneValue, kMaxOperands>;
using LaneFunction = void (*)(const Inst& inst, LaneValues& values);

/// The function of an instruction that computes each lane separately; null for memory, control, warp-wide and special
/// ones.
LaneFunction laneFunction(Op op);

/// Whether an instruction with these constant sources can be replaced with the result of its lane function. The
/// function must be exact, or an approximation that ptxas also folds. Divisions by zero, which PTX leaves undefined,
/// are not folded.
bool isFoldable(const Inst& inst, const LaneValues& values);

/// The operands of the 32 lanes of a warp.
struct WarpValues {
  std::uint32_t active = 0; ///< lanes that execute; only their Def slots are set
  std::array<LaneValues, 32> lane;
};
using WarpFunction = void (*)(const Inst& inst, WarpValues& values);

/// The function of an instruction that computes from values of several lanes (SHFL, VOTE, MATCH, REDUX, HMMA, IMMA,
/// MOVM, ...), or null.
WarpFunction warpFunction(Op op);

/// The value of an immediate operand in `slot`, extended as in the instruction: an f64 immediate is the high half of
/// its value, a 64-bit integer is extended.
LaneValue immediateValue(const Inst& inst, unsigned slot);

} // namespace orias::isa
