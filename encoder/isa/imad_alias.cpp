#include "encoder/isa/imad_alias.h"

#include <bit>

namespace orias::isa {

std::string_view aliasName(const Inst& inst) {
  if (desc(inst.op).alias != Alias::Imad) return {};
  const Operand &a = inst.operands[1], &b = inst.operands[2], &c = inst.operands[3];
  // Observed: forms with a uniform register, also as that of a bindless bank, keep their plain name.
  const auto isUniform = [](const Operand& o) {
    return o.isReg(File::UR) || (o.kind == Operand::Kind::Const && o.reg != Operand::kNoReg);
  };
  if (isUniform(b) || isUniform(c)) return {};
  if (a.isZeroReg() || b.isZeroReg()) return ".MOV";
  if (!b.isImm()) return {};
  const auto factor = static_cast<std::uint32_t>(b.imm);
  if (factor == 0) return ".MOV";
  if (factor == 1) return c.isZeroReg() ? ".MOV" : ".IADD";
  // Observed: shifts by 16 or 31 are not printed as .SHL.
  const bool isShift = std::has_single_bit(factor) && factor != 0x10000 && factor != 0x80000000;
  return isShift && c.isZeroReg() ? ".SHL" : "";
}

bool isAliasName(std::string_view part) {
  return part == "MOV" || part == "SHL" || part == "IADD";
}

} // namespace orias::isa
