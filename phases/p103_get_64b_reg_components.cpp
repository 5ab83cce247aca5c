#include "encoder/code.h"
#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/hw_sequences.h"
#include "phases/phases.h"
#include "phases/pipe_balance.h"
#include "support/check.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Operand;

namespace {

/// One 32-bit move (or one predicate).
ori::Instr* emitMove(ori::Builder& b, const Operand& to, const Operand& from) {
  if (to.isZeroReg()) return nullptr;
  switch (to.file) {
  case File::R: return b.emit(isa::Op::MOV, {to, from});
  case File::UR:
    if (from.isReg(File::R)) return b.emit(isa::Op::R2UR, {Operand::pt(), to, from});
    return b.emit(isa::Op::UMOV, {to, from});
  case File::UP:
    return b.emit(isa::Op::UPLOP3, {to, Operand::zero(File::UP), Operand::zero(File::UP), Operand::zero(File::UP), from,
                                    Operand::immediate(0xaa), Operand::immediate(0)});
  case File::P:
    // PT & PT & from: 0xaa is the truth table of the third input.
    return b.emit(
        from.isReg(File::UP) ? isa::Op::PLOP3_U : isa::Op::PLOP3,
        {to, Operand::pt(), Operand::pt(), Operand::pt(), from, Operand::immediate(0xaa), Operand::immediate(0)});
  default: ORIAS_UNREACHABLE("a copy of this register file");
  }
}

/// The special register that reads as zero.
constexpr std::int32_t kZeroSpecial = 255;

bool isZeroMove(const ori::Instr& instr) {
  if (instr.op != isa::Op::MOV || instr.isGuarded()) return false;
  const Operand &to = instr.op_(0), &from = instr.op_(1);
  return to.isReg(File::R) && !to.isVirtual() && !to.isZeroReg() &&
         (from.isZeroReg() || (from.isImm() && from.imm == 0));
}

/// Replaces zeroing of both registers of an aligned pair by one CS2R from the zero special register, at the second one,
/// if the first is not accessed in between.
bool pairZeros(ori::Function& function, ori::Block& block) {
  std::array<ori::Instr*, isa::kRZ + 1> waiting{}; // by register: the move that zeroed it, with no access since
  bool changed = false;
  function.forEachSafe(block, [&](ori::Instr& instr) {
    if (isZeroMove(instr)) {
      const std::uint32_t number = instr.op_(0).reg, other = number ^ 1;
      waiting[number] = &instr;
      if (!waiting[other] || other == isa::kRZ) return;
      function.erase(waiting[other]);
      const Operand pair = Operand::physical(File::R, number & ~1u, 2);
      const Operand operands[] = {pair, Operand::immediate(kZeroSpecial)};
      function.rewrite(&instr, isa::Op::CS2R, operands);
      isa::setMod(instr.op, instr.mods, {isa::Mod::Size, 1});
      waiting[number] = waiting[other] = nullptr;
      changed = true;
      return;
    }
    const isa::InstrDesc& row = isa::desc(instr.op);
    // Calls and similar instructions access registers that are not operands.
    if (row.has(isa::Flag::Branch) || row.has(isa::Flag::Variadic) || row.has(isa::Flag::Fence)) waiting.fill(nullptr);
    for (const ori::Operand& o : instr.ops())
      if (o.isReg(File::R) && !o.isZeroReg())
        for (std::uint32_t k = 0; k < o.width && o.reg + k < waiting.size(); ++k)
          waiting[o.reg + k] = nullptr;
  });
  return changed;
}

} // namespace

/// Phase 103. After allocation, expands copies of pairs and quads into moves of their 32-bit components, ordered so
/// that nothing is overwritten before it is read. Deletes copies of a register onto itself, unless a debugger needs the
/// registers of the program's variables (such a copy gives a value another name). Zeroing both halves of a pair becomes
/// one instruction. Marks of registers in use are deleted. As all instructions are known then, moves are balanced
/// between the integer pipe and the multiplier.
bool get64bRegComponents(ori::Function& function, PhaseContext& context) {
  bool changed = false;
  std::unordered_multimap<ori::InstrId, ori::DebugDef*> named;
  for (ori::DebugDef& write : context.code.debugDefs)
    named.emplace(write.instr, &write);
  for (ori::Block* block : function.layout())
    for (ori::Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      if (instr->op != isa::Op::COPY) continue;
      const Operand to = instr->op_(0).value(), from = instr->op_(1).value();
      const bool same =
          to.isReg() && from.isReg() && to.file == from.file && to.reg == from.reg && !from.inverted() && !from.neg();
      if (!same || context.code.wantDebugDefs) {
        ori::Builder b = ori::Builder::before(function, instr);
        b.setGuard(instr->guard().value());
        // An overlapping range that moves up must be copied from its end.
        const bool upwards = to.isReg() && from.isReg() && to.file == from.file && to.reg > from.reg;
        for (unsigned i = 0; i < to.width; ++i) {
          const unsigned at = upwards ? to.width - 1 - i : i;
          const ori::Instr* move = emitMove(b, ori::component(to, at), ori::component(from, at));
          const auto [first, last] = named.equal_range(instr->id);
          for (auto write = first; move != nullptr && write != last; ++write)
            if (write->second->file == to.file && write->second->reg == to.reg + at) write->second->instr = move->id;
        }
      }
      function.erase(instr);
      changed = true;
    }
  if (context.optLevel > 0)
    for (ori::Block* block : function.layout())
      changed |= pairZeros(function, *block);
  changed |= dropRegisterMarks(function);
  if (context.optLevel > 0 && context.knobs.enabled(Knob::LateArchBalancePipes))
    changed |= balancePipes(function, context);
  return changed;
}

} // namespace orias::phases
