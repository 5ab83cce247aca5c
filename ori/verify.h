#pragma once

#include "ori/function.h"

#include <string>
#include <vector>

namespace orias::ori {

struct VerifyFault {
  /// A warning says that the program reads something undefined; all else is broken IR.
  enum class Severity : std::uint8_t { Warning, Error } severity = Severity::Error;
  std::string message;
  std::string where; ///< the instruction's text, or the block's label
  BlockId block = kNoId;
  InstrId instr = kNoId;
};

struct VerifyOptions {
  bool undefinedUses = false; ///< warn of uses that no definition reaches; needs liveness
  unsigned maxFaults = 20;    ///< stop after so many
};

/// Checks everything that a function must be between two phases:
/// * links: instructions and blocks know each other; each operand that names a virtual register is in that register's
/// list, and
///   nothing else is;
/// * instructions: as many operands as the row has slots, of kinds, files, widths and modifiers that the slots accept;
/// guards are
///   predicates, of the uniform file for uniform instructions; components are within their registers, aligned as pairs
///   and quads must be;
/// * blocks: terminators are last; control continues at a live block or ends; labels name live blocks;
/// * phis are at the heads of blocks, with one source for each predecessor;
/// * in SSA form (Function::ssa): one definition per component, which dominates its uses (VReg::multiDef excepted);
/// * after allocation (Function::allocated): no virtual registers.
/// Never fails itself, for any function.
std::vector<VerifyFault> verify(const Function& function, const VerifyOptions& options = {});

/// "error: message\n    instruction", one after the other.
std::string render(const std::vector<VerifyFault>& faults);
bool hasErrors(const std::vector<VerifyFault>& faults);

} // namespace orias::ori
