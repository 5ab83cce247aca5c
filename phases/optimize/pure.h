#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Returns true if the result depends only on the operands, in each lane: equal operands give equal results.
bool isPure(const ori::Instr& instr);

/// Whether the instruction reads a special register whose value is fixed during the execution of a thread.
bool readsFixedRegister(const ori::Instr& instr);

/// The number of commutative sources of an instruction, starting with the first.
unsigned interchangeable(const ori::Instr& instr);

/// One bit for each operand that is a used result: part of the key of an instruction.
std::uint64_t resultMask(const ori::Instr& instr);

} // namespace orias::phases
