#include "phases/speculation.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "phases/expansion.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Op;

namespace {

bool hasAny(const isa::InstrDesc& row, std::initializer_list<Flag> flags) {
  return std::any_of(flags.begin(), flags.end(), [&](Flag flag) { return row.has(flag); });
}

} // namespace

bool readsUniformOfLoop(const ori::Function& function, const ori::Loops& loops, const ori::Instr& instr) {
  return std::ranges::any_of(instr.ops(), [&](const ori::Operand& o) {
    if (o.isDef || !o.isVirtual() || (o.file != isa::File::UR && o.file != isa::File::UP)) return false;
    bool isOfLoop = false;
    function.forEachDef(o.reg, [&](ori::Ref def) { isOfLoop |= loops.depth(def.owner->block->id) > 0; });
    return isOfLoop;
  });
}

bool isSafeConstantLoad(const ori::Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(Flag::Copy)) return instr.op_(1).isConst() && instr.op_(1).reg == isa::Operand::kNoReg;
  if (instr.op != Op::LDC) return false;
  const ori::Operand &bank = instr.op_(1), &index = instr.op_(2), &offset = instr.op_(3);
  return bank.isImm() && (index.isNone() || index.isZeroReg()) && (offset.isImm() || offset.isNone());
}

namespace {

/// Ignores the guard; `mayWrite` says which registers the instruction may write.
template <typename MayWrite> Speculation speculationUnguarded(const ori::Instr& instr, MayWrite&& mayWrite) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (instr.op == Op::PHI || isExactMacro(instr)) return Speculation::Never;
  if (hasAny(row, {Flag::Terminator, Flag::Branch, Flag::Fence, Flag::Convergent, Flag::WarpWide, Flag::Volatile,
                   Flag::Uniform, Flag::UniformGuard}))
    return Speculation::Never;
  if (row.pipe == isa::Pipe::Mma || row.pipe == isa::Pipe::Tex) return Speculation::Never;
  for (const ori::Operand& o : instr.ops()) {
    if (!o.isReg() || !o.isDef || o.isZeroReg()) continue;
    if (!o.isVirtual() || (o.file != File::R && o.file != File::P) || !mayWrite(o)) return Speculation::Never;
  }
  if (hasAny(row, {Flag::Load, Flag::Store, Flag::Atomic})) return Speculation::Guarded;
  if (row.has(Flag::SideEffect)) return Speculation::Never;
  if (row.has(Flag::ConstLoad)) return isSafeConstantLoad(instr) ? Speculation::Free : Speculation::Guarded;
  for (const ori::Operand& o : instr.ops())
    if (o.isConst() && o.reg != isa::Operand::kNoReg) return Speculation::Never; // bindless: the index is in a UR
  return Speculation::Free;
}

} // namespace

Speculation speculationOf(const ori::Function& function, const ori::Instr& instr) {
  if (instr.isGuarded()) return Speculation::Never;
  return speculationUnguarded(instr, [&](const ori::Operand& o) { return !function.vreg(o.reg).multiDef; });
}

bool mayRunInAllLanes(const ori::Instr& instr) {
  return speculationUnguarded(instr, [](const ori::Operand&) { return true; }) == Speculation::Free;
}

unsigned issueSlots(const isa::Target& target, const ori::Instr& instr) {
  if (instr.op == Op::UNDEF || instr.op == Op::PHI) return 0;
  return std::clamp(target.issueCycles(isa::latencyClassOf(instr.op, instr.mods)) / 2, 1u, 4u);
}

} // namespace orias::phases
