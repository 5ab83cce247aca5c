#pragma once

#include "ori/function.h"

#include <array>
#include <vector>

namespace orias::phases {

/// An R2UR that takes a register which all lanes agree on to the uniform file, and does nothing else. When its source
/// moves there, it becomes a copy, without a guard: nobody reads what it writes where the guard is false.
bool isBroadcast(const ori::Function& function, const ori::Instr& instr);

/// Operands in the order of slots. Those of machine instructions need no memory of their own.
class OperandList {
 public:
  void push_back(const isa::Operand& operand) {
    if (size_ == few_.size() && many_.empty()) many_.assign(few_.begin(), few_.end());
    if (size_ < few_.size())
      few_[size_] = operand;
    else
      many_.push_back(operand);
    ++size_;
  }
  std::size_t size() const { return size_; }
  isa::Operand* begin() { return many_.empty() ? few_.data() : many_.data(); }
  const isa::Operand* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  isa::Operand* end() { return begin() + size_; }
  const isa::Operand* end() const { return begin() + size_; }
  isa::Operand& operator[](std::size_t i) { return begin()[i]; }
  const isa::Operand& operator[](std::size_t i) const { return begin()[i]; }

 private:
  std::size_t size_ = 0;
  std::array<isa::Operand, isa::kMaxOperands> few_;
  std::vector<isa::Operand> many_; ///< all of them, when they are more
};

/// An instruction that is being changed on paper.
struct InstrDraft {
  explicit InstrDraft(const ori::Instr& instr);

  isa::Op op;
  std::array<std::uint8_t, isa::kMaxMods> mods;
  OperandList operands;
};

/// Puts the uniform register `value` where `slot` reads a register, if some form of the instruction takes it there: as
/// it is, with two sources swapped (and the comparison, table or predicate turned around with them), or as the uniform
/// part of an address. Leaves the draft alone and returns false otherwise. `value` has the modifiers (negation ...)
/// of the operand that it replaces. Operands of the draft may be swapped afterwards.
bool placeUniform(InstrDraft& draft, unsigned slot, const isa::Operand& value);

/// The same for the first source of the draft that is the register operand `old`, in any operand slot.
bool placeInstead(InstrDraft& draft, const isa::Operand& old, const isa::Operand& value);

/// Makes the instruction what the draft says.
void commit(ori::Function& function, ori::Instr& instr, const InstrDraft& draft);

} // namespace orias::phases
