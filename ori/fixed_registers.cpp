#include "ori/fixed_registers.h"

namespace orias::ori {

/// The identity of a thread and the windows of shared and local memory are constant: SR_LANEID, SR_TID.*, SR_CTAID.*,
/// SR_LWINHI, SR_SWINHI, SR_EQMASK to SR_GEMASK.
bool isFixedSpecialRead(const Instr& instr) {
  if (instr.op != Op::S2R || !instr.op_(1).isImm()) return false;
  const int number = instr.op_(1).imm;
  return number == 0 || (number >= 33 && number <= 35) || (number >= 37 && number <= 39) || number == 46 ||
         number == 47 || (number >= 56 && number <= 60);
}

} // namespace orias::ori
