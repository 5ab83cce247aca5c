#pragma once

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "frontend/instr_form_table.h"
#include "frontend/lower/call_lowering.h"
#include "frontend/lower/call_params.h"
#include "frontend/lower/elected.h"
#include "frontend/lower/guarded_results.h"
#include "frontend/lower/kernel_parameters.h"
#include "frontend/lower/lower.h"
#include "frontend/lower/module_layout.h"
#include "frontend/lower/stack.h"
#include "frontend/lower/value.h"
#include "frontend/lower/variable_places.h"
#include "frontend/module.h"
#include "ori/builder.h"
#include "ori/module.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orias::ptx {

using isa::ModValue;
using IsaOp = isa::Op;
using IsaMod = isa::Mod;

/// Lowers one function. The handlers of the instruction families (one file each, see families.h) use it.
class FunctionLowering {
 public:
  FunctionLowering(const ModuleLayout& layout, const Function& source, ori::Function& target, Diagnostics& diagnostics);

  void run();

  // --- what the handlers need
  ori::Builder& b() { return builder_; }
  ori::Function& out() { return out_; }
  const ModuleLayout& layout() const { return layout_; }
  const Module& module() const { return *layout_.in; }
  const LowerOptions& options() const { return layout_.options; }
  const isa::Target& target() const { return out_.module().target(); }
  /// The function that is lowered, in PTX.
  const Function& function() const { return source_; }
  /// The function whose code is being lowered: the function itself, or one inlined into it.
  const Function& body() const { return *body_.function; }
  bool isInlinedBody() const { return body_.function != &source_; }
  std::span<const Operand> operands(const Instruction& i) const { return body().operandsOf(i); }
  std::span<const Operand> parts(const Operand& group) const { return body().parts(group); }
  Type typeOf(const Operand& registerOperand) const {
    return body().registers[index(registerOperand.registerId())].type;
  }

  /// The number of words that a value of the type occupies in file R: 1, 2 or 4.
  static unsigned wordsOf(Type type);

  /// The value of a register, constant, special register or symbol address, read as `type`. Floating-point constants
  /// become the bits of `type`.
  Value source(const Operand& operand, Type type);
  /// As source(), in a register (of file R, as wide as the type).
  isa::Operand sourceReg(const Operand& operand, Type type);
  /// A predicate source, inverted when written `!%p`. Constants 0 and 1 are !PT and PT.
  isa::Operand predicate(const Operand& operand);
  /// A 32-bit word in a register: emits a MOV for immediates.
  isa::Operand inReg(isa::Operand word);
  /// All words of a value in one register of that width.
  isa::Operand inReg(const Value& value);
  /// The destination: the PTX register, or RZ/PT for the sink `_`.
  isa::Operand dest(const Operand& operand);
  isa::Operand destPredicate(const Operand& pairOrRegister, unsigned which = 0);

  /// Emits an instruction. Operands that the table does not accept (an immediate in a register slot, two constants) are
  /// first moved to registers.
  ori::Instr* emit(IsaOp op, std::initializer_list<isa::Operand> operands, std::initializer_list<ModValue> mods = {});
  ori::Instr* emit(IsaOp op, std::vector<isa::Operand> operands, std::span<const ModValue> mods);
  /// destination := value, word by word or as one wide copy.
  void copy(isa::Operand destination, const Value& value);
  isa::Operand newR(unsigned words = 1) { return builder_.newR(words); }
  isa::Operand newP() { return builder_.newP(); }
  /// Compares a 32-bit value with a constant, into a new predicate.
  isa::Operand compared(isa::Operand word, isa::ICmp how, std::int64_t number);
  static isa::Operand imm(std::int64_t value) {
    return value ? isa::Operand::immediate(static_cast<std::int32_t>(value)) : isa::Operand::rz();
  }
  /// The low 16 (8) bits of a value, extended to 32 by the type; wider types unchanged.
  isa::Operand extended(const Value& value, Type type);

  /// The UR pair with the descriptor of global memory; URZ if the target has none.
  isa::Operand globalDescriptor();
  /// The uniform register that holds the address of the CTA's shared memory; URZ if that address is 0.
  isa::Operand sharedBase();
  /// The registers of the kernel with parameters; null in an inlined body.
  const KernelParameters* kernelParameters();
  /// The facts about single threads for the body being lowered; null in an inlined body.
  const Elected* elected();

  /// The predicate that holds the carry flag of the extended-precision instructions, for reading and writing. As in
  /// ptxas, it has the hardware's meaning: a subtraction sets it if there is no borrow.
  isa::Operand carry();

  /// Where variables are, the registers of .param variables, the stack and the calls.
  VariablePlaces& variables() { return variables_; }
  CallParams& params() { return params_; }
  DynamicStack& stack() { return stack_; }
  CallLowering& calls() { return calls_; }

