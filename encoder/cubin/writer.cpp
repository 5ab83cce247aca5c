#include <algorithm>
#include <map>
#include <string>

#include <elf.h>

#include "encoder/cubin/byte_io.h"
#include "encoder/cubin/call_graph.h"
#include "encoder/cubin/cubin.h"
#include "encoder/cubin/debug_frame.h"
#include "encoder/cubin/elf_file.h"
#include "encoder/cubin/line_table.h"
#include "encoder/cubin/names.h"
#include "encoder/cubin/notes.h"
#include "encoder/cubin/nv_info.h"
#include "encoder/isa/target.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

/// Sections are sorted by group, and within a group by the order of their creation (observed, all chips).
enum class Group {
  Tables,
  Debug,
  Notes,
  Info,
  Compat,
  FunctionInfo,
  CallGraph,
  RelocationActions,
  Relocations,
  Constants,
  Text,
  InitialisedData,
  NoBits,
  LateConstant0,
};

/// Sections are numbered by the order of their creation until finish() sorts them.
using SectionId = std::size_t;
constexpr SectionId kNone = 0;
constexpr SectionId kCommon = ~SectionId{0}; ///< of symbols that a linker places

struct PendingSection {
  Group group;
  ElfSection section;
  SectionId linkTo = kNone; ///< sh_link, unless it is the symbol table (in `section`)
  SectionId infoTo = kNone; ///< sh_info, unless it is a number (in `section`)
};

class Writer {
 public:
  explicit Writer(const Module& module) : module_(module), abi_(module.abi) {}

  std::vector<std::byte> run() {
    makeTables();
    // ptxas starts with the last function. In the symbol table the symbols that are not global come first.
    for (auto function = module_.functions.rbegin(); function != module_.functions.rend(); ++function)
      declareFunction(*function);
    if (module_.functions.empty()) declareModule();
    declareTrailer();
    for (auto function = module_.functions.rbegin(); function != module_.functions.rend(); ++function)
      declareGlobals(*function, function == module_.functions.rbegin());
    if (module_.functions.empty()) declareGlobalVariables();
    for (const HandleSymbol& handle : module_.handles)
      if (!hasSymbol(handle.name)) addSymbol(handle.name, symbolTypeOf(handle.kind), STB_GLOBAL, kNone);
    if (abi_.constant0AfterText)
      for (auto function = module_.functions.rbegin(); function != module_.functions.rend(); ++function)
        declareConstant0(*function);
    fillVariables();
    fillAddressTable();
    for (auto function = module_.functions.rbegin(); function != module_.functions.rend(); ++function)
      fillFunction(*function);
    fillInfo();
    fillCallGraph();
    fillDebugFrame();
    if (sourceLines_ != kNone) fillLineTable(sourceLines_, sourceLineTable(module_));
    if (ptxLines_ != kNone) fillLineTable(ptxLines_, ptxLineTable(module_));
    for (const DebugSection& debug : module_.debugSections)
      for (const Relocation& relocation : debug.relocations)
        relocate(sectionId(debug.name), relocation);
    return finish();
  }

 private:
  SectionId addSection(Group group, std::string name, std::uint32_t type, std::uint64_t flags, std::uint64_t alignment,
                       std::uint64_t entrySize = 0) {
    PendingSection pending{group, {}, kNone, kNone};
    pending.section.name = std::move(name);
    pending.section.type = type;
    pending.section.flags = flags;
    pending.section.alignment = alignment;
    pending.section.entrySize = entrySize;
    sections_.push_back(std::move(pending));
    sectionIds_.emplace(sections_.back().section.name, sections_.size() - 1);
    return sections_.size() - 1;
  }

  ElfSection& section(SectionId id) { return sections_[id].section; }

  SectionId sectionId(const std::string& name) const {
    const auto found = sectionIds_.find(name);
    return found == sectionIds_.end() ? kNone : found->second;
  }

