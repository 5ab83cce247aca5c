#pragma once

#include "ori/instr.h"

namespace orias::ori {

/// The operands that may be results. They come first, and most instructions have one. Only BSSY has a source before its
/// result, so test `isDef`. (A test of encoder/isa checks this for the table.)
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
