#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Selects between what a guarded instruction made and something else, under the guard of that instruction: the other
/// value is put into the result first, and the instruction writes over it. `@P LDG a; SEL d, a, 0, P` becomes
/// `MOV d, 0; @P LDG d`, so that nobody waits for a load only to choose. Behind SSA form; true when something changed.
bool writeOverOtherValues(ori::Function& function, PhaseContext& context);

} // namespace orias::phases
