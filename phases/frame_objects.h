#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Calls f(Instr&, index) for each operand that refers to an object of the frame.
template <typename F> void forEachFrameOperand(ori::Function& function, F&& f) {
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (unsigned i = 0; i < instr.operandCount; ++i)
        if (instr.op_(i).kind == isa::Operand::Kind::Frame) f(instr, i);
}

/// Removes unused objects from the frame and renumbers the others. True if one was removed.
bool dropUnnamedObjects(ori::Function& function);

} // namespace orias::phases
