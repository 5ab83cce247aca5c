#include "frontend/builder.h"

#include "frontend/limits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <iterator>

// Functions, parameters and variables.

namespace orias::ptx {

using P = PtxParser;

// ---- The parts of a declaration

void ModuleBuilder::exitSpace(P::SpaceContext* c) {
  switch (c->name->getType()) {
  case P::REG: decl_.space = StateSpace::Reg; break;
  case P::SREG: decl_.space = StateSpace::SReg; break;
  case P::CONST: decl_.space = StateSpace::Const; break;
  case P::GLOBAL: decl_.space = StateSpace::Global; break;
  case P::LOCAL: decl_.space = StateSpace::Local; break;
  case P::PARAM: decl_.space = StateSpace::Param; break;
  case P::SHARED: decl_.space = StateSpace::Shared; break;
  default: decl_.space = StateSpace::Tex; break;
  }
  if (c->bank == nullptr) return;
  decl_.bank = smallInteger(c->bank, 10);
  if (module_.version >= Version{2, 2})
    error(loc(c->bank), "constant banks were removed in .version 2.2", "write .const alone");
}

void ModuleBuilder::exitAlignment(P::AlignmentContext* c) {
  std::uint64_t align = integer(c->value);
  if (!std::has_single_bit(align) || align > 0x10000000) {
    error(loc(c->value), "an alignment is a power of two");
    align = 1;
  }
  // `.ptr .align N` is the alignment of the pointee.
  (decl_.isPointer ? decl_.pointerAlign : decl_.align) = align;
}

void ModuleBuilder::exitType(P::TypeContext* c) {
  const std::string_view word = text(c->name);
  const auto type = typeFromName(word.substr(1));
  if (type && c->name->getType() == P::TYPE) {
    decl_.type = *type;
  } else if (type) {
    error(loc(c->name), fmt::format("{} is a type of instructions, not of variables", word),
          fmt::format("declare the variable as .b{}", std::max(8u, bitWidth(*type))));
  } else {
    error(loc(c->name), fmt::format("unknown type '{}'", word.substr(0, 80)));
  }
}

void ModuleBuilder::exitAttributeItem(P::AttributeItemContext* c) {
  const std::string_view word = text(c->name);
  if (word == ".managed" && c->first == nullptr) {
    decl_.attributes.managed = true;
  } else if (word == ".unified" && c->first != nullptr) {
    decl_.attributes.unified = true;
    decl_.attributes.unifiedUuid[0] = integer(c->first);
    decl_.attributes.unifiedUuid[1] = integer(c->second);
  } else {
    error(loc(c->name), fmt::format("unknown attribute '{}'", word.substr(0, 80)),
          "the attributes are .managed and .unified(a, b)");
  }
}

void ModuleBuilder::beginDeclarator(P::DeclaratorNameContext* c) {
  decl_.name = name(c->name);
  decl_.nameLoc = loc(c->name);
  decl_.isFamily = false;
  decl_.isArray = false;
  decl_.dims.clear();
  decl_.created = VariableId::None;
  decl_.done = false;
}

void ModuleBuilder::exitArrayDimension(SourceLoc where) {
  decl_.isArray = true;
  std::uint64_t size = 0;
  if (constants_.size() > valuesBefore_) {
    const Constant value = constants_.take();
    if (!value.isInteger() || (value.kind == Constant::Kind::Signed && static_cast<std::int64_t>(value.bits) < 0))
      error(where, "the size of an array is a non-negative integer");
    else
      size = value.bits;
  } else if (!decl_.dims.empty()) {
    error(where, "only the first dimension of an array may be open");
    size = 1;
  }
  if (decl_.dims.size() < kMaxDimensions)
    decl_.dims.push_back(size);
  else
    error(where, fmt::format("an array has at most {} dimensions", kMaxDimensions));
}

/// Checks the properties common to variables and parameters, and counts the elements.
bool ModuleBuilder::checkShape(const Declaration& d, std::uint64_t& elements) {
  if (d.type == Type::None) return false; // already reported
  const auto fail = [&](std::string message, std::string hint = {}) {
    error(d.nameLoc, std::move(message), std::move(hint));
    return false;
  };
  const unsigned width = bitWidth(d.type) * d.vectorSize;
  if (d.type == Type::Pred && (d.space != StateSpace::Reg || d.vectorSize != 1 || d.isArray))
    return fail(fmt::format("{}: a predicate is a scalar in .reg", quoted(d.name)));
  if (d.vectorSize > 4 || width > 128)
    return fail(fmt::format("{}: a vector has 2 or 4 components and at most 128 bits", quoted(d.name)));
  elements = 1;
  for (std::size_t i = 0; i < d.dims.size(); ++i) {
    if (d.dims[i] == 0 && i > 0) return fail(fmt::format("{}: a dimension is empty", quoted(d.name)));
    const std::uint64_t count = std::max<std::uint64_t>(d.dims[i], 1);
    if (count > kMaxVariableBytes / elements) return fail(fmt::format("{} is too large", quoted(d.name)));
    elements *= count;
  }
  if (elements > kMaxVariableBytes / std::max(1u, width / 8))
    return fail(fmt::format("{} is too large", quoted(d.name)));
  if (!d.dims.empty() && d.dims[0] == 0) elements = 0;
  return true;
}

// ---- Variables and registers

void ModuleBuilder::finishDeclarator() {
  if (decl_.done) return;
  decl_.done = true;
  switch (decl_.space) {
  case StateSpace::Reg:
    if (!inFunction()) return declareForKernels();
    return declareRegister();
  case StateSpace::SReg: return error(decl_.loc, "special registers are predefined and cannot be declared");
  case StateSpace::Tex:
    if (module_.version >= Version{1, 5})
      return error(decl_.loc, ".tex was removed in .version 1.5", "declare a .global .texref");
    decl_.space = StateSpace::Global;
    decl_.type = Type::TexRef;
    break;
  case StateSpace::Param:
    if (!inFunction()) return error(decl_.nameLoc, "a parameter cannot be declared at module scope");
    break;
  case StateSpace::Local:
    if (!inFunction()) return declareForKernels();
    break;
  default: break;
  }
  declareVariable();
}

void ModuleBuilder::declareRegister() {
  std::uint64_t elements = 1;
  if (!checkShape(decl_, elements)) return;
  if (decl_.isArray || typeClass(decl_.type) == TypeClass::Opaque)
    return error(decl_.nameLoc, fmt::format("{} cannot be a register", quoted(decl_.name)),
                 decl_.isArray ? fmt::format("a family of registers is written {}<N>", module_.text(decl_.name))
                               : std::string());
  const auto at = static_cast<std::uint32_t>(fn_->registers.size());
  if (decl_.isFamily) {
    if (decl_.familyCount > kMaxRegisterFamily)
      return error(decl_.nameLoc, fmt::format("a family has at most {} registers", kMaxRegisterFamily));
    // Members copy this at their first use.
    families_.push_back({NameId::None, decl_.nameLoc, decl_.type, static_cast<std::uint8_t>(decl_.vectorSize)});
    const auto declaration = static_cast<std::uint32_t>(families_.size() - 1);
    if (Symbol before = scopes_.declareFamily(decl_.name, {decl_.familyCount, declaration, decl_.nameLoc}))
      redeclared(decl_.name, decl_.nameLoc, before);
    return;
  }
  if (Symbol before = scopes_.declare(decl_.name, {SymbolKind::Register, at, decl_.nameLoc}))
    return redeclared(decl_.name, decl_.nameLoc, before);
  fn_->registers.push_back({decl_.name, decl_.nameLoc, decl_.type, static_cast<std::uint8_t>(decl_.vectorSize)});
}

/// A register or .local variable at module scope.
void ModuleBuilder::declareForKernels() {
  // ptxas accepts these up to this version, without the ABI.
  if (module_.version >= Version{3, 0})
    return error(decl_.nameLoc, decl_.space == StateSpace::Reg
                                    ? "a register can only be declared in a function"
                                    : "a .local variable can only be declared in a function");
  std::uint64_t elements = 1;
  if (checkShape(decl_, elements)) forKernels_.push_back(decl_);
}

/// Each kernel has its own copies. Functions would share those of their callers.
void ModuleBuilder::declareInKernel() {
  if (!fn_->isEntry) return;
  const Declaration open = decl_;
  for (const Declaration& declaration : forKernels_) {
    if (scopes_.findHere(declaration.name)) continue; // a parameter hides it
    decl_ = declaration;
    if (decl_.space == StateSpace::Reg)
      declareRegister();
    else
      declareVariable();
  }
  decl_ = open;
}

VariableId ModuleBuilder::makeVariable(NameId id, SourceLoc where) {
  Variable v;
  v.name = id;
  v.loc = where;
  v.owner = fnId_;
  v.linkage = decl_.linkage;
  v.space = decl_.space;
  v.type = decl_.type;
  v.vectorSize = static_cast<std::uint8_t>(decl_.vectorSize);
  v.bank = static_cast<std::uint8_t>(decl_.bank);
  v.isArray = decl_.isArray;
  v.dims = module_.arena.copyArray<std::uint64_t>(decl_.dims);
  v.incomplete = !decl_.dims.empty() && decl_.dims[0] == 0;
  v.elements = 1;
  for (std::uint64_t dim : decl_.dims)
    v.elements *= dim;
  v.align = static_cast<std::uint32_t>(decl_.align != 0 ? decl_.align : std::max<std::uint64_t>(1, v.elementSize()));
  v.isPointer = decl_.isPointer;
  v.pointerSpace = decl_.pointerSpace;
  v.pointerAlign = static_cast<std::uint32_t>(decl_.pointerAlign);
  v.attributes = decl_.attributes;
  module_.variables.push_back(v);
  return VariableId(static_cast<std::uint32_t>(module_.variables.size() - 1));
}

void ModuleBuilder::declareVariable() {
  std::uint64_t elements = 1;
  if (!checkShape(decl_, elements)) return;
  if (typeClass(decl_.type) == TypeClass::Opaque && (inFunction() || decl_.space != StateSpace::Global))
    return error(decl_.nameLoc, fmt::format("{}: a .{} is a .global variable of the module or a parameter of an entry",
                                            quoted(decl_.name), typeName(decl_.type)));
  if (decl_.space == StateSpace::Param && decl_.vectorSize != 1)
    return error(decl_.nameLoc, fmt::format("{}: a parameter cannot be a vector", quoted(decl_.name)));
  if (decl_.attributes.managed && decl_.space != StateSpace::Global)
    error(decl_.nameLoc, fmt::format("{}: only a .global variable can be .managed", quoted(decl_.name)));
  if (decl_.isFamily) {
    if (decl_.familyCount > kMaxVariableFamily)
      return error(decl_.nameLoc, fmt::format("a family has at most {} variables", kMaxVariableFamily));
    const std::string base(module_.text(decl_.name));
    for (std::uint64_t i = 0; i < decl_.familyCount; ++i) {
      const NameId member = module_.names.intern(base + std::to_string(i));
      const VariableId id = makeVariable(member, decl_.nameLoc);
      if (Symbol before = scopes_.declare(member, {SymbolKind::Variable, index(id), decl_.nameLoc}))
        return redeclared(member, decl_.nameLoc, before);
      if (inFunction()) addStatement(StatementKind::Variable, index(id));
    }
    return;
  }
  const Symbol before = scopes_.findHere(decl_.name);
  const VariableId id = makeVariable(decl_.name, decl_.nameLoc);
  if (before.kind == SymbolKind::Variable && !inFunction()) {
    const Variable again = module_.variables.back();
    module_.variables.pop_back();
    mergeVariable(VariableId(before.id), again);
    decl_.created = VariableId(before.id);
    return;
  }
  if (Symbol other = scopes_.declare(decl_.name, {SymbolKind::Variable, index(id), decl_.nameLoc})) {
    module_.variables.pop_back();
    return redeclared(decl_.name, decl_.nameLoc, other);
  }
  // Before .version 1.4 these are the parameters of a kernel.
  if (decl_.space == StateSpace::Param && fn_ && fn_->isEntry && module_.version < Version{1, 4}) {
    fn_->params.push_back({id, RegisterId::None});
    return;
  }
  decl_.created = id;
  if (inFunction()) addStatement(StatementKind::Variable, index(id));
}

/// A variable of the module may be redeclared if one of the declarations is `.extern`.
void ModuleBuilder::mergeVariable(VariableId old, const Variable& again) {
  Variable& v = module_.variables[index(old)];
  if (v.linkage != Linkage::Extern && again.linkage != Linkage::Extern)
    return redeclared(again.name, again.loc, {SymbolKind::Variable, index(old), v.loc});
  const bool sameSize = v.elements == again.elements || v.incomplete || again.incomplete;
  if (v.space != again.space || v.type != again.type || v.vectorSize != again.vectorSize || !sameSize)
    return error(again.loc, fmt::format("{} was declared differently before", quoted(again.name)),
                 fmt::format("the first declaration is in line {}", v.loc.line));
  if (v.linkage != Linkage::Extern) return; // the definition is kept
  if (again.linkage == Linkage::None)
    return error(again.loc,
                 fmt::format("{} is .extern before, but this definition is not visible outside", quoted(again.name)),
                 "make the definition .visible");
  v = again;
}

// ---- Initial values

void ModuleBuilder::enterInitializer(SourceLoc where) {
  finishDeclarator();
  if (decl_.space == StateSpace::Global || decl_.space == StateSpace::Const) {
    if (decl_.linkage == Linkage::Extern)
      error(where, fmt::format("{} is .extern and cannot have an initial value here", quoted(decl_.name)));
    else if (decl_.isFamily)
      error(where, "a family of variables cannot have initial values");
  } else if (decl_.space != StateSpace::None) {
    error(where, fmt::format("a .{} variable cannot have an initial value", spaceName(decl_.space)));
  }
  Variable shape = decl_.created != VariableId::None ? module_.variable(decl_.created) : Variable();
  std::array<std::uint64_t, 1> fields{kMaxNesting};
  if (typeClass(shape.type) == TypeClass::Opaque) shape.dims = fields; // braces around its properties
  init_.begin(shape);
}

void ModuleBuilder::exitInitializer() {
  if (decl_.created == VariableId::None) return;
  Variable& v = module_.variables[index(decl_.created)];
  if (typeClass(v.type) != TypeClass::Opaque) init_.end(v);
}

void ModuleBuilder::initializerNumber(const PtxToken& token) {
  const Constant value = parseInteger(token.text(), token.loc(), diags_);
  if (decl_.created != VariableId::None) init_.value(value, token.loc());
}

void ModuleBuilder::exitInitializerValue(SourceLoc where) {
  const std::size_t values = constants_.size() - valuesBefore_;
  const bool mayCount = decl_.created != VariableId::None;
  if (initField_) return exitInitializerField(where, values != 0);
  if (initName_ == NameId::None) {
    const Constant value = constants_.take();
    if (mayCount) init_.value(value, where);
    return;
  }
  InitAddress address;
  if (values == (initMasked_ ? 2u : 1u)) {
    const Constant addend = constants_.take();
    if (!addend.isInteger()) return error(where, "an offset is an integer");
    address.addend = static_cast<std::int64_t>(addend.bits);
  }
  std::uint64_t mask = 0;
  if (initMasked_) {
    const Constant value = constants_.take();
    if (!value.isInteger() || value.bits == 0) return error(where, "a mask is an integer such as 0xFF00");
    mask = value.bits;
  }
  NameId target = initName_;
  if (initInner_ != NameId::None) {
    if (module_.text(initName_) != "generic")
      return error(initNameLoc_, fmt::format("unknown function {}", quoted(initName_)),
                   "an address is written x, x+4 or generic(x)+4");
    address.generic = true;
    target = initInner_;
  }
  const Symbol symbol = scopes_.find(target);
  if (symbol.kind == SymbolKind::Variable) {
    address.variable = VariableId(symbol.id);
    if (address.variable == decl_.created)
      return error(initNameLoc_, fmt::format("{} is not known in its own initial value", quoted(target)));
    const Variable& v = module_.variable(address.variable);
    if (v.space != StateSpace::Global && v.space != StateSpace::Const)
      return error(initNameLoc_, fmt::format("the address of a .{} variable is not constant", spaceName(v.space)));
  } else if (symbol.kind == SymbolKind::Function && !address.generic) {
    address.function = FunctionId(symbol.id);
  } else {
    return error(initNameLoc_, fmt::format("{} is not a variable or function with an address", quoted(target)));
  }
  if (mayCount) init_.address(address, mask, initNameLoc_);
}

/// `filter_mode = linear` and the like (manual: "Texture, Sampler, and Surface Types").
void ModuleBuilder::exitInitializerField(SourceLoc where, bool isNumber) {
  static constexpr std::string_view kFields[] = {"width",
                                                 "height",
                                                 "depth",
                                                 "channel_data_type",
                                                 "channel_order",
                                                 "normalized_coords",
                                                 "filter_mode",
                                                 "addr_mode_0",
                                                 "addr_mode_1",
                                                 "addr_mode_2",
                                                 "force_unnormalized_coords"};
  ObjectProperty property;
  property.variable = decl_.created;
  property.field = initName_;
  if (isNumber) {
    const Constant value = constants_.take();
    if (!value.isInteger()) return error(where, "a property is an integer or a name");
    property.value = value.bits;
  } else {
    property.word = initInner_;
  }
  if (decl_.created == VariableId::None) return;
  if (typeClass(module_.variable(decl_.created).type) != TypeClass::Opaque)
    return error(where, "only a texture, sampler or surface has named properties");
  if (std::find(std::begin(kFields), std::end(kFields), module_.text(initName_)) == std::end(kFields))
    return error(where, fmt::format("unknown property {}", quoted(initName_)));
  module_.objectProperties.push_back(property);
}

// ---- Functions

void ModuleBuilder::exitParameter(P::ParameterContext* c) {
  decl_.name = name(c->name);
  decl_.nameLoc = loc(c->name);
  const bool isEntryParameter = isEntry_ && !inPrototype_;
  if (c->name->getType() == P::SINK && !inPrototype_)
    return error(decl_.nameLoc, "a parameter needs a name", "only a .callprototype may use _");
  if (decl_.isArray) decl_.dims.assign(1, decl_.arraySize);
  std::uint64_t elements = 1;
  if (!checkShape(decl_, elements)) return;
  const auto fail = [&](std::string_view what) {
    error(decl_.nameLoc, fmt::format("{}: {}", quoted(decl_.name), what));
  };
  if (decl_.space == StateSpace::Reg) {
    if (isEntryParameter) return fail("the parameters of an entry are in .param");
    if (decl_.isArray) return fail("a register cannot be an array");
  } else {
    if (decl_.vectorSize != 1) return fail("a parameter cannot be a vector");
    if (decl_.type == Type::F16x2) return fail("a parameter cannot be .f16x2");
    if (decl_.isArray && decl_.arraySize == 0 && isEntryParameter)
      return fail("the parameters of an entry have a size");
  }
  if (typeClass(decl_.type) == TypeClass::Opaque && !isEntryParameter)
    return fail("only an entry takes textures, samplers and surfaces");
  if (decl_.isPointer && !isEntryParameter) return fail(".ptr describes parameters of entries only");
  Parameter parameter;
  const Declaration kept = decl_;
  decl_.linkage = Linkage::None;
  decl_.attributes = {};
  parameter.variable = makeVariable(kept.name, kept.nameLoc);
  decl_ = kept;
  (inReturns_ ? returns_ : params_).push_back(parameter);
}

bool ModuleBuilder::sameSignature(const Function& f) const {
  const auto same = [&](const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Variable& x = module_.variable(a[i].variable);
      const Variable& y = module_.variable(b[i].variable);
      if (x.space != y.space || x.type != y.type || x.vectorSize != y.vectorSize || x.elements != y.elements)
        return false;
    }
    return true;
  };
  return same(f.params, params_) && same(f.returns, returns_);
}