  std::uint32_t addSymbol(std::string name, std::uint8_t type, std::uint8_t binding, SectionId sectionId,
                          std::uint64_t value = 0, std::uint64_t size = 0, std::uint8_t other = 0) {
    const auto index = static_cast<std::uint32_t>(symbols_.size());
    if (!name.empty() && !symbolIndices_.emplace(name, index).second)
      throw Error("cubin: the symbol " + name + " is defined twice");
    symbols_.push_back({std::move(name), type, binding, other, 0, value, size});
    symbolSections_.push_back(sectionId);
    return index;
  }

  SectionId addDebugSection(std::string name) {
    debugSections_.push_back(addSection(Group::Debug, std::move(name), SHT_PROGBITS, 0, 1));
    return debugSections_.back();
  }

  /// The symbol in the file has the name of the parameter only.
  void addParameterSymbol(const Function& function, const Parameter& parameter) {
    const std::size_t prefix = parameterSymbol(function.name, "").size();
    const std::uint32_t index =
        addSymbol(parameter.handle, symbolTypeOf(parameter.handleKind), STB_LOCAL, sectionId(".text." + function.name));
    symbols_[index].name = parameter.handle.substr(std::min(prefix, parameter.handle.size()));
  }

  void addSectionSymbol(SectionId id) { addSymbol(section(id).name, STT_SECTION, STB_LOCAL, id); }

  bool hasSymbol(const std::string& name) const { return symbolIndices_.contains(name); }

  std::uint32_t symbolIndex(const std::string& name) const {
    const auto found = symbolIndices_.find(name);
    if (found == symbolIndices_.end()) throw Error("cubin: undefined symbol " + name);
    return found->second;
  }

  void makeTables() {
    sections_.push_back({Group::Tables, {}, kNone, kNone}); // the null section, also `kNone`
    addSymbol({}, STT_NOTYPE, STB_LOCAL, kNone);
    addSection(Group::Tables, ".shstrtab", SHT_STRTAB, 0, 1);
    addSection(Group::Tables, ".strtab", SHT_STRTAB, 0, 1);
    const SectionId symtab = addSection(Group::Tables, ".symtab", SHT_SYMTAB, 0, 8, sizeof(Elf64_Sym));
    section(symtab).link = kStringTable;
    debugFrame_ = addDebugSection(".debug_frame");
    if (hasSourceLines(module_)) sourceLines_ = addDebugSection(".debug_line");
    if (!module_.debugStrings.empty()) section(addDebugSection(".debug_str")).data = module_.debugStrings;
    if (!module_.ptxText.empty()) {
      ptxLines_ = addDebugSection(".nv_debug_line_sass");
      section(addDebugSection(ptxTextSection(module_))).data = module_.ptxText;
    }
    for (const DebugSection& debug : module_.debugSections)
      section(addDebugSection(debug.name)).data = debug.data;
    const SectionId toolkit = addSection(Group::Notes, ".note.nv.tkinfo", SHT_NOTE, kFlagToolkitNote, 4);
    section(toolkit).data = toolkitNote(module_.producer);
    addSectionSymbol(toolkit);
    const SectionId cuda = cudaNote_ = addSection(Group::Notes, ".note.nv.cuinfo", SHT_NOTE, kFlagCudaNote, 4);
    section(cuda).data = cudaNote(abi_, module_.virtualArch ? module_.virtualArch : abi_.smArch);
    sections_[cuda].linkTo = toolkit;
    addSectionSymbol(cuda);
    info_ = addSection(Group::Info, ".nv.info", kTypeInfo, 0, 4);
    section(info_).link = kSymbolTable;
    if (!abi_.compatSection) return;
    const SectionId compat = addSection(Group::Compat, ".nv.compat", kTypeCompat, 0, 4);
    section(compat).data = serializeAttributes(compatibilityAttributes(module_));
    section(cuda).flags |= SHF_INFO_LINK;
    sections_[cuda].infoTo = compat;
  }

