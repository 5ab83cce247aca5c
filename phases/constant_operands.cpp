#include "phases/constant_operands.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"

#include <algorithm>

namespace orias::phases {

namespace {

using isa::Op;
using isa::Operand;

void load(ori::Builder& b, const Operand& to, const Operand& from) {
  constexpr std::int32_t kWordBytes = 4;
  const unsigned width = std::max<unsigned>(to.width, 1);
  for (unsigned at = 0; at < width;) {
    const std::int32_t offset = from.imm + kWordBytes * static_cast<std::int32_t>(at);
    const unsigned words = at + 2 <= width && offset % (2 * kWordBytes) == 0 ? 2 : 1;
    b.emit(Op::LDC,
           {ori::component(to, at, words), Operand::immediate(from.bank), Operand::rz(), Operand::immediate(offset)},
           {{isa::Mod::Size, words == 2 ? isa::MemSize::B64 : isa::MemSize::B32}});
    at += words;
  }
}

} // namespace

bool loadConstantOperands(ori::Function& function) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    for (ori::Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      if (isa::desc(instr->op).has(isa::Flag::ConstLoad)) continue;
      for (unsigned i = 0; i < instr->operandCount; ++i) {
        const Operand from = instr->op_(i).value();
        if (!from.isConst()) continue;
        changed = true;
        ori::Builder b = ori::Builder::before(function, instr);
        b.setSource(instr->source);
        if (instr->op == Op::COPY && instr->op_(0).isReg(isa::File::R) && !from.neg() && !from.abs()) {
          b.setGuard(instr->guard().value());
          load(b, instr->op_(0).value(), from);
          function.erase(instr);
          break;
        }
        Operand loaded = b.newR(std::max<unsigned>(isa::operandWidth(instr->op, instr->mods, i), 1));
        load(b, loaded, from);
        loaded.flags |= from.flags & (Operand::kNeg | Operand::kAbs | Operand::kNot);
        loaded.half = from.half;
        function.setOperand(instr, i, loaded);
      }
    }
  return changed;
}

} // namespace orias::phases
