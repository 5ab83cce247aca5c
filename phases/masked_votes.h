#pragma once

#include "ori/module.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

/// Whether this is a WARPSYNC that separates the lanes of its mask from those of other masks.
bool isExclusiveSync(const ori::Instr& instr);

/// Optimizes votes among the lanes of a mask that is known at run time only. Lowering separates the lanes of each mask
/// (WARPSYNC.EXCLUSIVE), and the masks then run in sequence. If only votes, MATCH.ANY and shuffles follow the WARPSYNC
/// up to the next one, it is enough to wait for the lanes: the votes and matches of all active lanes are limited to the
/// mask. True if the WARPSYNC was changed.
bool limitVotesToMask(ori::Function& function, const Rewriter& rewriter, ori::Instr& sync);

} // namespace orias::phases
