#include "frontend/lower/function_lowering.h"

#include "encoder/isa/desc.h"
#include "frontend/lower/families.h"
#include "frontend/lower/inline_plan.h"
#include "support/align.h"
#include "support/check.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {} // namespace

FunctionLowering::FunctionLowering(const ModuleLayout& layout, const Function& source, ori::Function& target,
                                   Diagnostics& diagnostics)
    : layout_(layout),
      callsByAbi_(layout.options.relocatable && (!source.isEntry || layout.plan->callsFunctions(idOf(source)))),
      in_(&source), out_(target), diagnostics_(diagnostics), builder_(target) {}

unsigned FunctionLowering::wordsOf(Type type) {
  unsigned bits = bitWidth(type);
  return bits <= 32 ? 1 : bits / 32;
}

void FunctionLowering::run() {
  entry_ = out_.newBlock();
  startBlock(entry_);
  vregOf_ = declareRegisters(*in_);
  if (in_->isEntry) layOutParams();
  layOutVariables();
  blockOf_.assign(in_->labels.size(), nullptr);
  if (!in_->isEntry) beginFunction();
  for (const Statement& statement : in_->statements)
    lowerStatement(statement);
  // A body may end without ret; the closing brace returns.
  if (!in_->isEntry) {
    endFunction();
  } else if (blockIsOpen()) {
    builder_.setSource({in_->endLoc.line, 0});
    builder_.setGuard(IsaOperand::pt());
    builder_.emit(IsaOp::EXIT, {});
  }
  returnFromShared();
  out_.setLayout(order_);
  saveAcrossRecursion();
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

namespace {

std::uint8_t pointerSpaceOf(const Variable& pointer) {
  switch (pointer.pointerSpace) {
  case StateSpace::Local: return 1;
  case StateSpace::Shared: return 2;
  case StateSpace::Global:
  case StateSpace::Const: return 4;
  default: return 5;
  }
}

} // namespace

void FunctionLowering::layOutParams() {
  paramOffset_.assign(module().variables.size(), kNoId);
  const std::uint32_t base = target().paramBase();
  std::uint32_t at = 0;
  for (const Parameter& param : in_->params) {
    const Variable& v = module().variable(param.variable);
    if (typeClass(v.type) == TypeClass::Opaque) {
      ori::KernelParam named{out_.intern(module().text(v.name)), 0, 0, 0, 0, {}};
      named.handle = handleSymbol(param.variable);
      out_.params.push_back(named);
      continue;
    }
    at = alignUp(base + at, v.align) - base; // the address in the bank is aligned, not the offset among the parameters
    paramOffset_[index(param.variable)] = at;
    const auto size = static_cast<std::uint32_t>(v.byteSize());
    out_.params.push_back({out_.intern(module().text(v.name)),
                           at,
                           size,
                           v.isPointer ? pointerSpaceOf(v) : std::uint8_t{0},
                           v.pointerAlign,
                           {}});
    at += size;
  }
  out_.paramBytes = at;
}

void FunctionLowering::layOutVariables() {
  sharedOffset_.assign(module().variables.size(), kNoId);
  frameObject_.assign(module().variables.size(), kNoId);
  // Variables of these functions, followed by the module-scope shared variables that they use, get offsets in the order
  // of declaration, as in ptxas.
  std::vector<bool> named(module().variables.size(), false), inBody(named), inRecursive(named);
  for (const Function* body : bodies()) {
    for (const Operand& o : body->operands)
      if (o.is(OperandKind::Variable) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable))
        named[index(o.variableId())] = true;
    for (const Statement& s : body->statements)
      if (s.kind == StatementKind::Variable) {
        named[s.index] = inBody[s.index] = true;
        // Each activation of a recursive function has its own variable.
        inRecursive[s.index] = !callsByAbi_ && layout_.calls->isRecursive(idOf(*body));
      }
    keepInMemory(*body);
  }

  std::vector<std::uint32_t> dynamic, ordered;
  for (const bool isOwn : {true, false})
    for (std::uint32_t id = 0; id < named.size(); ++id)
      if (named[id] && inBody[id] == isOwn) ordered.push_back(id);
  for (const std::uint32_t id : ordered) {
    const Variable& v = module().variables[id];
    if (v.space == StateSpace::Shared) {
      if (isLinked()) continue; // a symbol
      if (v.incomplete || v.linkage == Linkage::Extern) {
        dynamic.push_back(id);
        continue;
      }
      out_.sharedBytes = alignUp(out_.sharedBytes, v.align);
      sharedOffset_[id] = out_.sharedBytes;
      out_.sharedBytes += static_cast<std::uint32_t>(v.byteSize());
      out_.sharedAlign = std::max(out_.sharedAlign, v.align);
    } else if (v.space == StateSpace::Local && !inRecursive[id]) {
      frameObject_[id] = newFrameObject(v);
    }
  }
  // All dynamic arrays begin at the same offset, after the static ones.
  for (std::uint32_t id : dynamic) {
    out_.usesDynamicShared = true;
    out_.sharedAlign = std::max(out_.sharedAlign, module().variables[id].align);
  }
  // The driver places dynamic arrays after the declared size of the static ones. Like ptxas, mark all kernels of a
  // module that has dynamic arrays.
  bool seesDynamic = !dynamic.empty();
  if (in_->isEntry && !isLinked())
    for (const Variable& v : module().variables)
      if (v.space == StateSpace::Shared && v.incomplete) {
        seesDynamic = true;
        out_.sharedAlign = std::max(out_.sharedAlign, v.align);
      }
  if (seesDynamic) {
    out_.sharedAlign = std::max(out_.sharedAlign, isa::Target::kDynamicSharedAlignment);
    out_.sharedBytes = alignUp(out_.sharedBytes, out_.sharedAlign);
  }
  for (std::uint32_t id : dynamic)
    sharedOffset_[id] = out_.sharedBytes;
}

