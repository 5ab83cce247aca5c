#include "support/align.h"
#include "support/check.h"
#include "tools/interpreter/translate.h"

#include <fmt/format.h>

namespace orias::interp {

using ptx::Component;
using ptx::Operand;
using ptx::OperandKind;
using ptx::StateSpace;
using ptx::Type;
using ptx::TypeClass;

namespace {

/// Constants are numbered from here until their slots after the registers are known.
constexpr std::uint32_t kConstantFlag = 1u << 31;

std::uint64_t lowBits(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

void invert(Thread& t, const Inst& i) {
  ++t.uncounted;
  put(t, i.d, !get<bool>(t, i.a));
}

/// Registers that change while a thread runs: clocks count the instructions of the launch.
void readClock(Thread& t, const Inst& i) {
  ++t.uncounted;
  const std::uint64_t now = t.machine->executed() + 1;
  t.r[i.d] = i.option ? lowBits(now >> i.option, 32) : lowBits(now, i.width);
}

} // namespace

FunctionTranslator::FunctionTranslator(ModuleTranslator& module, const ptx::Function& function, Code& code)
    : module_(module), function_(function), code_(code) {
  code_.function = &function;
  code_.registerSlots = kSink + 1;
  for (const ptx::Register& reg : function.registers) {
    firstSlot_.push_back(code_.registerSlots);
    code_.registerSlots += slotsOf(reg);
  }
  labelAt_.resize(function.labels.size());
}

const ptx::Module& FunctionTranslator::module() const {
  return module_.module;
}

void FunctionTranslator::translate() {
  translateSignature();
  for (const ptx::Statement& statement : function_.statements) {
    if (statement.kind == ptx::StatementKind::Label)
      labelAt_[statement.index] = static_cast<std::uint32_t>(code_.insts.size());
    else if (statement.kind == ptx::StatementKind::Instruction) {
      origin_ = statement.index;
      translateInstruction(function_.instructions[statement.index]);
    }
  }
  finish();
}

void FunctionTranslator::translateSignature() {
  const auto place = [&](const ptx::Parameter& p) {
    const ptx::Variable& variable = module().variable(p.variable);
    Place at;
    at.size = variable.byteSize();
    if (variable.space == StateSpace::Reg) {
      if (p.reg != ptx::RegisterId::None) {
        at.slot = registerSlot(p.reg);
        at.slots = slotsOf(function_.registers[index(p.reg)]);
      }
    } else {
      at.inMemory = true;
      at.offset = frameOffset(p.variable);
    }
    return at;
  };
  if (function_.isEntry) return;
  for (const ptx::Parameter& p : function_.params)
    code_.params.push_back(place(p));
  for (const ptx::Parameter& p : function_.returns)
    code_.returns.push_back(place(p));
}

void FunctionTranslator::translateInstruction(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  operands_ = function_.operandsOf(instruction);
  form_ = &module_.forms.form(instruction);
  using Family = bool (*)(FunctionTranslator&);
  constexpr Family kFamilies[] = {translateInteger,     translateFloat,     translateFloatApprox, translateConvert,
                                  translateBits,        translateLogic,     translateCompare,     translateMove,
                                  translateMemory,      translateAtomic,    translateControl,     translateSync,
                                  translateWarp,        translateMatrix,    translateAsync,       translateVideo,
                                  translateTextures,    translateWarpGroup, translateTensor,      translateMultimem,
                                  translateTensorMemory};
  const std::size_t before = code_.insts.size();
  for (Family family : kFamilies)
    if (family(*this)) return;
  code_.insts.resize(before);
  emit(&unsupported);
}

void FunctionTranslator::finish() {
  // Reaching the end of a body returns.
  emit([](Thread& t, const Inst&) {
    ++t.uncounted;
    leave(t);
  }).guard = -1;
  for (const Branch& branch : branches_)
    code_.insts[branch.inst].imm = labelAt_[index(branch.label)];
  for (const Table& table : tables_)
    for (std::uint32_t label : table.labels)
      table.entries->push_back(labelAt_[label]);

  const auto place = [&](std::uint32_t& slot) {
    if (slot & kConstantFlag) slot = code_.registerSlots + (slot & ~kConstantFlag);
  };
  for (Inst& inst : code_.insts) {
    for (std::uint32_t* slot : {&inst.a, &inst.b, &inst.c, &inst.d, &inst.e})
      place(*slot);
  }
  for (std::vector<std::uint32_t>& slots : code_.lists)
    for (std::uint32_t& slot : slots)
      place(slot);
  for (Code::FrameAddress& f : code_.frameAddresses)
    place(f.slot);
  for (Code::SpecialSlot& s : code_.specials)
    place(s.slot);
  for (std::uint32_t& slot : code_.sharedAddresses)
    place(slot);
  for (CallSite* site : sites_) {
    for (Place& p : site->args)
      place(p.slot);
    for (Place& p : site->returns)
      place(p.slot);
  }
  code_.frameBytes = alignUp(code_.frameBytes, 16);
}

Inst& FunctionTranslator::emit(Handler handler) {
  Inst inst;
  inst.run = handler;
  inst.origin = origin_;
  if (instruction_ && instruction_->guard != ptx::RegisterId::None) {
    inst.guard = static_cast<std::int32_t>(registerSlot(instruction_->guard));
    inst.guardNegated = instruction_->guardNegated;
  }
  code_.insts.push_back(inst);
  return code_.insts.back();
}

// ---- Slots

unsigned FunctionTranslator::slotsOf(const ptx::Register& reg) {
  return reg.vectorSize * (bitWidth(reg.type) == 128 ? 2u : 1u);
}

std::uint32_t FunctionTranslator::registerSlot(ptx::RegisterId id, Component part) const {
  std::uint32_t slot = firstSlot_[index(id)];
  if (part >= Component::X && part <= Component::W)
    slot += static_cast<std::uint32_t>(part) - static_cast<std::uint32_t>(Component::X);
  return slot;
}

std::uint32_t FunctionTranslator::constant(std::uint64_t bits) {
  const auto [it, isNew] =
      constantSlots_.try_emplace(bits, kConstantFlag | static_cast<std::uint32_t>(code_.constants.size()));
  if (isNew) code_.constants.push_back(bits);
  return it->second;
}

std::uint32_t FunctionTranslator::frameAddress(std::uint64_t offset) {
  const auto [it, isNew] =
      frameSlots_.try_emplace(offset, kConstantFlag | static_cast<std::uint32_t>(code_.constants.size()));
  if (isNew) {
    code_.constants.push_back(0);
    code_.frameAddresses.push_back({it->second, offset});
  }
  return it->second;
}

/// The block's rank is added when the block is created.
std::uint32_t FunctionTranslator::sharedAddress(std::uint64_t address) {
  const auto [it, isNew] =
      sharedSlots_.try_emplace(address, kConstantFlag | static_cast<std::uint32_t>(code_.constants.size()));
  if (isNew) {
    code_.constants.push_back(address);
    code_.sharedAddresses.push_back(it->second);
  }
  return it->second;
}

std::uint32_t FunctionTranslator::special(ptx::SpecialRegister reg, unsigned component) {
  using S = ptx::SpecialRegister;
  const auto clock = [&](std::uint8_t width, std::uint16_t shift) {
    const std::uint32_t slot = temporary();
    Inst& inst = emit(&readClock);
    inst.d = slot;
    inst.width = width;
    inst.option = shift;
    return slot;
  };
  switch (reg) {
  case S::Clock:
  case S::GlobalTimerLo: return clock(32, 0);
  case S::Clock64:
  case S::GlobalTimer: return clock(64, 0);
  case S::ClockHi:
  case S::GlobalTimerHi: return clock(32, 32);
  default: break;
  }
  const std::uint32_t key = static_cast<std::uint32_t>(reg) * 4 + component;
  const auto [it, isNew] =
      specialSlots_.try_emplace(key, kConstantFlag | static_cast<std::uint32_t>(code_.constants.size()));
  if (isNew) {
    code_.constants.push_back(0);
    code_.specials.push_back({it->second, reg, component});
  }
  return it->second;
}

std::uint64_t FunctionTranslator::frameOffset(ptx::VariableId id) {
  const auto [it, isNew] = frameOffsets_.try_emplace(id, 0);
  if (isNew) {
    const ptx::Variable& variable = module().variable(id);
    code_.frameBytes = alignUp(code_.frameBytes, std::max<std::uint64_t>(variable.align, 1));
    it->second = code_.frameBytes;
    code_.frameBytes += variable.byteSize();
  }
  return it->second;
}

std::uint32_t FunctionTranslator::variableAddress(ptx::VariableId id, std::int64_t offset) {
  const ptx::Variable& variable = module().variable(id);
  if (typeClass(variable.type) == TypeClass::Opaque) return constant(module_.addressOf(id)); // a handle
  const bool inFrame =
      variable.space == StateSpace::Local || (variable.space == StateSpace::Param && !module_.isKernelParam(id));
  const auto after = static_cast<std::uint64_t>(offset);
  if (inFrame) return frameAddress(frameOffset(id) + after);
  const std::uint64_t address = module_.addressOf(id) + after;
  return variable.space == StateSpace::Shared ? sharedAddress(address) : constant(address);
}

std::uint64_t FunctionTranslator::constantBits(const Operand& o, Type type) const {
  const unsigned bits = bitWidth(type);
  const bool isFloat = typeClass(type) == TypeClass::Float;
  switch (o.kind()) {
  case OperandKind::Int:
    if (type == Type::Pred) return o.bits() != 0;
    return lowBits(o.bits(), bits);
  case OperandKind::Float32:
    if (bits == 64) return std::bit_cast<std::uint64_t>(static_cast<double>(o.float32Value()));
    return o.bits();
  case OperandKind::Float64:
    if (bits == 32 && (isFloat || o.isDecimal()))
      return std::bit_cast<std::uint32_t>(static_cast<float>(o.float64Value()));
    return o.bits();
  default: ORIAS_UNREACHABLE("not a constant");
  }
}

std::uint32_t FunctionTranslator::useOf(const Operand& o, Type type) {
  switch (o.kind()) {
  case OperandKind::Register: {
    const std::uint32_t slot = registerSlot(o.registerId(), o.component());
    if (!o.isNegated()) return slot;
    const std::uint32_t inverted = temporary();
    Inst& inst = emit(&invert);
    inst.d = inverted;
    inst.a = slot;
    return inverted;
  }
  case OperandKind::Special: {
    const unsigned component = o.component() == Component::None
                                   ? 0
                                   : static_cast<unsigned>(o.component()) - static_cast<unsigned>(Component::X);
    return special(o.specialRegister(), component);
  }
  case OperandKind::Int:
  case OperandKind::Float32:
  case OperandKind::Float64: return constant(constantBits(o, type));
  case OperandKind::Variable: return variableAddress(o.variableId(), o.offset());
  case OperandKind::Function:
    if (!module().function(o.functionId()).isEntry) module_.codeOf(o.functionId()); // kernels are launched
    return constant(ModuleTranslator::addressOf(o.functionId()));
  default: return kSink;
  }
}

std::uint32_t FunctionTranslator::defOf(const Operand& o) const {
  if (o.is(OperandKind::Register)) return registerSlot(o.registerId(), o.component());
  if (o.is(OperandKind::Pair) && o.registerId() != ptx::RegisterId::None) return registerSlot(o.registerId());
  return kSink;
}

std::uint32_t FunctionTranslator::secondDef(unsigned i) const {
  const Operand& o = operands_[i];
  if (!o.is(OperandKind::Pair) || o.secondRegister() == ptx::RegisterId::None) return kSink;
  return registerSlot(o.secondRegister());
}

std::span<const std::uint32_t> FunctionTranslator::list(std::vector<std::uint32_t> slots) {
  code_.lists.push_back(std::move(slots));
  return code_.lists.back();
}

bool FunctionTranslator::addRegister(const Operand& part, std::vector<std::uint32_t>& slots) const {
  if (!part.is(OperandKind::Register) || part.component() != Component::None) return false;
  const unsigned count = slotsOf(function_.registers[index(part.registerId())]);
  for (unsigned k = 0; k < count; ++k)
    slots.push_back(registerSlot(part.registerId()) + k);
  return true;
}

std::span<const Operand> FunctionTranslator::partsOf(unsigned i) const {
  const Operand& o = operands_[i];
  return o.is(OperandKind::Vector) ? std::span<const Operand>(function_.parts(o)) : std::span(&o, 1);
}

std::span<const std::uint32_t> FunctionTranslator::uses(unsigned i, Type type) {
  std::vector<std::uint32_t> slots;
  for (const Operand& part : partsOf(i)) {
    if (addRegister(part, slots)) continue;
    slots.push_back(useOf(part, type));
    if (bitWidth(type) == 128) slots.push_back(constant(0));
  }
  return list(std::move(slots));
}

std::span<const std::uint32_t> FunctionTranslator::defs(unsigned i, Type type) {
  std::vector<std::uint32_t> slots;
  for (const Operand& part : partsOf(i))
    if (!addRegister(part, slots)) slots.insert(slots.end(), bitWidth(type) == 128 ? 2 : 1, defOf(part));
  return list(std::move(slots));
}

unsigned FunctionTranslator::registerBits(unsigned i) const {
  const Operand* o = &operands_[i];
  if (o->is(OperandKind::Vector)) {
    for (const Operand& part : function_.parts(*o))
      if (part.is(OperandKind::Register)) return bitWidth(registerType(part.registerId()));
    return 0;
  }
  return o->is(OperandKind::Register) ? bitWidth(registerType(o->registerId())) : 0;
}

// ---- Addresses

Address FunctionTranslator::address(unsigned i, StateSpace space) {
  return addressOf(operands_[i], space);
}

Address FunctionTranslator::addressOf(const Operand& o, StateSpace space) {
  Address at;
  switch (space) {
  case StateSpace::Global:
  case StateSpace::Const: at.space = Space::Global; break;
  case StateSpace::Shared:
    at.space = form_->get(ptx::Slot::Space) == ptx::Mod::SharedCluster ? Space::Cluster : Space::Shared;
    break;
  case StateSpace::Local: at.space = Space::Local; break;
  case StateSpace::Param: at.space = function_.isEntry ? Space::Param : Space::Local; break;
  default: at.space = Space::Generic; break;
  }
  at.offset = o.offset();
  const bool isVariable =
      o.is(OperandKind::Variable) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable);
  if (isVariable) {
    at.slot = variableAddress(o.variableId());
    // The space is that of the variable's declaration, even if the opcode has none.
    const ptx::Variable& variable = module().variable(o.variableId());
    switch (variable.space) {
    case StateSpace::Param: at.space = module_.isKernelParam(o.variableId()) ? Space::Param : Space::Local; break;
    case StateSpace::Local: at.space = Space::Local; break;
    case StateSpace::Shared: at.space = Space::Shared; break;
    default: at.space = Space::Global; break;
    }
  } else if (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Register) {
    at.slot = registerSlot(o.registerId());
  } else {
    at.slot = constant(0);
  }
  return at;
}

} // namespace orias::interp
