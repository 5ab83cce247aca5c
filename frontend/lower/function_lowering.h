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

/// Where module-scope things are; filled once per module.
struct ModuleLayout {
  ori::Module* out = nullptr;
  const Module* in = nullptr;
  const FormTable* forms = nullptr;
  const CallGraph* calls = nullptr;
  LowerOptions options;
  std::vector<std::uint32_t> symbolOf; ///< by VariableId: index into ori::Module::symbols, kNoId if none
  std::vector<std::uint32_t>
      functionSymbol;                    ///< by FunctionId: the same; those with a body have one in relocatable code
  std::vector<std::int64_t> constOffset; ///< by VariableId: offset in constant bank 3, -1 if none
  const InlinePlan* plan = nullptr;
  std::optional<ConstantAddresses> constantAddresses; ///< if a kernel has pointers to constant memory
  /// A linker assigns addresses of variables. A whole program assigns its own, also with out-of-line functions.
  bool namesData = false;
};

/// A source value: words that are registers or known bits. 64-bit constants need no register until a word is used.
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

/// An address as memory instructions take it: a base register (RZ: none), an optional uniform register, an offset in
/// bytes.
struct Address {
  isa::Operand base = isa::Operand::rz();
  isa::Operand uniform;
  std::int64_t offset = 0;
  bool isFrame = false; ///< offset is within frame object `frameObject`, base is the stack pointer
  std::uint32_t frameObject = 0;
};

