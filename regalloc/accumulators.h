#pragma once

#include "ori/function.h"

#include <optional>

namespace orias::regalloc {

/// Ties wgmma accumulators, and loads of tensor memory for one half of the threads each: the input must be in the
/// registers of the result, as in all code of ptxas. If the allocator assigned other registers, copies the input there
/// before the instruction. For an allocated function.
void tieAccumulators(ori::Function& function);

/// The operands of a wgmma that are its new and its old sum, if it has an old one. For a load of tensor memory: its
/// result, and the values kept by threads whose registers it does not write.
struct SumSlots {
  unsigned sum, old;
};
std::optional<SumSlots> sumSlotsOf(const ori::Instr& instr);

/// Whether the function has wgmma instructions.
bool hasAccumulators(const ori::Function& function);

} // namespace orias::regalloc
