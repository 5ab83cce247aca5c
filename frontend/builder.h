#pragma once

#include "PtxParser.h"
#include "frontend/constant.h"
#include "frontend/initializer.h"
#include "frontend/module.h"
#include "frontend/parser_base.h"
#include "frontend/scopes.h"

#include <string>
#include <vector>

// Part of the parser: only frontend's own .cpp files may include this header.

namespace orias::ptx {

/// Fills a Module from the parser's events. The text is read once: names are resolved at their use, except labels,
/// which may follow later. There is one method per relevant grammar rule; `exitRule` dispatches. The result of a rule
/// is kept in the fields until the enclosing rule uses it.
///
/// builder.cpp: dispatch, module directives, debug data. builder_decl.cpp: functions, parameters, variables.
/// builder_code.cpp: statements and operands.
class ModuleBuilder final : public ParseEvents {
 public:
  ModuleBuilder(Module& module, TokenWindow& window, Diagnostics& diags);

  void enterRule(std::size_t rule, antlr4::ParserRuleContext* context) override;
  void exitRule(std::size_t rule, antlr4::ParserRuleContext* context) override;
  void abandon(std::size_t rule) override;
  void syntaxError(SourceLoc loc, std::string message, std::string hint) override;
  void initializerNumber(const PtxToken& token) override;

 private:
  // The parts of a declaration read so far.
  struct Declaration {
    Linkage linkage = Linkage::None;
    StateSpace space = StateSpace::None;
    SourceLoc loc;
    Type type = Type::None;
    unsigned vectorSize = 1;
    std::uint64_t align = 0; ///< 0: not given
    unsigned bank = 0;
    bool isPointer = false;
    StateSpace pointerSpace = StateSpace::None;
    std::uint64_t pointerAlign = 0;
    bool isArray = false;
    std::uint64_t arraySize = 0;
    Attributes attributes;
    // Of the declarator.
    NameId name = NameId::None;
    SourceLoc nameLoc;
    bool isFamily = false;
    std::uint64_t familyCount = 0;
    std::vector<std::uint64_t> dims;
    VariableId created = VariableId::None;
    bool done = false; ///< the declarator is in the module, or had an error
  };
  /// The state at the start of a statement, which an error restores.
  struct StatementMark {
    unsigned depth;
    std::size_t instructions;
    std::size_t statements;
  };
  struct Pending {
    NameId name;
    SourceLoc loc;
    std::uint32_t instruction; ///< of the function; kNoId: none
    std::uint32_t operand;     ///< of the function; kNoId: a target of `list`
    TargetListId list;
    std::uint32_t target;
    unsigned depth;
  };

  // Small helpers (builder.cpp).
  static std::string_view text(antlr4::Token* token) { return static_cast<PtxToken*>(token)->text(); }
  static SourceLoc loc(antlr4::Token* token) { return static_cast<PtxToken*>(token)->loc(); }
  NameId name(antlr4::Token* token) { return module_.names.intern(text(token)); }
  std::string quoted(NameId name) const;
  std::uint64_t integer(antlr4::Token* token);
  /// Like integer, with an error if the value is above `most`.
  std::uint32_t smallInteger(antlr4::Token* token, std::uint32_t most = 0x7fffffff);
  void error(SourceLoc loc, std::string message, std::string hint = {}) {
    diags_.error(loc, std::move(message), std::move(hint));
  }
  void redeclared(NameId name, SourceLoc loc, const Symbol& before);
  bool inFunction() const { return fn_ != nullptr; }

  // Module directives and debug data (builder.cpp).
  void exitVersion(PtxParser::VersionDirectiveContext* c);
  void exitTargetName(PtxParser::TargetNameContext* c);
  void exitAddressSize(PtxParser::AddressSizeDirectiveContext* c);
  void exitAlias(PtxParser::AliasDirectiveContext* c);
  void exitFile(PtxParser::FileDirectiveContext* c);
  void exitPragma(antlr4::ParserRuleContext* c);
  void exitLoc(PtxParser::LocDirectiveContext* c);
  void exitLocFunction(PtxParser::LocFunctionContext* c);
  void exitLocPlace(PtxParser::LocPlaceContext* c);
  void exitSection();
  void exitSectionTerm(PtxParser::SectionTermContext* c, bool negative);
  void exitSectionValue(antlr4::ParserRuleContext* c);
  void exitConstantRule(std::size_t rule, antlr4::ParserRuleContext* c);

  // Declarations (builder_decl.cpp).
  void exitHeader(bool isEntry, antlr4::ParserRuleContext* c);
  void applyHeader();
  const char* clashWith(const Function& f) const;
  bool sameSignature(const Function& f) const;
  void exitParameter(PtxParser::ParameterContext* c);
  void exitDirective(antlr4::Token* directive);
  void enterBody();
  void exitBody();
  void exitSpace(PtxParser::SpaceContext* c);
  void exitAlignment(PtxParser::AlignmentContext* c);
  void exitType(PtxParser::TypeContext* c);
  void exitAttributeItem(PtxParser::AttributeItemContext* c);
  void beginDeclarator(PtxParser::DeclaratorNameContext* c);
  void exitArrayDimension(SourceLoc loc);
  /// Adds the current declarator to the module, once.
  void finishDeclarator();
  void declareRegister();
  void declareForKernels();
  void declareInKernel();
  void declareVariable();
  VariableId makeVariable(NameId name, SourceLoc loc);
  void mergeVariable(VariableId old, const Variable& again);
  bool checkShape(const Declaration& d, std::uint64_t& elements);
  void enterInitializer(SourceLoc loc);
  void exitInitializer();
  void exitInitializerValue(SourceLoc loc);
  void exitInitializerField(SourceLoc loc, bool isNumber);
  void exitCallPrototype(SourceLoc loc);
  void exitTargetList(bool isCall, SourceLoc loc);
  std::span<const VariableId> parameterVariables(const std::vector<Parameter>& list);

