#pragma once

#include "frontend/instr_form.h"
#include "frontend/instr_syntax.h"
#include "frontend/module.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace orias::ptx {

/// The forms of all distinct opcodes of a module. Building it costs some microseconds for each distinct opcode and
/// nothing for each instruction.
class FormTable {
 public:
  explicit FormTable(const Module& module) { extend(module); }

  /// Adds the forms of opcodes that the module has got since.
  void extend(const Module& module);

  const Form& form(OpcodeId id) const { return entries_[index(id)].form; }
  const Form& form(const Instruction& i) const { return form(i.opcode); }

  struct Entry {
    Form form;
    const Row* row = nullptr; ///< null if there is no such instruction; then `problem` says why
    /// The row's operands for this form: types and counts filled in, operands that belong to an absent modifier left
    /// out.
    std::vector<OperandPattern> patterns;
    Since since;
    std::vector<Since> patternSince; ///< what each of `patterns` needs, too; empty: nothing more
    std::string sinceWhat;           ///< what needs `since`: a modifier or type, or empty for the instruction
    std::string problem;
    std::string hint;
  };
  const Entry& entry(OpcodeId id) const { return entries_[index(id)]; }

 private:
  std::deque<Entry> entries_; ///< in a deque, since they stay in their places
};

} // namespace orias::ptx
