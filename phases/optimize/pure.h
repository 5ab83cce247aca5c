#pragma once

#include "ori/function.h"

#include <string>

namespace orias::phases {

/// Computes from its operands alone, the same each time, for each lane by itself: whoever reads the same gets the same.
bool isPure(const ori::Instr& instr);

/// Reads a special register that has one value for a thread as long as it runs.
bool readsFixedRegister(const ori::Instr& instr);

/// How many sources of an instruction, from the first on, may stand in any order.
unsigned interchangeable(const ori::Instr& instr);

/// Everything that an operand says, as bytes.
void appendBytes(std::string& key, const isa::Operand& operand);

} // namespace orias::phases