/// The conflict between the header and an earlier declaration of the function, or null.
const char* ModuleBuilder::clashWith(const Function& f) const {
  if (f.hasBody) return "is redeclared after its definition";
  if (f.isEntry != isEntry_) return "was declared before, as the other one of .entry and .func";
  // A later declaration may omit the linkage; otherwise it must be the same.
  if (decl_.linkage != f.linkage && (decl_.linkage != Linkage::None || f.linkage == Linkage::Extern))
    return "was declared with another linkage before";
  return sameSignature(f) ? nullptr : "was declared with other parameters before";
}

void ModuleBuilder::exitHeader(bool isEntry, antlr4::ParserRuleContext*) {
  if (returns_.size() > 1) {
    for (const Parameter& p : returns_) {
      if (module_.variable(p.variable).space == StateSpace::Param)
        return error(headerLoc_, "a function returns at most one parameter in .param");
    }
  }
  if (decl_.linkage == Linkage::Common) error(headerLoc_, "a function cannot be .common", "use .weak");
  const Symbol before = scopes_.find(headerName_);
  FunctionId id = FunctionId(static_cast<std::uint32_t>(module_.functions.size()));
  if (before.kind == SymbolKind::Function) {
    id = FunctionId(before.id);
    Function& f = module_.functions[before.id];
    if (const char* clash = clashWith(f)) {
      error(headerLoc_, fmt::format("{} {}", quoted(headerName_), clash),
            fmt::format("the first declaration is in line {}", f.loc.line));
      id = FunctionId::None;
    } else {
      f.params = params_;
      f.returns = returns_;
    }
  } else if (before) {
    redeclared(headerName_, headerLoc_, before);
    id = FunctionId::None;
  } else {
    Function f;
    f.name = headerName_;
    f.loc = headerLoc_;
    f.isEntry = isEntry;
    f.linkage = decl_.linkage;
    f.attributes = decl_.attributes;
    f.params = params_;
    f.returns = returns_;
    module_.functions.push_back(std::move(f));
    scopes_.declare(headerName_, {SymbolKind::Function, index(id), headerLoc_});
  }
  headerFunction_ = id;
  if (id == FunctionId::None) return;
  for (const std::vector<Parameter>* list : {&params_, &returns_}) {
    for (const Parameter& p : *list)
      module_.variables[index(p.variable)].owner = id;
  }
}