/// Lowers one function. The handlers of the instruction families (one file each, see families.h) work with this.
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
  /// The function whose code is being lowered: that of the text, or one inlined in it.
  const Function& body() const { return *in_; }
  std::span<const Operand> operands(const Instruction& i) const { return in_->operandsOf(i); }
  std::span<const Operand> parts(const Operand& group) const { return in_->parts(group); }
  Type typeOf(const Operand& registerOperand) const { return in_->registers[index(registerOperand.registerId())].type; }

  /// Words that a value of the type takes in file R: 1, 2 or 4.
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

  /// Emits with operands where the table does not take them (an immediate in a register slot, two constants) moved to
  /// registers first.
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
  /// The same for instructions that access only shared memory and take 32-bit addresses. The low word of a generic
  /// address of shared memory is the address there (observed; cvta makes them so).
  Address sharedAddress(const Operand& operand, StateSpace space);
  /// An address of 64 bits in one pair of registers, its offset added.
  isa::Operand wholeAddress(const Address& a);
  /// The address of a variable as a value in its own space: 32 bits for shared and local, 64 for others.
  /// Address of a frame variable; 32 bits.
  isa::Operand localAddress(VariableId id, std::int64_t offset);
  Value variableAddress(VariableId id, std::int64_t offset);

  /// The UR pair with the descriptor of global memory; URZ if the target has none.
  isa::Operand globalDescriptor();
  /// The uniform register that holds the address of the CTA's shared memory; where it is 0 it is URZ.
  isa::Operand sharedBase();
  /// Offset of a shared variable from that base.
  std::uint32_t sharedOffset(VariableId id) const { return sharedOffset_[index(id)]; }
  std::uint32_t paramOffset(VariableId id) const { return paramOffset_[index(id)]; }
  /// The offset of the value of this register in constant bank 0, if it is an unmodified kernel parameter.
  std::optional<std::uint32_t> kernelParameter(const Operand& registerOperand);
  /// What kind of constant address a register of the function that is being lowered may hold.
  ConstantAddresses::Origin constantAddress(RegisterId id);

  /// Whether the guard of the instruction is true for one thread of the warp at most (elected.h).
  bool isElected();
  /// Whether one thread of the warp at most reaches the instruction.
  bool isAlone();

  /// The carry flag of the extended-precision instructions, a predicate: to read, and where to write it. It is that of
  /// the hardware, as ptxas has it: a subtraction sets it where it does not borrow.
  isa::Operand carry();
  isa::Operand newCarry() { return staged(carry()); }

  // --- calls (call.cpp, recursive_calls.cpp)
  /// Is this a .param variable of a function or of a call, which lives in registers, and not a parameter of the kernel?
  bool isCallParam(VariableId id) const;
  /// The target of a `ret`: null in the kernel itself.
  ori::Block* returnTo() const { return returnTo_; }
  /// Loads and stores of such variables; `type` and the offset select a component.
  void loadCallParam(isa::Operand destination, VariableId id, std::int64_t offset, Type type);
  void storeCallParam(VariableId id, std::int64_t offset, Type type, const Value& value);
  /// The `call`: inlines the callee; for a pointer, all possible callees.
  void call(const Instruction& instruction);
  /// A call of a function of the driver (external_call.cpp).
  void callExternal(FunctionId callee, std::span<const Operand> args, std::span<const Operand> results);
  static bool isDriverFunction(std::string_view name);
  /// The error for a function that a whole program names and does not define.
  void unresolved(std::string_view function);
  /// The same by the symbol of the function, with words that stand in registers from R4 on; the result stands there,
  /// too. Inside beginUnguarded() and endUnguarded().
  isa::Operand callDriver(std::uint32_t function, std::span<const Value> words, unsigned resultWords);
  /// A call of a function that the PTX does not declare. `onStack` are words from the stack pointer on. Nothing where
  /// it cannot be called here, which is reported.
  std::optional<isa::Operand> callDriver(const std::string& name, std::span<const Value> inRegisters,
                                         std::span<const Value> onStack, unsigned resultWords);
  /// Whom a call by the ABI of functions reaches, and what that one takes and gives.
  struct AbiCallee {
    isa::Operand where; ///< a symbol, or a register that holds the address
    std::vector<VariableId> params, returns;
    bool noreturn = false;
  };
  AbiCallee abiCallee(FunctionId id) const;
  /// Behind the call of a `.noreturn` function no code runs.
  void endAfterCall(bool noreturn);
  /// Calls by the ABI of functions (abi_call.cpp).
  void callByAbi(const AbiCallee& callee, std::span<const Operand> args, std::span<const Operand> results);
  void callThroughPointer(const CallParts& parts, std::span<const Operand> args, std::span<const Operand> results);

  /// The word that the driver fills with the handle of a texture, sampler or surface of the module or among the
  /// parameters: of constant bank 0, or in relocatable code in a register. Before sm_90 a sampler's number stands in
  /// its upper twelve bits (Target::kSamplerShift), and the word may have a sampler beside a texture. Nothing, and an
  /// error, where it cannot be told.
  std::optional<isa::Operand> handleWord(VariableId id) { return handleWord(std::span(&id, 1)); }
  /// That of a texture and its sampler together; not in relocatable code.
  std::optional<isa::Operand> handleWord(VariableId texture, VariableId sampler) {
    return handleWord(std::array{texture, sampler});
  }
  /// Its representation as a 64-bit value: the word, and the object.
  Value handleNumber(VariableId id);
  /// A register with the number that the driver writes into the code for this symbol.
  isa::Operand driverWord(std::string_view symbol);

  // --- the stack (recursive_calls.cpp, stack.cpp)
  /// A register with the lowest address in use below the frame, a multiple of 16.
  isa::Operand stackPointer();
  bool isInRecursion() const { return !openRegions_.empty(); }
  /// May a call in this function by the ABI have arguments on the stack?
  bool passesOnStack();
  /// The start of free memory above the stack pointer `stack`: after stack arguments of calls.
  isa::Operand aboveArguments(isa::Operand stack, std::uint32_t alignment);

  /// Behind which instruction of the block being filled all lanes of the warp were last brought together.
  struct WholeWarp {
    const ori::Block* block = nullptr;
    const ori::Instr* at = nullptr;
  };
  WholeWarp& wholeWarp() { return wholeWarp_; }

  ori::Block* blockOf(LabelId label);
  /// Ends the current block with `terminator` (already emitted) and continues in a new one, which it falls through to
  /// if the terminator is guarded.
  void endBlock(const ori::Instr* terminator);
  /// A block that is not in the layout yet: see enter().
  ori::Block* newBlock() { return out_.newBlock(); }
  /// Goes on in `block`, placed here; the current block falls through to it if it is open.
  void enter(ori::Block* block);
  /// Branches, and continues in a new block. Not under a guard.
  void branch(const ori::Block* target) { branchIf(isa::Operand::pt(), target); }
  void branchIf(isa::Operand condition, const ori::Block* target);
  /// For code that cannot be guarded: if the current instruction has a guard, branches around what follows up to
  /// endUnguarded(), which takes what this returns.
  ori::Block* beginUnguarded();
  /// The current block, unless it is the entry, is one that programs seldom execute.
  void markCold();
  void endUnguarded(ori::Block* join);

  /// Is the code linked with others, if only with functions of this module? Then shared variables and handles get their
  /// points later.
  bool isLinked() const { return callsByAbi_; }
  /// Whether variables of the module and of constant bank 3 are symbols with addresses from a linker.
  bool namesData() const { return layout_.namesData; }

  const Instruction& current() const { return *current_; }
  /// The guard of the current instruction (PT without one). Handlers of pure instructions need not look at it.
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
  /// A virtual register for each of the function's, by RegisterId.
  std::vector<ori::VRegId> declareRegisters(const Function& function);
  void layOutParams();
  /// Of a function with an ABI of its own: takes the parameters from where its caller put them, hands back the results.
  void beginFunction();
  void endFunction();
  /// A result that does not fit in registers is stored at an address from the caller.
  bool returnsInMemory() const;
  ori::Source sourceOfReturn() const;
  static ori::Source sourceOf(const Instruction& instruction) {
    const std::uint32_t loc = instruction.debugLoc == DebugLocId::None ? 0 : index(instruction.debugLoc) + 1;
    return {instruction.loc.line, loc};
  }
  /// The frame area where callees store such results; all calls share it.
  isa::Operand resultArea(const Variable& result);
  void alignArguments(std::uint32_t alignment);
  void layOutVariables();
  std::uint32_t newFrameObject(const Variable& variable);
  /// Allocates frame memory for parameters whose address is taken; recursive bodies get none.
  void keepInMemory(const Function& body);
  /// Stores those parameters of the function there.
  void storeParameters(const Function& body);
  void lowerStatement(const Statement& statement);
  void lowerPragma(const Pragma& pragma);
  void lowerInstruction(const Instruction& instruction);
  void finishStaged(ori::Instr* lastBefore);
  Value specialRegister(SpecialRegister reg, Component part);
  /// One that is a predicate.
  isa::Operand specialPredicate(SpecialRegister reg);
  /// The address of a symbol of relocatable code.
  isa::Operand symbolAddress(std::uint32_t symbol, std::int64_t offset, unsigned words);
  /// The address of a symbol of a whole program: the loader writes it into constant bank 4.
  isa::Operand addressFromTable(std::uint32_t symbol);
  /// The symbol of that kind and name, made where there is none.
  std::uint32_t symbolNamed(ori::Symbol::Kind kind, std::string_view name);
  /// Do functions have code of their own? Then pointers to them hold addresses.
  bool isRelocatable() const { return layout_.options.relocatable; }
  void startBlock(ori::Block* block);
  /// The function and all that are inlined in it, each once, callers first.
  std::vector<const Function*> bodies();
  FunctionId idOf(const Function& function) const {
    return FunctionId(static_cast<std::uint32_t>(&function - module().functions.data()));
  }
  isa::Operand callParamWord(VariableId id, std::size_t word);
  /// The words of an argument for `param`; none if it cannot be passed, which is reported.
  std::vector<Value> argumentWords(const Operand& argument, VariableId param);
  /// Everything that belongs to the function whose body is being lowered.
  struct Activation {
    const Function* function;
    std::vector<ori::VRegId> vregOf;
    std::vector<ori::Block*> blockOf;
    ori::Block* returnTo;
    const Instruction* current;
  };
  /// The arguments and results of a call, in the caller.
  struct CallValues {
    std::vector<std::vector<Value>> args; ///< words
    std::vector<isa::Operand> direct;     ///< where results go straight to a register; else none
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
  /// Does it use alloca? What it takes so is given back when it returns.
  bool takesStack(const Function& function) const;
  /// Code that is called has its frame where alloca takes memory. If the function uses that, its calls have
  /// stackPointer() as their last operand, and arguments on the stack count from there.
  bool callsBelowStack();
  /// May a function of the driver that reads textures have arguments on the stack?
  bool passesToDriver();

  Activation enterBody(const Function& callee, ori::Block* returnTo, std::vector<ori::VRegId> vregOf);
  void leaveBody(Activation&& caller);
  /// Control can continue after the last instruction of the current block.
  bool blockIsOpen() const;
  /// A builder at the top of the function, where values that all code shares are made.
  ori::Builder entryBuilder();

  struct Staged {
    isa::Operand result, destination;
  };

  const ModuleLayout& layout_;
  const bool callsByAbi_; ///< functions that have code of their own are called by the ABI
  const Function* in_;    ///< whose body is being lowered: the kernel, or a function inlined into it
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
  std::vector<ori::Block*> order_; // as the text has them
  isa::Operand carry_;
  isa::Operand descriptor_;
  isa::Operand sharedBase_;
  ori::Block* returnTo_ = nullptr;
  isa::Operand resultAddress_;                            // of returnsInMemory()
  std::uint32_t resultArea_ = kNoId;                      // a frame object
  std::uint32_t outgoing_ = kNoId;                        // another: FrameObject::isOutgoing
  std::vector<const Function*> inlining_;                 // from the kernel to the innermost callee
  std::vector<std::vector<ori::VRegId>> callParamWords_;  // by VariableId, 32 bits each
  std::vector<std::unique_ptr<SharedBody>> shared_;       // of the whole kernel
  std::vector<std::unique_ptr<RecursiveRegion>> regions_; // of the whole kernel; some are still open
  std::vector<RecursiveRegion*> openRegions_;             // from the outermost in
  std::vector<isa::Operand> localBase_; // by VariableId: what a recursive body's own .local variable counts from
  isa::Operand stackPointer_;
  WholeWarp wholeWarp_;
  std::optional<bool> stackIsTaken_;           // by alloca, here or in what is inlined; computed on demand
  std::vector<std::int64_t> kernelParameters_; // by RegisterId of the kernel, < 0 if none; computed on demand
  /// Null for an instruction of an inlined body.
  const Elected* elected();
  std::optional<Elected> elected_; // of the kernel; computed on demand
};

} // namespace orias::ptx