std::uint32_t FunctionLowering::newFrameObject(const Variable& v) {
  ori::FrameObject object;
  object.name = out_.intern(module().text(v.name));
  object.size = static_cast<std::uint32_t>(v.byteSize());
  object.align = v.align;
  out_.frame.push_back(object);
  return static_cast<std::uint32_t>(out_.frame.size() - 1);
}

void FunctionLowering::keepInMemory(const Function& body) {
  if (body.isEntry || (!callsByAbi_ && layout_.calls->isRecursive(idOf(body)))) return;
  for (const Parameter& p : body.params) {
    const auto isIt = [&](const Operand& o) { return o.is(OperandKind::Variable) && o.variableId() == p.variable; };
    if (p.reg != RegisterId::None || std::none_of(body.operands.begin(), body.operands.end(), isIt)) continue;
    Variable copy = module().variable(p.variable);
    copy.align = std::max<std::uint32_t>(copy.align, 4); // it is stored by words
    std::uint32_t& object = frameObject_[index(p.variable)];
    object = newFrameObject(copy);
    out_.frame[object].size = alignUp(out_.frame[object].size, 4);
  }
}

void FunctionLowering::lowerStatement(const Statement& statement) {
  switch (statement.kind) {
  case StatementKind::Instruction: lowerInstruction(in_->instructions[statement.index]); break;
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
  current_ = &instruction;
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
    current_ = &unguarded;
    entry.handler(*this, unguarded, form);
    current_ = &instruction;
    endUnguarded(join);
  } else if (entry.guarding == Guarding::Direct) {
    builder_.setGuard(guard());
    entry.handler(*this, instruction, form);
    builder_.setGuard(IsaOperand::pt());
  } else {
    ori::Instr* before = builder_.block()->last;
    staging_ = true;
    entry.handler(*this, instruction, form);
    staging_ = false;
    finishStaged(before);
  }
}

/// A guarded pure instruction was computed into temporaries without the guard. If it became a single instruction, that
/// takes the guard. A sequence ends in guarded copies.
void FunctionLowering::finishStaged(ori::Instr* lastBefore) {
  ori::Instr* first = lastBefore ? lastBefore->next : builder_.block()->first;
  if (first && first == builder_.block()->last) {
    for (unsigned i = 0; i < first->operandCount; ++i)
      for (const Staged& s : staged_)
        if (first->op_(i).isDef && first->op_(i).isReg(s.result.file) && first->op_(i).reg == s.result.reg) {
          IsaOperand target = ori::component(s.destination, first->op_(i).sub, first->op_(i).width);
          out_.setOperand(first, i, target);
        }
    out_.setGuard(first, guard());
  } else {
    builder_.setGuard(guard());
    for (const Staged& s : staged_)
      builder_.emit(IsaOp::COPY, {s.destination, s.result});
    builder_.setGuard(IsaOperand::pt());
  }
  staged_.clear();
}

isa::Operand FunctionLowering::guard() {
  if (current_->guard == RegisterId::None) return IsaOperand::pt();
  IsaOperand p = out_.use(vregOf_[index(current_->guard)]);
  return current_->guardNegated ? p.notted() : p;
}

void FunctionLowering::unsupported(const std::string& what) {
  diagnostics_.error(current_->loc, "not supported yet: " + what);
}

isa::Operand FunctionLowering::dest(const Operand& operand) {
  if (operand.is(OperandKind::Sink)) return IsaOperand::rz();
  IsaOperand target = out_.use(vregOf_[index(operand.registerId())]);
  if (operand.component() >= Component::X && operand.component() <= Component::W) {
    const Register& reg = in_->registers[index(operand.registerId())];
    const unsigned words = wordsOf(reg.type);
    target = ori::component(
        target, words * (static_cast<unsigned>(operand.component()) - static_cast<unsigned>(Component::X)), words);
  }
  return staged(target);
}

isa::Operand FunctionLowering::staged(IsaOperand target) {
  if (!staging_) return target;
  for (const Staged& s : staged_)
    if (s.destination == target) return s.result;
  IsaOperand result = out_.use(out_.newVReg(target.file, target.width));
  staged_.push_back({result, target});
  return result;
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
    const IsaOperand special = specialPredicate(operand.specialRegister());
    return operand.isNegated() ? special.notted() : special;
  }
  IsaOperand p = out_.use(vregOf_[index(operand.registerId())]);
  return operand.isNegated() ? p.notted() : p;
}

Value FunctionLowering::source(const Operand& operand, Type type) {
  const unsigned words = wordsOf(type);
  switch (operand.kind()) {
  case OperandKind::Register: {
    IsaOperand reg = out_.use(vregOf_[index(operand.registerId())]);
    if (operand.component() >= Component::X && operand.component() <= Component::W) {
      const unsigned n = wordsOf(in_->registers[index(operand.registerId())].type);
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
      unresolved(module().text(module().function(named).name));
      return Value::constant(0, words);
    }
    // A launch refers to a kernel by its descriptor, whose address the loader writes.
    if (isKernel && !namesData()) return Value::of(addressFromTable(layout_.functionSymbol[index(named)]));
    return Value::of(symbolAddress(layout_.functionSymbol[index(named)], 0, words));
  }
  case OperandKind::Special: return specialRegister(operand.specialRegister(), operand.component());
  case OperandKind::Variable: {
    Value v = variableAddress(operand.variableId(), operand.offset());
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

isa::Operand FunctionLowering::carry() {
  if (carry_.isNone()) carry_ = newP();
  return carry_;
}

ori::Block* FunctionLowering::blockOf(LabelId label) {
  ori::Block*& block = blockOf_[index(label)];
  if (!block) block = out_.newBlock(out_.intern(module().text(in_->labels[index(label)].name)));
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