  /// Adds the sections of a function, and its symbols that are not global.
  void declareFunction(const Function& function) {
    if (function.code.size() % 16 != 0)
      throw Error("cubin: the code of " + function.name + " ends inside an instruction");
    const SectionId text =
        addSection(Group::Text, ".text." + function.name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kTextAlignment);
    section(text).link = kSymbolTable;
    section(text).data = function.code;
    if (function.binding != Binding::Global) addFunctionSymbol(function);
    addSectionSymbol(text);

    const SectionId info = addSection(Group::FunctionInfo, ".nv.info." + function.name, kTypeInfo, SHF_INFO_LINK, 4);
    section(info).link = kSymbolTable;
    sections_[info].infoTo = text;
    if (function.staticSharedSize || function.seesDynamicShared) {
      const SectionId shared = addSection(
          Group::NoBits, ".nv.shared." + function.name, SHT_NOBITS, SHF_ALLOC | SHF_WRITE | SHF_INFO_LINK,
          function.seesDynamicShared ? std::max(isa::Target::kDynamicSharedAlignment, function.sharedAlignment)
                                     : function.sharedAlignment);
      section(shared).size = abi_.reservedShared + function.staticSharedSize;
      sections_[shared].infoTo = text;
      if (function.staticSharedSize) addSectionSymbol(shared);
    }
    if (&function == &module_.functions.back()) declareModule();
    // ptxas replaces the symbol of the base of shared memory, which it uses while linking, with an empty one. It is
    // written here as well, because then the indices of the following symbols are the same.
    if (abi_.sharedAlias && function.usesSharedAddress && !sharedBaseSeen_) {
      addSymbol({}, STT_NOTYPE, STB_LOCAL, kNone, 0, 0, STV_INTERNAL);
      sharedBaseSeen_ = true;
    }
    if (!function.constant2.empty()) {
      const SectionId bank = addSection(Group::Constants, ".nv.constant2." + function.name,
                                        typeOf(SHT_PROGBITS, kTypeConstantFirst + 2), SHF_ALLOC | SHF_INFO_LINK, 4);
      section(bank).data = function.constant2;
      sections_[bank].infoTo = text;
      addSectionSymbol(bank);
      if (module_.relocatable)
        for (const ConstantTable& table : function.constant2Tables)
          addSymbol(table.name, kSymbolCudaObject, STB_LOCAL, bank, table.offset, table.size,
                    kOtherSpace[static_cast<std::size_t>(Variable::Space::Constant)] | STV_INTERNAL);
    }
    for (const InnerFunction& inner : function.inner)
      if (inner.binding != Binding::Global) addInnerSymbol(function, inner);
    for (const std::string& name : module_.driverPatches)
      if (!hasSymbol(name) &&
          std::ranges::find(function.relocations, name, &Relocation::symbol) != function.relocations.end())
        addSymbol(name, STT_OBJECT, STB_WEAK, kNone, 0, kDriverWordBytes);
    for (const Parameter& parameter : function.parameters)
      if (!parameter.handle.empty()) addParameterSymbol(function, parameter);
    if (!abi_.constant0AfterText) declareConstant0(function);
  }

