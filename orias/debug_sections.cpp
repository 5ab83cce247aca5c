#include "orias/debug_sections.h"

#include "encoder/cubin/byte_io.h"
#include "ori/module.h"
#include "orias/debug_locations.h"
#include "regalloc/frame.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>

namespace orias {

namespace {

using cubin::Relocation;
using cubin::RelocationType;

// DWARF 3, section 7.7.
constexpr std::byte kOpAddr{0x03}, kOpFbreg{0x91}, kOpPiece{0x93}, kOpNop{0x96}, kOpPlusUconst{0x23};
constexpr std::uint64_t kAddressBytes = 8;

/// The meaning of a name in a debug section: a number, relative to a section, function or variable if `symbol` is
/// set.
struct Meaning {
  std::string symbol{};
  std::int64_t value = 0;
  bool isGeneric = false; ///< the generic address is required
  enum class Kind : std::uint8_t { Number, Frame, Nowhere } kind = Kind::Number;
  std::uint64_t size = 0; ///< of a variable without a location
};

/// A label is the start of the first code of the statements after it.
class LabelPlaces {
 public:
  LabelPlaces(const ptx::Function& source, const encoder::FunctionCode& code) : source_(source), code_(code) {
    for (std::size_t i = code.origin.size(); i-- > 0;)
      if (code.origin[i] != nullptr && code.origin[i]->source.ptxLine != 0)
        firstOf_[code.origin[i]->source.ptxLine] = static_cast<std::uint32_t>(i) * encoder::kWordBytes;
  }

  std::uint32_t placeOf(const ptx::Label& label) const {
    bool isFirst = true;
    for (std::uint32_t s = 0; s < source_.statements.size(); ++s) {
      const ptx::Statement& statement = source_.statements[s];
      if (statement.kind != ptx::StatementKind::Instruction) continue;
      if (s < label.statement) {
        isFirst = false;
        continue;
      }
      // The set-up of the frame precedes the first instruction and belongs to the function.
      if (isFirst) return 0;
      const auto at = firstOf_.find(source_.instructions[statement.index].loc.line);
      if (at != firstOf_.end()) return at->second;
    }
    return code_.byteSize();
  }

 private:
  const ptx::Function& source_;
  const encoder::FunctionCode& code_;
  std::unordered_map<std::uint32_t, std::uint32_t> firstOf_; ///< offset of the code of a PTX line
};

/// The codes of types in `.nv_debug_info_reg_type` (observed, one register of each).
std::optional<std::uint8_t> typeNumber(ptx::Type type) {
  using T = ptx::Type;
  constexpr T kTypes[] = {T::B8,  T::B16, T::B32, T::B64, T::U8,    T::U16, T::U32, T::U64, T::S8,
                          T::S16, T::S32, T::S64, T::F16, T::F16x2, T::F32, T::F64, T::Pred};
  const auto* at = std::find(std::begin(kTypes), std::end(kTypes), type);
  if (at == std::end(kTypes)) return std::nullopt;
  return static_cast<std::uint8_t>(at - std::begin(kTypes));
}

void appendText(cubin::Bytes& bytes, std::string_view text) {
  for (char c : text)
    bytes.push_back(static_cast<std::byte>(c));
  bytes.push_back(std::byte{0});
}

class SectionWriter {
 public:
  SectionWriter(cubin::Module& cubin, const LineSource& source, std::span<CodedFunction* const> functions,
                Diagnostics& diagnostics)
      : cubin_(cubin), ptx_(*source.ptx), ori_(*source.ori), diagnostics_(diagnostics) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (&functions[i]->function->module() != source.ori) continue;
      for (const ptx::Function& function : ptx_.functions)
        if (function.hasBody && ptx_.text(function.name) == functions[i]->function->name())
          made_.push_back({functions[i], &function, &cubin.functions[i]});
    }
    findNames();
  }

  void run() {
    addRegisters();
    for (const ptx::DebugSection& section : ptx_.sections)
      if (ptx_.text(section.name) != ".debug_str") addSection(section);
  }

 private:
  struct Made {
    const CodedFunction* coded;
    const ptx::Function* source;
    const cubin::Function* described;
  };

  void findNames() {
    for (const ptx::DebugSection& section : ptx_.sections) {
      const std::string name(ptx_.text(section.name));
      add(section.name, {name});
      for (const ptx::SectionLabel& label : section.labels)
        add(label.name, {name, static_cast<std::int64_t>(label.at)});
    }
    for (const Made& made : made_)
      add(made.source->name, {made.described->name});
    for (const ptx::Function& function : ptx_.functions) {
      const auto made = std::find_if(made_.begin(), made_.end(), [&](const Made& m) { return m.source == &function; });
      std::optional<LabelPlaces> places;
      if (made != made_.end()) places.emplace(function, *made->coded->code);
      for (const ptx::Label& label : function.labels)
        add(label.name, places ? Meaning{made->described->name, places->placeOf(label)} : Meaning{});
    }
    // Those of the module are in the Ori module in the order of their declarations.
    std::size_t next = 0;
    for (const ptx::Variable& v : ptx_.variables) {
      using Space = ptx::StateSpace;
      if (typeClass(v.type) == ptx::TypeClass::Opaque) // textures are not in memory
        addVariable(v, nowhere(v));
      else if (v.space == Space::Global || v.space == Space::Const || v.space == Space::Shared)
        addVariable(v, inModule(v, ori_.variables[next++]));
      else if (v.space == Space::Local)
        addVariable(v, inFrame(v));
      else if (v.space == Space::Param)
        addVariable(v, inParameters(v));
    }
  }

  /// Ambiguous names are not resolved.
  void add(ptx::NameId name, const Meaning& meaning) {
    if (const auto [at, isNew] = meanings_.try_emplace(name, meaning); !isNew) at->second = {};
  }
  void addVariable(const ptx::Variable& v, const Meaning& meaning) {
    if (const auto [at, isNew] = meanings_.try_emplace(v.name, meaning); !isNew) at->second = nowhere(v);
  }
  static Meaning nowhere(const ptx::Variable& v) { return {.kind = Meaning::Kind::Nowhere, .size = v.byteSize()}; }

  Meaning inModule(const ptx::Variable& v, const ori::Variable& made) const {
    const bool isShared = v.space == ptx::StateSpace::Shared;
    return {.symbol = made.name,
            .value = isShared ? cubin_.abi.reservedShared : 0,
            .isGeneric = v.space == ptx::StateSpace::Const};
  }

  /// Relative to the stack pointer before the set-up of the frame; the unwind table describes it.
  Meaning inFrame(const ptx::Variable& v) const {
    for (const Made& made : made_) {
      const ori::Function& function = *made.coded->function;
      const bool isKnown = !function.growsStack && (made.described->isEntry || !regalloc::alignsStack(function));
      for (const ori::FrameObject& object : function.frame)
        if (isKnown && object.offset >= 0 && object.name == ptx_.text(v.name))
          return {.value = object.offset - static_cast<std::int64_t>(function.stats.frameBytes),
                  .kind = Meaning::Kind::Frame,
                  .size = v.byteSize()};
    }
    return nowhere(v);
  }

  Meaning inParameters(const ptx::Variable& v) const {
    for (const Made& made : made_)
      for (const ori::KernelParam& param : made.coded->function->params)
        if (made.described->isEntry && param.name == ptx_.text(v.name))
          return {.value = cubin::parameterBase(cubin_.abi, made.described->parameterSize) + param.offset};
    return nowhere(v);
  }

  void addSection(const ptx::DebugSection& section) {
    cubin::DebugSection out;
    out.name = std::string(ptx_.text(section.name));
    for (const cubin::DebugSection& other : cubin_.debugSections)
      if (other.name == out.name) {
        diagnostics_.error(section.loc, fmt::format("not supported yet: a second section {}", out.name));
        return;
      }
    for (std::uint8_t byte : section.bytes)
      out.data.push_back(std::byte{byte});
    for (const ptx::SectionReference& reference : section.references)
      write(section, reference, out);
    cubin_.debugSections.push_back(std::move(out));
  }

  std::optional<Meaning> meaningOf(const ptx::DebugSection& section, ptx::NameId name) {
    // Symbols that the writer makes are known by name only.
    const std::string text(ptx_.text(name));
    if (text == ".debug_line") return Meaning{text};
    if (text == ".debug_str" && meanings_.contains(name)) return Meaning{text};
    const auto at = meanings_.find(name);
    if (at != meanings_.end()) return at->second;
    diagnostics_.error(section.loc, fmt::format("'{}', which {} names, is not defined", text, ptx_.text(section.name)));
    return std::nullopt;
  }

  void write(const ptx::DebugSection& section, const ptx::SectionReference& reference, cubin::DebugSection& out) {
    std::optional<Meaning> meaning = meaningOf(section, reference.symbol);
    if (!meaning) return;
    meaning->value += reference.addend;
    if (reference.minus != ptx::NameId::None) {
      const std::optional<Meaning> from = meaningOf(section, reference.minus);
      if (!from) return;
      if (from->symbol != meaning->symbol || from->kind != meaning->kind || meaning->kind != Meaning::Kind::Number) {
        diagnostics_.error(section.loc, fmt::format("not supported yet: the distance from '{}' to '{}'",
                                                    ptx_.text(reference.minus), ptx_.text(reference.symbol)));
        return;
      }
      meaning = Meaning{.value = meaning->value - from->value};
    }
    const std::span<std::byte> field = std::span(out.data).subspan(reference.at, reference.size);
    const bool isLocation = field.size() == kAddressBytes && reference.at != 0 && out.data[reference.at - 1] == kOpAddr;
    if (meaning->kind == Meaning::Kind::Number) {
      if (!meaning->symbol.empty()) relocate(section, reference, *meaning, out);
      if (!meaning->symbol.empty() && !isCode(meaning->symbol)) return;
      // As in ptxas' files, distances in code are also in place: some readers do not apply relocations.
      for (std::size_t i = 0; i < field.size(); ++i)
        field[i] = static_cast<std::byte>(static_cast<std::uint64_t>(meaning->value) >> (8 * i));
    } else if (isLocation) {
      writeLocation(std::span(out.data).subspan(reference.at - 1, 1 + kAddressBytes), *meaning);
      if (meaning->kind == Meaning::Kind::Nowhere) dropOffset(out.data, reference.at);
    } else if (meaning->kind == Meaning::Kind::Frame) {
      diagnostics_.error(section.loc,
                         fmt::format("not supported yet: '{}' outside DW_OP_addr", ptx_.text(reference.symbol)));
    }
  }

