#pragma once

#include "ori/function.h"

namespace orias::regalloc {

/// Ties wgmma accumulators: the input is in the registers of the result, as in all code of ptxas;
/// if the allocator assigned others, it is copied there before the wgmma. For an allocated function.
void bringSumsTogether(ori::Function& function);

/// Whether the function has wgmma instructions.
bool hasAccumulators(const ori::Function& function);

} // namespace orias::regalloc
