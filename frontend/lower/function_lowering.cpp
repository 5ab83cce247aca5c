#include "frontend/lower/function_lowering.h"

#include "encoder/isa/desc.h"
#include "frontend/lower/addresses.h"
#include "frontend/lower/external_call.h"
#include "frontend/lower/families.h"
#include "frontend/lower/inline_plan.h"
#include "frontend/lower/special.h"
#include "support/check.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

FunctionLowering::FunctionLowering(const ModuleLayout& layout, const Function& source, ori::Function& target,
                                   Diagnostics& diagnostics)
    : layout_(layout), source_(source),
      callsByAbi_(layout.options.relocatable &&
                  (!source.isEntry || layout.plan->callsFunctions(layout.in->idOf(source)))),
      out_(target), diagnostics_(diagnostics), builder_(target), body_{&source, {}},
      variables_(layout, target, callsByAbi_) {}

unsigned FunctionLowering::wordsOf(Type type) {
  unsigned bits = bitWidth(type);
  return bits <= 32 ? 1 : bits / 32;
}

void FunctionLowering::run() {
  entry_ = out_.newBlock();
  startBlock(entry_);
  body_.vregOf = declareRegisters(source_);
  if (source_.isEntry) variables_.layOutParams(source_);
  variables_.layOutVariables(source_);
  body_.blockOf.assign(source_.labels.size(), nullptr);
  if (!source_.isEntry) calls_.abi().beginFunction();
  lowerStatements();
  // A body may end without ret; the closing brace returns.
  if (!source_.isEntry) {
    calls_.abi().endFunction();
  } else if (blockIsOpen()) {
    builder_.setSource({source_.endLoc.line, 0});
    builder_.setGuard(IsaOperand::pt());
    builder_.emit(IsaOp::EXIT, {});
  }
  calls_.shared().lowerReturns();
  out_.setLayout(order_);
  calls_.recursive().saveRegisters();
}

FunctionLowering::Activation FunctionLowering::enterBody(const Function& callee, ori::Block* returnTo,
                                                         std::vector<ori::VRegId> vregOf) {
  Activation entered{&callee, std::move(vregOf), {}, returnTo, body_.current};
  entered.blockOf.assign(callee.labels.size(), nullptr);
  return std::exchange(body_, std::move(entered));
}

void FunctionLowering::lowerStatements() {
  for (const Statement& statement : body().statements)
    lowerStatement(statement);
}

void FunctionLowering::startBlock(ori::Block* block) {
  order_.push_back(block);
  builder_.setBlock(block);
}

std::vector<ori::VRegId> FunctionLowering::declareRegisters(const Function& function) {
  std::vector<ori::VRegId> vregOf;
  vregOf.reserve(function.registers.size());
  for (const Register& reg : function.registers) {
    std::string_view name = out_.intern(module().text(reg.name));
    if (reg.type == Type::Pred)
      vregOf.push_back(out_.newVReg(File::P, 1, name));
    else
      vregOf.push_back(out_.newVReg(File::R, wordsOf(reg.type) * reg.vectorSize, name));
  }
  return vregOf;
}

void FunctionLowering::lowerStatement(const Statement& statement) {
  switch (statement.kind) {
  case StatementKind::Instruction: lowerInstruction(body().instructions[statement.index]); break;
  case StatementKind::Label: {
    ori::Block* block = blockOf(LabelId(statement.index));
    if (blockIsOpen()) builder_.block()->fallthrough = block->id;
    startBlock(block);
    break;
  }
  case StatementKind::ScopeBegin:
  case StatementKind::ScopeEnd:
  case StatementKind::Variable: break;
  case StatementKind::Pragma: lowerPragma(module().pragmas[statement.index]); break;
  }
}

/// A NOP in a loop tells phase 22 not to unroll it. Other pragmas than these have no effect.
void FunctionLowering::lowerPragma(const Pragma& pragma) {
  const std::string_view text = module().text(pragma.text);
  if (text == "enable_smem_spilling") out_.spillsToShared = true;
  if (text != "nounroll" || !blockIsOpen()) return;
  builder_.setSource({pragma.loc.line, 0});
  builder_.setGuard(IsaOperand::pt());
  builder_.emit(IsaOp::NOP, {});
}

