#include "ori/analysis/analyses.h"
#include "phases/phases.h"

#include <fmt/format.h>

namespace orias::phases {

/// Phase 96. With knob ExtraMachineinstrPrinter, prints the peak register pressure, the size of the function, and the
/// live-in registers of each block. The peak is a remark, too. Changes nothing.
bool reportBeforeScheduling(ori::Function& function, PhaseContext& context) {
  const bool isPrinted = context.dump && context.knobs.enabled(Knob::ExtraMachineinstrPrinter);
  if (!isPrinted && !context.remarks.wanted()) return false;
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::RegisterPressure& pressure = function.analyses().pressure();
  if (isPrinted)
    *context.dump += fmt::format("// {}\n{}", function.name(), ori::renderPressure(function, pressure, cfg));
  const auto live = pressure.maximum()[static_cast<std::size_t>(isa::File::R)];
  context.remarks.applied(
      nullptr,
      fmt::format("Max Live RRegs: {}, PRegs: {}", live, pressure.maximum()[static_cast<std::size_t>(isa::File::P)]),
      static_cast<std::int64_t>(live));
  return false;
}

} // namespace orias::phases
