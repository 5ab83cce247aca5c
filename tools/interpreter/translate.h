#pragma once

#include "frontend/instr_form_table.h"
#include "tools/interpreter/machine.h"
#include "tools/interpreter/program.h"

#include <memory>
#include <unordered_map>

// From ptx::Module to Program. The families (integer.cpp, memory.cpp, …) select the handlers of their instructions.

namespace orias::interp {

/// Translates the kernel and its possible callees. Module variables become allocations of `global`. Instructions that
/// are not implemented stop the run when they are executed, not here. Throws orias::Error if there is no such kernel.
std::unique_ptr<Program> translate(const ptx::Module& module, std::string_view kernel, launch::Device& device);

/// The kernel of that name with a body; null when there is none.
const ptx::Function* kernelNamed(const ptx::Module& module, std::string_view name);
/// The locations of its parameters.
std::vector<launch::ParameterPlace> kernelPlaces(const ptx::Module& module, const ptx::Function& kernel);

class ModuleTranslator;

/// An address operand: slot + offset, in a space.
struct Address {
  std::uint32_t slot = kSink;
  std::int64_t offset = 0;
  Space space = Space::Generic;
};

/// Translates the instructions of one function. The families use this interface.
class FunctionTranslator {
 public:
  FunctionTranslator(ModuleTranslator& module, const ptx::Function& function, Code& code);
  void translate();

  // The current instruction.
  const ptx::Form& form() const { return *form_; }
  unsigned operandCount() const { return instruction_->operandCount; }
  const ptx::Operand& operand(unsigned i) const { return operands_[i]; }
  bool isVector(unsigned i) const { return operands_[i].is(ptx::OperandKind::Vector); }

  /// Adds an instruction with the guard of the current one.
  Inst& emit(Handler handler);
  /// The slot of operand `i`, read as `type`; constants are converted to that type.
  std::uint32_t use(unsigned i, ptx::Type type) { return useOf(operands_[i], type); }
  std::uint32_t useOf(const ptx::Operand& operand, ptx::Type type);
  /// The slot that operand `i` writes; kSink for `_`.
  std::uint32_t def(unsigned i) { return defOf(operands_[i]); }
  std::uint32_t defOf(const ptx::Operand& operand) const;
  /// The second slot of `p|q`; kSink for a single destination.
  std::uint32_t secondDef(unsigned i) const;
  /// The slots of a vector, of a register declared as a vector, of a scalar; a 128-bit register counts as two.
  std::span<const std::uint32_t> uses(unsigned i, ptx::Type type);
  std::span<const std::uint32_t> defs(unsigned i, ptx::Type type);
  /// Width in bits of the register of operand `i` (of its first element), 0 for a constant or `_`.
  unsigned registerBits(unsigned i) const;
  Address address(unsigned i, ptx::StateSpace space);
  Address addressOf(const ptx::Operand& operand, ptx::StateSpace space);
  std::uint32_t constant(std::uint64_t bits);
  std::uint32_t temporary() { return code_.registerSlots++; }
  std::span<const std::uint32_t> list(std::vector<std::uint32_t> slots);
  /// Keeps an object for the lifetime of the program.
  template <typename T> T* keep(T value) {
    auto object = std::make_shared<T>(std::move(value));
    code_.details.push_back(object);
    return object.get();
  }

  /// Likewise for the operands of a call.
  CallSite* keepSite(CallSite site) {
    sites_.push_back(keep(std::move(site)));
    return sites_.back();
  }

  const ptx::Module& module() const;
  const ptx::Function& function() const { return function_; }
  const ptx::Instruction& instruction() const { return *instruction_; }
  ModuleTranslator& moduleTranslator() { return module_; }
  Code& code() { return code_; }
  /// The offset of a .param or .local variable of this function in the local frame.
  std::uint64_t frameOffset(ptx::VariableId id);
  /// Sets Inst::imm of the last emitted instruction to the index of the label's instruction.
  void branchTo(ptx::LabelId label) { branches_.push_back({code_.insts.size() - 1, label}); }
  /// A table of labels: filled with indices of instructions.
  void tableOf(std::vector<std::uint32_t>& table, std::span<const std::uint32_t> labels) {
    tables_.push_back({&table, labels});
  }
  std::uint32_t registerSlot(ptx::RegisterId id, ptx::Component part = ptx::Component::None) const;
  /// The number of slots of a register.
  static unsigned slotsOf(const ptx::Register& reg);
  ptx::Type registerType(ptx::RegisterId id) const { return function_.registers[index(id)].type; }

