#pragma once

#include "encoder/isa/target.h"
#include "ori/analysis/loops.h"
#include "ori/function.h"

namespace orias::phases {

/// Whether an instruction may be executed speculatively. Reported by phase 27, used by phases 28, 56
/// and 63.
enum class Speculation : std::uint8_t {
  Free,    ///< it has no side effect and cannot fault
  Guarded, ///< it accesses memory: it may move, but must run only in the lanes of the original position
  Never    ///< it communicates with other lanes, transfers control, or depends on its position in time
};

/// Constant loads are free if their address is known: the bank does not change, and a load within it cannot fault. With
/// an index in a register they may be out of bounds, so they count as memory accesses. Guarded instructions, those of
/// the uniform datapath and registers with several definitions are not moved.
Speculation speculationOf(const ori::Function& function, const ori::Instr& instr);

/// Whether an instruction would be free without its guard, if it wrote registers that nobody else writes.
bool mayRunInAllLanes(const ori::Instr& instr);

/// Reads a uniform register that a loop writes. Lanes that have left the loop may find there what a later iteration of
/// the others wrote, so the instruction cannot be executed later than it stands.
bool readsUniformOfLoop(const ori::Function& function, const ori::Loops& loops, const ori::Instr& instr);

/// A constant load (LDC, or a copy of a constant) whose address is known.
bool isSafeConstantLoad(const ori::Instr& instr);

/// Issue slots that an instruction takes, roughly: half the cycles for which its pipe is busy, from 1 to 4.
unsigned issueSlots(const isa::Target& target, const ori::Instr& instr);

} // namespace orias::phases
