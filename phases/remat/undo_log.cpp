#include "phases/remat/undo_log.h"

namespace orias::phases {

using ori::Instr;

void UndoLog::inserted(Instr* instr) {
  entries_.push_back({Entry::Kind::Inserted, instr, 0, 0, {}, {}, nullptr, nullptr});
}

void UndoLog::changes(Instr* instr, int slot) {
  const isa::Operand old = slot < 0 ? instr->guard().value() : instr->op_(static_cast<unsigned>(slot)).value();
  entries_.push_back({Entry::Kind::Changed, instr, slot, instr->lastChange, old, {}, nullptr, nullptr});
}

void UndoLog::erases(Instr& instr) {
  Entry entry{Entry::Kind::Erased, &instr, 0, instr.lastChange, instr.guard().value(), {}, instr.next, instr.block};
  for (const ori::Operand& o : instr.ops())
    entry.operands.push_back(o.value());
  entries_.push_back(std::move(entry));
}

Instr* UndoLog::now(Instr* instr) const {
  for (auto found = returned_.find(instr); found != returned_.end(); found = returned_.find(instr))
    instr = found->second;
  return instr;
}

void UndoLog::undo(std::size_t mark, const std::function<void(const Instr&)>& note) {
  const auto tell = [&](const Instr& instr) {
    if (note) note(instr);
  };
  for (; entries_.size() > mark; entries_.pop_back()) {
    Entry& entry = entries_.back();
    Instr* instr = now(entry.instr);
    switch (entry.kind) {
    case Entry::Kind::Inserted:
      tell(*instr);
      function_.erase(instr);
      break;
    case Entry::Kind::Changed:
      tell(*instr);
      if (entry.slot < 0)
        function_.setGuard(instr, entry.old);
      else
        function_.setOperand(instr, static_cast<unsigned>(entry.slot), entry.old);
      instr->lastChange = entry.lastChange;
      tell(*instr);
      break;
    case Entry::Kind::Erased: {
      Instr* again = function_.create(entry.instr->op, entry.operands, entry.instr->source);
      again->mods = entry.instr->mods;
      again->control = entry.instr->control;
      again->mayContract = entry.instr->mayContract;
      again->createdBy = entry.instr->createdBy;
      if (entry.next)
        function_.insertBefore(now(entry.next), again);
      else
        function_.append(entry.block, again);
      function_.setGuard(again, entry.old);
      again->lastChange = entry.lastChange;
      returned_[entry.instr] = again;
      tell(*again);
      break;
    }
    }
  }
}

} // namespace orias::phases
