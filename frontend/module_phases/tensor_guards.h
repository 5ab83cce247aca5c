#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>

namespace orias::ptx {

/// Checks of accesses to tensor memory (--g-tensor-memory-access-check), as in ptxas 13.0 (observed). Inserts code
/// before each tcgen05 instruction that calls a trapping function if
/// - columns lie outside of tensor memory, or are not allocated,
/// - a warp loads or stores lanes of another one,
/// - a matrix of tcgen05.mma begins in a lane where it must not, or the descriptor and the instruction disagree on
///   whether A is sparse,
/// - tcgen05.alloc requests an invalid number of columns, or the permit was given up; tcgen05.dealloc frees columns
///   that tcgen05.alloc did not return.
/// The functions and their arguments are those of ptxas; debuggers show their names. As in ptxas, only the columns of
/// the first half are checked for .16x32bx2.
///
/// `records`: address of the system's allocation records in the CTA's shared memory. Returns whether there was anything
/// to check.
bool guardTensorMemory(Module& module, const FormTable& forms, std::uint32_t records);

} // namespace orias::ptx
