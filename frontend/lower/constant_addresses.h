#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// Where addresses in registers that ld.const takes may come from. A constant variable is in a bank of its own; what a
/// kernel gets as a pointer to constant memory (.ptr .const, as OpenCL's compilers write it) is a global address.
/// ptxas loads through such a pointer with LDG (observed).
class ConstantAddresses {
 public:
  enum Origin : std::uint8_t { Unknown = 0, Variable = 1, Pointer = 2, Either = 3 };

  ConstantAddresses(const Module& module, const FormTable& forms, const Function& function);

  Origin of(RegisterId id) const { return static_cast<Origin>(origins_[index(id)]); }

 private:
  std::vector<std::uint8_t> origins_; // by register; the union over all instructions that write it
};

/// Whether a kernel of the module has a parameter that points to constant memory: without one, all addresses are of
/// variables.
bool hasConstantPointers(const Module& module);

} // namespace orias::ptx
