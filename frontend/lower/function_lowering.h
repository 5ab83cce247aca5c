#pragma once

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "frontend/instr_form_table.h"
#include "frontend/lower/call_graph.h"
#include "frontend/lower/constant_addresses.h"
#include "frontend/lower/elected.h"
#include "frontend/lower/lower.h"
#include "frontend/lower/recursive_region.h"
#include "frontend/lower/shared_calls.h"
#include "frontend/module.h"
#include "ori/builder.h"
#include "ori/module.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orias::ptx {

using isa::ModValue;
using IsaOp = isa::Op;
using IsaMod = isa::Mod;

class InlinePlan;

/// Locations of module-scope objects; filled once per module.
struct ModuleLayout {
  ori::Module* out = nullptr;
  const Module* in = nullptr;
  const FormTable* forms = nullptr;
  const CallGraph* calls = nullptr;
  LowerOptions options;
  std::vector<std::uint32_t> symbolOf;       ///< by VariableId: index into ori::Module::symbols, kNoId if none
  std::vector<std::uint32_t> functionSymbol; ///< by FunctionId: likewise; relocatable code has one for every body
  std::vector<std::int64_t> constOffset;     ///< by VariableId: offset in constant bank 3, -1 if none
  const InlinePlan* plan = nullptr;
  std::optional<ConstantAddresses> constantAddresses; ///< set if a kernel has pointers to constant memory
  /// A linker assigns the addresses of variables. Otherwise this is a whole program, which assigns its own addresses,
  /// even with out-of-line functions.
  bool namesData = false;
};

/// A source value: words that are registers or known bits. A 64-bit constant needs no register until one of its words
/// is used.
class Value {
 public:
  Value() = default;
  static Value constant(std::uint64_t bits, unsigned words) {
    Value v;
    v.bits_ = bits;
    v.words_ = words;
    return v;
  }
  static Value of(isa::Operand reg) {
    Value v;
    v.reg_ = reg;
    v.isReg_ = true;
    v.words_ = reg.width;
    return v;
  }
  bool isConstant() const { return !isReg_; }
  std::uint64_t bits() const { return bits_; }
  unsigned words() const { return words_; }
  /// The 32-bit word `i` as an operand: a register component or an immediate (RZ for zero).
  isa::Operand word(unsigned i) const {
    if (isReg_) return ori::component(reg_, i);
    std::uint32_t bits = i < 2 ? static_cast<std::uint32_t>(bits_ >> (32 * i)) : 0;
    return bits ? isa::Operand::immediate(static_cast<std::int32_t>(bits)) : isa::Operand::rz();
  }
  /// The register that holds all words; only for values that are not constant.
  const isa::Operand& reg() const { return reg_; }

 private:
  isa::Operand reg_;
  std::uint64_t bits_ = 0;
  unsigned words_ = 1;
  bool isReg_ = false;
};

/// An address as memory instructions accept it: a base register (RZ: none), an optional uniform register, an offset in
/// bytes.
struct Address {
  isa::Operand base = isa::Operand::rz();
  isa::Operand uniform;
  std::int64_t offset = 0;
  bool isFrame = false; ///< offset is within frame object `frameObject`, base is the stack pointer
  std::uint32_t frameObject = 0;
};

/// Lowers one function. The handlers of the instruction families (one file each, see families.h) use it.
class FunctionLowering {
 public:
  FunctionLowering(const ModuleLayout& layout, const Function& source, ori::Function& target, Diagnostics& diagnostics);

  void run();

  // --- what the handlers need
  ori::Builder& b() { return builder_; }
  ori::Function& out() { return out_; }
  const Module& module() const { return *layout_.in; }
  const LowerOptions& options() const { return layout_.options; }
  const isa::Target& target() const { return out_.module().target(); }
  /// The function whose code is being lowered: the function itself, or one inlined into it.
  const Function& body() const { return *in_; }
  std::span<const Operand> operands(const Instruction& i) const { return in_->operandsOf(i); }
  std::span<const Operand> parts(const Operand& group) const { return in_->parts(group); }
  Type typeOf(const Operand& registerOperand) const { return in_->registers[index(registerOperand.registerId())].type; }

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

