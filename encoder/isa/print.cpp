#include "encoder/isa/print.h"
#include "encoder/isa/float_text.h"
#include "encoder/isa/imad_alias.h"
#include "encoder/isa/row_details.h"
#include "encoder/isa/target.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>

namespace orias::isa {

namespace {

using Out = std::back_insert_iterator<std::string>;

void hex(std::string& s, std::int64_t value) {
  if (value < 0)
    fmt::format_to(Out(s), "-0x{:x}", -value);
  else
    fmt::format_to(Out(s), "0x{:x}", value);
}

void registerName(std::string& s, const Operand& o) {
  const std::string_view prefix = fileName(o.file);
  if (o.reg == zeroRegister(o.file)) {
    s += prefix;
    s += o.file == File::P || o.file == File::UP ? 'T' : 'Z';
  } else {
    fmt::format_to(Out(s), "{}{}", prefix, o.reg);
  }
}

void immediate(std::string& s, const Operand& o, Style style) {
  const auto bits = static_cast<std::uint32_t>(o.imm);
  switch (style) {
  case Style::Wide:
  case Style::WideSigned:
  case Style::Hex: hex(s, bits); break;
  case Style::ByType:
  case Style::SignedHex: hex(s, o.imm); break;
  case Style::Decimal: fmt::format_to(Out(s), "{}", o.imm); break;
  case Style::F32Or64:
  case Style::F32: s += floatText(bits, FloatFormat::F32); break;
  case Style::F64: s += floatText(std::uint64_t{bits} << 32, FloatFormat::F64); break;
  case Style::F16: s += floatText(bits & 0xffff, FloatFormat::F16); break;
  case Style::Bf16: s += floatText(bits & 0xffff, FloatFormat::Bf16); break;
  case Style::F16x2:
  case Style::Bf16x2: {
    const FloatFormat format = style == Style::F16x2 ? FloatFormat::F16 : FloatFormat::Bf16;
    s += floatText(bits >> 16, format);
    s += ", ";
    s += floatText(bits & 0xffff, format);
    break;
  }
  case Style::SpecialReg: s += specialRegisterName(bits); break;
  case Style::GroupBarrier: fmt::format_to(Out(s), "gsb{}", bits); break;
  case Style::Scoreboard: fmt::format_to(Out(s), "SB{}", bits); break;
  case Style::ScoreboardList: {
    char before = '{';
    for (unsigned sb = 32; sb-- > 0;)
      if ((bits >> sb & 1) != 0) {
        fmt::format_to(Out(s), "{}{}", before, sb);
        before = ',';
      }
    s += '}';
    break;
  }
  case Style::RpcHalf: s += bits != 0 ? "Rpc.HI" : "Rpc.LO"; break;
  case Style::Bare: fmt::format_to(Out(s), "{:x}", bits); break;
  }
}

/// The text form of an immediate whose row has `style`.
Style styleFrom(Style style, const Inst& inst, unsigned slot) {
  // The operand that RET.ABS adds to its register is not relative to its own address.
  if (inst.op == Op::RET && (desc(inst.op).slots[slot].accepts & kAcceptsLabel) != 0 && getMod(inst, Mod::Sub) != 0)
    return Style::SignedHex;
  if (style == Style::ByType) {
    const bool isSigned = desc(inst.op).modIndex(Mod::Type) >= 0 ? modAs<IntType>(inst, Mod::Type) == IntType::S32
                                                                 : getMod(inst, Mod::SrcFmt) % 2 != 0; // an IntFmt
    return isSigned ? Style::SignedHex : Style::Hex;
  }
  if (style == Style::F32) {
    switch (modAs<Fmt>(inst, Mod::SrcFmt)) {
    case Fmt::F64: return Style::F64;
    case Fmt::F16: return Style::F16;
    case Fmt::BF16: return Style::Bf16;
    default: return Style::F32;
    }
  }
  if (style == Style::F16x2 && getMod(inst, Mod::Bf16) != 0) return Style::Bf16x2;
  if (style != Style::F32Or64) return style;
  if (getMod(inst, Mod::FuncFmt) != 0) return getMod(inst, Mod::FuncFmt) == 1 ? Style::F16 : Style::Bf16;
  const auto function = modAs<Mufu>(inst, Mod::Func);
  return function == Mufu::RCP64H || function == Mufu::RSQ64H ? Style::F64 : Style::F32;
}

struct Printer {
  const Inst& inst;
  const InstrDesc& d;
  const PrintOptions& options;
  WordFormat format = WordFormat::Sm90;
  std::string s{};

