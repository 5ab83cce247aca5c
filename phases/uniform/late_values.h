#pragma once

#include "ori/function.h"
#include "phases/phase.h"

namespace orias::phases {

/// In blocks that want most of the uniform registers at once, values that are made of constants and of no more uniform
/// registers than they take themselves, beside those that live on anyway, move down to their first readers. PTX
/// compilers write all matrix descriptors of a loop in front of the first product; each is one addition to a base that
/// all of them share. Returns how many moved.
unsigned delayUniformValues(ori::Function& function, const PhaseContext& context);

} // namespace orias::phases
