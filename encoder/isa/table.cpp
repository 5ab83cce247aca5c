#include "encoder/isa/desc.h"
#include "encoder/isa/opcode_index.h"
#include "encoder/isa/row_draft.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace orias::isa {

using namespace rows;

namespace {

/// The row of an instruction for a generation.
template <Op op> constexpr FinishedRow made(WordFormat format);
#define ORIAS_INSTR(name, mnemonic, ...)                                                                               \
  template <> constexpr FinishedRow made<Op::name>(WordFormat format) {                                                \
    return row(format, Op::name, #name, mnemonic __VA_OPT__(, ) __VA_ARGS__);                                          \
  }
#include "encoder/isa/instructions.inc"
#undef ORIAS_INSTR
template <Op op, WordFormat format> constexpr FinishedRow kMade = made<op>(format);

/// The first generation that has the row of `format`.
template <Op op, WordFormat format> constexpr WordFormat firstWithRow() {
  if constexpr (format > WordFormat::Sm75) {
    constexpr WordFormat before = firstWithRow<op, previous(format)>();
    if constexpr (kMade<op, before>.last >= format) return before;
  }
  return format;
}

} // namespace

namespace detail {
constexpr InstrDesc kRows[] = {
#define ORIAS_INSTR(name, ...) kMade<Op::name, firstWithRow<Op::name, WordFormat::Sm90>()>.d,
#include "encoder/isa/instructions.inc"
#undef ORIAS_INSTR
};
} // namespace detail

namespace {

using detail::kRows;
constexpr std::size_t kOps = static_cast<std::size_t>(Op::kCount);
static_assert(std::size(kRows) == kOps);

// The rows that differ from those of sm_90, and the details that are not empty.
template <Op op, WordFormat first> constexpr InstrDesc kOtherRow = kMade<op, first>.d;
template <Op op, WordFormat first> constexpr RowDetails kDetails = kMade<op, first>.details;
constexpr RowDetails kNoDetails{};

template <Op op, WordFormat format> constexpr const InstrDesc* rowOf() {
  constexpr WordFormat first = firstWithRow<op, format>();
  if constexpr (first == firstWithRow<op, WordFormat::Sm90>())
    return &kRows[static_cast<std::size_t>(op)];
  else
    return &kOtherRow<op, first>;
}

template <Op op, WordFormat format> constexpr const RowDetails* detailsOf() {
  constexpr WordFormat first = firstWithRow<op, format>();
  if constexpr (kMade<op, first>.details.isEmpty())
    return &kNoDetails;
  else
    return &kDetails<op, first>;
}

/// A generation's rows, by Op.
struct Table {
  std::array<const InstrDesc*, kOps> rows;
  std::array<const RowDetails*, kOps> details;
};
template <WordFormat format, std::size_t... op> constexpr Table tableOf(std::index_sequence<op...> /*ops*/) {
  return {{rowOf<static_cast<Op>(op), format>()...}, {detailsOf<static_cast<Op>(op), format>()...}};
}
template <WordFormat format> constexpr Table kTable = tableOf<format>(std::make_index_sequence<kOps>{});

const Table& tableOf(WordFormat format) {
  static constexpr const Table* kTables[] = {&kTable<WordFormat::Sm75>, &kTable<WordFormat::Sm80>,
                                             &kTable<WordFormat::Sm90>, &kTable<WordFormat::Sm100>,
                                             &kTable<WordFormat::Sm120>};
  return *kTables[static_cast<std::size_t>(format)];
}

constexpr unsigned kOpcodes = 4096;

/// Forms by opcode: those of opcode k are list[first[k]] up to list[first[k + 1]]. Computed at compile time, because
/// it would need all rows at run time.
template <std::size_t size> struct OpcodeIndex {
  std::array<std::uint16_t, kOpcodes + 1> first{};
  std::array<FormId, size> list{};
};

constexpr bool isOn(std::size_t row, std::uint16_t chips) {
  return (kRows[row].sms & chips) != 0;
}

constexpr std::size_t countForms(const Table& table, std::uint16_t chips) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kOps; ++i)
    if (isOn(i, chips)) count += table.rows[i]->formCount;
  return count;
}

template <WordFormat format, std::uint16_t chips> constexpr auto indexForms() {
  constexpr const auto& rows = kTable<format>.rows;
  OpcodeIndex<countForms(kTable<format>, chips)> index;
  std::array<std::uint16_t, kOpcodes> next{};
  for (std::size_t i = 0; i < kOps; ++i)
    for (unsigned f = 0; isOn(i, chips) && f < rows[i]->formCount; ++f)
      ++next[rows[i]->forms[f].opcode];
  for (unsigned k = 0; k < kOpcodes; ++k) {
    index.first[k + 1] = static_cast<std::uint16_t>(index.first[k] + next[k]);
    next[k] = index.first[k];
  }
  for (std::size_t i = 0; i < kOps; ++i)
    for (unsigned f = 0; isOn(i, chips) && f < rows[i]->formCount; ++f)
      index.list[next[rows[i]->forms[f].opcode]++] = {static_cast<Op>(i), static_cast<std::uint8_t>(f)};
  return index;
}