  Style style(unsigned slot) const { return styleFrom(d.texts[slot].style, inst, slot); }
  /// Whether nothing is printed for a slot: an absent operand prints as its default unless the slot is optional.
  bool isAbsent(unsigned slot) const {
    return inst.operands[slot].isNone() && (d.slots[slot].accepts & kAcceptsNone) != 0;
  }
  const Operand& operand(unsigned slot) const {
    const Operand& o = inst.operands[slot];
    return o.isNone() ? d.defaults[slot] : o;
  }
  static bool isSame(const Operand& a, const Operand& b) {
    if (a.isZeroReg() && b.isImm() && b.imm == 0) return true; // BAR.SYNC 0x1, RZ
    return a.kind == b.kind && a.reg == b.reg && a.imm == b.imm && ((a.flags ^ b.flags) & ~Operand::kReuse) == 0;
  }
  /// Observed: nvdisasm writes no RZ in addresses on sm_75, not even with a suffix.
  bool isBareZero(unsigned slot) const {
    return format < WordFormat::Sm80 && d.slots[slot].width == WidthRule::Address;
  }
  bool isOmitted(unsigned slot) const {
    const SlotText& t = d.texts[slot];
    if (t.omitPrinted || isAbsent(slot)) return true;
    // A zero register with a suffix is written: [RZ.64+0x10].
    return t.omitDefault && isSame(operand(slot), d.defaults[slot]) && (isBareZero(slot) || !hasSuffix(slot));
  }

  bool is64BitAddress(unsigned slot) const {
    return d.slots[slot].width == WidthRule::Address && getMod(inst, Mod::E) != 0 && hasUniformAddress();
  }
  bool hasSuffix(unsigned slot) const {
    if (!hasUniformAddress()) return false;
    if (is64BitAddress(slot) || !d.texts[slot].after.empty()) return true;
    for (unsigned i = 0; i < d.modCount; ++i)
      if (d.mods[i].slot == static_cast<int>(slot) && !d.mods[i].name(inst.mods[i]).empty()) return true;
    return false;
  }
  /// The width of the address register is only written next to a uniform register.
  bool hasUniformAddress() const {
    for (unsigned i = 0; i < d.slotCount; ++i)
      if (d.texts[i].bracket != Bracket::None && inst.operands[i].isReg(File::UR)) return true;
    return false;
  }

  void suffixes(unsigned slot) {
    for (unsigned i = 0; i < d.modCount; ++i) {
      const ModDesc& m = d.mods[i];
      if (m.slot != static_cast<int>(slot)) continue;
      const std::string_view name = m.name(inst.mods[i], sourceBitsOf(inst.op, inst.mods));
      if (name.empty()) continue;
      if (!name.starts_with(',')) s += '.';
      s += name;
    }
  }

  void one(unsigned slot) {
    const Operand& o = operand(slot);
    if (o.neg()) s += '-';
    if (o.inverted()) s += o.file == File::P || o.file == File::UP ? '!' : '~';
    if (o.abs()) s += '|';
    switch (o.kind) {
    case Operand::Kind::Reg: registerName(s, o); break;
    case Operand::Kind::Imm:
      if (style(slot) == Style::WideSigned)
        hex(s, static_cast<std::int64_t>(static_cast<std::uint32_t>(o.imm)) -
                   (inst.operands[slot + 1].imm != 0 ? std::int64_t{1} << 32 : 0));
      else if (style(slot) == Style::Wide)
        fmt::format_to(Out(s), "0x{:x}",
                       static_cast<std::uint64_t>(static_cast<std::uint32_t>(inst.operands[slot + 1].imm)) << 32 |
                           static_cast<std::uint32_t>(o.imm));
      else
        immediate(s, o, style(slot));
      break;
    case Operand::Kind::Const:
      if (o.reg != Operand::kNoReg) {
        s += "cx[";
        registerName(s, Operand::physical(File::UR, o.reg));
        s += "][";
      } else {
        fmt::format_to(Out(s), "c[0x{:x}][", o.bank);
      }
      hex(s, o.imm);
      s += ']';
      break;
    case Operand::Kind::Label: label(slot, o); break;
    default: s += '?'; break;
    }
    // If the operand is not an R register, the half is inside the bars.
    if (!o.isReg(File::R)) half(o);
    const bool suffixInside = o.abs() && !o.isReg(File::R);
    if (suffixInside) suffixes(slot);
    if (o.abs()) s += '|';
    if (is64BitAddress(slot)) s += ".64";
    // nvdisasm omits it for operands that textures read late.
    if (o.reuse() && (!d.slots[slot].readLate || d.latencyClass == LatencyClass::Dmma)) s += ".reuse";
    if (!d.texts[slot].isPair) s += d.texts[slot].after;
    if (!hasSuffixAfter(d.texts[slot].bracket) && !suffixInside) suffixes(slot);
    if (o.isReg(File::R)) half(o);
  }

  void half(const Operand& o) {
    if (o.half == Operand::Half::H0H0) s += ".H0_H0";
    if (o.half == Operand::Half::H1H1) s += ".H1_H1";
    if (o.half == Operand::Half::F32) s += ".F32";
  }

