#pragma once

#include "regalloc/assignment.h"

#include <string>
#include <vector>

namespace orias::regalloc {

/// The allocation checker: proves that every use reads the value that its definition wrote, along every path, by
/// abstract interpretation. It knows nothing of live ranges. The state maps each location (physical register, word of a
/// spill slot) to the set of virtual components whose current value it holds:
///
///   definition of u in location l:  u leaves all other locations, l := {u}
///   copy d := s:                    l(d) := l(s) + {d}; d leaves all other locations except words of spill slots
///                                   that hold s
///   spill store, load, move:        the target location takes the source's set
///   guarded definition of u in l:   as a definition, provided that l held u (or u had no value yet). Otherwise l holds
///                                   u where the guard is true, and all others where it is false, until the block ends
///                                   or the predicate changes; both halves in one location are the whole
///                                   (of a register of the warp, under the result of ELECT: as a definition)
///   join of paths:                  intersection, where a component without a value on one path counts as held there
///   use of u in l:                  an error unless l holds u (where the guard is true), or u can have no value here
///
/// (the scheme of regalloc2's checker, with sets for coalesced copies). For the registers of the warp (UR, UP, B) there
/// are further edges: from each end of a divergent side to the beginnings of the others, since those run in any order.
/// Also checked: alignment, register numbers within the file, overlapping results of one instruction, spill code that
/// accesses words outside its slot, the stack pointer.
///
/// Returns the errors, each with its instruction, at most 20; empty if the allocation is correct.
std::vector<std::string> check(const ori::Function& function, const Assignment& assignment);

/// For allocated functions whose warps give registers back and take them: no instruction may use a register of file R
/// that its warp may not have there. The count at entry is the one in the statistics. Returns the errors, as above.
std::vector<std::string> checkRegisterCounts(const ori::Function& function);

} // namespace orias::regalloc
