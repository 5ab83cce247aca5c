#pragma once

#include "encoder/code.h"
#include "encoder/cubin/module.h"
#include "ori/function.h"

namespace orias {

/// What the code of a function that others call does with the stack pointer and with the registers that it has to hand
/// back (regalloc/call_abi.h): makes and leaves its frame, saves and restores. Read off the instructions themselves, as
/// phases behind allocation may have moved them.
std::vector<cubin::FrameChange> frameChanges(const ori::Function& function, const encoder::FunctionCode& code);

} // namespace orias
