#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M1, Pretreat: the nineteen clean-ups of the public literature, by its numbers, in their PTX form. They bring
/// equivalent code to the same form and change nothing that a program can observe. They run in order, repeatedly until
/// nothing changes, so running the phase twice is the same as running it once. "Known" below means: since the last
/// label.
///
///  1  consumed annotations: none. PTX has directives instead, which M2 reads directly.
///  2  bitcast chains: a move of a register that is known to be a copy moves the original; moves to itself are deleted.
///  3  address conversions there and back: cvta.to of a cvta from the same space becomes a move. The reverse order is
///     kept: it tells the space of an address, and M6 reads that.
///  4  sizes of lifetimes: none. PTX has no lifetimes.
///  5  empty copies: none. PTX has no memcpy, and a bulk copy of no bytes still completes on its barrier.
///  6  casts of constants: cvt between integers, mov between register types, and packing of known constants.
///  7  zero indices: adding or subtracting 0 becomes a move.
///  8  integer extensions: zero extension where the sign bit of the source is 0 in all its definitions; special
///     registers have ranges.
///  9  convergent: none. PTX instructions themselves specify what they wait for (.sync, .aligned).
///  10 special registers: cvt of equal width becomes mov; a read of a whole vector becomes one for each component.
///  11 dbg.declare: none. The DWARF of PTX is data.
///  12 select of constants: equal ones become a move; the constant other than 0 comes first, if the comparison has no
///     other use.
///  13 decided assumptions: guards that always hold are deleted, and so are instructions whose guard never holds.
///  14 undefined operands: a register without a definition reads as 0, where the instruction accepts a number.
///     Addresses, guards and vectors are not changed.
///  15 NaN and infinity: must not be done. PTX exposes their bits.
///  16 discarded loop metadata: pragmas in bodies that no phase reads.
///  17 kernel metadata: .maxnctapersm of old PTX becomes .minnctapersm.
///  18 unreachable code.
///  19 empty constructor lists: none. PTX has none.
ModulePhaseResult pretreat(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx
