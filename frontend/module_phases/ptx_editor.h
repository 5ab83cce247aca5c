#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace orias::ptx {

/// Changes instructions of a module that has been parsed and checked.
class PtxEditor {
 public:
  explicit PtxEditor(Module& module) : module_(module) {}

  /// The opcode with these words, "cvta", {"to", "shared", "u64"}.
  OpcodeId opcode(std::string_view base, const std::vector<std::string>& modifiers);
  /// The opcode with a state space added; None if no instruction has that form.
  OpcodeId withSpace(OpcodeId generic, StateSpace space);

  /// Gives an instruction another opcode and other operands, none of them groups. Its guard and place stay.
  void rewrite(Function& function, Instruction& instruction, OpcodeId opcode, std::span<const Operand> operands);
  /// A new register.
  RegisterId addRegister(Function& function, Type type, SourceLoc loc);
  /// A new instruction before the statement `before` of the function, put in by finish().
  void insertBefore(Function& function, std::uint32_t before, OpcodeId opcode, std::span<const Operand> operands,
                    const Instruction& like);
  /// Puts the new instructions into the function; statements have other numbers then.
  void finish(Function& function);

 private:
  void addSpaces();
  std::uint32_t addOperands(Function& function, std::span<const Operand> operands);

  Module& module_;
  std::map<std::string, OpcodeId> made_;
  std::map<std::pair<OpcodeId, StateSpace>, OpcodeId> withSpace_; ///< of all opcodes; empty at first
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inserted_; ///< statement, and index of the new instruction
  std::uint32_t registers_ = 0;
};

} // namespace orias::ptx
