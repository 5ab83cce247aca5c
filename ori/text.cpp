#include "ori/text.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace orias::ori::text {

namespace {

using RowsByMnemonic = std::map<std::string_view, std::vector<Op>, std::less<>>;

const RowsByMnemonic& rowsByMnemonic() {
  static const RowsByMnemonic rows = [] {
    RowsByMnemonic all;
    for (const isa::InstrDesc& desc : isa::allInstrs()) {
      // A row of sm_100 is not listed if an older row has its mnemonic: the text has its own name instead.
      const bool isNewer = (desc.sms & isa::kUntilSm90) == 0;
      if (!isNewer || !all.contains(desc.mnemonic)) all[desc.mnemonic].push_back(desc.op);
    }
    return all;
  }();
  return rows;
}

/// The value that is omitted in the text, preferably the default; -1 if the modifier is always written.
int silentValue(const isa::ModDesc& mod) {
  if (mod.isLegal(mod.defaultValue) && mod.name(mod.defaultValue).empty()) return mod.defaultValue;
  for (unsigned v = 0; v < mod.valueCount(); ++v)
    if (mod.isLegal(v) && mod.name(v).empty()) return static_cast<int>(v);
  return -1;
}

/// Parses the modifiers after the mnemonic, ".E.64", in the order of the table.
std::optional<Mods> readMods(const isa::InstrDesc& desc, std::string_view rest) {
  Mods mods{};
  for (unsigned i = 0; i < desc.modCount; ++i) {
    const isa::ModDesc& mod = desc.mods[i];
    int value = silentValue(mod);
    std::size_t length = 0;
    for (unsigned v = 0; v < mod.valueCount(); ++v) {
      const std::string_view name = mod.name(v);
      if (name.empty() || !mod.isLegal(v) || name.size() + 1 <= length) continue;
      const bool matches = rest.size() > name.size() && rest[0] == '.' && rest.substr(1, name.size()) == name &&
                           (rest.size() == name.size() + 1 || rest[name.size() + 1] == '.');
      if (!matches) continue;
      value = static_cast<int>(v);
      length = name.size() + 1;
    }
    if (value < 0) return std::nullopt;
    mods[i] = static_cast<std::uint8_t>(value);
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return std::nullopt;
  return mods;
}

/// The text does not number an instruction's addresses.
isa::Bracket asWritten(isa::Bracket bracket) {
  const bool isPlain = bracket == isa::Bracket::Address2 || bracket == isa::Bracket::TensorMemory;
  return isPlain ? isa::Bracket::Address : bracket;
}

/// Whether the operand may be in the slot, judged by its text.
bool fitsSlot(const isa::InstrDesc& desc, unsigned slot, const Written& written) {
  const isa::SlotDesc& s = desc.slots[slot];
  const isa::Operand& o = written.operand;
  if (asWritten(written.bracket) != asWritten(desc.texts[slot].bracket)) return false;
  switch (o.kind) {
  case isa::Operand::Kind::None: return true;
  case isa::Operand::Kind::Reg: {
    if (s.width == isa::WidthRule::Any) return true;
    const bool isUniform = o.file == File::UR || o.file == File::UP;
    const File wide = o.file == File::UR ? File::R : o.file == File::UP ? File::P : o.file;
    return (o.file == s.file && (s.accepts & isa::kAcceptsReg)) ||
           (isUniform && wide == s.file && (s.accepts & isa::kAcceptsUReg));
  }
  case isa::Operand::Kind::Const: return (s.accepts & isa::kAcceptsConst) != 0;
  case isa::Operand::Kind::Label: return (s.accepts & isa::kAcceptsLabel) != 0;
  default: return (s.accepts & isa::kAcceptsImm) != 0;
  }
}

} // namespace

std::string mnemonic(Op op, const Mods& mods) {
  const isa::InstrDesc& desc = isa::desc(op);
  std::string text(desc.mnemonic);
  for (unsigned i = 0; i < desc.modCount; ++i) {
    const std::string_view name = desc.mods[i].name(mods[i]);
    if (name.empty()) continue;
    text += '.';
    text += name;
  }
  return text;
}

namespace {

/// Rows for encodings that only other compilers use. Ori has none: rows with the same mnemonic keep it.
bool isOfWordsOnly(Op op) {
  switch (op) {
  case Op::LDG_INDEXED:
  case Op::LD_INDEXED:
  case Op::STG_INDEXED:
  case Op::ST_INDEXED:
  case Op::ATOM_INDEXED:
  case Op::ATOM_FLOAT_INDEXED:
  case Op::REDG_INDEXED:
  case Op::QSPC_INDEXED: return true;
  default: return false;
  }
}

} // namespace

std::vector<Resolved> resolve(std::string_view mnemonic) {
  std::vector<Resolved> found;
  // The mnemonic may contain dots ("IMAD.WIDE"): take the longest one that matches.
  for (std::size_t length = mnemonic.size(); length != std::string_view::npos && length > 0 && found.empty();
       length = mnemonic.rfind('.', length - 1)) {
    const auto rows = rowsByMnemonic().find(mnemonic.substr(0, length));
    if (rows == rowsByMnemonic().end()) continue;
    for (Op op : rows->second)
      if (const auto mods = readMods(isa::desc(op), mnemonic.substr(length)); mods && !isOfWordsOnly(op))
        found.push_back({op, *mods});
  }
  return found;
}

bool isOmittable(const isa::InstrDesc& desc, unsigned slot) {
  const bool mayMiss = (desc.slots[slot].accepts & isa::kAcceptsNone) && desc.defaults[slot].isNone();
  return mayMiss || desc.texts[slot].omitDefault || desc.texts[slot].omitPrinted;
}

namespace {

/// Assigns operands by kind: each goes to the next slot that it fits, past slots that may be omitted.
std::optional<std::vector<unsigned>> matchByKind(const isa::InstrDesc& desc, std::span<const Written> written) {
  std::vector<unsigned> slots;
  slots.reserve(written.size());
  unsigned required = 0; // the number of slots from the current one on that must be written
  for (unsigned s = 0; s < desc.slotCount; ++s)
    required += isOmittable(desc, s) ? 0 : 1;
  unsigned next = 0;
  for (unsigned s = 0; s < desc.slotCount; ++s) {
    const bool canOmit = isOmittable(desc, s);
    const std::size_t left = written.size() - next;
    if (left > 0 && (!canOmit || left > required) && fitsSlot(desc, s, written[next])) {
      slots.push_back(s);
      ++next;
    } else if (!canOmit) {
      return std::nullopt;
    }
    if (!canOmit) --required;
  }
  if (next < written.size() && !desc.has(isa::Flag::Variadic)) return std::nullopt;
  for (unsigned s = desc.slotCount; next < written.size(); ++s, ++next)
    slots.push_back(s);
  return slots;
}

} // namespace

std::optional<std::vector<unsigned>> matchSlots(Op op, std::span<const Written> written) {
  const isa::InstrDesc& desc = isa::desc(op);
  if (auto slots = matchByKind(desc, written)) return slots;
  // With all operands written, kinds may be wrong: the verifier checks them. Invalid code must be printable, too.
  const bool isComplete =
      written.size() == desc.slotCount || (desc.has(isa::Flag::Variadic) && written.size() > desc.slotCount);
  if (!isComplete) return std::nullopt;
  std::vector<unsigned> slots(written.size());
  std::iota(slots.begin(), slots.end(), 0u);
  return slots;
}

} // namespace orias::ori::text
