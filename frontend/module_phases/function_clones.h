#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"
#include "frontend/module_phases/memory_space_opt.h"

#include <vector>

namespace orias::ptx {

/// The clones of phase M7. If a parameter of a function is an address of different spaces in different calls, the
/// function gets a private clone for each combination of spaces that makes generic accesses specific, and the calls are
/// redirected to the clones. A function that only these calls reach itself keeps the first combination, or the calls
/// whose spaces are not known. A function that others may reach keeps its code and its name, and the calls of this
/// module are redirected to clones.
///
/// Calls in clones may pass other spaces than those in the original, so this iterates until nothing is cloned. A clone
/// is not made twice for the same spaces. CloneLimits bounds the number of clones and their instructions.
///
/// Not cloned: functions that are recursive, that another module may replace (.weak), that have an alias, or that have
/// variables outside of the frame.
///
/// Returns a remark for each clone. `forms` remains valid, because clones have no new opcodes.
std::vector<PhaseRemark> cloneForSpaces(Module& module, const FormTable& forms, const MemorySpaceOptions& options);

} // namespace orias::ptx
