#pragma once

#include "ori/function.h"

#include <string>

namespace orias::phases {

/// Returns true if the result depends only on the operands, in each lane: equal operands give equal results.
bool isPure(const ori::Instr& instr);

/// Whether the instruction reads a special register whose value is fixed during the execution of a thread.
bool readsFixedRegister(const ori::Instr& instr);

/// The number of commutative sources of an instruction, starting with the first.
unsigned interchangeable(const ori::Instr& instr);

/// Appends all properties of an operand as bytes.
void appendBytes(std::string& key, const isa::Operand& operand);

} // namespace orias::phases
