#pragma once

#include "frontend/instr_syntax.h"

#include <string_view>

// The steps in which FormTable parses rows: for most rows of an operation the modifiers suffice to reject them, or not
// even these are parsed.

namespace orias::ptx {

/// The text up to the first of `ends`. string_view::find_first_of makes a call for each character.
constexpr std::string_view upTo(std::string_view text, std::string_view ends) {
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char end : ends)
      if (text[i] == end) return text.substr(0, i);
  return text;
}

/// The first of operationsOf(opcode); Op::None if there is none.
OpPrefix longestOperation(std::string_view opcode);

/// The operation of all opcodes that begin with this word; Op::None if there are several.
Op onlyOperation(std::string_view word);

/// The first half of parseRow: the modifiers of its operation.
RowSyntax parseRowOpcode(const Row& row, Op op);
/// The second half: the operands and their requirements.
void parseRowOperands(RowSyntax& syntax);

} // namespace orias::ptx
