#include "frontend/builder.h"

#include "frontend/limits.h"

#include <fmt/format.h>

namespace orias::ptx {

using P = PtxParser;

ModuleBuilder::ModuleBuilder(Module& module, TokenWindow& window, Diagnostics& diags)
    : module_(module), window_(window), diags_(diags), scopes_(module.names), constants_(diags), init_(module, diags) {}

void ModuleBuilder::enterRule(std::size_t rule, antlr4::ParserRuleContext* c) {
  switch (rule) {
  case P::RuleStatement:
    openStatements_.push_back({scopes_.depth(), fn_->instructions.size(), fn_->statements.size()});
    decl_.linkage = Linkage::None; // not that of the function
    break;
  case P::RuleModuleItem: decl_ = Declaration(); break;
  case P::RuleVariableDeclaration: {
    const Linkage linkage = decl_.linkage;
    decl_ = Declaration();
    decl_.linkage = linkage;
    decl_.loc = loc(c->start);
    break;
  }
  case P::RuleEntryHeader:
  case P::RuleFuncHeader:
  case P::RuleCallPrototype:
    params_.clear();
    returns_.clear();
    noreturn_ = false;
    abiPreserve_ = abiPreserveControl_ = -1;
    inPrototype_ = rule == P::RuleCallPrototype;
    if (inPrototype_) break;
    isEntry_ = rule == P::RuleEntryHeader;
    performance_ = {};
    headerPragmas_.clear();
    headerOpen_ = true;
    break;
  case P::RuleReturnList: inReturns_ = true; break;
  case P::RuleParameterList: inReturns_ = false; break;
  case P::RuleParameter: {
    const Linkage linkage = decl_.linkage;
    const Attributes attributes = decl_.attributes;
    decl_ = Declaration();
    decl_.linkage = linkage;
    decl_.attributes = attributes;
    decl_.loc = loc(c->start);
    break;
  }
  case P::RuleEntryDirective:
  case P::RuleFuncDirective: numbers_.clear(); break;
  case P::RulePragmaDirective: pragmaTexts_.clear(); break;
  case P::RuleBody: enterBody(); break;
  case P::RuleBlock: enterScope(); break;
  case P::RuleLabel:
    labelPrototype_ = PrototypeId::None;
    labelTargets_ = TargetListId::None;
    break;
  case P::RuleCallTargets:
  case P::RuleBranchTargets: targetNames_.clear(); break;
  case P::RulePlainOperation:
  case P::RuleSuffixedOperation: beginInstruction(); break;
  case P::RuleNameOperand:
  case P::RuleAddressBase:
    valuesBefore_ = constants_.size();
    addressName_ = NameId::None;
    break;
  case P::RuleVectorOperand:
  case P::RuleAddressOperand:
  case P::RuleCallReturns:
  case P::RuleCallArguments: openGroup(); break;
  case P::RuleArrayDimension: valuesBefore_ = constants_.size(); break;
  case P::RuleInitializer: enterInitializer(loc(c->start)); break;
  case P::RuleInitializerList: init_.openList(loc(c->start)); break;
  case P::RuleInitializerValue:
    valuesBefore_ = constants_.size();
    initName_ = initInner_ = NameId::None;
    initMasked_ = initField_ = false;
    break;
  case P::RuleConstant:
  case P::RuleUnsignedConstant: constants_.enterExpression(loc(c->start)); break;
  case P::RuleConstantTerms:
  case P::RuleUnsignedTerms: constants_.enterTerms(); break;
  case P::RuleConstantTerm:
  case P::RuleUnsignedTerm: constants_.enterTerm(); break;
  case P::RuleLocDirective: loc_ = {}; break;
  case P::RuleSectionDirective:
    section_ = {};
    sectionBytes_.clear();
    sectionReferences_.clear();
    sectionLabels_.clear();
    break;
  case P::RuleSectionValue: sectionReference_ = {}; break;
  default: break;
  }
}

void ModuleBuilder::exitRule(std::size_t rule, antlr4::ParserRuleContext* c) {
  switch (rule) {
  case P::RuleVersionDirective: return exitVersion(static_cast<P::VersionDirectiveContext*>(c));
  case P::RuleTargetName: return exitTargetName(static_cast<P::TargetNameContext*>(c));
  case P::RuleAddressSizeDirective: return exitAddressSize(static_cast<P::AddressSizeDirectiveContext*>(c));
  case P::RuleLinkage:
    switch (c->start->getType()) {
    case P::EXTERN: decl_.linkage = Linkage::Extern; break;
    case P::VISIBLE: decl_.linkage = Linkage::Visible; break;
    case P::WEAK: decl_.linkage = Linkage::Weak; break;
    default: decl_.linkage = Linkage::Common; break;
    }
    return;
  case P::RuleAliasDirective: return exitAlias(static_cast<P::AliasDirectiveContext*>(c));
  case P::RuleFileDirective: return exitFile(static_cast<P::FileDirectiveContext*>(c));
  case P::RulePragmaText: {
    std::string_view quotedText = text(static_cast<P::PragmaTextContext*>(c)->text);
    pragmaTexts_.push_back({module_.names.intern(quotedText.substr(1, quotedText.size() - 2)), loc(c->start)});
    return;
  }
  case P::RulePragmaDirective: return exitPragma(c);

  // Functions
  case P::RuleFunctionName:
    headerName_ = name(c->start);
    headerLoc_ = loc(c->start);
    return;
  case P::RuleEntryHeader:
  case P::RuleFuncHeader: return exitHeader(rule == P::RuleEntryHeader, c);
  case P::RuleParameterSpace:
    decl_.space = c->start->getType() == P::PARAM ? StateSpace::Param : StateSpace::Reg;
    return;
  case P::RulePointer: {
    decl_.isPointer = true;
    const std::string_view last = window_.previous()->text();
    for (StateSpace space : {StateSpace::Const, StateSpace::Global, StateSpace::Local, StateSpace::Shared}) {
      if (last.substr(1) == spaceName(space)) decl_.pointerSpace = space;
    }
    return;
  }
  case P::RuleParameterArray: {
    auto* array = static_cast<P::ParameterArrayContext*>(c);
    decl_.isArray = true;
    decl_.arraySize = array->size == nullptr ? 0 : integer(array->size);
    return;
  }
  case P::RuleParameter: return exitParameter(static_cast<P::ParameterContext*>(c));
  case P::RuleDirectiveNumber: numbers_.push_back(smallInteger(c->start)); return;
  case P::RuleEntryDirective: return exitDirective(static_cast<P::EntryDirectiveContext*>(c)->directive);
  case P::RuleFuncDirective: return exitDirective(static_cast<P::FuncDirectiveContext*>(c)->directive);
  case P::RuleBody: return exitBody();
  case P::RuleFunction:
    if (headerOpen_) applyHeader();
    return;

  // Statements
  case P::RuleBlock: return leaveScope();
  case P::RuleStatement: openStatements_.pop_back(); return;
  case P::RuleLabel: return exitLabel(static_cast<P::LabelContext*>(c));
  case P::RuleGuard: return exitGuard(static_cast<P::GuardContext*>(c));
  case P::RulePlainOpcode:
  case P::RulePlainCall:
  case P::RuleSuffixedOpcode:
  case P::RuleSuffixedCall: return exitOpcode(c->start);
  case P::RuleModifier: opcodeText_ += text(c->start); return;
  case P::RulePlainOperation:
  case P::RuleSuffixedOperation: return finishInstruction();
  case P::RuleNameOperand: return exitNameOperand(static_cast<P::NameOperandContext*>(c));
  case P::RuleIndexName:
  case P::RuleAddressName:
    addressName_ = name(c->start);
    addressLoc_ = loc(c->start);
    return;
  case P::RuleComponentOperand: operands_.push_back(resolveDotted(text(c->start), loc(c->start))); return;
  case P::RuleSinkOperand: {
    auto* sink = static_cast<P::SinkOperandContext*>(c);
    operands_.push_back(sink->second == nullptr ? Operand::sink()
                                                : Operand::pair(RegisterId::None, pairRegister(sink->second)));
    return;
  }
  case P::RuleOperandSign:
    signedIsName_ = false;
    constants_.leadingPrefix(c->start->getType() == P::NOT ? ConstantOperator::Not : ConstantOperator::Negate,
                             loc(c->start));
    return;
  case P::RuleSignedName: return exitSignedName(static_cast<P::SignedNameContext*>(c));
  case P::RuleSignedOperand: return exitSignedOperand();
  case P::RuleConstantOperand:
  case P::RuleCallArgumentSigned: operands_.push_back(constantOperand()); return;
  case P::RuleVectorOperand: return exitVector(static_cast<P::VectorOperandContext*>(c));
  case P::RuleAddressBase: return exitAddressBase();
  case P::RuleAddressOperand:
    if (operands_.size() - groups_.back() > 1)
      closeGroup(OperandKind::Bracket);
    else
      groups_.pop_back();
    return;
  case P::RuleCallReturns:
  case P::RuleCallArguments: return closeGroup(OperandKind::List);
  case P::RuleCallee:
  case P::RuleCallArgumentName: operands_.push_back(resolve(name(c->start), loc(c->start), false)); return;
  case P::RuleCallTarget: {
    const std::size_t at = operands_.size();
    operands_.push_back(resolve(name(c->start), loc(c->start), true));
    if (operands_.back().is(OperandKind::Label) && operands_.back().labelId() == LabelId::None)
      unresolved_.push_back({at, name(c->start), loc(c->start)});
    return;
  }
  case P::RuleCallPrototype: return exitCallPrototype(loc(c->start));
  case P::RuleTargetListName: targetNames_.emplace_back(name(c->start), loc(c->start)); return;
  case P::RuleCallTargets:
  case P::RuleBranchTargets: return exitTargetList(rule == P::RuleCallTargets, loc(c->start));

  // Variables
  case P::RuleSpace: return exitSpace(static_cast<P::SpaceContext*>(c));
  case P::RuleAlignment: return exitAlignment(static_cast<P::AlignmentContext*>(c));
  case P::RuleVector: decl_.vectorSize = static_cast<unsigned>(text(c->start).back() - '0'); return;
  case P::RuleType: return exitType(static_cast<P::TypeContext*>(c));
  case P::RuleAttributeItem: return exitAttributeItem(static_cast<P::AttributeItemContext*>(c));
  case P::RuleDeclaratorName: return beginDeclarator(static_cast<P::DeclaratorNameContext*>(c));
  case P::RuleFamily:
    decl_.isFamily = true;
    decl_.familyCount = integer(static_cast<P::FamilyContext*>(c)->count);
    return;
  case P::RuleArrayDimension: return exitArrayDimension(loc(c->start));
  case P::RuleDeclarator: return finishDeclarator();
  case P::RuleInitializer: return exitInitializer();
  case P::RuleInitializerList: return init_.closeList();
  case P::RuleInitializerName:
    initName_ = name(c->start);
    initNameLoc_ = loc(c->start);
    return;
  case P::RuleInitializerInner: initInner_ = name(c->start); return;
  case P::RuleFieldValue:
    initField_ = true;
    if (auto* field = static_cast<P::FieldValueContext*>(c); field->value != nullptr) initInner_ = name(field->value);
    return;
  case P::RuleMaskedAddress: initMasked_ = true; return;
  case P::RuleInitializerValue: return exitInitializerValue(loc(c->start));

  // Debug data
  case P::RuleLocDirective: return exitLoc(static_cast<P::LocDirectiveContext*>(c));
  case P::RuleLocFunction: return exitLocFunction(static_cast<P::LocFunctionContext*>(c));
  case P::RuleLocPlace: return exitLocPlace(static_cast<P::LocPlaceContext*>(c));
  case P::RuleSectionName:
    section_.name = name(c->start);
    section_.loc = loc(c->start);
    return;
  case P::RuleSectionLabel: sectionLabels_.push_back({name(c->start), sectionBytes_.size()}); return;
  case P::RuleSectionType: {
    const Type type = *typeFromName(text(c->start).substr(1));
    sectionSize_ = bitWidth(type) / 8;
    if (typeClass(type) != TypeClass::Bits || sectionSize_ > 8) {
      error(loc(c->start), fmt::format("the type of debug data is .b8, .b16, .b32 or .b64, not .{}", typeName(type)));
      sectionSize_ = 1;
    }
    return;
  }
  case P::RuleSectionTerm: {
    bool negative = false;
    if (c->parent != nullptr &&
        static_cast<antlr4::ParserRuleContext*>(c->parent)->getRuleIndex() == P::RuleSectionTail)
      negative = static_cast<P::SectionTailContext*>(c->parent)->sign->getType() == P::MINUS;
    return exitSectionTerm(static_cast<P::SectionTermContext*>(c), negative);
  }
  case P::RuleSectionValue: return exitSectionValue(c);
  case P::RuleSectionDirective: return exitSection();
  default: return exitConstantRule(rule, c);
  }
}

void ModuleBuilder::exitConstantRule(std::size_t rule, antlr4::ParserRuleContext* c) {
  switch (rule) {
  case P::RuleConstant:
  case P::RuleUnsignedConstant: return constants_.exitExpression();
  case P::RuleConstantTerms:
  case P::RuleUnsignedTerms: return constants_.exitTerms();
  case P::RuleConstantTerm:
  case P::RuleUnsignedTerm: return constants_.exitTerm();
  case P::RuleLiteral:
    switch (c->start->getType()) {
    case P::INT: return constants_.literal(parseInteger(text(c->start), loc(c->start), diags_));
    case P::FLOAT: return constants_.literal(parseDecimal(text(c->start)));
    case P::WARP_SZ: return constants_.literal({Constant::Kind::Signed, 32});
    default: return constants_.literal(parseFloatBits(text(c->start)));
    }
  case P::RulePrefixOperator:
  case P::RuleUnsignedPrefix: {
    ConstantOperator op = ConstantOperator::Plus;
    switch (c->start->getType()) {
    case P::MINUS: op = ConstantOperator::Negate; break;
    case P::TILDE: op = ConstantOperator::Complement; break;
    case P::NOT: op = ConstantOperator::Not; break;
    case P::CAST: {
      const std::string_view cast = text(c->start);
      op = cast.find("s64") != std::string_view::npos   ? ConstantOperator::CastSigned
           : cast.find("u64") != std::string_view::npos ? ConstantOperator::CastUnsigned
                                                        : ConstantOperator::CastUnsupported;
      break;
    }
    default: break;
    }
    return constants_.prefix(op, loc(c->start));
  }
  case P::RuleBinaryOperator: {
    ConstantOperator op = ConstantOperator::Add;
    switch (c->start->getType()) {
    case P::PLUS: op = ConstantOperator::Add; break;
    case P::MINUS: op = ConstantOperator::Subtract; break;
    case P::STAR: op = ConstantOperator::Multiply; break;
    case P::SLASH: op = ConstantOperator::Divide; break;
    case P::PERCENT: op = ConstantOperator::Remainder; break;
    case P::SHL: op = ConstantOperator::ShiftLeft; break;
    case P::SHR: op = ConstantOperator::ShiftRight; break;
    case P::LT: op = ConstantOperator::Less; break;
    case P::GT: op = ConstantOperator::Greater; break;
    case P::LE: op = ConstantOperator::LessEqual; break;
    case P::GE: op = ConstantOperator::GreaterEqual; break;
    case P::EQ: op = ConstantOperator::Equal; break;
    case P::NE: op = ConstantOperator::NotEqual; break;
    case P::AND: op = ConstantOperator::And; break;
    case P::OR: op = ConstantOperator::Or; break;
    case P::XOR: op = ConstantOperator::Xor; break;
    case P::LAND: op = ConstantOperator::LogicalAnd; break;
    default: op = ConstantOperator::LogicalOr; break;
    }
    return constants_.binary(op, loc(c->start));
  }
  default: return;
  }
}

void ModuleBuilder::abandon(std::size_t rule) {
  constants_.reset();
  operands_.clear();
  groups_.clear();
  unresolved_.clear();
  guard_ = RegisterId::None;
  guardNegated_ = guardWrong_ = false;
  inPrototype_ = false;
  unsigned depth = 0;
  if (rule == P::RuleStatement) {
    const StatementMark mark = openStatements_.back();
    openStatements_.pop_back();
    depth = mark.depth;
    // Removes an instruction with a syntax error at its end. If a block lacks its end, its statements are kept.
    if (scopes_.depth() == depth && fn_->instructions.size() == mark.instructions + 1) {
      fn_->instructions.resize(mark.instructions);
      fn_->statements.resize(mark.statements);
    }
  } else if (rule == P::RuleSectionItem) {
    return;
  } else {
    openStatements_.clear();
    headerOpen_ = false;
    pending_.clear(); // the labels that they wait for may be in the skipped part
  }
  while (scopes_.depth() > depth)
    leaveScope();
  if (depth == 0) {
    fn_ = nullptr;
    fnId_ = FunctionId::None;
  }
}

void ModuleBuilder::syntaxError(SourceLoc where, std::string message, std::string hint) {
  error(where, std::move(message), std::move(hint));
}

std::string ModuleBuilder::quoted(NameId id) const {
  constexpr std::size_t kLongest = 200; // mangled names can be very long
  const std::string_view shown = module_.text(id);
  return fmt::format("'{}{}'", shown.substr(0, kLongest), shown.size() > kLongest ? "..." : "");
}

std::uint64_t ModuleBuilder::integer(antlr4::Token* token) {
  return parseInteger(text(token), loc(token), diags_).bits;
}

std::uint32_t ModuleBuilder::smallInteger(antlr4::Token* token, std::uint32_t most) {
  const std::uint64_t value = integer(token);
  if (value > most) {
    error(loc(token), fmt::format("{} is too large here", text(token).substr(0, 40)), fmt::format("at most {}", most));
    return most;
  }
  return static_cast<std::uint32_t>(value);
}

void ModuleBuilder::redeclared(NameId id, SourceLoc where, const Symbol& before) {
  error(where, fmt::format("{} is declared twice in this scope", quoted(id)),
        before.loc ? fmt::format("the first declaration is in line {}", before.loc.line) : std::string());
}

// ---- Module directives

void ModuleBuilder::exitVersion(P::VersionDirectiveContext* c) {
  const std::string_view number = text(c->number);
  const std::size_t dot = number.find('.');
  const auto part = [](std::string_view digits) -> unsigned {
    unsigned value = 0;
    if (digits.empty() || digits.size() > 2) return 255;
    for (char d : digits)
      value = d >= '0' && d <= '9' ? value * 10 + static_cast<unsigned>(d - '0') : 255;
    return value;
  };
  module_.versionLoc = loc(c->number);
  if (dot == std::string_view::npos) {
    error(module_.versionLoc, "a version has the form major.minor");
    return;
  }
  module_.version = {static_cast<std::uint8_t>(std::min(part(number.substr(0, dot)), 255u)),
                     static_cast<std::uint8_t>(std::min(part(number.substr(dot + 1)), 255u))};
}

void ModuleBuilder::exitTargetName(P::TargetNameContext* c) {
  const std::string_view word = text(c->name);
  Target& target = module_.target;
  if (word == "texmode_unified") {
    target.texmodeIndependent = false;
  } else if (word == "texmode_independent") {
    target.texmodeIndependent = true;
  } else if (word == "debug") {
    target.debug = true;
  } else if (word == "map_f64_to_f32") {
    target.mapF64ToF32 = true;
  } else if (word.starts_with("sm_")) {
    // The last of several counts. check_decls.cpp checks which ones exist.
    std::string_view digits = word.substr(3);
    Arch arch;
    if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
      arch.suffix = digits.back();
      digits.remove_suffix(1);
    }
    for (char d : digits.substr(0, 4))
      arch.number = static_cast<std::uint16_t>(d >= '0' && d <= '9' ? arch.number * 10 + (d - '0') : 9999);
    target.arch = arch;
    target.loc = loc(c->name);
  } else {
    error(loc(c->name), fmt::format("unknown target '{}'", word.substr(0, 80)),
          "a target is sm_90, sm_90a, texmode_unified, ...");
  }
}

