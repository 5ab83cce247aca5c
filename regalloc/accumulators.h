#pragma once

#include "ori/function.h"

#include <optional>

namespace orias::regalloc {

/// Ties wgmma accumulators: the input is in the registers of the result, as in all code of ptxas;
/// if the allocator assigned others, it is copied there before the wgmma. For an allocated function.
void bringSumsTogether(ori::Function& function);

/// The operands of a wgmma that are its new and its old sum, if it has an old one.
struct SumSlots {
  unsigned sum, old;
};
std::optional<SumSlots> sumSlotsOf(const ori::Instr& instr);

/// Whether the function has wgmma instructions.
bool hasAccumulators(const ori::Function& function);

} // namespace orias::regalloc
