#pragma once

#include "ori/function.h"

namespace orias::ori {

// Partial SSA form, which holds between phases 23 and 73.
//
// In it, every component of a virtual register has one definition, which dominates its uses, and values meet in PHI
// instructions at the heads of blocks. A PHI works on whatever its operands say, mostly one component; buildSsa makes
// one per component that is live. A source without a value (Operand::Kind::None) is undefined: anything may come from
// there.
//
// Definitions under a guard. `@P0 MOV r, 1` leaves the old value of r when P0 is false, so it is a definition that
// reads what it defines. Such a register is treated in one of two ways:
// * when the guarded definition is the only one of its components and stands before all uses (a guarded load whose uses
// are
//   guarded alike), the register is in SSA form as it is: for the other lanes the value is undefined;
// * else the register keeps several definitions. It is marked VReg::multiDef, stays out of renaming, and phases leave
// it alone. A phase that wants to predicate code in SSA form makes a SEL, or marks the register.

/// Phase 23, GenerateMovPhi: brings a function into SSA form, with pruned phis (Cytron et al.; phi placement by
/// Sreedhar and Gao). Unreachable blocks are removed first. Definitions of a part of a register copy the parts that
/// live on, so that registers stay contiguous. Reads of undefined registers get an UNDEF.
void buildSsa(Function& function);

/// Phase 73, ConvertAllMovPhiToMov: leaves SSA form. Each phi becomes copies to a register of its own at the ends of
/// the predecessors, and from that at the head of its block, which is right whatever the phis of a block have to do
/// with each other (Sreedhar et al.: Translating Out of Static Single Assignment Form, method I); then coalesceCopies
/// takes out what can be spared. UNDEFs become copies of zero.
void destroySsa(Function& function);

/// Merges the two registers of an unguarded COPY where they do not interfere, and erases the copy; copies in inner
/// loops first. Not for SSA form. Returns how many copies are gone. Gives up, harmlessly, on functions with millions of
/// interferences.
unsigned coalesceCopies(Function& function);

} // namespace orias::ori