void ModuleBuilder::exitAddressSize(P::AddressSizeDirectiveContext* c) {
  const std::uint64_t bits = integer(c->size);
  if (bits != 32 && bits != 64) return error(loc(c->size), "the address size is 32 or 64");
  module_.addressSize = static_cast<unsigned>(bits);
  module_.addressSizeLoc = loc(c->start);
}

void ModuleBuilder::exitAlias(P::AliasDirectiveContext* c) {
  const auto function = [&](antlr4::Token* token) -> FunctionId {
    const Symbol symbol = scopes_.find(name(token));
    if (symbol.kind == SymbolKind::Function) return FunctionId(symbol.id);
    error(loc(token), fmt::format("{} is not a function", quoted(name(token))),
          "declare the function before the .alias");
    return FunctionId::None;
  };
  const FunctionId alias = function(c->alias);
  const FunctionId aliasee = function(c->aliasee);
  if (alias == FunctionId::None || aliasee == FunctionId::None) return;
  Function& f = module_.functions[index(alias)];
  if (f.hasBody) return error(loc(c->alias), fmt::format("{} has a body and cannot be an alias", quoted(f.name)));
  if (alias == aliasee) return error(loc(c->alias), "a function cannot be an alias of itself");
  const Function& target = module_.function(aliasee);
  if (!target.hasBody) return error(loc(c->aliasee), fmt::format("{} is not defined", quoted(target.name)));
  if (f.isEntry || target.isEntry) return error(loc(c->alias), "an entry can neither be nor have an alias");
  f.aliasee = aliasee;
}