  /// The slot of a variable's address; for a texture or surface of the module, of its handle.
  std::uint32_t variableAddress(ptx::VariableId id, std::int64_t offset = 0);

 private:
  /// Adds the slots of a whole register; false for any other operand.
  bool addRegister(const ptx::Operand& part, std::vector<std::uint32_t>& slots) const;
  std::span<const ptx::Operand> partsOf(unsigned i) const;
  void translateInstruction(const ptx::Instruction& instruction);
  void translateSignature();
  void finish();
  std::uint32_t special(ptx::SpecialRegister reg, unsigned component);
  std::uint32_t frameAddress(std::uint64_t offset);
  std::uint32_t sharedAddress(std::uint64_t address);
  std::uint64_t constantBits(const ptx::Operand& operand, ptx::Type type) const;

  struct Branch {
    std::size_t inst;
    ptx::LabelId label;
  };
  struct Table {
    std::vector<std::uint32_t>* entries;
    std::span<const std::uint32_t> labels;
  };

  ModuleTranslator& module_;
  const ptx::Function& function_;
  Code& code_;
  const ptx::Form* form_ = nullptr;
  const ptx::Instruction* instruction_ = nullptr;
  std::uint32_t origin_ = 0;
  std::span<const ptx::Operand> operands_;
  std::vector<std::uint32_t> firstSlot_; ///< by register
  std::unordered_map<std::uint64_t, std::uint32_t> constantSlots_;
  std::map<std::uint64_t, std::uint32_t> frameSlots_, sharedSlots_;
  std::map<std::uint32_t, std::uint32_t> specialSlots_;
  std::map<ptx::VariableId, std::uint64_t> frameOffsets_;
  std::vector<Branch> branches_;
  std::vector<Table> tables_;
  std::vector<CallSite*> sites_;
  std::vector<std::uint32_t> labelAt_;
};

class ModuleTranslator {
 public:
  ModuleTranslator(const ptx::Module& module, launch::Device& device, Program& program)
      : module(module), forms(module), device_(device), global_(device.global), program_(program) {}

  void translate(std::string_view kernel);

  /// The address of a module or function variable in its own space (of .const and .global: in global memory).
  std::uint64_t addressOf(ptx::VariableId id);
  /// The numbers of functions in orias' code, so that memory with pointers can be compared.
  static std::uint64_t addressOf(ptx::FunctionId id) { return 16 + 16 * std::uint64_t{index(id)}; }
  /// The code of a function with a body, possibly not translated yet; null without a body.
  const Code* codeOf(ptx::FunctionId id);
  bool isKernelParam(ptx::VariableId id) const { return kernelParams_.contains(id); }

  const ptx::Module& module;
  const ptx::FormTable forms;

 private:
  void layOutKernelParams(const ptx::Function& kernel);
  void allocateGlobals();
  void initialise();

  launch::Device& device_;
  launch::Memory& global_;
  Program& program_;
  std::map<ptx::VariableId, std::uint64_t> addresses_;
  std::map<ptx::VariableId, std::uint64_t> kernelParams_;
  std::map<ptx::VariableId, std::uint64_t> handles_; ///< of parameters that are textures, samplers or surfaces
  std::vector<ptx::FunctionId> waiting_;
};

// The families. Each translates the current instruction if it belongs to the family, and returns whether it did.
bool translateInteger(FunctionTranslator& t);
bool translateFloat(FunctionTranslator& t);
bool translateFloatApprox(FunctionTranslator& t);
bool translateConvert(FunctionTranslator& t);
bool translateBits(FunctionTranslator& t);
bool translateVideo(FunctionTranslator& t);
bool translateLogic(FunctionTranslator& t);
bool translateCompare(FunctionTranslator& t);
bool translateMove(FunctionTranslator& t);
bool translateMemory(FunctionTranslator& t);
bool translateAtomic(FunctionTranslator& t);
bool translateControl(FunctionTranslator& t);
bool translateSync(FunctionTranslator& t);
bool translateWarp(FunctionTranslator& t);
bool translateMatrix(FunctionTranslator& t);
bool translateMatrixMemory(FunctionTranslator& t);
bool translateQuadProduct(FunctionTranslator& t);
bool translateAsync(FunctionTranslator& t);
bool translateTextures(FunctionTranslator& t);
bool translateTensor(FunctionTranslator& t);
bool translateMultimem(FunctionTranslator& t);
bool translateWarpGroup(FunctionTranslator& t);
bool translateTensorMemory(FunctionTranslator& t);

/// Stops the run: the instruction is not implemented.
void unsupported(Thread& thread, const Inst& inst);

} // namespace orias::interp
