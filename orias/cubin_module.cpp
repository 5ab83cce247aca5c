#include "orias/cubin_module.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "frontend/tensor_guard_names.h"
#include "ori/jump_table.h"
#include "orias/frame_changes.h"
#include "phases/memory_access.h"
#include "support/check.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace orias {

namespace {

cubin::Binding bindingOf(ori::Linkage linkage) {
  switch (linkage) {
  case ori::Linkage::Local: return cubin::Binding::Local;
  case ori::Linkage::Weak: return cubin::Binding::Weak;
  case ori::Linkage::Common:
  case ori::Linkage::Global:
  case ori::Linkage::External: return cubin::Binding::Global;
  }
  return cubin::Binding::Global;
}

cubin::RelocationType relocationTypeOf(const ori::DataRelocation& relocation) {
  if (relocation.size == 8) return relocation.generic ? cubin::RelocationType::Generic64 : cubin::RelocationType::Abs64;
  return relocation.generic ? cubin::RelocationType::Generic32 : cubin::RelocationType::Abs32;
}

bool isFunction(const ori::Symbol& symbol) {
  return symbol.kind == ori::Symbol::Kind::Function || symbol.kind == ori::Symbol::Kind::ExternFunction;
}

bool isKernel(const ori::Module& module, const ori::Symbol& symbol) {
  if (symbol.isEntry) return true;
  const ori::Function* function = isFunction(symbol) ? module.findFunction(symbol.name) : nullptr;
  return function != nullptr && function->isKernel();
}

/// Linkers maintain a table of all functions whose address is taken; else a pointer is the address (observed).
bool hasUnifiedTable(const ori::Module& module) {
  return module.target().has(isa::Capability::UnifiedFunctions);
}

cubin::Variable describe(const ori::Module& module, const ori::Variable& variable) {
  cubin::Variable out;
  out.name = variable.name;
  out.binding = bindingOf(variable.linkage);
  out.space = variable.space == ori::Space::Const    ? cubin::Variable::Space::Constant
              : variable.space == ori::Space::Shared ? cubin::Variable::Space::Shared
                                                     : cubin::Variable::Space::Global;
  out.owner = variable.owner;
  out.defined = variable.linkage != ori::Linkage::External;
  out.managed = variable.managed;
  out.common = module.relocatable && variable.linkage == ori::Linkage::Common;
  out.alignment = variable.align;
  out.size = variable.size;
  for (std::uint8_t byte : variable.init)
    out.init.push_back(std::byte{byte});
  for (const ori::DataRelocation& r : variable.relocations) {
    const ori::Symbol& symbol = module.symbols[r.symbol];
    const bool isUnified = isFunction(symbol) && module.relocatable && hasUnifiedTable(module);
    const auto type = isKernel(module, symbol) ? cubin::RelocationType::FunctionDescriptor64
                      : isUnified              ? cubin::RelocationType::Unified64
                                               : relocationTypeOf(r);
    out.relocations.push_back({type, r.offset, symbol.name, r.addend});
  }
  return out;
}

cubin::HandleKind kindOf(const ori::Symbol& symbol) {
  return symbol.kind == ori::Symbol::Kind::Texture   ? cubin::HandleKind::Texture
         : symbol.kind == ori::Symbol::Kind::Sampler ? cubin::HandleKind::Sampler
                                                     : cubin::HandleKind::Surface;
}

bool isParameter(const ori::Module& module, std::uint32_t symbol) {
  return std::ranges::any_of(module.functions, [&](const auto& function) {
    return std::ranges::any_of(function->params, [&](const ori::KernelParam& p) { return p.handle == symbol; });
  });
}

/// Textures, samplers and surfaces of the module.
void describeHandleSymbols(const ori::Module& module, cubin::Module& out) {
  out.hasIndependentSamplers = module.hasIndependentSamplers;
  for (std::uint32_t id = 0; id < module.symbols.size(); ++id) {
    const ori::Symbol& symbol = module.symbols[id];
    if (!symbol.isHandle() || isParameter(module, id)) continue;
    cubin::HandleSymbol handle{kindOf(symbol), symbol.name, std::nullopt, std::nullopt};
    const auto start = std::ranges::find(module.samplers, id, &ori::SamplerStart::symbol);
    if (start != module.samplers.end()) {
      const auto& modes = start->addressModes;
      handle.start = modes[0] | modes[1] << 8 | modes[2] << 16 | std::uint32_t{start->filter} << 24;
      handle.forcesUnnormalized = start->forcesUnnormalized;
    }
    out.handles.push_back(std::move(handle));
  }
}

/// The three numbers of a directive, if it is present.
std::optional<cubin::Dim3> dimensions(const std::uint32_t (&xyz)[3]) {
  if (xyz[0] == 0) return std::nullopt;
  return cubin::Dim3{xyz[0], xyz[1] ? xyz[1] : 1, xyz[2] ? xyz[2] : 1};
}

cubin::Bytes bytesOf(std::span<const isa::Word> words) {
  static_assert(std::endian::native == std::endian::little && sizeof(isa::Word) == encoder::kWordBytes);
  cubin::Bytes bytes(words.size_bytes());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// The external functions whose addresses the code loads from bank 4, in the order of their slots.
std::vector<std::string> externalsOf(const ori::Function& function) {
  const ori::Module& module = function.module();
  std::vector<bool> isUsed(module.addressSlots.size(), false);
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      if (instr.op == isa::Op::LDC && instr.op_(1).value() == isa::Operand::immediate(4))
        isUsed[static_cast<std::size_t>(instr.op_(3).value().imm) / 8] = true;
  std::vector<std::string> names;
  for (std::size_t slot = 0; slot < isUsed.size(); ++slot) {
    const ori::Symbol& symbol = module.symbols[module.addressSlots[slot]];
    if (isUsed[slot] && isFunction(symbol)) names.push_back(symbol.name);
  }
  return names;
}

/// The relocation type for this part of an address.
cubin::RelocationType relocationTypeOf(const ori::Module& module, const encoder::CodeRelocation& relocation) {
  using Type = cubin::RelocationType;
  using Part = encoder::CodeRelocation::Part;
  if (relocation.part == Part::Callee) return hasUnifiedTable(module) ? Type::Callee : Type::CalleeAt34;
  if (relocation.part == Part::ConstantWord) return Type::Const21At38;
  const ori::Symbol& symbol = module.symbols[relocation.symbol];
  if (symbol.kind == ori::Symbol::Kind::DriverWord) return Type::Abs32At32;
  if (symbol.kind == ori::Symbol::Kind::Variable) {
    const ori::Space space = module.variables[symbol.index].space;
    if (space == ori::Space::Const) return Type::Abs16At32;
    if (space == ori::Space::Shared) return Type::Abs32At32;
  } else if (isKernel(module, symbol)) {
    return relocation.part == Part::Low ? Type::FunctionDescriptor32Lo32 : Type::FunctionDescriptor32Hi32;
  } else if (hasUnifiedTable(module)) {
    return relocation.part == Part::Low ? Type::Unified32Lo32 : Type::Unified32Hi32;
  }
  return relocation.part == Part::Low ? Type::Abs32Lo32 : Type::Abs32Hi32;
}

/// Each table has a symbol; loads get its offset when kernels are linked.
void describeTables(const encoder::FunctionCode& code, cubin::Function& out) {
  std::map<std::uint32_t, const std::string> names; // by offset
  for (const encoder::JumpTable& table : code.jumpTables) {
    const auto bytes = static_cast<std::uint32_t>(table.targets.size() * sizeof(std::uint32_t));
    const std::string name = fmt::format("{}.const_opt.{}.{}", out.name, table.tableOffset, table.tableOffset + bytes);
    if (names.emplace(table.tableOffset, name).second) out.constant2Tables.push_back({name, table.tableOffset, bytes});
  }
  for (const encoder::TableLoad& load : code.tableLoads)
    out.relocations.push_back(
        {cubin::RelocationType::Const21At38, load.offset, names.at(load.tableOffset), -ori::kRelocatableBase});
}

/// Data for relocatable code only: relocations and callees.
void describeLinking(const ori::Function& function, const encoder::FunctionCode& code, cubin::Function& out) {
  const ori::Module& module = function.module();
  std::vector<bool> isNamed(module.symbols.size(), false), isCalled(isNamed);
  for (const encoder::CodeRelocation& r : code.relocations) {
    out.relocations.push_back({relocationTypeOf(module, r), r.offset, module.symbols[r.symbol].name, r.addend});
    isNamed[r.symbol] = true;
    if (r.part == encoder::CodeRelocation::Part::Callee) isCalled[r.symbol] = true;
  }
  for (const std::uint32_t offset : hasUnifiedTable(module) ? code.callOffsets : std::vector<std::uint32_t>{})
    out.relocations.push_back({cubin::RelocationType::IndirectCallee, offset, cubin::kUnifiedTableOffset, 0});
  for (std::size_t id = 0; id < isNamed.size(); ++id) {
    const ori::Symbol& symbol = module.symbols[id];
    if (isCalled[id]) out.callees.push_back(symbol.name);
    out.readsTensorRecords |= isCalled[id] && ptx::isTensorGuard(symbol.name);
    if (isNamed[id] && (symbol.kind == ori::Symbol::Kind::ExternFunction || isKernel(module, symbol)))
      out.externals.push_back(symbol.name);
  }
  for (const ori::Symbol& symbol : module.symbols)
    if (symbol.kind == ori::Symbol::Kind::Function && symbol.name == function.name())
      out.binding = bindingOf(symbol.linkage);
  describeTables(code, out);
  // The linker computes the stack size of the program.
  out.maxStackSize = 0;
  out.crsStackSize.reset();
  out.syscallOffsets.clear();
  if (!out.isEntry) {
    out.exitOffsets.clear();
    out.frameChanges = frameChanges(function, code);
  }
}

/// What the driver writes into a whole program: constants, and the addresses of its functions.
void describeDriverRelocation(const ori::Module& module, const encoder::CodeRelocation& r, cubin::Function& out) {
  const ori::Symbol& symbol = module.symbols[r.symbol];
  out.relocations.push_back({relocationTypeOf(module, r), r.offset, symbol.name, r.addend});
  if (r.part == encoder::CodeRelocation::Part::Callee &&
      std::ranges::find(out.externals, symbol.name) == out.externals.end())
    out.externals.push_back(symbol.name);
}

void addTable(const encoder::JumpTable& table, cubin::Function& out) {
  const std::size_t bytes = table.targets.size() * sizeof(std::uint32_t);
  out.constant2.resize(std::max(out.constant2.size(), table.tableOffset + bytes));
  std::memcpy(out.constant2.data() + table.tableOffset, table.targets.data(), bytes);
  out.indirectBranches.push_back({table.branch, table.targets});
}

/// Textures, samplers and surfaces of the module that the kernel uses.
void describeHandles(const ori::Function& function, cubin::Function& out) {
  for (const ori::TextureHandleSlot& handle : function.handles) {
    const ori::Symbol& symbol = function.module().symbols[handle.symbol];
    out.handles.push_back({kindOf(symbol), handle.offset, symbol.name});
  }
  addHandleBanks(out);
}

bool readsTextures(const encoder::FunctionCode& code) {
  return std::ranges::any_of(code.origin, [](const ori::Instr* instr) {
    return instr && isa::desc(instr->op).latencyClass == isa::LatencyClass::Texture;
  });
}

/// Of a power of two; 0 of 0.
std::uint8_t logarithmOf(std::uint32_t alignment) {
  return static_cast<std::uint8_t>(alignment == 0 ? 0 : std::bit_width(alignment) - 1);
}

/// As in ptxas with --compiler-annotations (observed): kind 3, the length of the text, the text padded to words.
cubin::Attribute annotationOf(const ori::Function& function, const encoder::FunctionCode& code) {
  constexpr std::uint32_t kOfFunction = 3;
  const auto isInstruction = [](const ori::Instr* origin) { return origin != nullptr; };
  const std::string text = fmt::format("instr/R-regs: {} instructions, {} R-regs",
                                       std::ranges::count_if(code.origin, isInstruction), function.stats.registers);
  const auto length = static_cast<std::uint32_t>(text.size() + 1);
  std::vector<std::uint32_t> words{kOfFunction, length};
  words.resize(words.size() + (length + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
  std::memcpy(words.data() + 2, text.data(), text.size());
  return cubin::wordsAttribute(cubin::AttributeId::Annotations, words);
}

/// What the driver needs to know about tensor memory (observed): whether it is used, by which groups of CTAs, and a
/// code fragment before the kernel if the kernel allocates it.
void describeTensorUse(const ori::Function& function, cubin::Function& out) {
  constexpr std::uint32_t kOneCta = 6, kTwoCtas = 7;
  bool hasOne = false, hasTwo = false, givesBack = false;
  for (const ori::Block* block : function.layout())
    for (const ori::Instr* instr = block->first; instr; instr = instr->next) {
      const isa::InstrDesc& row = isa::desc(instr->op);
      const bool isUnit = row.name.starts_with("UTC"), gives = instr->op == isa::Op::UVIRTCOUNT;
      out.usesTensorMemory |= isUnit || gives || phases::isTensorAccess(*instr);
      if (!isUnit && !gives) continue;
      out.allocatesTensors |= gives || row.has(isa::Flag::Atomic);
      // The deallocation is the same for single CTAs and pairs.
      const bool isOfBoth = gives || instr->op == isa::Op::UTCATOMSWS;
      givesBack |= isOfBoth;
      if (!isOfBoth) (isa::getMod(instr->op, instr->mods, isa::Mod::Sub4) != 0 ? hasTwo : hasOne) = true;
    }
  hasOne |= givesBack && !hasTwo;
  if (out.allocatesTensors)
    out.otherAttributes.push_back(
        cubin::wordsAttribute(cubin::AttributeId::AtEntryFragments, {hasTwo ? kTwoCtas : kOneCta}));
  if (hasOne) out.otherAttributes.push_back(cubin::noValueAttribute(cubin::AttributeId::Tcgen05OneCtaUsed));
  if (hasTwo) out.otherAttributes.push_back(cubin::noValueAttribute(cubin::AttributeId::Tcgen05TwoCtaUsed));
}

cubin::Function describe(const ori::Function& function, const encoder::FunctionCode& code, unsigned maxRegisters,
                         bool isAnnotated) {
  cubin::Function out;
  out.name = function.name();
  out.isEntry = function.isKernel();
  out.code = bytesOf(code.words);
  out.registerCount = function.stats.registers;
  out.maxRegisters = maxRegisters;
  out.barrierCount = function.stats.barriers;
  out.frameSize = out.minStackSize = function.stats.frameBytes;
  out.externals = externalsOf(function);
  out.syscallOffsets = code.callOffsets;
  // The stack size of callees and recursion is unknown here: it is the limit of the program (cudaLimitStackSize), and
  // at least its default.
  constexpr std::uint32_t kUsualStack = 1024;
  if (function.growsStack) out.minStackSize += kUsualStack;
  // A linker adds up the frame sizes.
  if (function.growsStack && function.module().relocatable) out.frameSize += kUsualStack;
  const bool callsOut = std::ranges::any_of(
      out.externals, [&](const std::string& name) { return function.module().findFunction(name) == nullptr; });
  if (!callsOut && !function.growsStack)
    out.maxStackSize = function.stats.frameBytes;
  else
    out.crsStackSize = 0;
  out.staticSharedSize = function.sharedBytes;
  out.sharedAlignment = function.sharedAlign;
  // Static arrays would take space, and it may also use arrays that it does not refer to.
  out.seesDynamicShared = function.usesDynamicShared || (function.sharedBytes == 0 && function.sharedAlign > 1);
  out.usesSharedAddress = function.sharedBytes != 0 || function.usesDynamicShared;
  for (const ori::KernelParam& p : function.params) {
    cubin::Parameter parameter{p.offset, p.size, logarithmOf(p.pointerAlign), p.pointerSpace, {}, {}};
    if (p.handle) {
      const ori::Symbol& symbol = function.module().symbols[*p.handle];
      parameter.handle = symbol.name;
      ORIAS_CHECK(symbol.name == cubin::parameterSymbol(function.name(), std::string(p.name)), symbol.name);
      parameter.handleKind = kindOf(symbol);
    }
    out.parameters.push_back(std::move(parameter));
  }
  out.parameterSize = function.paramBytes;
  describeHandles(function, out);
  out.maxThreads = dimensions(function.bounds.maxntid);
  out.requiredThreads = dimensions(function.bounds.reqntid);
  out.clusterShape = dimensions(function.bounds.reqnctapercluster);
  out.explicitCluster = function.bounds.explicitcluster;
  if (function.bounds.maxclusterrank) out.maxClusterRank = function.bounds.maxclusterrank;
  describeTensorUse(function, out);
  if (function.usesReservedShared)
    out.otherAttributes.push_back(cubin::noValueAttribute(cubin::AttributeId::ReservedSmemUsed));
  if (isAnnotated) out.otherAttributes.push_back(annotationOf(function, code));
  if (function.usesWmma) out.otherAttributes.push_back(cubin::noValueAttribute(cubin::AttributeId::WmmaUsed));
  out.exitOffsets = code.exitOffsets;
  for (std::uint32_t offset : code.coopOffsets)
    out.warpCooperations.push_back({offset});
  for (const encoder::JumpTable& table : code.jumpTables)
    addTable(table, out);
  if (function.module().relocatable)
    describeLinking(function, code, out);
  else // a whole program has its addresses, except those that the driver writes
    for (const encoder::CodeRelocation& r : code.relocations)
      describeDriverRelocation(function.module(), r, out);
  // Variables in the frame are relative to its end, which must be known from the first instruction that needs it.
  if (code.wantDebugDefs && out.isEntry)
    for (const cubin::FrameChange& change : frameChanges(function, code))
      if (change.kind == cubin::FrameChange::Kind::Frame && out.frameSetupOffset == 0)
        out.frameSetupOffset = change.offset;
  return out;
}

} // namespace

void addHandleBanks(cubin::Function& kernel) {
  bool hasTextures = false, hasSurfaces = false;
  for (const cubin::TextureHandleSlot& handle : kernel.handles)
    (handle.kind == cubin::HandleKind::Surface ? hasSurfaces : hasTextures) = true;
  if (hasTextures) kernel.otherAttributes.push_back(cubin::byteAttribute(cubin::AttributeId::BindlessTextureBank, 0));
  if (hasSurfaces) kernel.otherAttributes.push_back(cubin::byteAttribute(cubin::AttributeId::BindlessSurfaceBank, 0));
}

CodedFunction describeCode(const ori::Function& function, const encoder::FunctionCode& code, unsigned maxRegisters,
                           bool isAnnotated) {
  CodedFunction coded{&function, &code, describe(function, code, maxRegisters, isAnnotated), {}, readsTextures(code)};
  for (const ori::Instr* instr : code.origin)
    if (instr) coded.sources.push_back(instr->source);
  return coded;
}

cubin::Module describeCubin(const ori::Module& module, std::span<CodedFunction* const> functions) {
  cubin::Module out;
  out.abi = cubin::abiOf(module.target().smVersion());
  out.isAccelerated = out.abi.marksAccelerated && module.target().isArchSpecific();
  out.relocatable = module.relocatable;
  for (const ori::Variable& variable : module.variables)
    out.variables.push_back(describe(module, variable));
  for (const ori::Symbol& symbol : module.symbols)
    if (symbol.kind == ori::Symbol::Kind::DriverWord) out.driverPatches.push_back(symbol.name);
  describeHandleSymbols(module, out);
  for (CodedFunction* coded : functions) {
    out.functions.push_back(std::move(coded->described));
    constexpr std::uint8_t kWithTextures = 2;
    if (coded->readsTextures) out.isaClass = kWithTextures;
  }
  // If some kernels are not selected, a function with a slot may have no caller.
  const auto isCalled = [&](const std::string& name) {
    return std::any_of(out.functions.begin(), out.functions.end(), [&](const cubin::Function& f) {
      return std::find(f.externals.begin(), f.externals.end(), name) != f.externals.end();
    });
  };
  for (const std::uint32_t id : module.addressSlots) {
    const ori::Symbol& symbol = module.symbols[id];
    const bool isEmpty = symbol.kind == ori::Symbol::Kind::ExternFunction && !isCalled(symbol.name);
    out.addressTable.push_back({isEmpty ? "" : symbol.name, 0});
  }
  cubin::layOutVariables(out.variables);
  // The code reads bank 3 by offset; lowering and the file must agree.
  for (std::size_t i = 0; i < module.variables.size(); ++i)
    if (module.variables[i].constOffset >= 0)
      ORIAS_CHECK(out.variables[i].offset == static_cast<std::uint64_t>(module.variables[i].constOffset),
                  module.variables[i].name);
  return out;
}

} // namespace orias
