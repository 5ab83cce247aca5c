#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Removes selects between the result of a guarded instruction and another value, under the guard of that instruction:
/// the other value is put into the result register first, and the instruction overwrites it. `@P LDG a; SEL d, a, 0, P`
/// becomes `MOV d, 0; @P LDG d`, so that no select waits for the load. An unguarded arithmetic instruction gets the
/// select's condition as guard if it overwrites its own old value: `DFMA t, a, b, d; SEL d, t, d, P` becomes `@P DFMA
/// d, a, b, d`. After SSA form; true if something changed.
bool writeOverOtherValues(ori::Function& function, PhaseContext& context);

} // namespace orias::phases
