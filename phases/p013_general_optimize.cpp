#include "phases/narrow_loads.h"
#include "phases/optimize/rule_table.h"
#include "phases/phases.h"
#include "phases/share_loads.h"

namespace orias::phases {

namespace {

/// Applies the rules, and decides the branches whose conditions they have found. What a branch led to may have been all
/// that kept a value from being known, so both take turns. Code to step through keeps its branches.
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

/// Phase 13. Copies, constants and simplification, at all -O levels and before SSA form: only registers that are
/// written once, in front of all their uses, are looked through.
bool generalOptimizeEarly(ori::Function& function, PhaseContext& context) {
  static constexpr RuleTable kRules{propagateCopies, foldConstants,   foldComparison, foldLongComparison,
                                    foldBitTest,     simplifyAlgebra, dropIdentity};
  return optimize(function, context, kRules);
}

/// Phase 29. Copies, constants, simplification and addresses, while 64-bit arithmetic is still whole; products go into
/// sums. Loads of constants stay as they are: a pointer in a pair of registers is what a multiplication wants to add
/// to, and a fused operation has room for one constant only. The words of a product are paired here, before 37 puts one
/// of them into a sum.
bool generalOptimize(ori::Function& function, PhaseContext& context) {
  static constexpr RuleTable kRules{
      simplifyPhi,        propagateCopies,     foldConstants,      simplifyAlgebra,  foldComparison,
      foldLongComparison, foldBitTest,         reassociateLongSum, dropMasks,        combinePredicates,
      foldShiftedAddress, foldWideAddress,     ignoreUnusedBits,   dropIdentity,     foldOffset,
      separateNumber,     separateShortNumber, separateProduct,    foldFrameAddress, foldUniformBase,
      foldSharedOffset,   foldTensorOffset,    contractProducts,   foldSigns,        foldConstantIndex,
      pairProducts,       combineCarryPair,    foldHalves,         foldSaturation,   foldProductOfNumbers};
  return optimize(function, context, kRules);
}

/// Phase 37, and again as 46 on the words of 64-bit arithmetic, 58 and 65: the same, and operations are combined.
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

/// Phase 49. What has been computed before, by a dominating instruction, is not computed again, as far as registers
/// last (optimize/shared_pressure.h); nor is loaded again what is in a register (share_loads.h), nor what nobody reads
/// (narrow_loads.h).
bool gvnCse(ori::Function& function, PhaseContext& context) {
  const bool isShared = shareConstants(function, context);
  const bool isNumbered = numberValues(function, &context);
  const bool isLoadShared = shareLoads(function, context);
  return narrowLoads(function, context) || isLoadShared || isNumbered || isShared;
}

/// Phase 64. The same again, on what the sides of branches that are gone compute alike.
bool lateOriCommoning(ori::Function& function, PhaseContext& context) {
  const bool isNumbered = numberValues(function, &context);
  const bool isLoadShared = shareLoads(function, context);
  return narrowLoads(function, context) || isLoadShared || isNumbered;
}

} // namespace orias::phases
