#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <vector>

namespace orias::ptx {

/// The registers whose sign bit is 0 in all their definitions.
class KnownSigns {
 public:
  KnownSigns(const Function& function, const FormTable& forms);

  /// Whether the value is non-negative when read as `bits` bits.
  bool isNonNegative(const Operand& operand, unsigned bits) const;

 private:
  std::vector<unsigned> widths_;    // by RegisterId
  std::vector<bool> isNonNegative_; // by RegisterId
};

} // namespace orias::ptx
