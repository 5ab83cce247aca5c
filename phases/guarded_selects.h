#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Selects between what a guarded instruction made and something else, under the guard of that instruction: the other
/// value is put into the result first, and the instruction writes over it. `@P LDG a; SEL d, a, 0, P` becomes
/// `MOV d, 0; @P LDG d`, so that a select does not wait for a load. After SSA form; true if something changed.
bool writeOverOtherValues(ori::Function& function, PhaseContext& context);

} // namespace orias::phases
