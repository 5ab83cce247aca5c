#pragma once

#include "ori/function.h"

#include <vector>

namespace orias::phases {

/// How many of the lowest bits of each register are known to be zero, for addresses. A snapshot of a function before
/// register allocation. Flow-insensitive: a fact about a register holds for all its definitions.
class Alignment {
 public:
  /// The limit: no access is wider than 16 bytes.
  static constexpr unsigned kMax = 8;

  explicit Alignment(const ori::Function& function);

  /// The number of known zero bits at the bottom of component `index` of an operand, at most kMax.
  unsigned zeros(const isa::Operand& operand, unsigned index = 0) const;

 private:
  unsigned result(const ori::Instr& instr, unsigned slot, unsigned index) const;
  unsigned resultOfLogic(const ori::Instr& instr) const;

  const ori::Function& function_;
  std::vector<std::uint32_t> first_; // the first component of each virtual register
  std::vector<std::uint8_t> zeros_;  // by component
};

} // namespace orias::phases
