#pragma once

#include "ori/function.h"

// TEX_QUAD: a texture access with derivatives before sm_90. One step for each lane of a quad: all four are at the
// coordinates of one, with its derivatives added in the lanes to the right and below, and one TEX filters by what lies
// between them; that lane keeps what the first of the four got. Lanes that do not run are woken for it, wherever they
// are, so what they hold elsewhere must not change: the registers that they write belong to this alone, in the whole
// function.

namespace orias::regalloc {

/// Registers that belong to it, from a multiple of their alignment on. So do the last convergence barrier, which keeps
/// the mask, and the last predicate.
inline constexpr unsigned kQuadRegisters = 12, kQuadAlignment = 4;

bool hasQuadTextures(const ori::Function& function);

/// Turns each TEX_QUAD of an allocated function into machine code. `first` is the first register that belongs to it.
void expandQuadTextures(ori::Function& function, std::uint32_t first);

} // namespace orias::regalloc
