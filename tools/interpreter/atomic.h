#pragma once

#include "tools/interpreter/access.h"
#include "tools/interpreter/translate.h"

// Common declarations for atom and red.

namespace orias::interp {

/// The location of an atomic operation: Inst::a + Inst::imm in the space Inst::option. Stops the run if memory is
/// neither global nor shared; no other supports atomics.
Location atomicTarget(const Thread& thread, const Inst& inst);

/// Translates operations on vectors and on 128 bits.
bool translateWideAtomic(FunctionTranslator& t);

} // namespace orias::interp
