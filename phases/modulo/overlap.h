#pragma once

// What a modulo schedule costs in registers and cycles.

#include "phases/modulo/loop_body.h"
#include "phases/modulo/swing_schedule.h"

namespace orias::phases::modulo {

/// How many copies of each value's register a schedule needs (modulo variable expansion, Lam 1988): one where an
/// instance is dead when the next one begins, else one per unrolled copy of the kernel.
struct Expansion {
  std::vector<unsigned> copies; ///< by value
  unsigned unroll = 1;          ///< copies of the kernel
};
Expansion expansionOf(const ori::Function& function, const LoopBody& body, const Schedule& schedule);

/// The most registers that are live at once in the kernel, by file.
ori::FileCounts kernelPressure(const ori::Function& function, const LoopFacts& facts, const LoopBody& body,
                               const Schedule& schedule);

/// The registers that the kernel takes, by file, when they are allocated first fit, widest values first. More than are
/// live at once: no value can change its register from one iteration of the kernel to the next.
ori::FileCounts kernelRegisters(const ori::Function& function, const LoopFacts& facts, const LoopBody& body,
                                const Schedule& schedule, const Expansion& expansion);

/// Cycles per iteration without overlap, in the best schedule of a list scheduler.
unsigned sequentialCycles(const LoopGraph& graph, const std::vector<Recurrence>& recurrences, std::uint32_t branch);

} // namespace orias::phases::modulo
