#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M12, AllocaHoisting: an `alloca` of a constant size that runs at most once in a call becomes a `.local`
/// variable of the function, with a fixed offset in its frame, and the instruction a move of its address. Phases of
/// functions can then promote it to registers, and let it share bytes with other objects.
///
/// It runs at most once if no branch at or behind it leads to a label before it. The memory of an `alloca` ends with
/// the call, and what it holds at first is undefined, as with a variable. In a function that restores its stack, memory
/// may be taken again at the same address: there only those are hoisted whose address is used by accesses alone.
///
/// `stacksave` and `stackrestore` of a function without any `alloca` left do nothing, and go if nothing else reads the
/// saved value.
ModulePhaseResult hoistAllocas(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx
