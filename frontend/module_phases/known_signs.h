#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <vector>

namespace orias::ptx {

/// Which registers always have a sign bit of 0, by all their definitions.
class KnownSigns {
 public:
  KnownSigns(const Function& function, const FormTable& forms);

  /// Is the value without a sign, read in `bits` bits?
  bool isNonNegative(const Operand& operand, unsigned bits) const;

 private:
  std::vector<unsigned> widths_;    // by RegisterId
  std::vector<bool> isNonNegative_; // by RegisterId
};

} // namespace orias::ptx