namespace {

/// Such a fence is slow even if its guard is false in all lanes, so a branch skips it.
bool fencesBeyondCta(const Form& form) {
  const bool isFence = form.op == Op::Fence || form.op == Op::Membar;
  const bool isOrdered =
      form.semantics() == Mod::Acquire || form.semantics() == Mod::Release || form.semantics() == Mod::AcqRel;
  const bool isMemory = form.op == Op::Ld || form.op == Op::St || form.op == Op::Atom || form.op == Op::Red;
  return form.scope() != Mod::Cta && (isFence || (isMemory && isOrdered));
}

} // namespace

void FunctionLowering::lowerInstruction(const Instruction& instruction) {
  body_.current = &instruction;
  const Form& form = layout_.forms->form(instruction);
  HandlerEntry entry = handlerFor(form.op);
  if (!entry.handler) {
    unsupported(fmt::format("{}", opcodeText()));
    return;
  }
  builder_.setSource(sourceOf(instruction));
  if (instruction.guard == RegisterId::None) {
    entry.handler(*this, instruction, form);
  } else if (fencesBeyondCta(form)) {
    ori::Block* const join = beginUnguarded();
    Instruction unguarded = instruction;
    unguarded.guard = RegisterId::None;
    body_.current = &unguarded;
    entry.handler(*this, unguarded, form);
    body_.current = &instruction;
    endUnguarded(join);
  } else if (entry.guarding == Guarding::Direct) {
    builder_.setGuard(guard());
    entry.handler(*this, instruction, form);
    builder_.setGuard(IsaOperand::pt());
  } else {
    guardedResults_.begin();
    entry.handler(*this, instruction, form);
    guardedResults_.finish(guard());
  }
}

isa::Operand FunctionLowering::guard() {
  if (body_.current->guard == RegisterId::None) return IsaOperand::pt();
  IsaOperand p = out_.use(body_.vregOf[index(body_.current->guard)]);
  return body_.current->guardNegated ? p.notted() : p;
}

void FunctionLowering::unsupported(const std::string& what) {
  diagnostics_.error(body_.current->loc, "not supported yet: " + what);
}

isa::Operand FunctionLowering::dest(const Operand& operand) {
  if (operand.is(OperandKind::Sink)) return IsaOperand::rz();
  IsaOperand target = out_.use(body_.vregOf[index(operand.registerId())]);
  if (operand.component() >= Component::X && operand.component() <= Component::W) {
    const Register& reg = body().registers[index(operand.registerId())];
    const unsigned words = wordsOf(reg.type);
    target = ori::component(
        target, words * (static_cast<unsigned>(operand.component()) - static_cast<unsigned>(Component::X)), words);
  }
  return guardedResults_.of(target);
}

isa::Operand FunctionLowering::destPredicate(const Operand& operand, unsigned which) {
  RegisterId id = operand.is(OperandKind::Pair) && which ? operand.secondRegister() : operand.registerId();
  if (operand.is(OperandKind::Sink) || id == RegisterId::None || (which && !operand.is(OperandKind::Pair)))
    return IsaOperand::pt();
  return dest(Operand::reg(id));
}

isa::Operand FunctionLowering::predicate(const Operand& operand) {
  if (operand.is(OperandKind::Int)) return operand.bits() ? IsaOperand::pt() : IsaOperand::pt().notted();
  if (operand.is(OperandKind::Special)) {
    const IsaOperand special = specialPredicate(*this, operand.specialRegister());
    return operand.isNegated() ? special.notted() : special;
  }
  IsaOperand p = out_.use(body_.vregOf[index(operand.registerId())]);
  return operand.isNegated() ? p.notted() : p;
}

