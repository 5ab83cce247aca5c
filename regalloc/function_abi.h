#pragma once

#include "ori/function.h"

namespace orias::regalloc {

/// Is this a function that others call by the ABI of functions (call_abi.h), and not a kernel?
bool isCallable(const ori::Function& function);

/// Before allocation: the parameters are taken before anything else may use their registers.
void putEntryFirst(ori::Function& function);

/// Behind allocation: FUNCTION.ENTRY becomes moves from where the parameters are, FUNCTION.RETURN moves to where the
/// results go, and RET. What the function changes of all that it has to keep is saved in a new object of the frame.
/// The frame is laid out, and insertPrologue makes room for it, after this.
void expandEntryAndReturns(ori::Function& function);

} // namespace orias::regalloc