constexpr auto kForms75 = indexForms<WordFormat::Sm75, kSm75>();
constexpr auto kForms80 = indexForms<WordFormat::Sm80, kAmpereSms>();
constexpr auto kForms90 = indexForms<WordFormat::Sm90, kUntilSm90>();
constexpr auto kForms100 = indexForms<WordFormat::Sm100, kTensorSms>();
constexpr auto kForms120 = indexForms<WordFormat::Sm120, kSm120>();

} // namespace

const InstrDesc& desc(Op op, WordFormat format) {
  return *tableOf(format).rows[static_cast<std::size_t>(op)];
}

const RowDetails& detailsOf(Op op, WordFormat format) {
  return *tableOf(format).details[static_cast<std::size_t>(op)];
}

std::span<const FormId> formsOf(unsigned opcode, WordFormat format) {
  const auto among = [&](const auto& index) {
    return std::span<const FormId>(index.list.data() + index.first[opcode],
                                   index.list.data() + index.first[opcode + 1]);
  };
  switch (format) {
  case WordFormat::Sm75: return among(kForms75);
  case WordFormat::Sm80: return among(kForms80);
  case WordFormat::Sm90: return among(kForms90);
  case WordFormat::Sm100: return among(kForms100);
  case WordFormat::Sm120: return among(kForms120);
  }
  ORIAS_UNREACHABLE("word format");
}

std::span<const InstrDesc> allInstrs() {
  return kRows;
}

const InstrDesc* findByName(std::string_view name) {
  static const std::unordered_map<std::string_view, const InstrDesc*> byName = [] {
    std::unordered_map<std::string_view, const InstrDesc*> made(std::size(kRows));
    for (const InstrDesc& d : kRows)
      made.emplace(d.name, &d);
    return made;
  }();
  const auto it = byName.find(name);
  return it == byName.end() ? nullptr : it->second;
}

std::string_view ModDesc::name(unsigned value, unsigned sourceBits) const {
  std::string_view rest = sourceBits == 16 && !names16.empty()  ? names16
                          : sourceBits > 16 && !names32.empty() ? names32
                                                                : names;
  for (unsigned i = 0; i < value; ++i) {
    const std::size_t bar = rest.find('|');
    if (bar == std::string_view::npos) return {};
    rest.remove_prefix(bar + 1);
  }
  return rest.substr(0, rest.find('|'));
}

unsigned ModDesc::valueCount() const {
  return static_cast<unsigned>(std::count(names.begin(), names.end(), '|')) + 1;
}

bool ModDesc::isListed(unsigned value, unsigned sourceBits) const {
  return value < valueCount() && name(value, sourceBits) != "!";
}

unsigned sourceBitsOf(Op op, std::span<const std::uint8_t, kMaxMods> mods) {
  const InstrDesc& d = desc(op);
  const int index = d.modIndex(Mod::SrcFmt);
  if (index < 0 || d.modIndex(Mod::Byte) < 0) return 8;
  return 8u << (mods[static_cast<std::size_t>(index)] / 2); // an IntFmt: two formats of each width
}

Inst makeInst(Op op) {
  const InstrDesc& d = desc(op);
  Inst inst;
  inst.op = op;
  inst.operandCount = d.slotCount;
  inst.guard = Operand::zero(d.guardFile());
  inst.mods = d.modDefaults;
  for (unsigned i = 0; i < d.slotCount; ++i)
    inst.operands[i] = d.defaults[i];
  return inst;
}

bool setMod(Op op, std::span<std::uint8_t, kMaxMods> mods, ModValue value) {
  const InstrDesc& d = desc(op);
  const int index = d.modIndex(value.kind);
  if (index < 0 || !d.mods[static_cast<std::size_t>(index)].isLegal(value.value)) return false;
  mods[static_cast<std::size_t>(index)] = value.value;
  return true;
}