  /// Adds the sections and symbols of the module; ptxas creates them with those of the first function.
  void declareModule() {
    if (module_.relocatable) {
      if (usesUnifiedTable()) addSymbol(kUnifiedTableOffset, STT_OBJECT, STB_WEAK, kNone, 0, 8);
      addSymbol(kReservedShared, STT_OBJECT, STB_WEAK, kNone, 0, 4);
    } else if (abi_.sharedAlias) {
      const SectionId reserved =
          addSection(Group::NoBits, ".nv.shared.reserved.0", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 1);
      const bool hasRecords = std::ranges::any_of(
          module_.functions, [](const Function& f) { return f.allocatesTensors || f.readsTensorRecords; });
      section(reserved).size = abi_.driverShared + (hasRecords ? kTensorRecordBytes : 0);
      // sm_110 has a variable after those of the other chips (observed).
      const std::uint32_t end = abi_.systemShared;
      addSymbol(kReservedShared, STT_OBJECT, STB_WEAK, kNone, end, 4);
      addSymbol("__nv_reservedSMEM_offset_0_alias", STT_NOTYPE, STB_WEAK, reserved, end, 0, kOtherReservedShared);
      if (abi_.driverShared > end) {
        section(reserved).alignment = 16;
        addSymbol("__nv_reservedSMEM_gb10b_war_var", STT_OBJECT, STB_WEAK, reserved, end, abi_.driverShared - end);
      }
      if (hasRecords)
        addSymbol("__nv_reservedSMEM_tcgen05_partition", STT_OBJECT, STB_WEAK, reserved, abi_.driverShared,
                  kTensorRecordBytes);
    }
    if (startsWithExternal()) addressTable();
    for (bool local : {false, true})
      for (const Variable& variable : module_.variables) {
        if (local != (variable.binding == Binding::Local) || !variable.defined || variable.common) continue;
        const SectionId id = variableSection(variable);
        if (variable.binding != Binding::Global) addVariableSymbol(variable, id);
        if (variable.space == Variable::Space::Global) addressTable();
      }
    if (!module_.addressTable.empty()) addressTable();
  }

  bool usesUnifiedTable() const {
    return std::any_of(module_.functions.begin(), module_.functions.end(), [](const Function& function) {
      return std::any_of(function.relocations.begin(), function.relocations.end(),
                         [](const Relocation& r) { return r.symbol == kUnifiedTableOffset; });
    });
  }

  /// Whether an external function has the first slot of the address table, as it does if the first kernel calls it.
  bool startsWithExternal() const {
    return !module_.addressTable.empty() &&
           std::none_of(module_.variables.begin(), module_.variables.end(),
                        [this](const Variable& v) { return v.name == module_.addressTable.front().symbol; });
  }

  /// In objects the type of a section contains the kind of memory; loaders only need to know whether there are bytes.
  std::uint32_t typeOf(std::uint32_t linked, std::uint32_t object) const {
    return module_.relocatable ? object : linked;
  }

  SectionId variableSection(const Variable& variable) {
    using Space = Variable::Space;
    const bool constant = variable.space == Space::Constant;
    const std::string name = constant                          ? ".nv.constant3"
                             : variable.space == Space::Shared ? sharedSection(variable)
                             : variable.initialised()          ? ".nv.global.init"
                                                               : ".nv.global";
    if (const SectionId id = sectionId(name)) return id;
    SectionId id = kNone;
    if (constant) {
      id = addSection(Group::Constants, name, typeOf(SHT_PROGBITS, kTypeConstantFirst + 3), SHF_ALLOC, 1);
    } else if (variable.space == Space::Shared) {
      const SectionId text = sectionId(".text." + variable.owner);
      id = addSection(Group::NoBits, name, kTypeShared, SHF_ALLOC | SHF_WRITE | (text ? SHF_INFO_LINK : 0), 1);
      sections_[id].infoTo = text;
    } else if (variable.initialised()) {
      id = addSection(Group::InitialisedData, name, typeOf(SHT_PROGBITS, kTypeGlobalInitialised), SHF_ALLOC | SHF_WRITE,
                      1);
    } else {
      id = addSection(Group::NoBits, name, typeOf(SHT_NOBITS, kTypeGlobal), SHF_ALLOC | SHF_WRITE, 1);
    }
    addSectionSymbol(id);
    return id;
  }

  /// The section of the variable's kernel; the variables of the module have a separate one (observed).
  static std::string sharedSection(const Variable& variable) {
    return variable.owner.empty() ? ".nv_debug.shared" : ".nv.shared." + variable.owner;
  }

