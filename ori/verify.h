#pragma once

#include "ori/function.h"

#include <string>
#include <vector>

namespace orias::ori {

struct VerifyError {
  /// A warning means that the program reads an undefined value; an error means invalid IR.
  enum class Severity : std::uint8_t { Warning, Error } severity = Severity::Error;
  std::string message;
  std::string where; ///< the instruction's text, or the block's label
  BlockId block = kNoId;
  InstrId instr = kNoId;
};

struct VerifyOptions {
  bool undefinedUses = false; ///< warn about uses that no definition reaches; needs liveness
  unsigned maxFaults = 20;    ///< stop after this number
};

/// Checks the invariants of a function between two phases:
/// * links: instructions and blocks refer to each other; the list of a virtual register contains exactly the operands
///   that refer to it;
/// * instructions: the number of operands is that of the slots of the row; kinds, files, widths and modifiers are
///   accepted by the slots; guards are predicates, uniform ones for uniform instructions; components are within their
///   registers, and pairs and quads are aligned;
/// * blocks: terminators are last; control continues at a live block or ends; labels refer to live blocks;
/// * phis are at the heads of blocks, with one source for each predecessor;
/// * in SSA form (Function::ssa): one definition per component, which dominates its uses (VReg::multiDef excepted);
/// * after allocation (Function::allocated): no virtual registers.
/// Never throws, for any function.
std::vector<VerifyError> verify(const Function& function, const VerifyOptions& options = {});

/// All faults as "error: message\n    instruction".
std::string render(const std::vector<VerifyError>& faults);
bool hasErrors(const std::vector<VerifyError>& faults);

} // namespace orias::ori
