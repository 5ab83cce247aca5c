#pragma once

#include "ori/function.h"

namespace orias::ori {

/// Creates instructions at an insertion point: the end of a block, or before an instruction.
class Builder {
 public:
  explicit Builder(Function& function) : function_(&function) {}
  Builder(Function& function, Block* atEnd) : function_(&function), block_(atEnd) {}
  static Builder before(Function& function, Instr* where);
  static Builder after(Function& function, Instr* where);

  void setBlock(Block* atEnd) {
    block_ = atEnd;
    before_ = nullptr;
  }
  void setSource(Source source) { source_ = source; }
  /// Sets the guard of all instructions that are emitted from now on; PT: none.
  void setGuard(isa::Operand guard) { guard_ = guard; }
  isa::Operand guard() const { return guard_; }
  Function& function() const { return *function_; }
  Block* block() const { return block_; }

  /// Emits an instruction: emit(Op::ISETP, {...}, {{Mod::Cmp, Cmp::LT}, {Mod::Signed, Signed::U32}}). Modifiers that
  /// are not given, and operands that are left out at the end, have the defaults of the table row. A modifier that the
  /// row does not have is an internal error.
  Instr* emit(Op op, std::initializer_list<isa::Operand> operands, std::initializer_list<isa::ModValue> mods = {});
  Instr* emit(Op op, std::span<const isa::Operand> operands, std::span<const isa::ModValue> mods = {});

  /// The pseudo instruction COPY: any file, any width.
  Instr* copy(const isa::Operand& to, const isa::Operand& from);
  /// An unconditional BRA.
  Instr* branch(const Block* target);

  isa::Operand newR(unsigned width = 1) { return function_->use(function_->newVReg(File::R, width)); }
  isa::Operand newP() { return function_->use(function_->newVReg(File::P)); }
  isa::Operand newUR(unsigned width = 1) { return function_->use(function_->newVReg(File::UR, width)); }

 private:
  Function* function_;
  Block* block_ = nullptr;
  Instr* before_ = nullptr;
  Source source_;
  isa::Operand guard_ = isa::Operand::pt();
};

/// Components of a register operand: half(o, 0) is the low word of a pair.
inline isa::Operand component(isa::Operand o, unsigned index, unsigned width = 1) {
  if (o.isReg() && o.isVirtual()) {
    o.sub = static_cast<std::uint8_t>(o.sub + index);
    o.width = static_cast<std::uint8_t>(width);
  } else if (o.isReg() && !o.isZeroReg()) {
    o.reg += index;
    o.width = static_cast<std::uint8_t>(width);
  } else if (o.isReg()) {
    o.width = static_cast<std::uint8_t>(width);
  } else if (o.isConst()) {
    o.imm += static_cast<std::int32_t>(4 * index);
    o.width = static_cast<std::uint8_t>(width);
  }
  return o;
}

} // namespace orias::ori