  /// The address operand of a memory instruction in the given space (None: generic).
  Address address(const Operand& operand, StateSpace space);
  /// Likewise for instructions that access only shared memory and take 32-bit addresses. The low word of a generic
  /// address of shared memory is the shared address (observed; cvta makes them so).
  Address sharedAddress(const Operand& operand, StateSpace space);
  /// A 64-bit address in one register pair, with its offset added.
  isa::Operand wholeAddress(const Address& a);
  /// The address of a frame variable; 32 bits.
  isa::Operand localAddress(VariableId id, std::int64_t offset);
  /// The address of a variable as a value in its own space: 32 bits for shared and local, 64 for others.
  Value variableAddress(VariableId id, std::int64_t offset);

  /// The UR pair with the descriptor of global memory; URZ if the target has none.
  isa::Operand globalDescriptor();
  /// The uniform register that holds the address of the CTA's shared memory; URZ if that address is 0.
  isa::Operand sharedBase();
  /// Offset of a shared variable from that base.
  std::uint32_t sharedOffset(VariableId id) const { return sharedOffset_[index(id)]; }
  std::uint32_t paramOffset(VariableId id) const { return paramOffset_[index(id)]; }
  /// The offset of the value of this register in constant bank 0, if it is an unmodified kernel parameter.
  std::optional<std::uint32_t> kernelParameter(const Operand& registerOperand);
  /// The possible origins of the constant address in a register of the function being lowered.
  ConstantAddresses::Origin constantAddress(RegisterId id);

  /// Whether the guard of the instruction is true for at most one thread of the warp (elected.h).
  bool isElected();
  /// Whether at most one thread of the warp reaches the instruction.
  bool isAlone();

  /// The predicate that holds the carry flag of the extended-precision instructions, for reading and writing. As in
  /// ptxas, it has the hardware's meaning: a subtraction sets it if there is no borrow.
  isa::Operand carry();
  isa::Operand newCarry() { return staged(carry()); }

  // --- calls (call.cpp, recursive_calls.cpp)
  /// Whether this is a .param variable of a function or of a call, which is kept in registers; not a kernel parameter.
  bool isCallParam(VariableId id) const;
  /// The target of a `ret`: null in the kernel itself.
  ori::Block* returnTo() const { return returnTo_; }
  /// Loads and stores of such variables; `type` and the offset select a component.
  void loadCallParam(isa::Operand destination, VariableId id, std::int64_t offset, Type type);
  void storeCallParam(VariableId id, std::int64_t offset, Type type, const Value& value);
  /// Lowers `call`: inlines the callee; for a pointer, all possible callees.
  void call(const Instruction& instruction);
  /// A call of a driver function (external_call.cpp).
  void callExternal(FunctionId callee, std::span<const Operand> args, std::span<const Operand> results);
  static bool isDriverFunction(std::string_view name);
  /// Reports a function that a whole program uses but does not define.
  void unresolved(std::string_view function);
  /// Calls the driver function with this symbol. The arguments are in registers from R4 on, and so is the result. Use
  /// between beginUnguarded() and endUnguarded().
  isa::Operand callDriver(std::uint32_t function, std::span<const Value> words, unsigned resultWords);
  /// A call of a driver function that the PTX does not declare. `onStack` are words from the stack pointer on. Returns
  /// nothing, and reports an error, if the call is not possible here.
  std::optional<isa::Operand> callDriver(const std::string& name, std::span<const Value> inRegisters,
                                         std::span<const Value> onStack, unsigned resultWords);
  /// The callee of a call by the function ABI, with its parameters and results.
  struct AbiCallee {
    isa::Operand where; ///< a symbol, or a register that holds the address
    std::vector<VariableId> params, returns;
    bool noreturn = false;
  };
  AbiCallee abiCallee(FunctionId id) const;
  /// After the call of a `.noreturn` function no code executes.
  void endAfterCall(bool noreturn);
  /// Calls by the function ABI (abi_call.cpp).
  void callByAbi(const AbiCallee& callee, std::span<const Operand> args, std::span<const Operand> results);
  void callThroughPointer(const CallParts& parts, std::span<const Operand> args, std::span<const Operand> results);

  /// The word in which the driver stores the handle of a texture, sampler or surface, which is a variable of the module
  /// or a parameter. The word is in constant bank 0, in relocatable code in a register. Before sm_90 the number of a
  /// sampler is in the upper twelve bits (Target::kSamplerShift), and the word may contain both a texture and a
  /// sampler. Returns nothing, and reports an error, if the object is not known.
  std::optional<isa::Operand> handleWord(VariableId id) { return handleWord(std::span(&id, 1)); }
  /// Likewise for a texture and its sampler together; not in relocatable code.
  std::optional<isa::Operand> handleWord(VariableId texture, VariableId sampler) {
    return handleWord(std::array{texture, sampler});
  }
  /// The handle as a 64-bit value: the word, and the object.
  Value handleNumber(VariableId id);
  /// A register with the number that the driver writes into the code for this symbol.
  isa::Operand driverWord(std::string_view symbol);

