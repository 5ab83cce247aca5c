#pragma once

#include "test/differential/generator/profile.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::generator {

/// An instruction that is chosen from a table and given random operands.
struct Row {
  std::string opcode;        ///< "add.s32"
  std::string_view operands; ///< "r=rr": the result, then what is read; see instruction_table.cpp
};

/// The rows of a group (Statement::Integer16 … Statement::Predicate), those of one kind together: a kind is one choice
/// however many rows it has, so that what has few modifiers is not drowned by what has many.
std::span<const std::vector<Row>> lines(Statement group);

/// Whether ptxas may be given the instruction with a guard: ptxas 13.0 drops the guard of `testp`, and that of parts of
/// what it makes of `set` (seen where the guard is a constant and where it is not).
bool mayBeGuarded(const Row& row);

} // namespace orias::generator
