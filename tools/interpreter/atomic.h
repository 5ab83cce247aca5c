#pragma once

#include "tools/interpreter/access.h"
#include "tools/interpreter/translate.h"

// What the files of atom and red share.

namespace orias::interp {

/// Where an atomic operation works: Inst::a + Inst::imm in the space Inst::option. Stops the run where memory is
/// neither global nor shared: no other can do it.
Location atomicTarget(const Thread& thread, const Inst& inst);

/// Of vectors, and of 128 bits.
bool translateWideAtomic(FunctionTranslator& t);

} // namespace orias::interp