  /// The state of the function whose body is being lowered.
  struct Activation {
    const Function* function = nullptr;
    std::vector<ori::VRegId> vregOf;    ///< by RegisterId
    std::vector<ori::Block*> blockOf{}; ///< by LabelId
    ori::Block* returnTo = nullptr;
    const Instruction* current = nullptr;
  };
  /// Begins an inlined body, whose `ret` jumps to `returnTo`. Returns the state of the caller, for leaveBody().
  Activation enterBody(const Function& callee, ori::Block* returnTo, std::vector<ori::VRegId> vregOf);
  void leaveBody(Activation&& caller) { body_ = std::move(caller); }
  /// Lowers all statements of the body.
  void lowerStatements();
  /// The registers of the body, by RegisterId.
  const std::vector<ori::VRegId>& vregs() const { return body_.vregOf; }
  /// Creates a virtual register for each register of the function, by RegisterId.
  std::vector<ori::VRegId> declareRegisters(const Function& function);
  /// The target of a `ret`: null in the kernel itself.
  ori::Block* returnTo() const { return body_.returnTo; }
  void setReturnTo(ori::Block* block) { body_.returnTo = block; }

  /// The instruction of the block being filled after which all lanes of the warp were last converged.
  struct WholeWarp {
    const ori::Block* block = nullptr;
    const ori::Instr* at = nullptr;
  };
  WholeWarp& wholeWarp() { return wholeWarp_; }

  ori::Block* blockOf(LabelId label);
  /// Ends the current block with `terminator` (already emitted) and continues in a new one. A guarded terminator falls
  /// through to it.
  void endBlock(const ori::Instr* terminator);
  /// A block that is not in the layout yet: see enter().
  ori::Block* newBlock() { return out_.newBlock(); }
  /// Continues in `block` and places it here in the layout. The current block, if open, falls through to it.
  void enter(ori::Block* block);
  /// Likewise, if no code falls through to it.
  void startBlock(ori::Block* block);
  /// The blocks so far in the order of the text.
  const std::vector<ori::Block*>& order() const { return order_; }
  /// Control can continue after the last instruction of the current block.
  bool blockIsOpen() const;
  /// A builder at the top of the function, for values that all code shares.
  ori::Builder entryBuilder();
  /// Branches, and continues in a new block. Not under a guard.
  void branch(const ori::Block* target) { branchIf(isa::Operand::pt(), target); }
  void branchIf(isa::Operand condition, const ori::Block* target);
  /// For code that cannot be guarded: if the current instruction has a guard, branches around the code up to
  /// endUnguarded(), which takes the returned block.
  ori::Block* beginUnguarded();
  /// Marks the current block as cold, unless it is the entry.
  void markCold();
  void endUnguarded(ori::Block* join);

  /// Whether the code is linked, be it only with functions of this module. Offsets of shared variables and handles are
  /// then assigned later.
  bool isLinked() const { return callsByAbi_; }
  /// Whether variables of the module and of constant bank 3 are symbols that a linker assigns.
  bool namesData() const { return layout_.namesData; }
  /// Whether functions have code of their own. Pointers to them then hold addresses.
  bool isRelocatable() const { return layout_.options.relocatable; }

  const Instruction& current() const { return *body_.current; }
  /// The guard of the current instruction (PT without one). Handlers of pure instructions can ignore it.
  isa::Operand guard();
  GuardedResults& guardedResults() { return guardedResults_; }
  /// "not supported yet: what", at the current instruction.
  void unsupported(const std::string& what);
  /// The full opcode of the current instruction as written.
  std::string_view opcodeText() const { return module().text(module().opcode(*body_.current).text); }
  Diagnostics& diagnostics() { return diagnostics_; }
  static ori::Source sourceOf(const Instruction& instruction) {
    const std::uint32_t loc = instruction.debugLoc == DebugLocId::None ? 0 : index(instruction.debugLoc) + 1;
    return {instruction.loc.line, loc};
  }

 private:
  void lowerStatement(const Statement& statement);
  void lowerPragma(const Pragma& pragma);
  void lowerInstruction(const Instruction& instruction);

  const ModuleLayout& layout_;
  const Function& source_;
  const bool callsByAbi_; ///< functions with code of their own are called by the ABI
  ori::Function& out_;
  Diagnostics& diagnostics_;
  ori::Builder builder_;
  Activation body_;
  VariablePlaces variables_;
  CallParams params_{*this};
  DynamicStack stack_{*this};
  CallLowering calls_{*this};
  GuardedResults guardedResults_{builder_};
  ori::Block* entry_ = nullptr;
  std::vector<ori::Block*> order_; // in the order of the text
  isa::Operand carry_;
  isa::Operand descriptor_;
  isa::Operand sharedBase_;
  WholeWarp wholeWarp_;
  // Of the kernel; computed on demand.
  std::optional<KernelParameters> kernelParameters_;
  std::optional<Elected> elected_;
};

} // namespace orias::ptx
