#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>

namespace orias::ptx {

/// Checks of accesses to tensor memory (--g-tensor-memory-access-check), as ptxas 13.0 makes them (observed): in front
/// of each tcgen05 instruction, code that calls a function which traps if
/// - columns lie outside of tensor memory, or are not allocated,
/// - a warp loads or stores lanes of another one,
/// - a matrix of tcgen05.mma begins in a lane where it must not, or the descriptor says other than the instruction
///   whether A is sparse,
/// - tcgen05.alloc wants a number of columns that there is not, or the permit was given up; tcgen05.dealloc gives back
///   what tcgen05.alloc did not return.
/// The functions, and what they are passed, are those of ptxas; debuggers show their names. For .16x32bx2 the columns
/// of the first half are checked only, as there.
///
/// `records`: where in a block's shared memory the system keeps the words that say what is allocated. Returns whether
/// there was anything to check.
bool guardTensorMemory(Module& module, const FormTable& forms, std::uint32_t records);

} // namespace orias::ptx