  /// Whether the module has prototypes: of its functions or of those that it calls (observed).
  bool hasPrototypes() const {
    return std::ranges::any_of(module_.functions, [](const Function& f) { return !f.prototype.empty(); }) ||
           std::ranges::any_of(module_.externalFunctions, [this](const ExternalFunction& other) {
             return !other.prototype.empty() && std::ranges::any_of(module_.functions, [&](const Function& f) {
               return std::ranges::find(f.callees, other.name) != f.callees.end();
             });
           });
  }

  void addressTable() {
    if (module_.addressTable.empty() || sectionId(".nv.constant4")) return;
    addSectionSymbol(addSection(Group::Constants, ".nv.constant4", SHT_PROGBITS, SHF_ALLOC, 8));
  }

  void declareTrailer() {
    for (SectionId id : debugSections_)
      if (id != debugFrame_ || !module_.functions.empty()) addSectionSymbol(id);
    callGraph_ = addSection(Group::CallGraph, ".nv.callgraph", kTypeCallGraph, 0, 4, 8);
    section(callGraph_).link = kSymbolTable;
    addSectionSymbol(callGraph_);
    if (module_.relocatable && hasPrototypes()) {
      prototypes_ = addSection(Group::CallGraph, ".nv.prototype", kTypePrototype, 0, 4, 8);
      section(prototypes_).link = kSymbolTable;
      addSectionSymbol(prototypes_);
    }
    if (!abi_.relocationActions || module_.relocatable) return;
    const SectionId actions = addSection(Group::RelocationActions, ".nv.rel.action", kTypeRelocationActions, 0, 8, 8);
    section(actions).data = relocationActions();
    addSectionSymbol(actions);
  }

  /// Adds the global symbols of a function: the function, after the first function the variables, then external and
  /// inner functions.
  void declareGlobals(const Function& function, bool first) {
    if (function.binding == Binding::Global) addFunctionSymbol(function);
    if (first) declareGlobalVariables();
    if (first)
      for (const ExternalFunction& other : module_.externalFunctions)
        addSymbol(other.name, STT_FUNC, STB_GLOBAL, kNone, 0, 0, other.isEntry ? kOtherEntry : 0);
    for (const Alias& alias : module_.aliases)
      if (alias.function == function.name)
        addSymbol(alias.name, STT_FUNC, elfBinding(alias.binding), sectionId(".text." + function.name));
    for (const std::string& name : function.externals)
      if (!hasSymbol(name) && !isDefined(name)) addSymbol(name, STT_FUNC, STB_GLOBAL, kNone);
    for (const TextureHandleSlot& handle : function.handles)
      if (!hasSymbol(handle.symbol)) addSymbol(handle.symbol, symbolTypeOf(handle.kind), STB_GLOBAL, kNone);
    for (const InnerFunction& inner : function.inner)
      if (inner.binding == Binding::Global) addInnerSymbol(function, inner);
    section(sectionId(".text." + function.name)).info =
        symbolIndex(function.name) | (abi_.registersInTextInfo ? function.registerCount << 24 : 0);
  }

  bool isDefined(const std::string& function) const {
    return std::ranges::find(module_.functions, function, &Function::name) != module_.functions.end();
  }

  void declareGlobalVariables() {
    for (const Variable& variable : module_.variables)
      if (!variable.defined || variable.binding == Binding::Global)
        addVariableSymbol(variable, !variable.defined ? kNone : variable.common ? kCommon : variableSection(variable));
  }

  RelocationType relocationOf(HandleKind kind) const {
    switch (kind) {
    case HandleKind::Texture: return RelocationType::Texture;
    case HandleKind::Sampler: return abi_.sharedAlias ? RelocationType::Sampler : RelocationType::OlderSampler;
    case HandleKind::Surface: break;
    }
    return RelocationType::Surface;
  }
  static std::uint8_t symbolTypeOf(HandleKind kind) {
    return kind == HandleKind::Texture ? kSymbolTexture : kind == HandleKind::Sampler ? kSymbolSampler : kSymbolSurface;
  }

