#include "encoder/isa/imad_alias.h"

#include <bit>

namespace orias::isa {

std::string_view aliasName(const Inst& inst) {
  if (desc(inst.op).alias != Alias::Imad) return {};
  const Operand &a = inst.operands[1], &b = inst.operands[2], &c = inst.operands[3];
  if (a.isZeroReg() && b.isZeroReg() && !c.isReg(File::UR)) return ".MOV";
  if (b.isImm() && c.isZeroReg() && !c.neg() && std::has_single_bit(static_cast<std::uint32_t>(b.imm)) && b.imm != 1)
    return ".SHL";
  if (b.isImm() && b.imm == 1) return ".IADD";
  return {};
}

} // namespace orias::isa
