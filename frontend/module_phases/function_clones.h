#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"
#include "frontend/module_phases/memory_space_opt.h"

#include <vector>

namespace orias::ptx {

/// The clones of phase M7. A function whose parameter is an address of one space in some calls and of another in others
/// gets a private clone for each combination of spaces in which generic accesses become specific; the calls then name
/// the clone. A function that only these calls reach keeps the first combination, or the calls whose spaces are not
/// known; one that others may reach keeps its code and its name, and the calls of this module go to clones.
///
/// Calls in clones pass other spaces than those in the original, so this iterates until nothing is cloned. What a
/// clone was made for is not made again. CloneLimits bounds the number of clones and their instructions.
///
/// Not cloned: functions that are recursive, that another module may replace (.weak), that have an alias, and those
/// with variables of their own outside of the frame.
///
/// Returns a remark for each clone. `forms` stays valid: clones have no new opcodes.
std::vector<PhaseRemark> cloneForSpaces(Module& module, const FormTable& forms, const MemorySpaceOptions& options);

} // namespace orias::ptx
