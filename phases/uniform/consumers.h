#pragma once

#include "ori/function.h"

#include <array>
#include <vector>

namespace orias::phases {

/// Whether the instruction is an R2UR that only copies a register that is uniform over the lanes. When its source moves
/// to the uniform file, it becomes a copy, without a guard: its result is unused where the guard is false.
bool isBroadcast(const ori::Function& function, const ori::Instr& instr);

/// Operands by slot. Up to the operand count of machine instructions, they need no allocation.
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
  std::vector<isa::Operand> many_; ///< all of them, if there are more
};

/// A tentatively changed instruction.
struct InstrDraft {
  explicit InstrDraft(const ori::Instr& instr);

  isa::Op op;
  std::array<std::uint8_t, isa::kMaxMods> mods;
  OperandList operands;
};

/// Puts the uniform register `value` where `slot` reads a register, if some form of the instruction accepts it:
/// directly, with two sources swapped (and the comparison, table or predicate adapted), or as the uniform part of an
/// address. Otherwise returns false and does not change the draft. `value` has the modifiers (negation ...) of the
/// operand that it replaces. Operands of the draft may be swapped afterwards.
bool placeUniform(InstrDraft& draft, unsigned slot, const isa::Operand& value);

/// The same for the first source of the draft that is the register operand `old`, in any operand slot.
bool placeInstead(InstrDraft& draft, const isa::Operand& old, const isa::Operand& value);

/// Changes the instruction to the draft.
void commit(ori::Function& function, ori::Instr& instr, const InstrDraft& draft);

} // namespace orias::phases