  void declareConstant0(const Function& function) {
    if (!function.isEntry) return;
    const SectionId bank =
        addSection(abi_.constant0AfterText ? Group::LateConstant0 : Group::Constants, ".nv.constant0." + function.name,
                   typeOf(SHT_PROGBITS, kTypeConstantFirst), SHF_ALLOC | SHF_INFO_LINK, 4);
    const std::uint32_t base = parameterBase(abi_, function.parameterSize);
    std::uint32_t size = function.parameterSize;
    for (const TextureHandleSlot& handle : function.handles)
      size = std::max(size, handle.offset + kHandleBytes);
    section(bank).data.resize(base + size);
    for (const TextureHandleSlot& handle : function.handles)
      relocate(bank, {relocationOf(handle.kind), base + handle.offset, handle.symbol, 0});
    sections_[bank].infoTo = sectionId(".text." + function.name);
    addSectionSymbol(bank);
  }

  void addFunctionSymbol(const Function& function) {
    addSymbol(function.name, STT_FUNC, elfBinding(function.binding), sectionId(".text." + function.name), 0,
              function.code.size(), function.isEntry ? kOtherEntry : 0);
  }

  void addInnerSymbol(const Function& function, const InnerFunction& inner) {
    if (inner.offset > function.code.size() || inner.size > function.code.size() - inner.offset)
      throw Error("cubin: " + inner.name + " lies outside the code of " + function.name);
    addSymbol(inner.name, STT_FUNC, elfBinding(inner.binding), sectionId(".text." + function.name), inner.offset,
              inner.size);
  }

  void addVariableSymbol(const Variable& variable, SectionId id) {
    std::uint8_t other = variable.managed ? kOtherManaged : 0;
    if (module_.relocatable) other |= kOtherSpace[static_cast<std::size_t>(variable.space)];
    addSymbol(variable.name, module_.relocatable ? kSymbolCudaObject : STT_OBJECT,
              variable.defined ? elfBinding(variable.binding) : STB_GLOBAL, id,
              variable.common ? variable.alignment : variable.offset, variable.size, other);
  }