  // --- the stack (recursive_calls.cpp, stack.cpp)
  /// A register with the lowest address in use below the frame, a multiple of 16.
  isa::Operand stackPointer();
  bool isInRecursion() const { return !openRegions_.empty(); }
  /// Whether calls by the ABI in this function may have stack arguments.
  bool passesOnStack();
  /// The start of free memory above the stack pointer `stack`: after stack arguments of calls.
  isa::Operand aboveArguments(isa::Operand stack, std::uint32_t alignment);

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

  const Instruction& current() const { return *current_; }
  /// The guard of the current instruction (PT without one). Handlers of pure instructions can ignore it.
  isa::Operand guard();
  /// The temporary result of a guarded instruction; otherwise the register itself.
  isa::Operand staged(isa::Operand target);
  /// "not supported yet: what", at the current instruction.
  void unsupported(const std::string& what);
  /// The full opcode of the current instruction as written.
  std::string_view opcodeText() const { return module().text(module().opcode(*current_).text); }
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  std::optional<isa::Operand> handleWord(std::span<const VariableId> ids);
  std::uint32_t handleSymbol(VariableId id);
  /// Creates a virtual register for each register of the function, by RegisterId.
  std::vector<ori::VRegId> declareRegisters(const Function& function);
  void layOutParams();
  /// For a function with an ABI of its own: reads the parameters from the locations of the ABI and returns the results.
  void beginFunction();
  void endFunction();
  /// Whether the result does not fit in registers and is stored at an address from the caller.
  bool returnsInMemory() const;
  ori::Source sourceOfReturn() const;
  static ori::Source sourceOf(const Instruction& instruction) {
    const std::uint32_t loc = instruction.debugLoc == DebugLocId::None ? 0 : index(instruction.debugLoc) + 1;
    return {instruction.loc.line, loc};
  }
  /// The frame area where callees store such results; shared by all calls.
  isa::Operand resultArea(const Variable& result);
  void alignArguments(std::uint32_t alignment);
  void layOutVariables();
  std::uint32_t newFrameObject(const Variable& variable);
  /// Allocates frame memory for parameters whose address is taken, except in recursive bodies.
  void keepInMemory(const Function& body);
  /// Stores these parameters of the function in that memory.
  void storeParameters(const Function& body);
  void lowerStatement(const Statement& statement);
  void lowerPragma(const Pragma& pragma);
  void lowerInstruction(const Instruction& instruction);
  void finishStaged(ori::Instr* lastBefore);
  Value specialRegister(SpecialRegister reg, Component part);
  /// Reads a special register that is a predicate.
  isa::Operand specialPredicate(SpecialRegister reg);
  /// The address of a symbol of relocatable code.
  isa::Operand symbolAddress(std::uint32_t symbol, std::int64_t offset, unsigned words);
  /// The address of a symbol of a whole program. The loader writes it into constant bank 4.
  isa::Operand addressFromTable(std::uint32_t symbol);
  /// The symbol of that kind and name; created if missing.
  std::uint32_t symbolNamed(ori::Symbol::Kind kind, std::string_view name);
  /// Whether functions have code of their own. Pointers to them then hold addresses.
  bool isRelocatable() const { return layout_.options.relocatable; }
  void startBlock(ori::Block* block);
  /// The function and all functions inlined into it, each once, callers first.
  std::vector<const Function*> bodies();
  FunctionId idOf(const Function& function) const {
    return FunctionId(static_cast<std::uint32_t>(&function - module().functions.data()));
  }
  isa::Operand callParamWord(VariableId id, std::size_t word);
  /// The words of an argument for `param`; none if it cannot be passed, which is reported.
  std::vector<Value> argumentWords(const Operand& argument, VariableId param);
  /// The state of the function whose body is being lowered.
  struct Activation {
    const Function* function;
    std::vector<ori::VRegId> vregOf;
    std::vector<ori::Block*> blockOf;
    ori::Block* returnTo;
    const Instruction* current;
  };
  /// The arguments and results of a call, in terms of the caller.
  struct CallValues {
    std::vector<std::vector<Value>> args; ///< words
    std::vector<isa::Operand> direct;     ///< the registers of results that are returned directly; else none
    std::span<const Operand> results;
  };
  bool isInlined(FunctionId callee) const;
  void callOne(FunctionId callee, std::span<const Operand> args, std::span<const Operand> results);
  void inlineBody(const Function& callee, const CallValues& call);
  void passArguments(const Function& callee, std::span<const ori::VRegId> vregOf,
                     std::span<const std::vector<Value>> values);
  std::vector<std::vector<isa::Operand>> resultWords(const Function& callee, std::span<const ori::VRegId> vregOf);
  void takeResults(const CallValues& call, std::span<const std::vector<isa::Operand>> returned);

