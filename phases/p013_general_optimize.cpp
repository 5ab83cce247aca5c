#include "phases/narrow_loads.h"
#include "phases/optimize/rule_table.h"
#include "phases/phases.h"
#include "phases/share_loads.h"

namespace orias::phases {

namespace {

/// Applies the rules, and folds the branches whose conditions have become known. A folded branch may have been the only
/// reason why another value was unknown, so both steps alternate. Code for single-stepping keeps its branches.
bool optimize(ori::Function& function, const PhaseContext& context, const RuleTable& rules) {
  const std::int64_t maxRounds = context.knobs.get(Knob::GeneralOptimizeMaxRounds);
  bool changed = false;
  for (std::int64_t n = 0; n < maxRounds; ++n) {
    changed |= Rewriter(function).run(rules, maxRounds);
    if (context.optLevel == 0 || !decideBranches(function)) break;
    changed = true;
  }
  return changed;
}

} // namespace

/// Phase 13. Copies, constants and simplification, at all -O levels and before SSA form. Only registers with a single
/// definition that precedes all their uses are propagated.
bool generalOptimizeEarly(ori::Function& function, PhaseContext& context) {
  static constexpr RuleTable kRules{propagateCopies, foldConstants,   foldComparison, foldLongComparison,
                                    foldBitTest,     simplifyAlgebra, dropIdentity};
  return optimize(function, context, kRules);
}

/// Phase 29. Copies, constants, simplification and addresses, while 64-bit arithmetic is still whole; products are
/// fused into sums. Loads of constants are not folded into operands: a multiplication best adds to a pointer in a
/// register pair, and a fused operation has room for one constant only. The words of a product are paired here, before
/// phase 37 fuses one of them into a sum.
bool generalOptimize(ori::Function& function, PhaseContext& context) {
  static constexpr RuleTable kRules{
      simplifyPhi,        propagateCopies,     foldConstants,      simplifyAlgebra,  foldComparison,
      foldLongComparison, foldBitTest,         reassociateLongSum, dropMasks,        combinePredicates,
      foldShiftedAddress, foldWideAddress,     ignoreUnusedBits,   dropIdentity,     foldOffset,
      splitConstOffset,   separateShortNumber, separateProduct,    foldFrameAddress, foldUniformBase,
      foldSharedOffset,   foldTensorOffset,    contractProducts,   foldSigns,        foldConstantIndex,
      pairProducts,       combineCarryPair,    foldHalves,         foldSaturation,   foldProductOfNumbers};
  return optimize(function, context, kRules);
}

/// Phase 37, and again as 46 on the words of 64-bit arithmetic, 58 and 65: the same as phase 29, and operations are
/// combined.
bool generalOptimizeMid(ori::Function& function, PhaseContext& context) {
  static constexpr RuleTable kRules{
      simplifyPhi,     propagateCopies,    propagateConstantLoad, foldConstants,   foldComparison, foldLongComparison,
      foldBitTest,     reassociateLongSum, narrowWideProduct,     simplifyAlgebra, dropMasks,      ignoreUnusedBits,
      dropIdentity,    combinePredicates,  foldShiftedAddress,    foldWideAddress, foldOffset,     foldFrameAddress,
      foldUniformBase, foldSharedOffset,   foldTensorOffset,      foldCarries,     combineShifts,  combineLongSums,
      permuteBytes,    combineSums,        combineLogic,          combineTest,     foldSigns,      foldConstantIndex,
      foldHalves,      foldSaturation,     combineRounding};
  const bool isNarrowed = narrowLongValues(function);
  return optimize(function, context, kRules) || isNarrowed;
}

/// Phase 49. Removes computations that a dominating instruction already makes, while registers last
/// (optimize/shared_pressure.h). Also removes loads of values that are in a register (share_loads.h) and of values that
/// are unused (narrow_loads.h).
bool gvnCse(ori::Function& function, PhaseContext& context) {
  const bool isShared = shareConstants(function, context);
  const bool isNumbered = numberValues(function, &context);
  const bool isLoadShared = shareLoads(function, context);
  return narrowLoads(function, context) || isLoadShared || isNumbered || isShared;
}

/// Phase 64. Phase 49 again, for equal computations on the two sides of branches that have been removed.
bool lateOriCommoning(ori::Function& function, PhaseContext& context) {
  const bool isNumbered = numberValues(function, &context);
  const bool isLoadShared = shareLoads(function, context);
  return narrowLoads(function, context) || isLoadShared || isNumbered;
}

} // namespace orias::phases