  bool isCode(const std::string& symbol) const {
    return std::any_of(made_.begin(), made_.end(), [&](const Made& m) { return m.described->name == symbol; });
  }

  void relocate(const ptx::DebugSection& section, const ptx::SectionReference& reference, const Meaning& meaning,
                cubin::DebugSection& out) {
    if (reference.size != 4 && reference.size != kAddressBytes) {
      diagnostics_.error(
          section.loc, fmt::format("not supported yet: '{}' in {} bytes", ptx_.text(reference.symbol), reference.size));
      return;
    }
    const RelocationType type = reference.size == 4 ? RelocationType::Abs32
                                : meaning.isGeneric ? RelocationType::Generic64
                                                    : RelocationType::Abs64;
    out.relocations.push_back({type, reference.at, meaning.symbol, meaning.value});
  }

  /// For a variable without a location: the rest of the expression, whose length precedes DW_OP_addr.
  static void dropOffset(std::span<std::byte> data, std::uint64_t at) {
    const std::uint64_t after = at + kAddressBytes;
    if (at < 2 || after >= data.size() || data[after] != kOpPlusUconst) return;
    const std::uint64_t end = at - 1 + static_cast<std::uint8_t>(data[at - 2]);
    if (end > after && end <= data.size())
      std::fill(data.begin() + static_cast<std::ptrdiff_t>(after), data.begin() + static_cast<std::ptrdiff_t>(end),
                kOpNop);
  }

  /// Another operation in the bytes of DW_OP_addr.
  static void writeLocation(std::span<std::byte> room, const Meaning& meaning) {
    if (meaning.kind == Meaning::Kind::Nowhere) {
      room[0] = kOpPiece;
      std::uint64_t left = meaning.size;
      for (std::size_t i = 1; i < room.size(); ++i, left >>= 7)
        room[i] = static_cast<std::byte>((left & 0x7f) | (i + 1 < room.size() ? 0x80 : 0));
      return;
    }
    std::fill(room.begin(), room.end(), kOpNop);
    room[0] = kOpFbreg;
    std::int64_t left = meaning.value; // SLEB128
    for (std::size_t i = 1;; ++i) {
      const auto low = static_cast<std::uint8_t>(left & 0x7f);
      left >>= 7;
      const bool isLast = (left == 0 && (low & 0x40) == 0) || (left == -1 && (low & 0x40) != 0);
      room[i] = static_cast<std::byte>(isLast ? low : low | 0x80);
      if (isLast) return;
    }
  }

  /// Both tables have an entry for each location: index of the word, name, register with its class in the upper bits,
  /// first and last offset; and the type.
  void addRegisters() {
    cubin::Bytes places, types;
    for (const Made& made : made_) {
      std::vector<RegisterLocation> all = registerPlaces(ptx_, *made.source, *made.coded->function, *made.coded->code);
      std::erase_if(all, [](const RegisterLocation& p) { return !typeNumber(p.type) || !classNumber(p.file); });
      for (cubin::Bytes* table : {&places, &types}) {
        appendText(*table, made.described->name);
        cubin::append(*table, static_cast<std::uint32_t>(all.size()));
      }
      for (const RegisterLocation& place : all) {
        cubin::append(places, std::uint32_t{place.part});
        appendText(places, place.name);
        cubin::append(places, *classNumber(place.file) << 24 | place.reg);
        cubin::append(places, place.begin);
        cubin::append(places, place.end);
        cubin::append(types, *typeNumber(place.type));
      }
    }
    cubin_.debugSections.push_back({".nv_debug_info_reg_sass", std::move(places), {}});
    cubin_.debugSections.push_back({".nv_debug_info_reg_type", std::move(types), {}});
  }

  static std::optional<std::uint32_t> classNumber(isa::File file) {
    if (file == isa::File::R) return 5;
    if (file == isa::File::P) return 2;
    return std::nullopt;
  }

  cubin::Module& cubin_;
  const ptx::Module& ptx_;
  const ori::Module& ori_;
  Diagnostics& diagnostics_;
  std::vector<Made> made_;
  std::unordered_map<ptx::NameId, Meaning> meanings_;
};

} // namespace

void addDebugSections(cubin::Module& cubin, const LineSource& source, std::span<CodedFunction* const> functions,
                      Diagnostics& diagnostics) {
  SectionWriter(cubin, source, functions, diagnostics).run();
}

} // namespace orias
