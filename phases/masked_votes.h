#pragma once

#include "ori/module.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

/// A WARPSYNC that separates the lanes of its mask from those of other masks.
bool isExclusiveSync(const ori::Instr& instr);

/// Votes among the lanes of a mask that is known at run time only. Lowering separates the lanes of each mask
/// (WARPSYNC.EXCLUSIVE), which then run one mask after the other. Where all that follows the WARPSYNC up to the next
/// one are votes, MATCH.ANY and shuffles, it is enough to wait for the lanes: votes and matches of all active lanes are
/// limited to the mask. True if the WARPSYNC was changed.
bool limitVotesToMask(ori::Function& function, const Rewriter& rewriter, ori::Instr& sync);

} // namespace orias::phases
