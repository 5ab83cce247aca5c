#pragma once

#include "ori/function.h"
#include "phases/phase.h"

namespace orias::phases {

/// Moves uniform values down to their first readers, in blocks with high uniform register pressure. The values must be
/// computed from constants and uniform registers that are live anyway, or that are no more than the result's. PTX
/// compilers compute all matrix descriptors of a loop before the first product; each is one addition to a base that all
/// of them share. Returns how many moved.
unsigned delayUniformValues(ori::Function& function, const PhaseContext& context);

} // namespace orias::phases
