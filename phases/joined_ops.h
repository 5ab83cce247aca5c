#pragma once

#include "ori/function.h"
#include "phases/phase.h"

namespace orias::phases {

/// Merges this instruction with the one that computes a source only for it, where the chip has one instruction for both
/// (phase 75):
/// - a shift to the right and a sum: LEA.HI, as in divisions by constants; a rotation and a sum of one or two terms
/// - a minimum or maximum of signed words that is limited to 0 from below: VIMNMX.RELU
/// - a minimum or maximum of a sum of signed words: VIADDMNMX
/// - both words of a sum, a comparison or a choice of pairs: IADD.64, ISETP.64, SEL.64 (`joinsPairs`)
/// Returns whether anything changed; the position of the instruction does not change.
bool joinWithSource(ori::Function& function, PhaseContext& context, ori::Instr& instr, bool joinsPairs);

/// Whether the chip has operations on pairs (sm_120), and the function has registers to spare for them.
bool mayJoinPairs(ori::Function& function, const PhaseContext& context);

} // namespace orias::phases
