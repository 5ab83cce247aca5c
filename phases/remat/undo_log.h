#pragma once

#include "ori/function.h"

#include <functional>
#include <unordered_map>
#include <vector>

namespace orias::phases {

/// Records changes of instructions, to revert them together.
class UndoLog {
 public:
  explicit UndoLog(ori::Function& function) : function_(function) {}

  /// Records an inserted instruction.
  void inserted(ori::Instr* instr);
  /// Records an operand before it changes; `slot` counts from 0, -1 is the guard.
  void changes(ori::Instr* instr, int slot);
  /// Records an instruction before it is erased.
  void erases(ori::Instr& instr);
  std::size_t mark() const { return entries_.size(); }
  /// Reverts everything since the mark, the latest first. Calls `note` for each instruction before and after it
  /// changes.
  void undo(std::size_t mark = 0, const std::function<void(const ori::Instr&)>& note = {});

  /// The new instruction for an erased one that was restored.
  ori::Instr* now(ori::Instr* instr) const;

 private:
  struct Entry {
    enum class Kind : std::uint8_t { Inserted, Changed, Erased } kind;
    ori::Instr* instr = nullptr;
    int slot = 0;
    ori::ChangeId lastChange = 0; ///< a phase whose changes are all reverted has not changed the instruction
    isa::Operand old;             ///< the old operand; for an erased instruction, its guard
    std::vector<isa::Operand> operands;
    ori::Instr* next = nullptr; ///< the next instruction; null at the end of `block`
    ori::Block* block = nullptr;
  };

  ori::Function& function_;
  std::vector<Entry> entries_;
  /// An erased instruction is restored as a new one; older entries refer to the old one.
  std::unordered_map<const ori::Instr*, ori::Instr*> returned_;
};

} // namespace orias::phases