void ModuleBuilder::exitDirective(antlr4::Token* directive) {
  if (directive == nullptr) return; // a .pragma
  const auto triple = [&](std::array<std::uint32_t, 3>& to) {
    to = {1, 1, 1};
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      to[i] = numbers_[i];
    for (std::uint32_t n : numbers_) {
      if (n == 0) error(loc(directive), fmt::format("{} needs numbers above 0", text(directive)));
    }
  };
  const auto positive = [&](std::uint32_t& to) {
    to = numbers_.front();
    if (to == 0) error(loc(directive), fmt::format("{} needs a number above 0", text(directive)));
  };
  switch (directive->getType()) {
  case P::MAXNTID: return triple(performance_.maxntid);
  case P::REQNTID: return triple(performance_.reqntid);
  case P::REQNCTAPERCLUSTER: return triple(performance_.reqnctapercluster);
  case P::MINNCTAPERSM: return positive(performance_.minnctapersm);
  case P::MAXNCTAPERSM: return positive(performance_.maxnctapersm);
  case P::MAXNREG: return positive(performance_.maxnreg);
  case P::MAXCLUSTERRANK: performance_.maxclusterrank = numbers_.front(); return; // 0 means none
  case P::EXPLICITCLUSTER: performance_.explicitcluster = true; return;
  case P::BLOCKSARECLUSTERS: performance_.blocksareclusters = true; return;
  case P::ABI_PRESERVE: abiPreserve_ = static_cast<std::int32_t>(numbers_.front()); return;
  case P::ABI_PRESERVE_CONTROL: abiPreserveControl_ = static_cast<std::int32_t>(numbers_.front()); return;
  default: noreturn_ = true; return;
  }
}

