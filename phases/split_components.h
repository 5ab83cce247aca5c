#pragma once

#include "ori/function.h"

#include <functional>
#include <span>

namespace orias::phases {

/// Replaces word i of the register `from` by word 0 of `words[i]`, an operand of one register, in all operands. The
/// words that one operand uses must be adjacent in the new registers. `set` replaces an operand.
void renameWords(ori::Function& function, ori::VRegId from, std::span<const isa::Operand> words,
                 const std::function<void(ori::Ref, const isa::Operand&)>& set);
/// The same with Function::setOperand.
void renameWords(ori::Function& function, ori::VRegId from, std::span<const isa::Operand> words);

/// Splits a wide register into the parts that no operand uses together. A 64-bit value whose halves are computed and
/// read separately then needs no aligned pair, and one whose upper half is unused needs one register only. For code out
/// of SSA form, before allocation. True if anything was renamed.
bool splitComponents(ori::Function& function);

} // namespace orias::phases
