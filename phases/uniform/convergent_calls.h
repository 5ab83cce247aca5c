#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

#include <vector>

namespace orias::phases {

/// Is this a call across which uniform registers may be given out (allowConvAlloc)? The warp makes it as a whole then,
/// between two points where all its lanes wait for each other (WARPSYNC): its convergent boundary.
bool allowsConvAlloc(const ori::Instr& instr);

/// How long uniform registers are wanted has been said for the places where they are written and read now: by
/// CONV.ALLOC, or by the boundaries of such calls.
bool hasFixedUniformLives(const ori::Function& function);

/// Looks at the boundaries of all such calls. On every way to one and on from it a WARPSYNC must stand, in a block that
/// the lanes run together (else error 7020), with no second call before it (error 7021). Returns the instructions
/// between boundaries, by instruction id; empty when there is no such call.
std::vector<bool> convergentRegions(const ori::Function& function, const ori::Divergence& divergence,
                                    PhaseContext& context);

} // namespace orias::phases
