#pragma once

#include "phases/optimize/rewriter.h"

#include <array>
#include <optional>

namespace orias::phases {

/// A 32-bit logical shift of a register by a constant from 1 to 31.
struct Shift {
  isa::Operand word;
  unsigned count;
  bool isLeft;
};

/// The shift that an instruction performs, if its operand can be read at a later point.
std::optional<Shift> shiftOf(const Rewriter& rw, const ori::Instr& instr);

/// The shift that computes a register.
std::optional<Shift> shiftOf(const Rewriter& rw, const isa::Operand& term);

/// The two terms of an IADD3 without carries, or of an OR or XOR.
std::optional<std::array<isa::Operand, 2>> twoTerms(const ori::Instr& instr);

} // namespace orias::phases
