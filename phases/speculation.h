#pragma once

#include "encoder/isa/target.h"
#include "ori/function.h"

namespace orias::phases {

/// Whether an instruction may run where the program would not have run it. What phase 27 reports, and phases 28, 56 and
/// 63 ask.
enum class Speculation : std::uint8_t {
  Free,    ///< it computes something, and nobody notices when it does
  Guarded, ///< it touches memory: it may move, but only those lanes may run it that were meant to
  Never    ///< it talks to other lanes, transfers control, or depends on when it runs
};

/// Constant loads are free when their address is known: the bank does not change, and a load within it cannot fault.
/// With an index in a register it may lie outside, so they count as memory. Guarded instructions, those of the
/// uniform datapath and registers with several definitions stay where they are.
Speculation speculationOf(const ori::Function& function, const ori::Instr& instr);

/// A constant load (LDC, or a copy of a constant) whose address is known.
bool isSafeConstantLoad(const ori::Instr& instr);

/// Issue slots that an instruction takes, roughly: half the cycles for which its pipe is busy, from 1 to 4.
unsigned issueSlots(const isa::Target& target, const ori::Instr& instr);

} // namespace orias::phases
