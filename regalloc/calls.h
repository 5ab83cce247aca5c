#pragma once

#include "ori/function.h"

namespace orias::regalloc {

/// Is this the pseudo instruction that calls code elsewhere?
inline bool isCall(const ori::Instr& instr) {
  return instr.op == ori::Op::CALL_EXTERN;
}
bool hasCalls(const ori::Function& function);

/// Turns the calls of an allocated function into machine code: moves the arguments to where the callee looks for them,
/// fetches its address, notes where to return, calls, takes the result. Each call ends a block.
void expandCalls(ori::Function& function);

/// Chips before sm_90 add a distance to the address of LEPC: that from there to behind the call. To be asked for again
/// when instructions were put between the two.
void settleReturnAddresses(ori::Function& function);

} // namespace orias::regalloc
