#pragma once

#include "frontend/module.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace orias::ptx {

class FunctionLowering;

/// Which registers of a kernel hold unmodified parameters.
class KernelParameters {
 public:
  explicit KernelParameters(FunctionLowering& f);

  /// The offset in constant bank 0 of the value of this register, if it is a parameter.
  std::optional<std::uint32_t> offsetOf(const Operand& registerOperand) const;

 private:
  void note(RegisterId reg, std::int64_t value);

  std::vector<std::int64_t> offsets_; // by RegisterId; < 0 if none
};

} // namespace orias::ptx
