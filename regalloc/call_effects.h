#pragma once

#include "ori/function.h"
#include "ori/register_set.h"

#include <cstdint>
#include <optional>

namespace orias::regalloc {

/// The function of the module that a CALL_FUNCTION (or, after allocation, CALL_ABS) calls. None for calls through a
/// pointer and for functions defined elsewhere.
std::optional<std::uint32_t> calleeOf(const ori::Instr& call);

/// The registers that may have another value after a call of an allocated function in its current form: those that it
/// writes and does not restore, and those of its callees.
ori::RegisterSet changedByCalling(const ori::Function& function);

/// What the callee changes (`Function::changedByCallee`); null where that is not known.
const ori::RegisterSet* knownChanges(const ori::Function& caller, const ori::Instr& call);

/// The registers that may have another value after a call that is not expanded yet (`calls.h`): of files R and P those
/// that its callee changes if that is known (`Function::changedByCallee`), or else all that the ABI does not preserve;
/// and those used to pass arguments.
ori::RegisterSet changedAt(const ori::Function& caller, const ori::Instr& call);

} // namespace orias::regalloc
