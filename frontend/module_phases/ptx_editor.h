#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace orias::ptx {

/// Changes instructions of a parsed and checked module.
class PtxEditor {
 public:
  explicit PtxEditor(Module& module) : module_(module) {}

  /// The opcode with these modifiers, "cvta", {"to", "shared", "u64"}.
  OpcodeId opcode(std::string_view base, const std::vector<std::string>& modifiers);
  /// The opcode with a state space added; None if no instruction has that form.
  OpcodeId withSpace(OpcodeId generic, StateSpace space);

  /// Gives an instruction another opcode and other operands, none of them groups. Its guard and location are kept.
  void rewrite(Function& function, Instruction& instruction, OpcodeId opcode, std::span<const Operand> operands);
  /// A new register.
  RegisterId addRegister(Function& function, Type type, SourceLoc loc);
  /// Creates a new instruction before the statement `before` of the function; finish() inserts it.
  void insertBefore(Function& function, std::uint32_t before, OpcodeId opcode, std::span<const Operand> operands,
                    const Instruction& like);
  /// The declaration of a variable before the statement `before`.
  void insertBefore(std::uint32_t before, VariableId variable) {
    inserted_.emplace_back(before, Statement{StatementKind::Variable, index(variable)});
  }
  /// Removes a statement from the function, in finish(). Not for labels.
  void erase(std::uint32_t statement) { erased_.insert(statement); }
  /// Inserts the new instructions and removes the erased ones. Statement numbers change.
  void finish(Function& function);

 private:
  /// The opcodes that the table also has with this space.
  std::set<OpcodeId> opcodesThatTake(StateSpace space) const;
  std::uint32_t addOperands(Function& function, std::span<const Operand> operands);

  Module& module_;
  std::map<std::string, OpcodeId> made_;
  std::map<StateSpace, std::set<OpcodeId>> takeSpace_; ///< for the spaces requested so far
  std::map<std::pair<OpcodeId, StateSpace>, OpcodeId> withSpace_;
  std::vector<std::pair<std::uint32_t, Statement>> inserted_; ///< the next statement's index, and the new statement
  std::set<std::uint32_t> erased_;                            ///< statements
  std::uint32_t registers_ = 0;
};

} // namespace orias::ptx
