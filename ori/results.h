#pragma once

#include "ori/instr.h"

namespace orias::ori {

/// The operands that may be results: they come first, and most loops over them end after one. Only BSSY has a source in
/// front of its result; ask `isDef`. (encoder/isa's test holds the table to that.)
inline std::span<const Operand> resultSlots(const Instr& instr) {
  std::size_t count = 0;
  if (instr.op == Op::BSSY)
    count = instr.operandCount;
  else
    while (count < instr.operandCount && instr.operands[count].isDef)
      ++count;
  return {instr.operands, count};
}

} // namespace orias::ori