void ModuleBuilder::applyHeader() {
  headerOpen_ = false;
  if (headerFunction_ == FunctionId::None) return;
  Function& f = module_.functions[index(headerFunction_)];
  f.noreturn |= noreturn_;
  if (abiPreserve_ >= 0) f.abiPreserve = abiPreserve_;
  if (abiPreserveControl_ >= 0) f.abiPreserveControl = abiPreserveControl_;
  if (f.hasBody) return;
  f.performance = performance_;
  f.pragmas = headerPragmas_;
}

void ModuleBuilder::enterBody() {
  applyHeader();
  if (headerFunction_ == FunctionId::None) {
    // The body of a function with an invalid header is still checked, in a function without a name.
    Function nameless;
    nameless.name = headerName_;
    nameless.loc = headerLoc_;
    nameless.isEntry = isEntry_;
    nameless.params = params_;
    nameless.returns = returns_;
    headerFunction_ = FunctionId(static_cast<std::uint32_t>(module_.functions.size()));
    module_.functions.push_back(std::move(nameless));
  }
  fnId_ = headerFunction_;
  fn_ = &module_.functions[index(fnId_)];
  fn_->hasBody = true;
  fn_->loc = headerLoc_;
  pending_.clear();
  families_.clear();
  scopeNumbers_.clear();
  debugLoc_ = DebugLocId::None;
  scopes_.enter();
  for (std::vector<Parameter>* list : {&fn_->returns, &fn_->params}) {
    for (Parameter& p : *list) {
      const Variable& v = module_.variable(p.variable);
      Symbol symbol{SymbolKind::Variable, index(p.variable), v.loc};
      if (v.space == StateSpace::Reg) {
        p.reg = RegisterId(static_cast<std::uint32_t>(fn_->registers.size()));
        fn_->registers.push_back({v.name, v.loc, v.type, v.vectorSize});
        symbol = {SymbolKind::Register, index(p.reg), v.loc};
      }
      if (Symbol before = scopes_.declare(v.name, symbol)) redeclared(v.name, v.loc, before);
    }
  }
  declareInKernel();
}

