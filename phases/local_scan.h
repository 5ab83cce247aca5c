#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Whether two operands overlap in a virtual register.
inline bool overlap(const isa::Operand& a, const isa::Operand& b) {
  return a.isVirtual() && b.isVirtual() && a.reg == b.reg && a.sub < b.sub + b.width && b.sub < a.sub + a.width;
}

/// Whether the guard or a source uses a component of `reg`.
inline bool reads(const ori::Instr& instr, const isa::Operand& reg) {
  for (const ori::Operand& o : instr.refs())
    if (o.reg == reg.reg && !o.isDef && overlap(o.value(), reg)) return true;
  return false;
}

/// Whether the instruction defines, or may define, a component of `reg`.
inline bool writes(const ori::Instr& instr, const isa::Operand& reg) {
  for (const ori::Operand& o : instr.ops())
    if (o.reg == reg.reg && o.isDef && overlap(o.value(), reg)) return true;
  return false;
}

/// A virtual register of a file without modifiers such as a sign or a half.
inline bool isPlainRegister(const isa::Operand& o, isa::File file) {
  return o.isReg(file) && o.isVirtual() && !o.isZeroReg() &&
         (o.flags & ~isa::Operand::kLastUse) == isa::Operand::kVirtual && o.half == isa::Operand::Half::None;
}
/// The same for the files with a value per lane.
inline bool isPlainRegister(const isa::Operand& o) {
  return isPlainRegister(o, isa::File::R) || isPlainRegister(o, isa::File::P);
}

/// Whether the first instruction is before the second in the same block, or is the same.
inline bool isBefore(const ori::Instr& first, const ori::Instr& second) {
  if (first.block != second.block) return false;
  const ori::Instr* at = &second;
  while (at && at != &first)
    at = at->prev;
  return at != nullptr;
}

/// Registers of a wide operand are consecutive and aligned to their count.
inline bool isAlignedPart(const ori::Function& function, const isa::Operand& o) {
  const unsigned align = ori::defaultAlign(o.width);
  return o.sub % align == 0 && function.vreg(o.reg).align % align == 0;
}

/// Whether two instructions are the same operation on the same values, with results of the same shape.
bool isSameOperation(const ori::Function& function, const ori::Instr& a, const ori::Instr& b);

/// Whether the instruction, which is earlier in the block, would have the same result right before `at`: nothing in
/// between writes its sources. False if more than `mostInstructions` are in between.
bool hasSameResultAt(const ori::Instr& instr, const ori::Instr& at, unsigned mostInstructions);

/// The number of operands that refer to the register; stops at `most` + 1.
std::size_t countRefs(const ori::Function& function, const isa::Operand& reg, std::size_t most);

} // namespace orias::phases
