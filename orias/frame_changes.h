#pragma once

#include "encoder/code.h"
#include "encoder/cubin/module.h"
#include "ori/function.h"

namespace orias {

/// Where a callable function creates and leaves its frame, and saves and restores registers that it must preserve
/// (ori/call_abi.h). Derived from the instructions, because phases after allocation may have moved them.
std::vector<cubin::FrameChange> frameChanges(const ori::Function& function, const encoder::FunctionCode& code);

} // namespace orias
