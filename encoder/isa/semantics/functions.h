#pragma once

// Declarations of the functions in functions.inc.

#include "encoder/isa/semantics/semantics.h"

namespace orias::isa::semantics {

#define ORIAS_LANE(op, function, slots) void function(const Inst& inst, LaneValues& values);
#define ORIAS_WARP(op, function, slots) void function(const Inst& inst, WarpValues& warp);
#define ORIAS_MACHINE(op)
#include "encoder/isa/semantics/functions.inc"
#undef ORIAS_LANE
#undef ORIAS_WARP
#undef ORIAS_MACHINE

} // namespace orias::isa::semantics
