#pragma once

#include "ori/function.h"

#include <optional>

namespace orias::regalloc {

/// Ties wgmma accumulators, and loads of tensor memory for one half of the threads each: the input is in the registers
/// of the result, as in all code of ptxas; if the allocator assigned others, it is copied there before the instruction.
/// For an allocated function.
void bringSumsTogether(ori::Function& function);

/// The operands of a wgmma that are its new and its old sum, if it has an old one; of a load of tensor memory, its
/// result and what threads keep that it does not write.
struct SumSlots {
  unsigned sum, old;
};
std::optional<SumSlots> sumSlotsOf(const ori::Instr& instr);

/// Whether the function has wgmma instructions.
bool hasAccumulators(const ori::Function& function);

} // namespace orias::regalloc
