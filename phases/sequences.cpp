#include "phases/sequences.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/memory_access.h"

namespace orias::phases {

using isa::LatencyClass;
using isa::Op;
using isa::Operand;

namespace {

void idleBefore(ori::Function& function, ori::Instr* copy) {
  constexpr unsigned kLoads = 3;
  for (unsigned k = 0; k < kLoads; ++k) {
    ori::Builder builder = ori::Builder::before(function, copy);
    builder.setSource(copy->source);
    builder.setGuard(Operand::pt().notted());
    builder.emit(Op::LDS, {Operand::rz(), Operand::rz(), Operand(), Operand::immediate(0)});
  }
}

/// Whether a copy that follows needs idle loads: a barrier, or an access that may be to shared memory.
bool endsCopies(const ori::Instr& instr) {
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
  const Space space = isAccess ? accessOf(instr).space : Space::Global;
  return space == Space::Shared || space == Space::Generic;
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
  bool changed = false;
  for (ori::Block* block : function.layout()) {
    bool needsIdle = true;
    for (ori::Instr* instr = block->first; instr; instr = instr->next) {
      if (instr->op != Op::LDGSTS) {
        needsIdle |= endsCopies(*instr);
        continue;
      }
      if (needsIdle) idleBefore(function, instr);
      changed |= needsIdle;
      needsIdle = false;
    }
  }
  return changed;
}

} // namespace orias::phases
