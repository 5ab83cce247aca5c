#include "phases/optimize/rewriter.h"
#include "phases/phases.h"

#include <array>

namespace orias::phases {

namespace {

bool optimize(ori::Function& function, const PhaseContext& context, std::span<const Rewriter::Rule> rules) {
  return Rewriter(function).run(rules, context.knobs.get(Knob::GeneralOptimizeMaxRounds));
}

} // namespace

/// Phase 29. Copies, constants, simplification and addresses, while 64-bit arithmetic is still whole. Loads of
/// constants stay as they are: a pointer in a pair of registers is what a multiplication wants to add to.
bool generalOptimize(ori::Function& function, PhaseContext& context) {
  static constexpr std::array<Rewriter::Rule, 7> kRules{
      simplifyPhi, propagateCopies, foldConstants, simplifyAlgebra, foldWideAddress, foldOffset, foldUniformBase};
  return optimize(function, context, kRules);
}

/// Phase 37, and again as 46 on the words of 64-bit arithmetic, 58 and 65: the same, and operations are combined.
bool generalOptimizeMid(ori::Function& function, PhaseContext& context) {
  static constexpr std::array<Rewriter::Rule, 10> kRules{
      simplifyPhi,     propagateCopies, propagateConstantLoad, foldConstants, simplifyAlgebra,
      foldWideAddress, foldOffset,      foldUniformBase,       combineSums,   combineLogic};
  return optimize(function, context, kRules);
}

/// Phase 49. What has been computed before, by a dominating instruction, is not computed again.
bool gvnCse(ori::Function& function, PhaseContext&) {
  return numberValues(function);
}

} // namespace orias::phases
