#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

namespace orias::phases {

/// On targets with clusters, ptxas lets no vector instruction read a constant bank, but loads the constant into
/// a uniform register (observed); on earlier ones it reads the bank. Knob UniformRegForConstants overrides the default.
bool readsConstantsFromUniform(const PhaseContext& context);

/// Operands in constant banks of instructions that stay on the vector datapath become uniform registers, which ULDC
/// fills once: in a convergent block that dominates all uses, outside loops if there is one.
/// Adjacent words that are both used are loaded by one ULDC.64, which also replaces existing loads.
/// Those that are read most go first, as long as the uniform registers last; the others stay as they are. Returns how
/// many operands changed.
///
/// The loads may be speculative: constants never fault and do not change.
unsigned moveConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases
