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
/// an index in a register they may be out of bounds, so they count as memory accesses. Guarded instructions, uniform
/// datapath instructions and registers with several definitions are not moved.
Speculation speculationOf(const ori::Function& function, const ori::Instr& instr);

/// Whether an instruction would be Free without its guard, if it wrote registers without other definitions.
bool mayRunInAllLanes(const ori::Instr& instr);

/// Whether the instruction reads a uniform register that a loop writes. For lanes that have left the loop, the register
/// may already have the value of a later iteration of other lanes, so the instruction must not move to a later point.
bool readsUniformOfLoop(const ori::Function& function, const ori::Loops& loops, const ori::Instr& instr);

/// Whether this is a constant load (LDC, or a copy of a constant) with a known address.
bool isSafeConstantLoad(const ori::Instr& instr);

/// Issue slots of an instruction, roughly: half the cycles for which its pipe is busy, from 1 to 4.
unsigned issueSlots(const isa::Target& target, const ori::Instr& instr);

} // namespace orias::phases