  /// Null if no call of the body has been lowered yet.
  SharedBody* findShared(FunctionId callee);
  void callShared(FunctionId callee, const CallValues& call);
  void returnFromShared();

  void callRecursive(FunctionId callee, const CallValues& call);
  void callFromOutside(FunctionId callee, const CallValues& call);
  void callFromInside(RecursiveRegion& region, FunctionId callee, const CallValues& call);
  std::size_t bodyOf(RecursiveRegion& region, FunctionId callee);
  void lowerRecursiveBody(RecursiveRegion& region, std::size_t which);
  void lowerReturn(RecursiveRegion& region, std::size_t which);
  void saveAcrossRecursion();
  void moveStack(std::int64_t bytes);
  /// Whether the function uses alloca. That memory is released when it returns.
  bool takesStack(const Function& function) const;
  /// Called code has its frame where alloca takes memory. If the function uses alloca, its calls have stackPointer() as
  /// their last operand, and stack arguments are relative to it.
  bool callsBelowStack();
  /// Whether a driver function that reads textures may have stack arguments.
  bool passesToDriver();

  Activation enterBody(const Function& callee, ori::Block* returnTo, std::vector<ori::VRegId> vregOf);
  void leaveBody(Activation&& caller);
  /// Control can continue after the last instruction of the current block.
  bool blockIsOpen() const;
  /// A builder at the top of the function, for values that all code shares.
  ori::Builder entryBuilder();

  struct Staged {
    isa::Operand result, destination;
  };

  const ModuleLayout& layout_;
  const bool callsByAbi_; ///< functions with code of their own are called by the ABI
  const Function* in_;    ///< the function whose body is being lowered: the kernel, or one inlined into it
  ori::Function& out_;
  Diagnostics& diagnostics_;
  ori::Builder builder_;
  const Instruction* current_ = nullptr;
  std::vector<ori::VRegId> vregOf_;         // by RegisterId
  std::vector<ori::Block*> blockOf_;        // by LabelId
  std::vector<std::uint32_t> paramOffset_;  // by VariableId
  std::vector<std::uint32_t> sharedOffset_; // by VariableId
  std::vector<std::uint32_t> frameObject_;  // by VariableId
  std::vector<Staged> staged_;
  bool staging_ = false;
  ori::Block* entry_ = nullptr;
  std::vector<ori::Block*> order_; // in the order of the text
  isa::Operand carry_;
  isa::Operand descriptor_;
  isa::Operand sharedBase_;
  ori::Block* returnTo_ = nullptr;
  isa::Operand resultAddress_;                            // of returnsInMemory()
  std::uint32_t resultArea_ = kNoId;                      // a frame object
  std::uint32_t outgoing_ = kNoId;                        // another frame object: FrameObject::isOutgoing
  std::vector<const Function*> inlining_;                 // from the kernel to the innermost callee
  std::vector<std::vector<ori::VRegId>> callParamWords_;  // by VariableId, 32 bits each
  std::vector<std::unique_ptr<SharedBody>> shared_;       // of the whole kernel
  std::vector<std::unique_ptr<RecursiveRegion>> regions_; // of the whole kernel; some are still open
  std::vector<RecursiveRegion*> openRegions_;             // from the outermost to the innermost
  std::vector<isa::Operand> localBase_; // by VariableId: base of a recursive body's own .local variable
  isa::Operand stackPointer_;
  WholeWarp wholeWarp_;
  std::optional<bool> stackIsTaken_;           // by alloca, here or in inlined functions; computed on demand
  std::vector<std::int64_t> kernelParameters_; // by RegisterId of the kernel: offset, < 0 if none; computed on demand
  /// Null while an inlined body is being lowered.
  const Elected* elected();
  std::optional<Elected> elected_; // of the kernel; computed on demand
};

} // namespace orias::ptx