Value FunctionLowering::source(const Operand& operand, Type type) {
  const unsigned words = wordsOf(type);
  switch (operand.kind()) {
  case OperandKind::Register: {
    IsaOperand reg = out_.use(body_.vregOf[index(operand.registerId())]);
    if (operand.component() >= Component::X && operand.component() <= Component::W) {
      const unsigned n = wordsOf(body().registers[index(operand.registerId())].type);
      reg = ori::component(reg, n * (static_cast<unsigned>(operand.component()) - static_cast<unsigned>(Component::X)),
                           n);
    }
    return Value::of(reg);
  }
  case OperandKind::Int: {
    if (typeClass(type) == TypeClass::Float && type == Type::F32)
      return Value::constant(std::bit_cast<std::uint32_t>(static_cast<float>(operand.intValue())), 1);
    if (type == Type::F64)
      return Value::constant(std::bit_cast<std::uint64_t>(static_cast<double>(operand.intValue())), 2);
    std::uint64_t bits = operand.bits();
    if (words == 1) bits &= 0xffffffffu;
    return Value::constant(bits, words);
  }
  case OperandKind::Float32: {
    if (type == Type::F64)
      return Value::constant(std::bit_cast<std::uint64_t>(static_cast<double>(operand.float32Value())), 2);
    return Value::constant(operand.bits() & 0xffffffffu, words);
  }
  case OperandKind::Float64: {
    if (words == 1) return Value::constant(std::bit_cast<std::uint32_t>(static_cast<float>(operand.float64Value())), 1);
    return Value::constant(operand.bits(), words);
  }
  case OperandKind::Function: {
    const FunctionId named = layout_.calls->resolved(operand.functionId());
    const bool isKernel = module().function(named).isEntry;
    if (!isRelocatable() && !isKernel) return Value::constant(functionAddress(named), words);
    if (words != 2) {
      unsupported("a part of a function address");
      return Value::constant(0, words);
    }
    if (isKernel && layout_.functionSymbol[index(named)] == kNoId) {
      reportUnresolved(*this, module().text(module().function(named).name));
      return Value::constant(0, words);
    }
    // A launch refers to a kernel by its descriptor, whose address the loader writes.
    if (isKernel && !namesData()) return Value::of(addressFromTable(*this, layout_.functionSymbol[index(named)]));
    return Value::of(symbolAddress(*this, layout_.functionSymbol[index(named)], 0, words));
  }
  case OperandKind::Special: return specialRegister(*this, operand.specialRegister(), operand.component());
  case OperandKind::Variable: {
    Value v = variableAddress(*this, operand.variableId(), operand.offset());
    if (v.words() >= words) return v.words() == words ? v : Value::of(ori::component(inReg(v), 0));
    IsaOperand wide = newR(words);
    builder_.emit(IsaOp::COPY, {ori::component(wide, 0), inReg(v)});
    for (unsigned i = 1; i < words; ++i)
      builder_.emit(IsaOp::COPY, {ori::component(wide, i), IsaOperand::rz()});
    return Value::of(wide);
  }
  default: unsupported(fmt::format("this kind of operand of {}", opcodeText())); return Value::constant(0, words);
  }
}

isa::Operand FunctionLowering::sourceReg(const Operand& operand, Type type) {
  return inReg(source(operand, type));
}

isa::Operand FunctionLowering::inReg(IsaOperand word) {
  if (word.isReg(File::R) && !word.neg() && !word.abs() && !word.inverted()) return word;
  IsaOperand r = newR();
  builder_.emit(IsaOp::MOV, {r, word});
  return r;
}

isa::Operand FunctionLowering::inReg(const Value& value) {
  if (!value.isConstant()) return value.reg();
  if (value.bits() == 0) return IsaOperand::rz(value.words());
  if (value.words() == 1) return inReg(value.word(0));
  IsaOperand r = newR(value.words());
  copy(r, value);
  return r;
}

void FunctionLowering::copy(IsaOperand destination, const Value& value) {
  if (!value.isConstant()) {
    builder_.emit(IsaOp::COPY, {destination, ori::component(value.reg(), 0, destination.width)});
    return;
  }
  for (unsigned i = 0; i < destination.width; ++i)
    builder_.emit(IsaOp::MOV, {ori::component(destination, i), value.word(i)});
}

ori::Instr* FunctionLowering::emit(IsaOp op, std::initializer_list<IsaOperand> operands,
                                   std::initializer_list<ModValue> mods) {
  return emit(op, std::vector<IsaOperand>(operands), std::span<const ModValue>(mods.begin(), mods.size()));
}

