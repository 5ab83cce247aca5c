#include "frontend/builder.h"

#include "frontend/limits.h"

#include <fmt/format.h>
#include <optional>

// Statements and operands.

namespace orias::ptx {

using P = PtxParser;

namespace {

std::optional<Component> vectorComponent(std::string_view word) {
  if (word.size() != 1) return std::nullopt;
  switch (word[0]) {
  case 'x':
  case 'r': return Component::X;
  case 'y':
  case 'g': return Component::Y;
  case 'z':
  case 'b': return Component::Z;
  case 'w':
  case 'a': return Component::W;
  default: return std::nullopt;
  }
}

} // namespace

void ModuleBuilder::addStatement(StatementKind kind, std::uint32_t at) {
  fn_->statements.push_back({kind, at});
}

void ModuleBuilder::enterScope() {
  scopes_.enter();
  scopeNumbers_.push_back(fn_->scopeCount);
  addStatement(StatementKind::ScopeBegin, fn_->scopeCount++);
}

/// Ends a block, or the body itself.
void ModuleBuilder::leaveScope() {
  resolvePending();
  scopes_.leave();
  if (scopeNumbers_.empty()) return;
  addStatement(StatementKind::ScopeEnd, scopeNumbers_.back());
  scopeNumbers_.pop_back();
}

/// Resolves the pending names that are labels of the ending scope. The others wait for the enclosing scope.
void ModuleBuilder::resolvePending() {
  const unsigned depth = scopes_.depth();
  std::size_t first = pending_.size();
  while (first > 0 && pending_[first - 1].depth >= depth)
    --first;
  std::size_t kept = first;
  for (std::size_t i = first; i < pending_.size(); ++i) {
    Pending p = pending_[i];
    const Symbol symbol = scopes_.findHere(p.name);
    Operand resolved;
    switch (symbol.kind) {
    case SymbolKind::Label: resolved = Operand::label(LabelId(symbol.id)); break;
    default:
      // Prototypes and lists of targets must be declared before their use.
      if (depth == 1) {
        undeclared(p.name, p.loc);
        if (p.instruction != kNoId) fn_->instructions[p.instruction].opcode = OpcodeId::None;
      } else {
        p.depth = depth - 1;
        pending_[kept++] = p;
      }
      continue;
    }
    if (p.operand != kNoId) {
      fn_->operands[p.operand] = resolved;
    } else if (symbol.kind == SymbolKind::Label) {
      module_.targetLists[index(p.list)].targets[p.target] = symbol.id;
    } else {
      error(p.loc, fmt::format("{} is not a label", quoted(p.name)));
    }
  }
  pending_.resize(kept);
}

/// Removes the instructions without opcode: their names turned out to be undeclared.
void ModuleBuilder::removeWrongInstructions() {
  std::vector<Instruction> instructions;
  std::vector<Statement> statements;
  for (Statement s : fn_->statements) {
    if (s.kind == StatementKind::Instruction) {
      const Instruction& i = fn_->instructions[s.index];
      if (i.opcode == OpcodeId::None) continue;
      s.index = static_cast<std::uint32_t>(instructions.size());
      instructions.push_back(i);
    } else if (s.kind == StatementKind::Label) {
      fn_->labels[s.index].statement = static_cast<std::uint32_t>(statements.size());
    }
    statements.push_back(s);
  }
  fn_->instructions = std::move(instructions);
  fn_->statements = std::move(statements);
}

void ModuleBuilder::undeclared(NameId id, SourceLoc where) {
  std::string hint;
  const std::string_view word = module_.text(id);
  const std::size_t digits = word.find_last_not_of("0123456789");
  if (digits != std::string_view::npos && digits + 1 < word.size()) {
    const NameId base = module_.names.find(word.substr(0, digits + 1));
    if (base != NameId::None) {
      if (const Family* family = scopes_.findFamily(base))
        hint = fmt::format("{}<{}> in line {} ends before it", module_.text(base), family->count, family->loc.line);
    }
  }
  error(where, fmt::format("undeclared name {}", quoted(id)), std::move(hint));
}

// ---- Labels

void ModuleBuilder::exitLabel(P::LabelContext* c) {
  const NameId id = name(c->name);
  const SourceLoc where = loc(c->name);
  Symbol symbol{SymbolKind::Label, static_cast<std::uint32_t>(fn_->labels.size()), where};
  if (labelPrototype_ != PrototypeId::None) {
    symbol = {SymbolKind::Prototype, index(labelPrototype_), where};
    module_.prototypes[symbol.id].name = id;
  } else if (labelTargets_ != TargetListId::None) {
    symbol = {SymbolKind::TargetList, index(labelTargets_), where};
    module_.targetLists[symbol.id].name = id;
  }
  if (Symbol before = scopes_.declare(id, symbol)) return redeclared(id, where, before);
  if (symbol.kind != SymbolKind::Label) return;
  addStatement(StatementKind::Label, symbol.id);
  fn_->labels.push_back({id, where, static_cast<std::uint32_t>(fn_->statements.size() - 1)});
}

// ---- Instructions

void ModuleBuilder::exitGuard(P::GuardContext* c) {
  const NameId id = name(c->name);
  const RegisterId reg = resolveRegister(id, loc(c->name));
  if (reg == RegisterId::None) {
    guardWrong_ = true;
    return;
  }
  if (fn_->registers[index(reg)].type != Type::Pred) {
    error(loc(c->name), fmt::format("the guard {} is not a predicate", quoted(id)), "declare it as .reg .pred");
    guardWrong_ = true;
    return;
  }
  guard_ = reg;
  guardNegated_ = c->negation != nullptr;
}

void ModuleBuilder::beginInstruction() {
  instr_ = {};
  instr_.guard = guard_;
  instr_.guardNegated = guardNegated_;
  wrong_ = guardWrong_;
  guard_ = RegisterId::None;
  guardNegated_ = guardWrong_ = false;
  operands_.clear();
  unresolved_.clear();
  groups_.clear();
}

void ModuleBuilder::exitOpcode(antlr4::Token* token) {
  opcodeText_ = text(token);
  instr_.loc = loc(token);
}

OpcodeId ModuleBuilder::opcode(std::string_view word) {
  const NameId id = module_.names.intern(word);
  if (index(id) >= opcodeOfName_.size()) opcodeOfName_.resize(module_.names.size(), OpcodeId::None);
  OpcodeId& known = opcodeOfName_[index(id)];
  if (known != OpcodeId::None) return known;
  known = OpcodeId(static_cast<std::uint32_t>(module_.opcodes.size()));
  Opcode op;
  op.text = id;
  std::vector<NameId> modifiers;
  std::size_t at = word.find('.');
  op.base = module_.names.intern(word.substr(0, at));
  while (at != std::string_view::npos) {
    const std::size_t end = word.find('.', at + 1);
    modifiers.push_back(module_.names.intern(word.substr(at + 1, end == std::string_view::npos ? end : end - at - 1)));
    at = end;
  }
  op.modifiers = module_.arena.copyArray<NameId>(modifiers);
  module_.opcodes.push_back(op);
  return OpcodeId(static_cast<std::uint32_t>(module_.opcodes.size() - 1));
}

void ModuleBuilder::finishInstruction() {
  if (operands_.size() > kMaxOperands) {
    error(instr_.loc, fmt::format("an instruction has at most {} operands", kMaxOperands));
    wrong_ = true;
  }
  if (wrong_) return;
  instr_.opcode = opcode(opcodeText_);
  instr_.debugLoc = debugLoc_;
  instr_.firstOperand = static_cast<std::uint32_t>(fn_->operands.size());
  instr_.operandCount = static_cast<std::uint16_t>(operands_.size());
  const auto at = static_cast<std::uint32_t>(fn_->instructions.size());
  for (const Unresolved& u : unresolved_)
    pending_.push_back({u.name, u.loc, at, instr_.firstOperand + static_cast<std::uint32_t>(u.operand),
                        TargetListId::None, 0, scopes_.depth()});
  fn_->operands.insert(fn_->operands.end(), operands_.begin(), operands_.end());
  addStatement(StatementKind::Instruction, at);
  fn_->instructions.push_back(instr_);
}

void ModuleBuilder::closeGroup(OperandKind kind) {
  const std::size_t from = groups_.back();
  groups_.pop_back();
  const std::size_t count = operands_.size() - from;
  const auto first = static_cast<std::uint32_t>(fn_->operands.size());
  fn_->operands.insert(fn_->operands.end(), operands_.begin() + static_cast<std::ptrdiff_t>(from), operands_.end());
  operands_.resize(from);
  operands_.push_back(Operand::group(kind, first, static_cast<std::uint32_t>(count)));
}

// ---- Operands

Operand ModuleBuilder::resolve(NameId id, SourceLoc where, bool mayBeLabel) {
  const Symbol symbol = scopes_.find(id);
  switch (symbol.kind) {
  case SymbolKind::Register: return Operand::reg(RegisterId(symbol.id));
  case SymbolKind::Variable: return Operand::variable(VariableId(symbol.id), 0);
  case SymbolKind::Function: return Operand::function(FunctionId(symbol.id));
  case SymbolKind::Label: return Operand::label(LabelId(symbol.id));
  case SymbolKind::Prototype: return Operand::prototype(PrototypeId(symbol.id));
  case SymbolKind::TargetList: return Operand::targetList(TargetListId(symbol.id));
  case SymbolKind::None: break;
  }
  if (const Scopes::Member member = scopes_.findMember(id); member.family != nullptr) {
    Register reg = families_[member.family->declaration];
    reg.name = member.canonical;
    const auto at = static_cast<std::uint32_t>(fn_->registers.size());
    fn_->registers.push_back(reg);
    scopes_.addMember(member.canonical, {SymbolKind::Register, at, reg.loc});
    return Operand::reg(RegisterId(at));
  }
  if (auto special = findSpecialRegister(module_.text(id))) return Operand::special(*special, Component::None);
  if (mayBeLabel) return Operand::label(LabelId::None);
  undeclared(id, where);
  wrong_ = true;
  return Operand::sink();
}

RegisterId ModuleBuilder::resolveRegister(NameId id, SourceLoc where) {
  const bool wrongBefore = wrong_;
  wrong_ = false;
  const Operand operand = resolve(id, where, false);
  const bool unknown = wrong_;
  wrong_ = wrongBefore || unknown;
  if (unknown) return RegisterId::None;
  if (operand.is(OperandKind::Register)) return operand.registerId();
  error(where, fmt::format("{} is not a register", quoted(id)));
  wrong_ = true;
  return RegisterId::None;
}

RegisterId ModuleBuilder::pairRegister(antlr4::Token* token) {
  if (token->getType() == P::SINK) return RegisterId::None;
  return resolveRegister(name(token), loc(token));
}

Operand ModuleBuilder::withComponent(Operand operand, std::string_view word, SourceLoc where) {
  const auto fail = [&](std::string message, std::string hint = {}) {
    error(where, std::move(message), std::move(hint));
    wrong_ = true;
    return Operand::sink();
  };
  if (wrong_) return operand;
  const auto component = vectorComponent(word);
  if (operand.is(OperandKind::Special)) {
    const SpecialRegisterInfo& info = specialRegisterInfo(operand.specialRegister());
    if (info.vectorSize == 1) return fail(fmt::format("{} has no components", info.name));
    if (!component)
      return fail(fmt::format("{} has no component '.{}'", info.name, word), "the components are .x, .y, .z and .w");
    return Operand::special(operand.specialRegister(), *component);
  }
  if (!operand.is(OperandKind::Register))
    return fail(fmt::format("'.{}' after something that is not a register", word));
  const Register& reg = fn_->registers[index(operand.registerId())];
  if (component && reg.vectorSize > 1) {
    if (static_cast<unsigned>(*component) - static_cast<unsigned>(Component::X) >= reg.vectorSize)
      return fail(fmt::format("{} has {} components", quoted(reg.name), reg.vectorSize));
    return Operand::reg(operand.registerId(), *component);
  }
  // `.b0`, `.h1`, and in SIMD video instructions `.b3210`, `.h10`.
  if (word.size() >= 2 && (word[0] == 'b' || word[0] == 'h') && reg.vectorSize == 1) {
    const bool bytes = word[0] == 'b';
    const std::string_view digits = word.substr(1);
    const char last = bytes ? (digits.size() == 1 ? '3' : '7') : (digits.size() == 1 ? '1' : '3');
    bool valid = digits.size() >= 1 && digits.size() <= (bytes ? 4u : 2u); // two and three bytes: a mask
    for (char d : digits)
      valid = valid && d >= '0' && d <= last;
    if (valid && digits.size() > 1) return Operand::selected(operand.registerId(), bytes, digits);
    if (valid) {
      const Component first = bytes ? Component::B0 : Component::H0;
      return Operand::reg(operand.registerId(), static_cast<Component>(static_cast<unsigned>(first) +
                                                                       static_cast<unsigned>(digits[0] - '0')));
    }
  }
  if (component) return fail(fmt::format("{} is not a vector", quoted(reg.name)), "declare it as .reg .v2 or .reg .v4");
  return fail(fmt::format("{} has no part '.{}'", quoted(reg.name), word.substr(0, 80)));
}

Operand ModuleBuilder::resolveDotted(std::string_view word, SourceLoc where) {
  const std::size_t dot = word.find('.');
  const Operand operand = resolve(module_.names.intern(word.substr(0, dot)), where, false);
  return withComponent(operand, word.substr(dot + 1), where);
}

void ModuleBuilder::exitNameOperand(P::NameOperandContext* c) {
  const NameId id = name(c->name);
  const SourceLoc where = loc(c->name);
  if (c->second != nullptr) {
    const RegisterId first = resolveRegister(id, where);
    operands_.push_back(Operand::pair(first, pairRegister(c->second)));
    return;
  }
  const bool hasValue = constants_.size() > valuesBefore_;
  const bool isIndexed = addressName_ != NameId::None || (hasValue && window_.previous()->type() == P::RBRACKET);
  Constant value;
  if (hasValue) value = constants_.take();
  if (hasValue && !value.isInteger()) {
    error(where, "an offset is an integer");
    wrong_ = true;
  }
  if (c->component != nullptr) {
    operands_.push_back(withComponent(resolve(id, where, false), text(c->component).substr(1), loc(c->component)));
    return;
  }
  const bool isPlain = !hasValue && !isIndexed;
  // Labels are not allowed in braces.
  const bool mayBeLabel = isPlain && groups_.empty();
  Operand operand = resolve(id, where, mayBeLabel);
  if (operand.is(OperandKind::Label) && operand.labelId() == LabelId::None)
    unresolved_.push_back({operands_.size(), id, where});
  if (!isPlain && !wrong_) {
    const auto offset = static_cast<std::int64_t>(value.bits);
    if (operand.is(OperandKind::Register) && !isIndexed && groups_.empty()) {
      operand = registerPlus(operand.registerId(), offset, where);
    } else if (!operand.is(OperandKind::Variable)) {
      error(where, fmt::format("{} is not a variable: only the address of one takes an offset", quoted(id)),
            "the address in a register is written [r+4]");
      wrong_ = true;
    } else if (isIndexed) {
      // `a[3]` is the element itself in an instruction that accesses memory, and its address in one that computes.
      const std::string_view op = opcodeBase();
      const bool isComputed = op == "mov" || op == "cvta";
      const std::uint64_t size = bitWidth(module_.variable(operand.variableId()).type) / 8; // for vectors, a component
      if (addressName_ != NameId::None) {
        const RegisterId at =
            elementAddress(operand.variableId(), resolveRegister(addressName_, addressLoc_), offset, size);
        if (at != RegisterId::None) operand = isComputed ? Operand::reg(at) : Operand::address(at, 0);
      } else {
        const auto bytes = offset * static_cast<std::int64_t>(size);
        operand =
            isComputed ? Operand::variable(operand.variableId(), bytes) : Operand::address(operand.variableId(), bytes);
      }
    } else {
      operand = Operand::variable(operand.variableId(), offset);
    }
  }
  pushOperand(operand);
}

void ModuleBuilder::pushOperand(const Operand& operand) {
  unsigned components = 1;
  if (operand.is(OperandKind::Register) && operand.component() == Component::None)
    components = fn_->registers[index(operand.registerId())].vectorSize;
  else if (operand.is(OperandKind::Special) && operand.component() == Component::None)
    components = specialRegisterInfo(operand.specialRegister()).vectorSize;
  const bool isArgument = opcodeBase() == "call";
  if (components == 1 || isArgument) {
    operands_.push_back(operand);
    return;
  }
  openGroup();
  for (unsigned k = 0; k < components; ++k) {
    const auto part = static_cast<Component>(static_cast<unsigned>(Component::X) + k);
    operands_.push_back(operand.is(OperandKind::Register) ? Operand::reg(operand.registerId(), part)
                                                          : Operand::special(operand.specialRegister(), part));
  }
  closeGroup(OperandKind::Vector);
}

Operand ModuleBuilder::registerPlus(RegisterId base, std::int64_t value, SourceLoc where) {
  const Register& reg = fn_->registers[index(base)];
  const TypeClass kind = typeClass(reg.type);
  const bool isInteger = kind == TypeClass::Bits || kind == TypeClass::Signed || kind == TypeClass::Unsigned;
  const unsigned bits = bitWidth(reg.type);
  if (!isInteger || reg.vectorSize > 1 || (bits != 16 && bits != 32 && bits != 64)) {
    error(where, fmt::format("{} is not an integer: no constant can be added to it", quoted(reg.name)));
    wrong_ = true;
    return Operand::sink();
  }
  return Operand::reg(computed(reg.type, fmt::format("{}{:+}", module_.text(reg.name), value),
                               fmt::format("add.s{}", bits),
                               {Operand::reg(base), Operand::integer(static_cast<std::uint64_t>(value), false)}));
}

/// The address of `array[index+offset]`. All but the last addition are in 32 bits.
RegisterId ModuleBuilder::elementAddress(VariableId array, RegisterId at, std::int64_t offset, std::uint64_t size) {
  if (at == RegisterId::None) return at;
  const Register reg = fn_->registers[index(at)];
  const TypeClass kind = typeClass(reg.type);
  const unsigned bits = bitWidth(reg.type);
  const bool isInteger = kind == TypeClass::Bits || kind == TypeClass::Signed || kind == TypeClass::Unsigned;
  if (!isInteger || reg.vectorSize > 1 || bits > 64) {
    error(addressLoc_, fmt::format("{} is not an integer: it cannot be an index", quoted(reg.name)));
    wrong_ = true;
    return RegisterId::None;
  }
  const std::string name =
      fmt::format("{}[{}{:+}]", module_.text(module_.variable(array).name), module_.text(reg.name), offset);
  const bool isSigned = kind == TypeClass::Signed;
  auto added = static_cast<std::uint64_t>(offset);
  if (bits < 32) {
    const unsigned drop = 64 - bits;
    added =
        isSigned ? static_cast<std::uint64_t>(static_cast<std::int64_t>(added << drop) >> drop) : added << drop >> drop;
  }
  RegisterId element = at;
  if (bits != 32)
    element = computed(Type::U32, name, fmt::format("cvt.{}32.{}{}", isSigned ? 's' : 'u', isSigned ? 's' : 'u', bits),
                       {Operand::reg(at)});
  if (added != 0)
    element =
        computed(Type::U32, name, "add.u32", {Operand::reg(element), Operand::integer(added & 0xFFFFFFFF, false)});
  element = computed(Type::U32, name, "mul.lo.u32", {Operand::reg(element), Operand::integer(size, false)});
  const bool isWide = module_.addressSize == 64;
  const Type type = isWide ? Type::U64 : Type::U32;
  if (isWide) element = computed(type, name, "cvt.u64.u32", {Operand::reg(element)});
  const RegisterId first = computed(type, name, isWide ? "mov.u64" : "mov.u32", {Operand::variable(array, 0)});
  return computed(type, name, isWide ? "add.u64" : "add.u32", {Operand::reg(first), Operand::reg(element)});
}

/// A new register with its definition inserted before the current instruction.
RegisterId ModuleBuilder::computed(Type type, std::string_view name, std::string_view text,
                                   std::vector<Operand> sources) {
  Register reg;
  reg.name = module_.names.intern(name);
  reg.loc = instr_.loc;
  reg.type = type;
  const auto result = RegisterId(static_cast<std::uint32_t>(fn_->registers.size()));
  fn_->registers.push_back(reg);

  Instruction instruction;
  instruction.loc = instr_.loc;
  instruction.debugLoc = debugLoc_;
  instruction.opcode = opcode(module_.text(module_.names.intern(text)));
  sources.insert(sources.begin(), Operand::reg(result));
  instruction.firstOperand = static_cast<std::uint32_t>(fn_->operands.size());
  instruction.operandCount = static_cast<std::uint16_t>(sources.size());
  fn_->operands.insert(fn_->operands.end(), sources.begin(), sources.end());
  addStatement(StatementKind::Instruction, static_cast<std::uint32_t>(fn_->instructions.size()));
  fn_->instructions.push_back(instruction);
  return result;
}

void ModuleBuilder::exitSignedName(P::SignedNameContext* c) {
  constants_.dropLeadingPrefix();
  signedIsName_ = true;
  const SourceLoc where = loc(c->name);
  Operand operand;
  if (c->name->getType() == P::DOTTED) {
    operand = resolveDotted(text(c->name), where);
  } else {
    operand = resolve(name(c->name), where, false);
    if (c->component != nullptr) operand = withComponent(operand, text(c->component).substr(1), loc(c->component));
  }
  const auto* parent = static_cast<antlr4::ParserRuleContext*>(c->parent);
  if (!wrong_ && !operand.is(OperandKind::Register)) {
    error(where,
          fmt::format("'{}' before something that is not a register", static_cast<PtxToken*>(parent->start)->text()));
    wrong_ = true;
  }
  if (parent->start->getType() == P::NOT)
    operand.setNegated();
  else
    operand.setMinus();
  operands_.push_back(operand);
}

void ModuleBuilder::exitSignedOperand() {
  if (!signedIsName_) operands_.push_back(constantOperand());
  signedIsName_ = false;
}

Operand ModuleBuilder::constantOperand() {
  const Constant value = constants_.take();
  switch (value.kind) {
  case Constant::Kind::Signed: return Operand::integer(value.bits, false);
  case Constant::Kind::Unsigned: return Operand::integer(value.bits, true);
  case Constant::Kind::Float32Bits: return Operand::float32(static_cast<std::uint32_t>(value.bits));
  case Constant::Kind::Float64Bits: return Operand::float64(value.bits, false);
  case Constant::Kind::Decimal: break;
  }
  return Operand::float64(value.bits, true);
}

void ModuleBuilder::exitVector(P::VectorOperandContext* c) {
  for (std::size_t i = groups_.back(); i < operands_.size(); ++i) {
    if (!operands_[i].isGroup() && !operands_[i].is(OperandKind::Address)) continue;
    error(loc(c->start), "the elements of a vector are registers, names and constants");
    wrong_ = true;
    break;
  }
  const RegisterId second = c->second == nullptr ? RegisterId::None : pairRegister(c->second);
  closeGroup(OperandKind::Vector);
  if (second != RegisterId::None) operands_.back().setVectorPair(second);
}

void ModuleBuilder::exitAddressBase() {
  std::int64_t offset = 0;
  if (constants_.size() > valuesBefore_) {
    const Constant value = constants_.take();
    if (!value.isInteger()) {
      error(addressName_ == NameId::None ? instr_.loc : addressLoc_, "an address and its offset are integers");
      wrong_ = true;
    }
    offset = static_cast<std::int64_t>(value.bits);
  }
  if (addressName_ == NameId::None) {
    operands_.push_back(Operand::absoluteAddress(static_cast<std::uint64_t>(offset)));
    return;
  }
  const Operand base = resolve(addressName_, addressLoc_, false);
  if (base.is(OperandKind::Register)) {
    operands_.push_back(Operand::address(base.registerId(), offset));
  } else if (base.is(OperandKind::Variable)) {
    operands_.push_back(Operand::address(base.variableId(), offset));
  } else {
    if (!wrong_) error(addressLoc_, fmt::format("{} is not a register or a variable", quoted(addressName_)));
    wrong_ = true;
    operands_.push_back(Operand::sink());
  }
}

} // namespace orias::ptx
