#pragma once

#include "ori/function.h"

namespace orias::ori {
class Builder;
}

namespace orias::regalloc {

/// A 32-bit value that is moved to a register of file R.
struct Move {
  std::uint32_t to;
  isa::Operand from; ///< a register, or any other source operand of MOV
};
/// Sequentializes parallel moves; `scratch` is free before them and not a target.
void emitMoves(ori::Builder& b, std::vector<Move> moves, std::uint32_t scratch);

/// Writes the return address of a call to the pair that begins with register `pair`, and makes the return point begin a
/// block, which is returned. Chips before sm_90 need `scratch` to compute it.
ori::Block* emitReturnAddress(ori::Function& function, ori::Instr* call, std::uint32_t pair, std::uint32_t scratch);

/// Turns the calls of an allocated function into machine code: moves the arguments to where the callee expects them
/// (and the stack pointer, where there is a frame pointer), loads the callee's address, writes the return address,
/// calls, and takes the result. Each call ends a block.
void expandCalls(ori::Function& function);

/// Replaces symbol addresses with moves of words that the linker relocates.
void expandAddresses(ori::Function& function);

/// Targets before sm_90 add an offset to the address of LEPC: the distance to the return point. Must run again if
/// instructions were inserted between the two, or NOPs before LEPC.
void settleReturnAddresses(ori::Function& function);

} // namespace orias::regalloc
