#pragma once

// What a cubin says about code, in the terms of those who work on words.

#include "encoder/control_flow.h"
#include "encoder/cubin/module.h"

namespace orias::encoder {

/// The code of a function; bytes behind the last whole word are left out.
std::vector<isa::Word> wordsOf(const cubin::Function& function);

/// Where its branches through registers go.
IndirectTargets indirectTargetsOf(const cubin::Function& function);

/// The chip that a cubin is for. Throws orias::Error for one that is not known.
const isa::Target& targetOf(const cubin::Abi& abi);

} // namespace orias::encoder
