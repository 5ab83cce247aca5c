#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M12, AllocaHoisting: an `alloca` of constant size that executes at most once per call becomes a `.local`
/// variable of the function with a fixed offset in its frame, and the instruction becomes a move of its address.
/// Function phases can then promote the variable to registers, or let it share bytes with other objects.
///
/// An `alloca` executes at most once if no branch at or after it leads to a label before it. Its memory is released at
/// the end of the call and is initially undefined, as with a variable. In a function that restores its stack, memory
/// may be allocated again at the same address. There an `alloca` is hoisted only if its address is used only by
/// accesses.
///
/// `stacksave` and `stackrestore` of a function without any remaining `alloca` do nothing. They are deleted if the
/// saved value has no other use.
ModulePhaseResult hoistAllocas(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx
