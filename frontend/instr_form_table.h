#pragma once

#include "frontend/instr_form.h"
#include "frontend/instr_syntax.h"
#include "frontend/module.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace orias::ptx {

/// The forms of all distinct opcodes of a module. Building it costs some microseconds for each distinct opcode, and
/// nothing per instruction.
class FormTable {
 public:
  explicit FormTable(const Module& module) { extend(module); }

  /// Adds the forms of new opcodes of the module.
  void extend(const Module& module);

  const Form& form(OpcodeId id) const { return entries_[index(id)].form; }
  const Form& form(const Instruction& i) const { return form(i.opcode); }

  struct Entry {
    Form form;
    const Row* row = nullptr; ///< null if there is no such instruction; `problem` then gives the reason
    /// The row's operands for this form, with types and counts filled in and without the operands of absent modifiers.
    std::vector<OperandPattern> patterns;
    Since since;
    std::vector<Since> patternSince; ///< further requirements of each of `patterns`; empty: none
    std::string sinceWhat;           ///< what requires `since`: a modifier or type, or empty for the instruction
    std::string problem;
    std::string hint;
  };
  const Entry& entry(OpcodeId id) const { return entries_[index(id)]; }

 private:
  std::deque<Entry> entries_; ///< a deque, because references must remain valid
};

} // namespace orias::ptx