void ModuleBuilder::exitFile(P::FileDirectiveContext* c) {
  std::string_view path = text(c->name);
  DebugFile file;
  file.index = smallInteger(c->number);
  file.name = module_.names.intern(path.substr(1, path.size() - 2));
  if (c->timestamp != nullptr) {
    file.timestamp = integer(c->timestamp);
    file.size = integer(c->size);
  }
  for (const DebugFile& other : module_.files) {
    if (other.index == file.index) return error(loc(c->number), fmt::format("file {} is declared twice", file.index));
  }
  module_.files.push_back(file);
}

void ModuleBuilder::exitPragma(antlr4::ParserRuleContext*) {
  for (const Pragma& pragma : pragmaTexts_) {
    if (headerOpen_) {
      headerPragmas_.push_back(pragma);
      continue;
    }
    const auto at = static_cast<std::uint32_t>(module_.pragmas.size());
    module_.pragmas.push_back(pragma);
    if (inFunction())
      addStatement(StatementKind::Pragma, at);
    else
      module_.modulePragmas.push_back(at);
  }
}

// ---- Debug data

void ModuleBuilder::exitLoc(P::LocDirectiveContext* c) {
  loc_.file = smallInteger(c->file);
  loc_.line = smallInteger(c->line);
  loc_.column = smallInteger(c->column);
  debugLoc_ = DebugLocId(static_cast<std::uint32_t>(module_.debugLocs.size()));
  module_.debugLocs.push_back(loc_);
}