ori::Instr* FunctionLowering::emit(IsaOp op, std::vector<IsaOperand> operands, std::span<const ModValue> mods) {
  isa::Inst trial = isa::makeInst(op);
  for (ModValue m : mods)
    ORIAS_CHECK(isa::setMod(trial, m));
  const isa::InstrDesc& row = isa::desc(op);
  // imm(0) is RZ, which is right in register slots. Purely numeric slots require the number.
  for (unsigned i = 0; i < operands.size() && i < row.slotCount; ++i)
    if (operands[i].isZeroReg() && operands[i].file == File::R && !(row.slots[i].accepts & isa::kAcceptsReg) &&
        (row.slots[i].accepts & isa::kAcceptsImm))
      operands[i] = IsaOperand::immediate(0);
  if (!row.isPseudo() && !isa::fits(op, trial.mods, operands)) {
    auto movable = [](const IsaOperand& o) { return o.isImm() || o.isConst(); };
    // First move the operands that no form accepts in their slot, then others until one form accepts all.
    for (unsigned i = 0; i < operands.size(); ++i)
      if (movable(operands[i]) && !isa::accepts(op, trial.mods, i, operands[i])) operands[i] = inReg(operands[i]);
    for (unsigned i = 0; i < operands.size() && !isa::fits(op, trial.mods, operands); ++i)
      if (movable(operands[i]) && (row.slots[i].accepts & isa::kAcceptsReg)) operands[i] = inReg(operands[i]);
  }
  return builder_.emit(op, operands, mods);
}

isa::Operand FunctionLowering::compared(IsaOperand word, isa::ICmp how, std::int64_t number) {
  const IsaOperand holds = newP();
  emit(IsaOp::ISETP, {holds, IsaOperand::pt(), word, imm(number), IsaOperand::pt()},
       {{IsaMod::Cmp, how}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  return holds;
}

isa::Operand FunctionLowering::extended(const Value& value, Type type) {
  const unsigned bits = bitWidth(type);
  const bool isSigned = typeClass(type) == TypeClass::Signed;
  if (bits >= 32) return value.word(0);
  if (value.isConstant()) {
    std::uint32_t raw = static_cast<std::uint32_t>(value.bits()) & ((1u << bits) - 1);
    if (isSigned && (raw >> (bits - 1))) raw |= ~0u << bits;
    return imm(static_cast<std::int32_t>(raw));
  }
  IsaOperand r = newR();
  if (isSigned)
    builder_.emit(IsaOp::PRMT, {r, value.word(0), imm(bits == 8 ? 0x8880 : 0x9910), IsaOperand::rz()});
  else
    builder_.emit(IsaOp::PRMT, {r, value.word(0), imm(bits == 8 ? 0x4440 : 0x5410), IsaOperand::rz()});
  return r;
}

const Elected* FunctionLowering::elected() {
  // The instruction being lowered may be a copy without its guard.
  const Instruction* first = source_.instructions.data();
  const bool isOfBody =
      std::less_equal<>()(first, body_.current) && std::less<>()(body_.current, first + source_.instructions.size());
  if (isInlinedBody() || !isOfBody) return nullptr;
  if (!elected_) elected_.emplace(module(), source_, *layout_.forms);
  return &*elected_;
}

const KernelParameters* FunctionLowering::kernelParameters() {
  if (isInlinedBody()) return nullptr;
  if (!kernelParameters_) kernelParameters_.emplace(*this);
  return &*kernelParameters_;
}

isa::Operand FunctionLowering::carry() {
  if (carry_.isNone()) carry_ = newP();
  return carry_;
}

ori::Block* FunctionLowering::blockOf(LabelId label) {
  ori::Block*& block = body_.blockOf[index(label)];
  if (!block) block = out_.newBlock(out_.intern(module().text(body().labels[index(label)].name)));
  return block;
}

void FunctionLowering::endBlock(const ori::Instr* terminator) {
  ori::Block* next = out_.newBlock();
  if (terminator->isGuarded()) builder_.block()->fallthrough = next->id;
  startBlock(next);
}

bool FunctionLowering::blockIsOpen() const {
  const ori::Instr* last = builder_.block()->last;
  return !last || !ori::isTerminator(last->op) || ori::isConditional(*last);
}

} // namespace orias::ptx
