#pragma once

#include "ori/function.h"

namespace orias::ori {

// Partial SSA form, which holds between phases 23 and 73.
//
// In it, every component of a virtual register has one definition, which dominates its uses, and PHI instructions
// at the heads of blocks merge values. A PHI has the width of its operands, mostly one component; buildSsa
// creates one per live component. A source without a value (Operand::Kind::None) is undefined: it may have any
// value.
//
// Definitions under a guard. `@P0 MOV r, 1` leaves the old value of r if P0 is false, so it is a
// definition that reads what it defines. There are two cases:
// * if the guarded definition is the only one of its components, dominates all uses, and no use reads what an earlier
//   iteration wrote (a guarded load whose uses are guarded the same way), the register is in SSA form: in the other
//   lanes the value is undefined. Such definitions are marked when SSA form is left (Instr::hasUndefinedRest);
// * else the register keeps several definitions. It is marked VReg::multiDef, is not renamed, and phases do not
// change it. A phase that predicates code in SSA form creates a SEL, or marks the register.

/// Phase 23, GenerateMovPhi: brings a function into SSA form, with pruned phis (Cytron et al.; phi placement by
/// Sreedhar and Gao). Unreachable blocks are removed first. Definitions of a component copy the other live
/// components, so that registers stay contiguous. Reads of undefined registers get an UNDEF.
void buildSsa(Function& function);

/// Which copies coalesceCopies merges, and which registers it considers to interfere.
struct Coalescing {
  bool ofPhisOnly = false; ///< only copies that phis became; others stay
  /// Registers with the same value do not interfere (Boissinot et al.: Revisiting Out-of-SSA Translation). If false,
  /// all registers that are live at the same time interfere.
  bool byValue = true;
};

/// The registers and copies that destroySsa has created for the phis.
struct SsaCopies {
  unsigned made = 0, merged = 0;
};

/// Phase 73, ConvertAllMovPhiToMov: leaves SSA form. Each phi becomes copies to a new register at the ends of the
/// predecessors, and from it at the head of its block, which is correct for any dependences between the phis
/// of a block (Sreedhar et al.: Translating Out of Static Single Assignment Form, method I); then coalesceCopies
/// removes redundant copies, unless `coalesces` is false. UNDEFs become copies of zero.
SsaCopies destroySsa(Function& function, const Coalescing& how = {}, bool coalesces = true);

/// Merges the two registers of an unguarded COPY if they do not interfere, and erases the copy; copies in inner
/// loops first. Not for SSA form. Returns the number of removed copies. Does nothing on functions with millions of
/// interferences.
/// `firstOfPhis`: the first register that destroySsa has created.
unsigned coalesceCopies(Function& function, const Coalescing& how = {}, VRegId firstOfPhis = 0);

} // namespace orias::ori