  void fillVariables() {
    std::map<SectionId, std::vector<const Variable*>> bySection;
    for (const Variable& variable : module_.variables) {
      if (!variable.defined || variable.common) continue;
      if (variable.alignment == 0 || (variable.alignment & (variable.alignment - 1)) != 0 ||
          variable.offset % variable.alignment != 0)
        throw Error("cubin: the variable " + variable.name + " is not aligned");
      if (variable.init.size() > variable.size)
        throw Error("cubin: the initializer of " + variable.name + " is longer than the variable");
      bySection[variableSection(variable)].push_back(&variable);
    }
    for (auto& [id, variables] : bySection) {
      std::sort(variables.begin(), variables.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
      ElfSection& target = section(id);
      std::uint64_t end = 0;
      for (const Variable* variable : variables) {
        if (variable->offset < end) throw Error("cubin: the variable " + variable->name + " overlaps another one");
        end = variable->offset + variable->size;
        target.alignment = std::max(target.alignment, variable->alignment);
      }
      target.size = end;
      if (!hasBytes(target.type)) continue;
      if (end > kLargestImage) throw Error("cubin: more than 4 GiB of initialized variables");
      target.data.resize(end);
      for (const Variable* variable : variables)
        std::copy(variable->init.begin(), variable->init.end(),
                  target.data.begin() + static_cast<std::ptrdiff_t>(variable->offset));
    }
    // As in ptxas' files: the last variable first, its relocations in their order, then the whole list reversed.
    for (auto variable = module_.variables.rbegin(); variable != module_.variables.rend(); ++variable)
      for (Relocation relocation : variable->relocations) {
        relocation.offset += variable->offset;
        relocate(variableSection(*variable), relocation);
      }
  }

  /// The relocation type of an address. Launches refer to kernels by their descriptors.
  RelocationType addressType(const std::string& symbol) const {
    const bool isKernel =
        std::ranges::any_of(module_.functions, [&](const Function& f) { return f.isEntry && f.name == symbol; });
    return isKernel ? RelocationType::FunctionDescriptor64 : RelocationType::Abs64;
  }

  void fillAddressTable() {
    const SectionId id = sectionId(".nv.constant4");
    if (id == kNone) return;
    section(id).data.resize(8 * module_.addressTable.size());
    for (std::size_t i = 0; i < module_.addressTable.size(); ++i)
      if (!module_.addressTable[i].symbol.empty())
        relocate(id, {addressType(module_.addressTable[i].symbol), 8 * i, module_.addressTable[i].symbol,
                      module_.addressTable[i].addend});
  }

  void fillFunction(const Function& function) {
    const SectionId text = sectionId(".text." + function.name);
    for (const Relocation& relocation : function.relocations)
      relocate(text, relocation);
    for (const Relocation& relocation : function.constant2Relocations)
      relocate(sectionId(".nv.constant2." + function.name), relocation);
    section(sectionId(".nv.info." + function.name)).data =
        serializeAttributes(functionAttributes(function, abi_, [this](const auto& name) { return symbolIndex(name); }));
  }

  void fillInfo() {
    section(info_).data =
        serializeAttributes(moduleAttributes(module_, [this](const auto& name) { return symbolIndex(name); }));
  }

  void fillCallGraph() {
    CallTables tables = callTables(
        module_, [this](const auto& name) { return symbolIndex(name); },
        [this](const auto& text) { return stringOffset(text); });
    section(callGraph_).data = std::move(tables.graph);
    if (prototypes_ != kNone) section(prototypes_).data = std::move(tables.prototypes);
  }

  /// The offset in .strtab of a string that is not a name.
  std::uint32_t stringOffset(const std::string& text) {
    if (text.empty()) return 0;
    const auto [place, isNew] = stringOffsets_.emplace(text, static_cast<std::uint32_t>(1 + strings_.size()));
    if (isNew) {
      for (char c : text)
        strings_.push_back(static_cast<std::byte>(c));
      strings_.push_back(std::byte{0});
    }
    return place->second;
  }

  void fillDebugFrame() {
    DebugFrame frame;
    for (auto function = module_.functions.rbegin(); function != module_.functions.rend(); ++function)
      addDebugFrame(frame, *function, module_);
    section(debugFrame_).data = std::move(frame.bytes);
    for (Relocation relocation : frame.relocations) {
      if (!abi_.addends) relocation.addend = 0; // stored in place already
      relocate(debugFrame_, relocation);
    }
  }

  void fillLineTable(SectionId target, LineTable table) {
    section(target).data = std::move(table.bytes);
    for (auto relocation = table.relocations.rbegin(); relocation != table.relocations.rend(); ++relocation)
      relocate(target, *relocation);
  }

  /// Records a relocation; writeRelocations() creates the sections.
  void relocate(SectionId target, const Relocation& relocation) {
    if (section(target).data.size() < 4 || relocation.offset > section(target).data.size() - 4)
      throw Error("cubin: a relocation lies outside " + section(target).name);
    relocations_[target].push_back(relocation);
  }

  /// Chips with `addends` have one RELA section per target. The others have REL for relocations without an addend and
  /// RELA for those with one, except that the debug sections of the PTX only have RELA (observed).
  void writeRelocations() {
    std::vector<SectionId> targets;
    for (const auto& [target, list] : relocations_)
      targets.push_back(target);
    std::stable_sort(targets.begin(), targets.end(), [this](SectionId a, SectionId b) {
      return relocationRank(section(a).name) < relocationRank(section(b).name);
    });
    for (SectionId target : targets) {
      writeRelocationSection(target, false);
      writeRelocationSection(target, true);
    }
  }

  static constexpr int kRankOfOtherDebug = 6;
  static int relocationRank(const std::string& target) {
    if (target == ".nv.constant4") return 1;
    if (target == ".nv.constant3") return 2;
    if (target == ".nv.global.init") return 3;
    if (target == ".debug_line") return 4;
    if (target == ".nv_debug_line_sass") return 5;
    if (target == ".debug_frame") return 7;
    return target.starts_with(".debug_") ? kRankOfOtherDebug : 0;
  }

  void writeRelocationSection(SectionId target, bool rela) {
    Bytes data;
    const std::vector<Relocation>& list = relocations_[target];
    const bool onlyRela = abi_.addends || relocationRank(section(target).name) == kRankOfOtherDebug;
    for (auto relocation = list.rbegin(); relocation != list.rend(); ++relocation) {
      if (rela != (onlyRela || relocation->addend != 0)) continue;
      append(data, relocation->offset);
      append(data, std::uint64_t{symbolIndex(relocation->symbol)} << 32 | static_cast<std::uint32_t>(relocation->type));
      if (rela) append(data, static_cast<std::uint64_t>(relocation->addend));
    }
    if (data.empty()) return;
    const SectionId id = addSection(Group::Relocations, (rela ? ".rela" : ".rel") + section(target).name,
                                    rela ? SHT_RELA : SHT_REL, SHF_INFO_LINK, 8, rela ? 24 : 16);
    section(id).data = std::move(data);
    section(id).link = kSymbolTable;
    sections_[id].infoTo = target;
  }

  std::vector<std::byte> finish() {
    writeRelocations();
    std::vector<SectionId> order;
    for (SectionId id = 0; id < sections_.size(); ++id)
      order.push_back(id);
    std::stable_sort(order.begin(), order.end(),
                     [this](SectionId a, SectionId b) { return sections_[a].group < sections_[b].group; });
    if (order.size() >= SHN_LORESERVE) throw Error("cubin: too many sections");
    std::vector<std::uint16_t> place(sections_.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      place[order[i]] = static_cast<std::uint16_t>(i);

    ElfFile file;
    file.osAbi = abi_.elfOsAbi;
    file.abiVersion = abi_.elfAbiVersion;
    file.type = module_.relocatable ? ET_REL : ET_EXEC;
    file.flags = flagsWithNote(abi_.elfFlags, place[cudaNote_]);
    for (SectionId id : order) {
      PendingSection& pending = sections_[id];
      if (pending.linkTo != kNone) pending.section.link = place[pending.linkTo];
      if (pending.infoTo != kNone) pending.section.info = place[pending.infoTo];
      file.sections.push_back(std::move(pending.section));
    }
    file.sections[kSymbolTable].info = static_cast<std::uint32_t>(symbols_.size());
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      symbols_[i].section = symbolSections_[i] == kCommon ? SHN_COMMON : place[symbolSections_[i]];
    file.symbols = std::move(symbols_);
    file.strings = std::move(strings_);
    return encodeElf(file, abi_.constant0AfterText ? SegmentStyle::ReadOnlyApart : SegmentStyle::WithText);
  }

  const Module& module_;
  const Abi& abi_;
  std::vector<PendingSection> sections_;
  std::map<std::string, SectionId> sectionIds_;
  std::vector<ElfSymbol> symbols_;
  std::vector<SectionId> symbolSections_;
  std::map<std::string, std::uint32_t> symbolIndices_;
  std::map<SectionId, std::vector<Relocation>> relocations_;
  std::vector<SectionId> debugSections_;
  SectionId debugFrame_ = kNone, sourceLines_ = kNone, ptxLines_ = kNone;
  SectionId info_ = kNone, cudaNote_ = kNone;
  SectionId callGraph_ = kNone, prototypes_ = kNone;
  Bytes strings_;
  std::map<std::string, std::uint32_t> stringOffsets_;
  bool sharedBaseSeen_ = false;
};

} // namespace

std::vector<std::byte> write(const Module& module) {
  return Writer(module).run();
}

} // namespace orias::cubin
