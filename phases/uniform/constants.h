#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

namespace orias::phases {

/// On targets with clusters, ptxas uses no constant bank operands in vector instructions, but loads the constant into a
/// uniform register (observed); on earlier ones the instruction reads the bank. Knob UniformRegForConstants overrides
/// the default.
bool readsConstantsFromUniform(const PhaseContext& context);

/// Replaces constant bank operands of vector instructions by uniform registers, which ULDC loads once: in a convergent
/// block that dominates all uses, outside loops if there is one. Adjacent words that are both used are loaded by one
/// ULDC.64, which also replaces existing loads. Those with the most readers come first, while uniform registers last;
/// the others are not changed. Returns how many operands changed.
///
/// The loads may be speculative: constants never fault and do not change.
unsigned moveConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases
