#pragma once

#include "ori/function.h"

#include <vector>

namespace orias::ori {

/// Walks forwards over a block and finds the guarded definitions that always execute.
///
/// `ELECT P, URZ, PT` sets P in one of the active lanes. An instruction of the same block under P that writes uniform
/// registers executes for that lane, and uniform registers have one value for all lanes, so the old value never
/// survives.
class ElectedDefs {
 public:
  /// Forgets what the previous block elected.
  void enter() { elected_.clear(); }
  /// Whether the guard of `instr` does not keep what its result `def` held before. Call it before `step`.
  bool alwaysExecutes(const Instr& instr, const Operand& def) const;
  /// Goes over the instruction.
  void step(const Instr& instr);

 private:
  std::vector<isa::Operand> elected_; // predicates that are true in one active lane
};

} // namespace orias::ori
