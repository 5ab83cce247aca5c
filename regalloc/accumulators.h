#pragma once

#include "ori/function.h"

namespace orias::regalloc {

/// The products of warp groups find the old sum where they put the new one, as in all code of ptxas: where the
/// allocator has found another place for it, it is moved there in front of the product. Of an allocated function.
void bringSumsTogether(ori::Function& function);

/// Whether the function has products of warp groups.
bool hasAccumulators(const ori::Function& function);

} // namespace orias::regalloc
