#include "phases/constant_moves.h"

#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "phases/optimize/known_bits.h"

namespace orias::phases {

using isa::Capability;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr std::int32_t kWordBytes = 4;

} // namespace

bool moveConstants(ori::Function& function) {
  const isa::Target& target = function.module().target();
  if (target.has(Capability::UniformConstants) || target.has(Capability::LoadsConstants)) return false;
  bool changed = false;
  for (ori::Block* block : function.layout())
    for (Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      const std::optional<Operand> place = loadedConstant(*instr);
      if (!place || place->imm < 0 || !instr->op_(0).isVirtual()) continue;
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
