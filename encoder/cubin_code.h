#pragma once

// The code of a cubin, for tools that work on encodings.

#include "encoder/control_flow.h"
#include "encoder/cubin/module.h"

namespace orias::encoder {

/// The code of a function; bytes after the last complete encoding are omitted.
std::vector<isa::Word> wordsOf(const cubin::Function& function);

/// The targets of the function's indirect branches.
IndirectTargets indirectTargetsOf(const cubin::Function& function);

/// The target of a cubin. Throws orias::Error for an unknown target.
const isa::Target& targetOf(const cubin::Abi& abi);

} // namespace orias::encoder
