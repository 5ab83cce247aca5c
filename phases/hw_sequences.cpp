#include "phases/hw_sequences.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/memory_access.h"

namespace orias::phases {

using isa::LatencyClass;
using isa::Op;
using isa::Operand;

namespace {

void idleBefore(ori::Function& function, ori::Instr* instr, unsigned loads) {
  for (unsigned k = 0; k < loads; ++k) {
    ori::Builder builder = ori::Builder::before(function, instr);
    builder.setSource(instr->source);
    builder.setGuard(Operand::pt().notted());
    builder.emit(Op::LDS, {Operand::rz(), Operand::rz(), Operand(), Operand::immediate(0)});
  }
}

/// How many idle loads an instruction needs after the last access to shared memory.
unsigned idleLoadsFor(const ori::Instr& instr) {
  constexpr unsigned kCopy = 3, kFence = 4;
  switch (instr.op) {
  case Op::LDGSTS: return kCopy;
  case Op::MEMBAR:
  case Op::ARRIVES_LDGSTSBAR: return kFence;
  default: return 0;
  }
}

/// Whether later instructions need idle loads: a barrier, or an access that may be to shared memory.
bool needsIdleLoadsAfter(const ori::Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  switch (row.latencyClass) {
  case LatencyClass::Barrier:
  case LatencyClass::Branch:
  case LatencyClass::Cbu: return true;
  case LatencyClass::Syncs: return false;
  default: break;
  }
  using Space = MemoryAccess::Space;
  const bool isAccess = row.has(isa::Flag::Load) || row.has(isa::Flag::Store) || row.has(isa::Flag::Atomic);
  return isAccess && mayCoincide(accessOf(instr).space, Space::Shared);
}

} // namespace

bool dropRegisterMarks(ori::Function& function) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](ori::Instr& instr) {
      if (instr.op != Op::KEEP && instr.op != Op::CONV_ALLOC) return;
      function.erase(&instr);
      changed = true;
    });
  return changed;
}

bool insertIdleLoads(ori::Function& function) {
  if (!function.everHad(Op::LDGSTS)) return false;
  bool hasCopies = false;
  for (ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      hasCopies |= instr.op == Op::LDGSTS;
  if (!hasCopies) return false;
  bool changed = false;
  for (ori::Block* block : function.layout()) {
    unsigned idle = 0;
    for (ori::Instr* instr = block->first; instr; instr = instr->next) {
      const unsigned needed = idleLoadsFor(*instr);
      if (needed == 0) {
        if (needsIdleLoadsAfter(*instr)) idle = 0;
      } else if (idle < needed) {
        idleBefore(function, instr, needed - idle);
        idle = needed;
        changed = true;
      }
    }
  }
  return changed;
}

} // namespace orias::phases
