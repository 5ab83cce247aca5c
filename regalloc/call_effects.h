#pragma once

#include "ori/function.h"
#include "ori/register_set.h"

#include <cstdint>
#include <optional>

namespace orias::regalloc {

/// The function of the module that a call names: CALL_FUNCTION, or CALL_ABS behind allocation. None through a pointer,
/// and of code elsewhere.
std::optional<std::uint32_t> calleeOf(const ori::Instr& call);

/// What may have another value behind a call of an allocated function, as it stands now: the registers that it writes
/// and that are not restored for the caller, and those of what it calls.
ori::RegisterSet changedByCalling(const ori::Function& function);

/// What the callee changes (`Function::changedByCallee`); null where that is not known.
const ori::RegisterSet* knownChanges(const ori::Function& caller, const ori::Instr& call);

/// What may have another value behind a call, before it is expanded (`calls.h`): of files R and P what its callee
/// changes if that is known (`Function::changedByCallee`), or else all that the ABI does not keep; and what passing
/// arguments takes.
ori::RegisterSet changedAt(const ori::Function& caller, const ori::Instr& call);

} // namespace orias::regalloc
