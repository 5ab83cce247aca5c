#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

#include <vector>

namespace orias::phases {

/// Whether uniform registers may be allocated across this call (allowConvAlloc). The call
/// is then convergent, between two WARPSYNCs, its convergent boundary.
bool allowsConvAlloc(const ori::Instr& instr);

/// Set when the live ranges of uniform registers are recorded for the current code: by CONV.ALLOC,
/// or by the boundaries of such calls.
bool hasFixedUniformLives(const ori::Function& function);

/// Checks the boundaries of all such calls. Every path to and from one must have a WARPSYNC in a convergent
/// block (else error 7020), with no second call in between (error 7021). Returns the instructions
/// between boundaries, by instruction id; empty when there is no such call.
std::vector<bool> convergentRegions(const ori::Function& function, const ori::Divergence& divergence,
                                    PhaseContext& context);

} // namespace orias::phases
