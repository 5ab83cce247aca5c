#pragma once

#include "ori/function.h"

#include <functional>
#include <unordered_map>
#include <vector>

namespace orias::phases {

/// Remembers changes of instructions, to take them back together.
class UndoLog {
 public:
  explicit UndoLog(ori::Function& function) : function_(function) {}

  /// An instruction has been put in.
  void inserted(ori::Instr* instr);
  /// An operand is about to change; `slot` counts from 0, -1 is the guard.
  void changes(ori::Instr* instr, int slot);
  /// An instruction is about to be erased.
  void erases(ori::Instr& instr);
  std::size_t mark() const { return entries_.size(); }
  /// Takes back everything since the mark, the latest first. Calls `note` for each instruction before and after it
  /// changes.
  void undo(std::size_t mark = 0, const std::function<void(const ori::Instr&)>& note = {});

  /// The new instruction for an erased one that was restored.
  ori::Instr* now(ori::Instr* instr) const;

 private:
  struct Entry {
    enum class Kind : std::uint8_t { Inserted, Changed, Erased } kind;
    ori::Instr* instr = nullptr;
    int slot = 0;
    isa::Operand old; ///< of what has changed; the guard of what has been erased
    std::vector<isa::Operand> operands;
    ori::Instr* next = nullptr; ///< the next instruction; null at the end of `block`
    ori::Block* block = nullptr;
  };

  ori::Function& function_;
  std::vector<Entry> entries_;
  /// What had been erased comes back as another instruction, which older entries name by the old one.
  std::unordered_map<const ori::Instr*, ori::Instr*> returned_;
};

} // namespace orias::phases