  // Code (builder_code.cpp).
  void exitLabel(PtxParser::LabelContext* c);
  void exitGuard(PtxParser::GuardContext* c);
  void beginInstruction();
  void exitOpcode(antlr4::Token* token);
  void finishInstruction();
  OpcodeId opcode(std::string_view text);
  void exitNameOperand(PtxParser::NameOperandContext* c);
  void exitSignedOperand();
  void exitSignedName(PtxParser::SignedNameContext* c);
  void exitAddressBase();
  void exitVector(PtxParser::VectorOperandContext* c);
  void openGroup() { groups_.push_back(operands_.size()); }
  /// Replaces the operands since openGroup by a single one.
  void closeGroup(OperandKind kind);
  /// The opcode of the current instruction, without modifiers.
  std::string_view opcodeBase() const { return std::string_view(opcodeText_).substr(0, opcodeText_.find('.')); }
  /// Adds an operand. A register or special register that is a vector becomes the group of its components, except as an
  /// argument of a call.
  void pushOperand(const Operand& operand);
  /// The register of `r+4` as a value: like ptxas, adds the constant first, although the manual has no such operand.
  Operand registerPlus(RegisterId base, std::int64_t value, SourceLoc where);
  RegisterId elementAddress(VariableId array, RegisterId at, std::int64_t offset, std::uint64_t size);
  RegisterId computed(Type type, std::string_view name, std::string_view text, std::vector<Operand> sources);
  Operand constantOperand();
  /// The meaning of a name without suffix. An unknown name is an error, or a forward label if `mayBeLabel`;
  /// finishInstruction then adds it to the list of pending names.
  Operand resolve(NameId name, SourceLoc loc, bool mayBeLabel);
  Operand resolveDotted(std::string_view text, SourceLoc loc);
  Operand withComponent(Operand operand, std::string_view component, SourceLoc loc);
  /// The register with this name, or an error.
  RegisterId resolveRegister(NameId name, SourceLoc loc);
  /// The second register of a pair; None for `_`.
  RegisterId pairRegister(antlr4::Token* token);
  void removeWrongInstructions();
  void undeclared(NameId name, SourceLoc loc);
  void enterScope();
  void leaveScope();
  void resolvePending();
  void addStatement(StatementKind kind, std::uint32_t index);

  Module& module_;
  TokenWindow& window_;
  Diagnostics& diags_;
  Scopes scopes_;
  ConstantEvaluator constants_;
  InitializerBuilder init_;

  // The current function.
  FunctionId fnId_ = FunctionId::None;
  Function* fn_ = nullptr;
  std::vector<std::uint32_t> scopeNumbers_;
  std::vector<StatementMark> openStatements_;
  std::vector<Pending> pending_;
  std::vector<Declaration> forKernels_; ///< registers and .local variables of the module, before .version 3.0
  std::vector<Register> families_;      ///< the members of each family, by Family::declaration
  DebugLocId debugLoc_ = DebugLocId::None;

  // Of a header or a prototype.
  NameId headerName_ = NameId::None;
  SourceLoc headerLoc_;
  std::vector<Parameter> params_;
  std::vector<Parameter> returns_;
  bool inReturns_ = false;
  bool isEntry_ = false;
  bool inPrototype_ = false;
  std::vector<std::uint32_t> numbers_; ///< of a performance directive
  bool noreturn_ = false;
  std::int32_t abiPreserve_ = -1;
  std::int32_t abiPreserveControl_ = -1;
  PerformanceDirectives performance_;
  std::vector<Pragma> headerPragmas_;
  bool headerOpen_ = false; ///< between the header and the body
  FunctionId headerFunction_ = FunctionId::None;

  Declaration decl_;
  std::size_t valuesBefore_ = 0; ///< constants_.size() at the start of the rule that may have one

  // An initial value.
  NameId initName_ = NameId::None;
  NameId initInner_ = NameId::None;
  SourceLoc initNameLoc_;
  bool initMasked_ = false;
  bool initField_ = false;

  // A label's directive.
  PrototypeId labelPrototype_ = PrototypeId::None;
  TargetListId labelTargets_ = TargetListId::None;
  std::vector<std::pair<NameId, SourceLoc>> targetNames_;

  // An instruction.
  Instruction instr_;
  RegisterId guard_ = RegisterId::None;
  bool guardNegated_ = false;
  bool guardWrong_ = false;
  std::string opcodeText_;
  std::vector<OpcodeId> opcodeOfName_;
  std::vector<Operand> operands_;
  struct Unresolved {
    std::size_t operand;
    NameId name;
    SourceLoc loc;
  };
  std::vector<Unresolved> unresolved_;
  std::vector<std::size_t> groups_;
  bool signedIsName_ = false;
  bool wrong_ = false; ///< an operand has an error: the instruction is dropped
  NameId addressName_ = NameId::None;
  SourceLoc addressLoc_;

  std::vector<Pragma> pragmaTexts_;

  // Debug data.
  DebugLoc loc_;
  DebugSection section_;
  std::vector<std::uint8_t> sectionBytes_;
  std::vector<SectionReference> sectionReferences_;
  std::vector<SectionLabel> sectionLabels_;
  SectionReference sectionReference_;
  unsigned sectionSize_ = 0;
};

} // namespace orias::ptx
