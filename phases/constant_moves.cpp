#include "phases/constant_moves.h"

#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"

namespace orias::phases {

using isa::Capability;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr std::int32_t kWordBytes = 4;

/// The first word that a load of one or two words brings, as an operand; nothing when an index or a part of a word is
/// in play.
std::optional<Operand> placeOf(const Instr& load) {
  const ori::Operand &bank = load.op_(1), &index = load.op_(2), &offset = load.op_(3);
  const auto size = isa::modAs<isa::MemSize>(load, isa::Mod::Size);
  if ((size != isa::MemSize::B32 && size != isa::MemSize::B64) || !load.op_(0).isVirtual()) return std::nullopt;
  if (!bank.isImm() || !offset.isImm() || !(index.isNone() || index.isZeroReg())) return std::nullopt;
  if (offset.imm < 0 || offset.imm % kWordBytes != 0) return std::nullopt;
  return Operand::constant(static_cast<unsigned>(bank.imm), offset.imm);
}

} // namespace

bool moveConstants(ori::Function& function) {
  const isa::Target& target = function.module().target();
  if (target.has(Capability::UniformConstants) || target.has(Capability::LoadsConstants)) return false;
  bool changed = false;
  for (ori::Block* block : function.layout())
    for (Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      const std::optional<Operand> place = instr->op == Op::LDC ? placeOf(*instr) : std::nullopt;
      if (!place) continue;
      const Operand result = instr->op_(0).value();
      ori::Builder b = ori::Builder::before(function, instr);
      b.setSource(instr->source);
      b.setGuard(instr->guard().value());
      for (unsigned word = 0; word < result.width; ++word) {
        Operand from = *place;
        from.imm += kWordBytes * static_cast<std::int32_t>(word);
        b.emit(Op::MOV, {ori::component(result, word), from});
      }
      function.erase(instr);
      changed = true;
    }
  return changed;
}

} // namespace orias::phases
