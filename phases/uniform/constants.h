#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

namespace orias::phases {

/// From the chips with clusters on, ptxas lets no vector instruction read a constant bank, but loads the constant into
/// a uniform register (observed); on earlier ones it reads the bank. Knob UniformRegForConstants has the last word.
bool readsConstantsFromUniform(const PhaseContext& context);

/// Operands in constant banks of instructions that stay on the vector datapath become uniform registers, which ULDC
/// fills once: in a block that dominates all readers, that the warp runs together, and outside loops where there is
/// one. Neighbouring words that are both read come with one ULDC.64, which also replaces loads that are there already.
/// Those that are read most go first, as long as the uniform registers last; the others stay as they are. Returns how
/// many operands changed.
///
/// The loads may run where the program would not have read: constants never fault and do not change.
unsigned moveConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases
