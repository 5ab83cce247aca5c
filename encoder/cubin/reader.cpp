#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <elf.h>

#include "encoder/cubin/byte_io.h"
#include "encoder/cubin/cubin.h"
#include "encoder/cubin/debug_frame.h"
#include "encoder/cubin/elf_file.h"
#include "encoder/cubin/line_table.h"
#include "encoder/cubin/names.h"
#include "encoder/cubin/notes.h"
#include "encoder/cubin/nv_info.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

/// Whether this is a debug section that is kept unchanged.
bool isOtherDebugSection(std::string_view name) {
  return (name.starts_with(".debug_") && name != ".debug_frame" && name != ".debug_line" && name != ".debug_str") ||
         name.starts_with(".nv_debug_info_");
}

Binding bindingOf(const ElfSymbol& symbol) {
  return symbol.binding == STB_GLOBAL ? Binding::Global : symbol.binding == STB_WEAK ? Binding::Weak : Binding::Local;
}

constexpr std::string_view kSharedSection = ".nv.shared."; ///< followed by the name of a function

bool isObject(const ElfSymbol& symbol) {
  return symbol.type == STT_OBJECT || symbol.type == kSymbolCudaObject;
}

std::optional<HandleKind> handleKindOf(const ElfSymbol& symbol) {
  switch (symbol.type) {
  case kSymbolTexture: return HandleKind::Texture;
  case kSymbolSampler: return HandleKind::Sampler;
  case kSymbolSurface: return HandleKind::Surface;
  default: return std::nullopt;
  }
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : file_(decodeElf(bytes)) {
    separateNames();
    nameParameters();
  }

  Module run() {
    readAbi();
    collectRelocations();
    readFunctions();
    readHandleSymbols();
    readModuleAttributes();
    readUnwindTable();
    readVariables();
    readAddressTable();
    readLines();
    return std::move(module_);
  }

 private:
  /// Makes names unique. Linked files may have several local functions or variables of one name, from different
  /// objects, but a Module identifies all objects by name.
  void separateNames() {
    std::set<std::string> taken;
    const auto isNamed = [](const ElfSymbol& symbol) {
      return !symbol.name.empty() && symbol.section != SHN_UNDEF && (symbol.type == STT_FUNC || isObject(symbol));
    };
    for (const ElfSymbol& symbol : file_.symbols)
      if (isNamed(symbol) && symbol.binding != STB_LOCAL) taken.insert(symbol.name);
    for (ElfSymbol& symbol : file_.symbols) {
      if (!isNamed(symbol) || symbol.binding != STB_LOCAL || taken.insert(symbol.name).second) continue;
      const std::string old = symbol.name;
      for (std::size_t n = 2; !taken.insert(symbol.name).second; ++n)
        symbol.name = old + '$' + std::to_string(n);
      if (symbol.type != STT_FUNC) continue;
      // The sections of a function also contain its name: its code, and the others that belong to it.
      for (std::size_t i = 0; i < file_.sections.size(); ++i) {
        ElfSection& section = file_.sections[i];
        const bool isIts =
            i == symbol.section || (section.info == symbol.section && !section.name.starts_with(".text."));
        if (isIts && section.name.ends_with('.' + old))
          section.name.replace(section.name.size() - old.size(), old.size(), symbol.name);
      }
    }
  }

  /// Symbols of a kernel's section are its parameters.
  void nameParameters() {
    constexpr std::string_view kPrefix = ".text.";
    for (ElfSymbol& symbol : file_.symbols) {
      if (!handleKindOf(symbol) || symbol.binding != STB_LOCAL || symbol.section >= file_.sections.size()) continue;
      const std::string& section = file_.sections[symbol.section].name;
      if (section.starts_with(kPrefix)) symbol.name = parameterSymbol(section.substr(kPrefix.size()), symbol.name);
    }
  }

  void readAbi() {
    module_.abi = abiOf(file_.flags >> 8 & 0xff);
    if ((file_.flags & kCodeKinds) == kCapsules) markCapsules(module_.abi);
    module_.abi.elfFlags = flagsWithNote(file_.flags, kUsualNoteSection);
    module_.relocatable = file_.type == ET_REL;
    module_.abi.elfOsAbi = file_.osAbi;
    module_.abi.elfAbiVersion = file_.abiVersion;
    if (const ElfSection* note = file_.find(".note.nv.cuinfo"); note && note->data.size() >= 32) {
      module_.abi.toolkitVersion = load<std::uint16_t>(note->data, 28);
      const auto virtualArch = load<std::uint16_t>(note->data, 26);
      if (virtualArch != module_.abi.smArch) module_.virtualArch = virtualArch;
    }
    const ElfSection* toolkit = file_.find(".note.nv.tkinfo");
    module_.producer =
        readToolkitNote(toolkit ? std::span<const std::byte>(toolkit->data) : std::span<const std::byte>());
    constexpr auto kIsaClass = static_cast<AttributeId>(0x02), kAcceleratorTarget = static_cast<AttributeId>(0x09);
    if (const ElfSection* compat = file_.find(".nv.compat"))
      for (const Attribute& attribute : parseAttributes(compat->data)) {
        if (attribute.id == kIsaClass) module_.isaClass = static_cast<std::uint8_t>(attribute.value);
        if (attribute.id == kAcceleratorTarget) module_.isAccelerated = attribute.value != 0;
      }
  }

  std::string symbolName(std::uint32_t index) const {
    if (index >= file_.symbols.size()) throw Error("cubin: a symbol index is out of range");
    return file_.symbols[index].name;
  }

  /// Collects all relocations, by the section that they change. The lists are reversed: files have the last one first.
  void collectRelocations() {
    for (const ElfSection& section : file_.sections) {
      const bool rela = section.type == SHT_RELA;
      if (!rela && section.type != SHT_REL) continue;
      if (section.info >= file_.sections.size()) throw Error("cubin: relocations for a missing section");
      const std::size_t step = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
      std::vector<Relocation>& list = relocations_[section.info];
      for (std::size_t at = section.data.size() / step * step; at >= step; at -= step) {
        const auto info = load<std::uint64_t>(section.data, at - step + 8);
        Relocation relocation;
        relocation.offset = load<std::uint64_t>(section.data, at - step);
        relocation.type = static_cast<RelocationType>(info & 0xffffffff);
        relocation.symbol = symbolName(static_cast<std::uint32_t>(info >> 32));
        if (rela) relocation.addend = static_cast<std::int64_t>(load<std::uint64_t>(section.data, at - step + 16));
        list.push_back(std::move(relocation));
      }
    }
  }

  std::vector<Relocation> relocationsOf(std::size_t section) const {
    const auto found = relocations_.find(section);
    return found == relocations_.end() ? std::vector<Relocation>{} : found->second;
  }

  void readFunctions() {
    for (std::size_t i = file_.sections.size(); i-- > 0;) {
      constexpr std::string_view kPrefix = ".text.";
      const ElfSection& section = file_.sections[i];
      if (section.type == SHT_PROGBITS && section.name.starts_with(kPrefix))
        readFunction(section.name.substr(kPrefix.size()), i);
    }
    // Symbols without a name are placeholders for the base of shared memory. They follow the symbols of the first
    // kernel that uses it.
    std::size_t current = module_.functions.size();
    for (const ElfSymbol& symbol : file_.symbols) {
      if (symbol.type == STT_SECTION && functionBySection_.contains(symbol.section))
        current = functionBySection_[symbol.section];
      if (symbol.name.empty() && symbol.other == STV_INTERNAL && current < module_.functions.size())
        module_.functions[current].usesSharedAddress = true;
    }
  }

  void readFunction(const std::string& name, std::size_t text) {
    const ElfSection& section = file_.sections[text];
    Function function;
    function.name = name;
    function.code = section.data;
    function.relocations = relocationsOf(text);
    const std::uint32_t own = section.info & 0xffffff;
    for (std::size_t i = 0; i < file_.symbols.size(); ++i) {
      const ElfSymbol& symbol = file_.symbols[i];
      if (symbol.type != STT_FUNC || symbol.section != text) continue;
      if (i == own || symbol.name == name) {
        function.binding = bindingOf(symbol);
        function.isEntry = symbol.other & kOtherEntry;
        functionBySymbol_[static_cast<std::uint32_t>(i)] = {module_.functions.size(), kNotInner};
        continue;
      }
      if (symbol.value > function.code.size() || symbol.size > function.code.size() - symbol.value)
        throw Error("cubin: the function " + symbol.name + " lies outside its section");
      functionBySymbol_[static_cast<std::uint32_t>(i)] = {module_.functions.size(), function.inner.size()};
      function.inner.push_back({symbol.name, static_cast<std::uint32_t>(symbol.value),
                                static_cast<std::uint32_t>(symbol.size), 0, bindingOf(symbol)});
    }
    if (const ElfSection* shared = file_.find(std::string(kSharedSection) + name)) {
      const std::uint64_t reserved = std::min<std::uint64_t>(module_.abi.reservedShared, shared->size);
      function.staticSharedSize = static_cast<std::uint32_t>(shared->size - reserved);
      function.sharedAlignment = static_cast<std::uint32_t>(shared->alignment);
      function.seesDynamicShared = function.staticSharedSize == 0;
    }
    for (std::size_t i = 0; i < file_.sections.size(); ++i)
      if (file_.sections[i].name == ".nv.constant2." + name) {
        function.constant2 = file_.sections[i].data;
        function.constant2Relocations = relocationsOf(i);
      }
    if (const ElfSection* info = file_.find(".nv.info." + name))
      applyFunctionAttributes(function, parseAttributes(info->data), [this](auto index) { return symbolName(index); });
    readHandles(function);
    functionBySection_[text] = module_.functions.size();
    module_.functions.push_back(std::move(function));
  }

  /// Runs after the attributes are read, because they contain the size of the parameters.
  void readHandles(Function& function) const {
    for (std::size_t i = 0; i < file_.sections.size(); ++i) {
      if (file_.sections[i].name != ".nv.constant0." + function.name) continue;
      const std::uint64_t base = parameterBase(module_.abi, function.parameterSize);
      for (const Relocation& relocation : relocationsOf(i)) {
        using Type = RelocationType;
        if (relocation.type != Type::Texture && relocation.type != Type::Sampler &&
            relocation.type != Type::OlderSampler && relocation.type != Type::Surface)
          continue;
        const bool isSampler =
            relocation.type == RelocationType::Sampler || relocation.type == RelocationType::OlderSampler;
        const HandleKind kind = isSampler                                    ? HandleKind::Sampler
                                : relocation.type == RelocationType::Surface ? HandleKind::Surface
                                                                             : HandleKind::Texture;
        if (relocation.offset < base)
          throw Error("cubin: a handle of " + function.name + " lies before its parameters");
        function.handles.push_back({kind, static_cast<std::uint32_t>(relocation.offset - base), relocation.symbol});
      }
    }
  }

  void readModuleAttributes() {
    const ElfSection* info = file_.find(".nv.info");
    if (!info) return;
    for (const Attribute& attribute : parseAttributes(info->data)) {
      const std::vector<std::uint32_t> words = attribute.words();
      if (attribute.id == AttributeId::TexmodeIndependent) module_.hasIndependentSamplers = true;
      if (attribute.id == AttributeId::GenErrbarAtExit) module_.waitsForErrorsAtExit = true;
      if (words.size() < 2) continue;
      if (attribute.id == AttributeId::SamplerInit || attribute.id == AttributeId::SamplerForceUnnormalized)
        readSamplerStart(attribute.id, symbolName(words[0]), words[1]);
      const auto found = functionBySymbol_.find(words[0]);
      if (found == functionBySymbol_.end()) continue;
      const auto [index, inner] = found->second;
      Function& function = module_.functions[index];
      if (inner != kNotInner) {
        if (attribute.id == AttributeId::FrameSize) function.inner[inner].frameSize = words[1];
        continue;
      }
      switch (attribute.id) {
      case AttributeId::RegCount: function.registerCount = words[1]; break;
      case AttributeId::FrameSize: function.frameSize = words[1]; break;
      case AttributeId::MinStackSize: function.minStackSize = words[1]; break;
      case AttributeId::MaxStackSize: function.maxStackSize = words[1]; break;
      default: break;
      }
    }
  }

  void readSamplerStart(AttributeId id, const std::string& name, std::uint32_t value) {
    for (HandleSymbol& handle : module_.handles) {
      if (handle.name != name) continue;
      if (id == AttributeId::SamplerInit)
        handle.start = value;
      else
        handle.forcesUnnormalized = value != 0;
    }
  }

  void readHandleSymbols() {
    for (const ElfSymbol& symbol : file_.symbols)
      if (const auto kind = handleKindOf(symbol); kind && symbol.binding == STB_GLOBAL)
        module_.handles.push_back({*kind, symbol.name, std::nullopt, std::nullopt});
  }

  /// Finds the entries of kernels by their relocated start addresses.
  void readUnwindTable() {
    constexpr std::size_t kHead = 12;    // escape and 64-bit length
    constexpr std::size_t kAddress = 20; // offset of the start address in an entry
    for (std::size_t i = 0; i < file_.sections.size(); ++i) {
      const std::span<const std::byte> table = file_.sections[i].data;
      if (file_.sections[i].name != ".debug_frame") continue;
      std::map<std::uint64_t, std::string> starts;
      for (const Relocation& relocation : relocationsOf(i))
        starts[relocation.offset] = relocation.symbol;
      readReturnRegisters(table, starts);
      for (std::size_t at = 0; table.size() - at >= kAddress + 8;) {
        const std::uint64_t length = load<std::uint64_t>(table, at + 4);
        if (load<std::uint32_t>(table, at) != 0xffffffff || length > table.size() - at - kHead) return;
        const bool atStart = load<std::uint64_t>(table, at + kAddress) == 0;
        if (const auto start = starts.find(at + kAddress); start != starts.end() && atStart)
          for (Function& function : module_.functions)
            if (function.name == start->second) readFrameRows(function, table.subspan(at, kHead + length));
        at += kHead + length;
      }
      return;
    }
  }

  /// The other relocated addresses are in the expressions for the return address of inner functions, one for each.
  void readReturnRegisters(std::span<const std::byte> table, const std::map<std::uint64_t, std::string>& addresses) {
    std::map<std::string, std::size_t> seen;
    for (const auto& [offset, name] : addresses) {
      if (offset > table.size() || table.size() - offset < 16) continue;
      const auto reg = returnRegisterAt(table.subspan(offset + 8));
      if (!reg) continue;
      for (Function& function : module_.functions)
        if (function.name == name && seen[name] < function.inner.size())
          function.inner[seen[name]++].returnRegister = *reg;
    }
  }

  void readVariables() {
    readVariables(true);
    readVariables(false);
  }

  /// Global symbols are last in the file, but a Module has their declarations first.
  void readVariables(bool global) {
    for (const ElfSymbol& symbol : file_.symbols) {
      if (global != (symbol.binding == STB_GLOBAL)) continue;
      if (!isObject(symbol) || symbol.name.empty()) continue;
      if (symbol.section == SHN_UNDEF) {
        if (symbol.binding == STB_WEAK && symbol.size == kDriverWordBytes && symbol.name != kReservedShared)
          module_.driverPatches.push_back(symbol.name);
        if (symbol.binding == STB_GLOBAL) {
          Variable variable;
          variable.name = symbol.name;
          variable.binding = Binding::Global;
          variable.defined = false;
          variable.size = symbol.size;
          module_.variables.push_back(std::move(variable));
        }
        continue;
      }
      if (symbol.section >= file_.sections.size()) continue;
      const ElfSection& section = file_.sections[symbol.section];
      // Shared variables of objects have symbols, because a linker places them.
      if (module_.relocatable && section.name.starts_with(kSharedSection)) {
        readVariable(symbol, section, Variable::Space::Shared);
        module_.variables.back().owner = section.name.substr(kSharedSection.size());
        continue;
      }
      const bool constant = section.name == ".nv.constant3";
      if (!constant && section.name != ".nv.global" && section.name != ".nv.global.init") continue;
      readVariable(symbol, section, constant ? Variable::Space::Constant : Variable::Space::Global);
    }
  }

  void readVariable(const ElfSymbol& symbol, const ElfSection& section, Variable::Space space) {
    const std::uint64_t sectionSize = !hasBytes(section.type) ? section.size : section.data.size();
    if (symbol.value > sectionSize || symbol.size > sectionSize - symbol.value)
      throw Error("cubin: the variable " + symbol.name + " lies outside its section");
    Variable variable;
    variable.name = symbol.name;
    variable.binding = bindingOf(symbol);
    variable.space = space;
    variable.managed = (symbol.other & kOtherManaged) != 0;
    variable.size = symbol.size;
    variable.offset = symbol.value;
    // The file does not contain the alignment: use the largest that the offset allows.
    const std::uint64_t lowestBit = symbol.value & (~symbol.value + 1);
    variable.alignment =
        std::max<std::uint64_t>(1, symbol.value == 0 ? section.alignment : std::min(section.alignment, lowestBit));
    if (hasBytes(section.type)) {
      const auto begin = section.data.begin() + static_cast<std::ptrdiff_t>(symbol.value);
      variable.init.assign(begin, begin + static_cast<std::ptrdiff_t>(symbol.size));
      for (Relocation relocation : relocationsOf(symbol.section)) {
        if (relocation.offset < symbol.value || relocation.offset - symbol.value >= symbol.size) continue;
        relocation.offset -= symbol.value;
        variable.relocations.push_back(std::move(relocation));
      }
      const bool zero =
          std::all_of(variable.init.begin(), variable.init.end(), [](auto b) { return b == std::byte{0}; });
      if (zero && (space != Variable::Space::Global || !variable.relocations.empty())) variable.init.clear();
    }
    module_.variables.push_back(std::move(variable));
  }

  void readAddressTable() {
    for (std::size_t i = 0; i < file_.sections.size(); ++i) {
      if (file_.sections[i].name != ".nv.constant4") continue;
      module_.addressTable.resize(file_.sections[i].data.size() / 8);
      for (const Relocation& relocation : relocationsOf(i))
        if (relocation.offset / 8 < module_.addressTable.size())
          module_.addressTable[relocation.offset / 8] = {relocation.symbol, relocation.addend};
      return;
    }
  }

  void readLines() {
    unsigned texts = 0;
    for (std::size_t i = 0; i < file_.sections.size(); ++i) {
      const ElfSection& section = file_.sections[i];
      if (section.name == ".debug_line") readSourceLines(section.data, relocationsOf(i), module_);
      if (section.name == ".nv_debug_line_sass") readPtxLines(section.data, relocationsOf(i), module_);
      if (isOtherDebugSection(section.name))
        module_.debugSections.push_back({section.name, section.data, relocationsOf(i)});
      if (section.name == ".debug_str") module_.debugStrings = section.data;
      // A program of several objects has several texts, each with its own line numbers. A Module can only hold one.
      if (section.name.starts_with(".nv_debug_ptx_txt")) module_.ptxText = ++texts == 1 ? section.data : Bytes{};
    }
  }

  static constexpr std::size_t kNotInner = ~std::size_t{0};
  struct FunctionRef {
    std::size_t function;
    std::size_t inner; ///< or kNotInner
  };

  ElfFile file_;
  Module module_;
  std::map<std::size_t, std::vector<Relocation>> relocations_;
  std::map<std::uint32_t, FunctionRef> functionBySymbol_;
  std::map<std::size_t, std::size_t> functionBySection_;
};

} // namespace

Module read(std::span<const std::byte> file) {
  return Reader(file).run();
}

std::vector<AttributeList> readAttributes(std::span<const std::byte> file) {
  std::vector<AttributeList> lists;
  const ElfFile elf = decodeElf(file);
  for (const ElfSection& section : elf.sections)
    if (section.type == kTypeInfo || section.type == kTypeCompat)
      lists.push_back({section.name, parseAttributes(section.data)});
  return lists;
}

} // namespace orias::cubin
