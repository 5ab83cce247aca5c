#include "phases/control_info.h"
#include "phases/hw_sequences.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 116, at -O0. Every instruction waits for all earlier ones: the conservative variant of phase 115.
bool processO0WaitsAndSBs(ori::Function& function, PhaseContext&) {
  ControlOptions options;
  options.isSerial = true;
  insertIdleLoads(function);
  assignControlInfo(function, options);
  return true;
}

} // namespace orias::phases
