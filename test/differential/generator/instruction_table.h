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
  std::string_view operands; ///< "r=rr": the result, then the sources; see instruction_table.cpp
};

/// The rows of a group (Statement::Integer16 … Statement::Predicate), by kind. A kind is one choice regardless of its
/// number of rows, so that instructions with few modifiers are chosen as often as those with many.
std::span<const std::vector<Row>> lines(Statement group);

/// Whether the instruction may have a guard in ptxas: ptxas 13.0 drops the guard of `testp`, and of parts of its code
/// for `set` (observed with constant and other guards).
bool mayBeGuarded(const Row& row);

} // namespace orias::generator
