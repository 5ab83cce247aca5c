#pragma once

#include "ori/function.h"

#include <string>

namespace orias::phases {

/// Returns true if the result depends only on the operands, in each lane: equal operands give equal results.
bool isPure(const ori::Instr& instr);

/// Reads a special register that has one value for a thread as long as it runs.
bool readsFixedRegister(const ori::Instr& instr);

/// The number of commutative sources of an instruction, from the first on.
unsigned interchangeable(const ori::Instr& instr);

/// Everything that an operand says, as bytes.
void appendBytes(std::string& key, const isa::Operand& operand);

} // namespace orias::phases
