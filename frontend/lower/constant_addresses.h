#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// Origins of the register addresses that ld.const uses. A constant variable is in a bank of its own. A pointer to
/// constant memory in a kernel's parameters (.ptr .const, as OpenCL compilers write it) is a global address; ptxas
/// loads through it with LDG (observed). This is a data-flow analysis of the whole module. It follows registers,
/// parameters and results of functions, but not memory.
class ConstantAddresses {
 public:
  enum Origin : std::uint8_t { Unknown = 0, Variable = 1, Pointer = 2, Either = 3 };

  ConstantAddresses(const Module& module, const FormTable& forms);

  /// The origin of a register of one of the module's functions.
  Origin of(const Function& function, RegisterId id) const;

 private:
  class Solver;

  const Module* module_;
  std::vector<std::vector<std::uint8_t>> registers_; // by function and register: union over all definitions
  std::vector<std::uint8_t> variables_;              // by variable, for parameters and arguments
};

/// Returns whether a kernel of the module has a parameter that points to constant memory. Without one, all addresses
/// are those of variables.
bool hasConstantPointers(const Module& module);

} // namespace orias::ptx
