#pragma once

#include "frontend/ids.h"
#include "frontend/names.h"
#include "frontend/operand.h"
#include "frontend/types.h"
#include "support/arena.h"
#include "support/diagnostics.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// A PTX module after parsing: names resolved, statements in flat lists, everything identified by dense ids. Spans point
// into Module::arena.

namespace orias::ptx {

/// `.version 8.7` is {8, 7}.
struct Version {
  std::uint8_t major = 0;
  std::uint8_t minor = 0;
  friend auto operator<=>(Version, Version) = default;
};

/// `sm_90`, `sm_90a`, `sm_120f`.
struct Arch {
  std::uint16_t number = 0;
  char suffix = 0; ///< 'a' (architecture-specific), 'f' (family-specific) or 0
  friend bool operator==(Arch, Arch) = default;
};

/// "sm_90a"
std::string archName(Arch arch);

struct Target {
  Arch arch;
  bool texmodeIndependent = false; ///< `texmode_independent`; unified otherwise
  bool debug = false;
  bool mapF64ToF32 = false;
  SourceLoc loc;
};

/// An address inside an initializer: at `at` bytes from its start, `size` bytes wide.
struct InitAddress {
  std::uint64_t at = 0;
  std::int64_t addend = 0;
  VariableId variable = VariableId::None; ///< one of the two
  FunctionId function = FunctionId::None;
  std::uint32_t size = 0;
  bool generic = false;  ///< `generic(x)`
  std::uint8_t mask = 0; ///< `mask(0xFF00, x)`: the selected byte of the address (index + 1); 0 = the whole
};

struct Attributes {
  bool managed = false;
  bool unified = false;
  std::uint64_t unifiedUuid[2] = {0, 0};
};

/// A declared variable of any space but .reg, or a parameter of a function or prototype (then .reg is possible).
struct Variable {
  NameId name = NameId::None;
  SourceLoc loc;
  FunctionId owner = FunctionId::None; ///< None: module scope
  Linkage linkage = Linkage::None;
  StateSpace space = StateSpace::None;
  Type type = Type::None;
  std::uint8_t vectorSize = 1; ///< 2 for `.v2`, …
  std::uint8_t bank = 0;       ///< of the old `.const[n]`
  bool isArray = false;
  bool incomplete = false;             ///< the first dimension is open: `.extern .shared .b8 s[]`
  std::uint32_t align = 1;             ///< bytes; the natural one if not given
  std::uint64_t elements = 1;          ///< product of the dimensions
  std::span<const std::uint64_t> dims; ///< an open first dimension is 0
  // Parameters only: the properties of the pointer from `.ptr`.
  bool isPointer = false;
  StateSpace pointerSpace = StateSpace::None; ///< None: generic
  std::uint32_t pointerAlign = 0;
  Attributes attributes;
  // Initializer: the leading bytes (the rest is zero), with the addresses that the linker or loader fills in.
  bool hasInitializer = false;
  std::span<const std::uint8_t> init;
  std::span<const InitAddress> initAddresses;

  /// Bytes of one element, vector included.
  std::uint64_t elementSize() const { return bitWidth(type) / 8 * std::uint64_t{vectorSize}; }
  std::uint64_t byteSize() const { return elementSize() * elements; }
};

struct Register {
  NameId name = NameId::None;
  SourceLoc loc; ///< of the declaration
  Type type = Type::None;
  std::uint8_t vectorSize = 1;
};

struct Parameter {
  VariableId variable = VariableId::None;
  RegisterId reg = RegisterId::None; ///< when the variable's space is Reg and the function has a body
};

/// A distinct full opcode, `ld.global.L2::128B.v4.u32`. Everything that does not depend on operands is looked up once
/// per opcode.
struct Opcode {
  NameId text = NameId::None;        ///< as written, without the guard
  NameId base = NameId::None;        ///< `ld`
  std::span<const NameId> modifiers; ///< `global`, `L2::128B`, `v4`, `u32`
};

struct Instruction {
  OpcodeId opcode = OpcodeId::None;
  SourceLoc loc; ///< of the opcode
  DebugLocId debugLoc = DebugLocId::None;
  RegisterId guard = RegisterId::None;
  std::uint32_t firstOperand = 0;
  std::uint16_t operandCount = 0;
  bool guardNegated = false;
};

struct Label {
  NameId name = NameId::None;
  SourceLoc loc;
  std::uint32_t statement = kNoId; ///< index into Function::statements
};

enum class StatementKind : std::uint8_t {
  Instruction, ///< Function::instructions
  Label,       ///< Function::labels
  ScopeBegin,  ///< `{`; index is the number of the scope, the same as of its end
  ScopeEnd,    ///< `}`
  Variable,    ///< Module::variables: a .local/.shared/.param/… variable declared here
  Pragma,      ///< Module::pragmas
};

struct Statement {
  StatementKind kind = StatementKind::Instruction;
  std::uint32_t index = 0;
};

/// `.maxntid` and friends; 0 where not given.
struct PerformanceDirectives {
  std::array<std::uint32_t, 3> maxntid{};
  std::array<std::uint32_t, 3> reqntid{};
  std::array<std::uint32_t, 3> reqnctapercluster{};
  std::uint32_t minnctapersm = 0;
  std::uint32_t maxnctapersm = 0;
  std::uint32_t maxnreg = 0;
  std::uint32_t maxclusterrank = 0;
  bool explicitcluster = false;
  bool blocksareclusters = false;
};

struct Pragma {
  NameId text = NameId::None; ///< without the quotes
  SourceLoc loc;
};

struct Function {
  NameId name = NameId::None;
  SourceLoc loc;
  SourceLoc endLoc; ///< of the closing brace
  bool isEntry = false;
  bool hasBody = false;
  bool noreturn = false;
  Linkage linkage = Linkage::None;
  FunctionId aliasee = FunctionId::None; ///< `.alias`
  Attributes attributes;
  std::int32_t abiPreserve = -1;        ///< `.abi_preserve N`, -1 where not given
  std::int32_t abiPreserveControl = -1; ///< `.abi_preserve_control N`
  PerformanceDirectives performance;
  std::vector<Parameter> params;
  std::vector<Parameter> returns;
  std::vector<Pragma> pragmas; ///< between the signature and the body

