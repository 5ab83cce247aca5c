#pragma once

#include "ori/function.h"

namespace orias::regalloc {

/// Whether this is a function that others call by the ABI of functions (call_abi.h), and not a kernel.
bool isCallable(const ori::Function& function);

/// Before allocation: the parameters are read before anything else may use their registers.
void putEntryFirst(ori::Function& function);

/// After allocation: FUNCTION.ENTRY becomes moves from the registers of the parameters, FUNCTION.RETURN becomes moves
/// to those of the results and RET. Registers that the function changes but must preserve are saved in a new object of
/// the frame. The frame is laid out, and insertPrologue makes room for it, after this.
void expandEntryAndReturns(ori::Function& function);

} // namespace orias::regalloc