void ModuleBuilder::exitLocFunction(P::LocFunctionContext* c) {
  auto* parent = static_cast<P::LocDirectiveContext*>(c->parent);
  if (text(parent->keyword) != "function_name")
    return error(loc(parent->keyword), "this part of a .loc is 'function_name' or 'inlined_at'");
  loc_.functionName = name(c->name);
  if (c->offset != nullptr) loc_.functionNameOffset = smallInteger(c->offset);
}

void ModuleBuilder::exitLocPlace(P::LocPlaceContext* c) {
  auto* parent = static_cast<P::LocDirectiveContext*>(c->parent);
  if (text(parent->keyword) != "inlined_at")
    return error(loc(parent->keyword), "this part of a .loc is 'function_name' or 'inlined_at'");
  loc_.inlinedFile = smallInteger(c->file);
  loc_.inlinedLine = smallInteger(c->line);
  loc_.inlinedColumn = smallInteger(c->column);
}

void ModuleBuilder::exitSectionTerm(P::SectionTermContext* c, bool negative) {
  if (c->value != nullptr) {
    std::uint64_t value = integer(c->value);
    if (c->sign != nullptr) value = 0 - value;
    sectionReference_.addend += static_cast<std::int64_t>(negative ? 0 - value : value);
    return;
  }
  NameId& slot = negative ? sectionReference_.minus : sectionReference_.symbol;
  if (slot != NameId::None)
    return error(loc(c->start), "a value of debug data is at most the difference of two symbols");
  slot = name(c->name);
}

