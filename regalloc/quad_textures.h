#pragma once

#include "ori/function.h"

// TEX_QUAD: a texture access with derivatives before sm_90. One step for each lane of a quad: all four lanes take the
// coordinates of that lane, and the lanes to the right and below add its derivatives. TEX filters by the differences
// between the lanes. That lane keeps the result of the first of the four. Inactive lanes are woken for it, regardless
// of where they wait, so the values that they hold must not change: the registers that they write are reserved for
// TEX_QUAD in the whole function.

namespace orias::regalloc {

/// Registers reserved for it, from a multiple of their alignment on. The last convergence barrier, which keeps the
/// mask, and the last predicate are reserved as well.
inline constexpr unsigned kQuadRegisters = 12, kQuadAlignment = 4;

bool hasQuadTextures(const ori::Function& function);

/// Lowers each TEX_QUAD of an allocated function to machine code. `first` is the first reserved register.
void expandQuadTextures(ori::Function& function, std::uint32_t first);

} // namespace orias::regalloc
