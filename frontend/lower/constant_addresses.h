#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// Where addresses in registers that ld.const takes may come from. A constant variable is in a bank of its own; what a
/// kernel gets as a pointer to constant memory (.ptr .const, as OpenCL's compilers write it) is a global address.
/// ptxas loads through such a pointer with LDG (observed). A data-flow analysis of the whole module, which follows
/// registers, parameters and results of functions, but not memory.
class ConstantAddresses {
 public:
  enum Origin : std::uint8_t { Unknown = 0, Variable = 1, Pointer = 2, Either = 3 };

  ConstantAddresses(const Module& module, const FormTable& forms);

  /// Of a register of one of the module's functions.
  Origin of(const Function& function, RegisterId id) const;

 private:
  class Solver;

  const Module* module_;
  std::vector<std::vector<std::uint8_t>> registers_; // by function and register: the union over what writes it
  std::vector<std::uint8_t> variables_;              // by variable: of parameters and arguments
};

/// Whether a kernel of the module has a parameter that points to constant memory: without one, all addresses are of
/// variables.
bool hasConstantPointers(const Module& module);

} // namespace orias::ptx