  std::vector<Statement> statements;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Register> registers; ///< of families (`%r<100>`) only the used members
  std::vector<Label> labels;
  std::uint32_t scopeCount = 0;

  std::span<const Operand> operandsOf(const Instruction& i) const {
    return std::span(operands).subspan(i.firstOperand, i.operandCount);
  }
  /// The elements of a Vector, List or Bracket.
  std::span<const Operand> parts(const Operand& group) const {
    return std::span(operands).subspan(group.groupFirst(), group.groupCount());
  }
};

/// The components of a `call`: `call (returns), callee, (args), prototype-or-targets;`. Null where absent.
struct CallParts {
  const Operand* returns = nullptr;
  const Operand* callee = nullptr;
  const Operand* args = nullptr;
  const Operand* prototype = nullptr;
};
CallParts callParts(const Function& function, const Instruction& instruction);

struct Prototype {
  NameId name = NameId::None;
  SourceLoc loc;
  FunctionId owner = FunctionId::None;
  std::span<const VariableId> params;
  std::span<const VariableId> returns;
  bool noreturn = false;
  std::int32_t abiPreserve = -1;
  std::int32_t abiPreserveControl = -1;
};

/// `.calltargets f, g` (function ids) or `.branchtargets L1, L2` (label ids of the owner).
struct TargetList {
  NameId name = NameId::None;
  SourceLoc loc;
  FunctionId owner = FunctionId::None;
  bool isCall = false;
  std::span<std::uint32_t> targets;
};

struct DebugFile {
  std::uint32_t index = 0;
  NameId name = NameId::None;
  std::uint64_t timestamp = 0;
  std::uint64_t size = 0;
};

/// A `.loc` directive.
struct DebugLoc {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  NameId functionName = NameId::None; ///< `function_name label`: offset of the inlined function's name in .debug_str
  std::uint32_t functionNameOffset = 0;
  std::uint32_t inlinedFile = 0; ///< `inlined_at`; line 0: not inlined
  std::uint32_t inlinedLine = 0;
  std::uint32_t inlinedColumn = 0;
};

/// A reference in a debug section: to a label, a section or a symbol.
struct SectionReference {
  std::uint64_t at = 0;
  NameId symbol = NameId::None;
  NameId minus = NameId::None; ///< `a - b`
  std::int64_t addend = 0;
  std::uint8_t size = 4;
};

struct SectionLabel {
  NameId name = NameId::None;
  std::uint64_t at = 0;
};

/// `.section .debug_info { … }`.
struct DebugSection {
  NameId name = NameId::None;
  SourceLoc loc;
  std::span<const std::uint8_t> bytes;
  std::span<const SectionReference> references;
  std::span<const SectionLabel> labels;
};

/// A property of a texture, sampler or surface: `filter_mode = linear`, `width = 4`.
struct ObjectProperty {
  VariableId variable = VariableId::None;
  NameId field = NameId::None;
  NameId word = NameId::None; ///< the value, or None if it is a number
  std::uint64_t value = 0;
};

struct Module {
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Arena arena;
  NameTable names;
  Version version;
  SourceLoc versionLoc;
  Target target;
  unsigned addressSize = 64; ///< bits; the manual's default is 32, which no current target supports
  SourceLoc addressSizeLoc;

  std::vector<Opcode> opcodes;
  std::vector<Variable> variables;
  std::vector<Function> functions; ///< in the order of first appearance; a prototype and its definition are one
  std::vector<Prototype> prototypes;
  std::vector<TargetList> targetLists;
  std::vector<Pragma> pragmas; ///< Statement::index of the pragmas in bodies; also those of module scope
  std::vector<std::uint32_t> modulePragmas;
  std::vector<DebugFile> files;
  std::vector<DebugLoc> debugLocs;
  std::vector<DebugSection> sections;
  std::vector<ObjectProperty> objectProperties;

  std::string_view text(NameId id) const { return names.text(id); }
  const Opcode& opcode(const Instruction& i) const { return opcodes[index(i.opcode)]; }
  const Variable& variable(VariableId id) const { return variables[index(id)]; }
  const Function& function(FunctionId id) const { return functions[index(id)]; }
  FunctionId idOf(const Function& function) const {
    return FunctionId(static_cast<std::uint32_t>(&function - functions.data()));
  }
};

} // namespace orias::ptx
