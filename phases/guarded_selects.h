#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Selects between what a guarded instruction made and something else, under the guard of that instruction: the other
/// value is put into the result first, and the instruction writes over it. `@P LDG a; SEL d, a, 0, P` becomes
/// `MOV d, 0; @P LDG d`, so that a select does not wait for a load. Arithmetic that is not guarded gets the select's
/// condition where it writes over its own old value: `DFMA t, a, b, d; SEL d, t, d, P` becomes `@P DFMA d, a, b, d`.
/// After SSA form; true if something changed.
bool writeOverOtherValues(ori::Function& function, PhaseContext& context);

} // namespace orias::phases