void ModuleBuilder::exitBody() {
  fn_->endLoc = window_.previous()->loc();
  const unsigned errors = diags_.errorCount();
  leaveScope();
  if (diags_.errorCount() != errors) removeWrongInstructions();
  fn_->operands.shrink_to_fit();
  fn_->instructions.shrink_to_fit();
  fn_->statements.shrink_to_fit();
  fn_ = nullptr;
  fnId_ = FunctionId::None;
}

std::span<const VariableId> ModuleBuilder::parameterVariables(const std::vector<Parameter>& list) {
  std::span<VariableId> ids = module_.arena.makeArray<VariableId>(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    ids[i] = list[i].variable;
  return ids;
}

void ModuleBuilder::exitCallPrototype(SourceLoc where) {
  inPrototype_ = false;
  Prototype p;
  p.loc = where;
  p.owner = fnId_;
  p.params = parameterVariables(params_);
  p.returns = parameterVariables(returns_);
  p.noreturn = noreturn_;
  p.abiPreserve = abiPreserve_;
  p.abiPreserveControl = abiPreserveControl_;
  labelPrototype_ = PrototypeId(static_cast<std::uint32_t>(module_.prototypes.size()));
  module_.prototypes.push_back(p);
}

void ModuleBuilder::exitTargetList(bool isCall, SourceLoc where) {
  TargetList list;
  list.loc = where;
  list.owner = fnId_;
  list.isCall = isCall;
  list.targets = module_.arena.makeArray<std::uint32_t>(targetNames_.size());
  labelTargets_ = TargetListId(static_cast<std::uint32_t>(module_.targetLists.size()));
  for (std::size_t i = 0; i < targetNames_.size(); ++i) {
    const auto [target, at] = targetNames_[i];
    list.targets[i] = kNoId;
    const Symbol symbol = scopes_.find(target);
    if (isCall) {
      if (symbol.kind == SymbolKind::Function)
        list.targets[i] = symbol.id;
      else
        error(at, fmt::format("{} is not a function", quoted(target)));
    } else if (symbol.kind == SymbolKind::Label) {
      list.targets[i] = symbol.id;
    } else {
      pending_.push_back({target, at, kNoId, kNoId, labelTargets_, static_cast<std::uint32_t>(i), scopes_.depth()});
    }
  }
  module_.targetLists.push_back(list);
}

} // namespace orias::ptx