namespace {

unsigned registersOfSize(MemSize size) {
  switch (size) {
  case MemSize::B64: return 2;
  case MemSize::B128:
  case MemSize::UB128: return 4;
  default: return 1;
  }
}

unsigned registersOfAtomType(unsigned type) {
  switch (static_cast<AtomType>(type)) {
  case AtomType::U64:
  case AtomType::S64: return 2;
  case AtomType::U128: return 4;
  default: return 1;
  }
}

unsigned registersOfAtomFloat(unsigned type) {
  switch (static_cast<AtomFloat>(type)) {
  case AtomFloat::E5M2x8:
  case AtomFloat::E4M3x8:
  case AtomFloat::F16x4:
  case AtomFloat::BF16x4:
  case AtomFloat::F32x2:
  case AtomFloat::F32x2Ftz:
  case AtomFloat::F64: return 2;
  case AtomFloat::E5M2x16:
  case AtomFloat::E4M3x16:
  case AtomFloat::F16x8:
  case AtomFloat::BF16x8:
  case AtomFloat::F32x4:
  case AtomFloat::F32x4Ftz: return 4;
  default: return 1;
  }
}

/// The geometries of textures and of surfaces are numbered differently.
constexpr unsigned kFirstWithLayers = 4;

unsigned textureCoordinates(unsigned geometry) {
  static constexpr std::uint8_t kCount[] = {1, 2, 3, 3, 2, 3, 1, 4};
  return kCount[geometry & 7];
}
unsigned surfaceCoordinates(unsigned geometry) {
  static constexpr std::uint8_t kCount[] = {1, 1, 2, 2, 3, 3, 1, 1};
  return kCount[geometry & 7];
}

/// The number of operands after the coordinates: the handle, a level or a sample, offsets, a comparison value.
unsigned textureParameters(Op op, std::span<const std::uint8_t, kMaxMods> mods) {
  const auto value = [&](Mod kind) { return getMod(op, mods, kind); };
  const unsigned levels = value(Mod::Sub) >= 2 ? 1 : 0; // LB, LL
  return value(Mod::Bindless) + levels + value(Mod::Sub2) + value(Mod::Sub4);
}
/// The first of two halves of operands: a pair, except if there are only two operands.
unsigned firstHalf(unsigned operands) {
  return operands <= 2 ? 1 : 2;
}

/// The number of coordinates with derivatives: a layer has none.
unsigned gradientCoordinates(unsigned geometry) {
  static constexpr std::uint8_t kCount[] = {1, 2, 3, 3, 1, 2, 1, 3};
  return kCount[geometry & 7];
}

/// SURED numbers its types differently from atomics; those of 64 bits.
unsigned registersOfSurfaceAtom(unsigned type) {
  constexpr unsigned kU64 = 2, kS64 = 5, kSized64 = 7;
  return type == kU64 || type == kS64 || type == kSized64 ? 2 : 1;
}

/// The column counts of integer and bit products; floating-point products have every multiple of 8.
constexpr std::array<std::uint16_t, 18> kIntegerGmmaColumns{8,   16,  24,  32,  48,  64,  80,  96,  112,
                                                            128, 144, 160, 176, 192, 208, 224, 240, 256};

/// The coordinates of a box are its corner; those of four rows of a tensor (GATHER4, SCATTER4) a column and the rows.
unsigned boxCoordinates(Op op, std::span<const std::uint8_t, kMaxMods> mods) {
  const InstrDesc& d = desc(op);
  for (const Mod kind : {Mod::Sub, Mod::Sub3})
    if (const int index = d.modIndex(kind); index >= 0) {
      const std::string_view name = d.mods[static_cast<std::size_t>(index)].name(mods[static_cast<std::size_t>(index)]);
      if (name.starts_with("GATHER4") || name.starts_with("SCATTER4")) return 5;
    }
  return getMod(op, mods, Mod::Geometry) + 1u;
}

constexpr unsigned kTransposed16x16 = 4; ///< Mod::Sub of LDSM_BYTES
constexpr unsigned kOneWord = 2;         ///< modifier value of a pair: one word for both
/// Registers of LDTM and STTM at the minimum count, by Mod::Geometry.
constexpr std::array<std::uint8_t, 8> kTensorRegisters{2, 4, 1, 1, 1, 1, 0, 0};

unsigned registersOfMacroType(MacroType type) {
  switch (type) {
  case MacroType::U64:
  case MacroType::S64:
  case MacroType::F64: return 2;
  default: return 1;
  }
}

} // namespace