  void label(unsigned slot, const Operand& o) {
    if (style(slot) == Style::SignedHex) return hex(s, o.imm);
    const std::uint64_t target = options.address + 16 + static_cast<std::uint64_t>(static_cast<std::int64_t>(o.imm));
    if (options.labelName) {
      const std::string name = options.labelName(target);
      if (!name.empty()) {
        s += name;
        return;
      }
    }
    hex(s, static_cast<std::int64_t>(target));
  }

  /// Prints the slots from `slot` on that share its brackets; returns the next one.
  unsigned bracketed(unsigned slot) {
    const Bracket bracket = d.texts[slot].bracket;
    static constexpr const char* kOpen[] = {"", "[", "[", "desc[", "c[", "gdesc[", "tmem["};
    unsigned end = slot;
    while (end < d.slotCount && d.texts[end].bracket == bracket && (end == slot || !d.texts[end].opens))
      ++end;
    s += kOpen[static_cast<unsigned>(bracket)];
    bool any = false;
    for (unsigned i = slot; i < end; ++i) {
      if (isOmitted(i)) continue;
      if (any) s += '+';
      one(i);
      any = true;
    }
    if (!any) one(slot);
    s += ']';
    if (d.texts[slot].isPair) {
      s += ", ";
      s += d.texts[slot].after;
      const Operand& pair = operand(slot);
      registerName(s, pair.isZeroReg() ? pair : Operand::physical(pair.file, pair.reg + 1));
      s += ']';
    }
    if (hasSuffixAfter(bracket)) suffixes(slot);
    return end;
  }

  void operands() {
    bool first = true;
    bool glued = false; // the operand belongs to the brackets before it
    for (unsigned i = 0; i < d.slotCount;) {
      const SlotText& t = d.texts[i];
      if (t.bracket == Bracket::None && isOmitted(i)) {
        ++i;
        continue;
      }
      if (t.bracket == Bracket::Descriptor && (t.omitPrinted || isAbsent(i))) {
        ++i;
        continue;
      }
      if (!glued) s += first || t.glued ? " " : ", ";
      first = false;
      s += t.before;
      glued = t.bracket == Bracket::Descriptor || t.bracket == Bracket::Bank;
      if (t.bracket != Bracket::None) {
        i = bracketed(i);
        continue;
      }
      one(i);
      if (t.twice) {
        s += ", ";
        one(i);
      }
      ++i;
    }
  }
};

} // namespace

Style styleOf(const Inst& inst, unsigned slot) {
  return styleFrom(desc(inst.op).texts[slot].style, inst, slot);
}

std::string printMnemonic(const Inst& inst, WordFormat format) {
  const InstrDesc& d = desc(inst.op, format);
  std::string s(d.mnemonic);
  s += aliasName(inst);
  for (unsigned i = 0; i < d.modCount; ++i) {
    if (d.mods[i].slot >= 0) continue;
    const std::string_view name = d.mods[i].name(inst.mods[i]);
    if (!name.empty()) s += '.', s += name;
  }
  return s;
}

std::string printOperand(const Inst& inst, unsigned slot) {
  const PrintOptions options;
  Printer p{inst, desc(inst.op), options};
  p.one(slot);
  return p.s;
}

std::string_view fileName(File file) {
  constexpr std::string_view kNames[] = {"R", "UR", "P", "UP", "B"};
  return kNames[static_cast<unsigned>(file)];
}

std::string print(const Inst& inst, const PrintOptions& options, WordFormat format) {
  Printer p{inst, desc(inst.op, format), options, format};
  if (!inst.guard.isZeroReg() || inst.guard.inverted()) {
    p.s += inst.guard.inverted() ? "@!" : "@";
    registerName(p.s, inst.guard);
    p.s += ' ';
  }
  p.s += printMnemonic(inst, format);
  p.operands();
  return p.s;
}

namespace {

/// A name that some chips do not share with the others of their word format.
struct ChipName {
  std::uint16_t sms;
  std::string_view mnemonic; ///< of the instruction; empty: of all
  std::string_view usual, own;
};
constexpr std::uint16_t kBeforeSm89 = kSm75 | kSm80 | kSm86;
/// Observed. The last two are source formats, which the name of F2FP contains from sm_89 on.
constexpr ChipName kChipNames[] = {{kFromSm100, "", "SR138", "SR_CgaSize"},
                                   {kSm103, "UTCOMMA", ".4X ", ".BLOCK16 "},
                                   {kBeforeSm89, "F2FP", ".BF16.F32.", ".BF16."},
                                   {kBeforeSm89, "F2FP", ".F16.F32.", "."}};

} // namespace

std::string printFor(const Target& target, const Inst& inst, const PrintOptions& options) {
  std::string text = print(inst, options, target.words());
  for (const ChipName& name : kChipNames) {
    if ((name.sms & target.instructions()) == 0) continue;
    if (!name.mnemonic.empty() && name.mnemonic != desc(inst.op).mnemonic) continue;
    if (const std::size_t at = text.find(name.usual); at != std::string::npos)
      text.replace(at, name.usual.size(), name.own);
  }
  return text;
}

} // namespace orias::isa
