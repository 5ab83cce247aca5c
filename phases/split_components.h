#pragma once

#include "ori/function.h"

#include <span>

namespace orias::phases {

/// Makes all operands that name the register `from` name parts of others: word i of it is word 0 of `words[i]`, an
/// operand of one register. The words that one operand names must stand next to each other there.
void renameWords(ori::Function& function, ori::VRegId from, std::span<const isa::Operand> words);

/// Gives the parts of a wide register that no operand names together registers of their own. A 64-bit value whose
/// halves are computed and read one by one needs no aligned pair then, and one whose upper half nobody reads needs one
/// register only. For code out of SSA form, before allocation. True if it renamed anything.
bool splitComponents(ori::Function& function);

} // namespace orias::phases