void ModuleBuilder::exitSectionValue(antlr4::ParserRuleContext* c) {
  const bool symbolic = sectionReference_.symbol != NameId::None;
  if (!symbolic && sectionReference_.minus != NameId::None) return error(loc(c->start), "a symbol cannot be negated");
  const auto addend = static_cast<std::uint64_t>(sectionReference_.addend);
  if (symbolic) {
    sectionReference_.at = sectionBytes_.size();
    sectionReference_.size = static_cast<std::uint8_t>(sectionSize_);
    sectionReferences_.push_back(sectionReference_);
  } else if (sectionSize_ < 8) {
    const std::int64_t value = sectionReference_.addend;
    const unsigned width = 8 * sectionSize_;
    if (value >= (std::int64_t{1} << width) || value < -(std::int64_t{1} << (width - 1)))
      return error(loc(c->start), fmt::format("the value does not fit in {} bits", width));
  }
  for (unsigned i = 0; i < sectionSize_; ++i)
    sectionBytes_.push_back(static_cast<std::uint8_t>(symbolic ? 0 : addend >> (8 * i)));
}

void ModuleBuilder::exitSection() {
  section_.bytes = module_.arena.copyArray<std::uint8_t>(sectionBytes_);
  section_.references = module_.arena.copyArray<SectionReference>(sectionReferences_);
  section_.labels = module_.arena.copyArray<SectionLabel>(sectionLabels_);
  module_.sections.push_back(section_);
}

} // namespace orias::ptx