unsigned operandWidth(Op op, std::span<const std::uint8_t, kMaxMods> mods, unsigned slot) {
  const auto value = [&](Mod kind) { return getMod(op, mods, kind); };
  switch (desc(op).slots[slot].width) {
  case WidthRule::One: return 1;
  case WidthRule::Two: return 2;
  case WidthRule::Four: return 4;
  case WidthRule::Any: return 0;
  case WidthRule::Size: return registersOfSize(static_cast<MemSize>(value(Mod::Size)));
  case WidthRule::Address: return value(Mod::E) != 0 ? 2 : 1;
  case WidthRule::AtomType: return registersOfAtomType(value(Mod::AtomType));
  case WidthRule::AtomFloat: return registersOfAtomFloat(value(Mod::AtomFloat));
  case WidthRule::MmaC: return value(Mod::DstFmt) == 0 ? 2 : 4;
  case WidthRule::Mma1688A: return value(Mod::SrcFmt) == 2 ? 4 : 2;
  case WidthRule::Mma1688B: return value(Mod::SrcFmt) == 2 ? 2 : 1;
  case WidthRule::MatrixCount: return 1u << value(Mod::Size);
  case WidthRule::MatrixBytes: return (value(Mod::Sub) == kTransposed16x16 ? 2u : 1u) << value(Mod::Size);
  case WidthRule::TensorLanes: return value(Mod::Sub4) != 0 ? 8 : 4;
  case WidthRule::DstFmt: return value(Mod::DstFmt) == static_cast<unsigned>(Fmt::F64) ? 2 : 1;
  case WidthRule::SrcFmt: return value(Mod::SrcFmt) == static_cast<unsigned>(Fmt::F64) ? 2 : 1;
  case WidthRule::DstInt: return value(Mod::DstFmt) >= static_cast<unsigned>(IntFmt::U64) ? 2 : 1;
  case WidthRule::SrcInt: return value(Mod::SrcFmt) >= static_cast<unsigned>(IntFmt::U64) ? 2 : 1;
  case WidthRule::MatchSize:
  case WidthRule::Cs2r: return value(Mod::Size) != 0 ? 2 : 1;
  case WidthRule::TexCoords: {
    const unsigned coordinates = textureCoordinates(value(Mod::Geometry));
    return value(Mod::Scattered) != 0 ? firstHalf(coordinates + textureParameters(op, mods)) : coordinates;
  }
  case WidthRule::TexParams: {
    const unsigned parameters = textureParameters(op, mods);
    if (value(Mod::Scattered) == 0) return std::max(1u, parameters);
    const unsigned all = textureCoordinates(value(Mod::Geometry)) + parameters;
    return std::max(1u, all - firstHalf(all));
  }
  case WidthRule::TexNamedCoords: {
    const unsigned geometry = value(Mod::Geometry);
    const bool needsWord = value(Mod::Sub2) != 0 && geometry < kFirstWithLayers; // else that of the layer has it
    return textureCoordinates(geometry) + value(Mod::Bindless) + (needsWord ? 1 : 0);
  }
  // The requested components are adjacent, the first two in the first registers. Half-precision components share one
  // register.
  case WidthRule::TexLow: return std::popcount(unsigned{value(Mod::Mask)}) >= 2 && value(Mod::DstFmt) == 0 ? 2 : 1;
  case WidthRule::TexHigh: return std::popcount(unsigned{value(Mod::Mask)}) == 4 && value(Mod::DstFmt) == 0 ? 2 : 1;
  case WidthRule::SurfCoords: return surfaceCoordinates(value(Mod::Geometry));
  case WidthRule::TexGradients: return 2 * gradientCoordinates(value(Mod::Geometry));
  case WidthRule::TexMask: return static_cast<unsigned>(std::popcount(unsigned{value(Mod::Mask)}));
  case WidthRule::SurfAtom: return registersOfSurfaceAtom(value(Mod::AtomType));
  case WidthRule::GmmaInt: return kIntegerGmmaColumns[value(Mod::Geometry) / 3 % kIntegerGmmaColumns.size()] / 2u;
  case WidthRule::GmmaBit: return kIntegerGmmaColumns[value(Mod::Geometry) % kIntegerGmmaColumns.size()] / 2u;
  case WidthRule::Box: return boxCoordinates(op, mods);
  case WidthRule::BoxAt: return boxCoordinates(op, mods) + 1u;
  case WidthRule::BoxAtBarrier: return boxCoordinates(op, mods) + 2u;
  case WidthRule::PairA: return value(Mod::Sub) % 4 == kOneWord ? 1 : 2;
  case WidthRule::PairB: return value(Mod::Sub2) % 4 == kOneWord ? 1 : 2;
  case WidthRule::PairC: return value(Mod::Sub3) % 4 == kOneWord ? 1 : 2;
  case WidthRule::TensorColumns: return kTensorRegisters[value(Mod::Geometry)] << value(Mod::Size);
  case WidthRule::GmmaC: return (value(Mod::Geometry) % 32 + 1) * (value(Mod::DstFmt) != 0 ? 4 : 2);
  case WidthRule::MacroType: return registersOfMacroType(static_cast<MacroType>(value(Mod::MacroType)));
  }
  return 1;
}

} // namespace orias::isa
