#pragma once

#include "ori/function.h"

namespace orias {

/// Inserts an error barrier before each exit: the thread ends only after its memory faults are reported (ERRBAR, and
/// CGAERRBAR on targets with clusters; observed with `ptxas --make-errors-visible-at-exit`).
void waitForErrorsAtExit(ori::Function& function);

/// Inserts a trap after the instruction that creates the frame, if there is one. It is taken if the stack pointer is
/// below the end of local memory (SR_LMEMHIOFF; observed with `ptxas --sp-bounds-check`). Registers must be allocated.
void trapOnStackOverflow(ori::Function& function);

} // namespace orias
