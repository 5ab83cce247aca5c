#include "encoder/isa/parse.h"
#include "encoder/isa/float_text.h"
#include "encoder/isa/imad_alias.h"
#include "encoder/isa/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace orias::isa {

namespace {

/// A position in the text. Every `take` first skips blanks, and only advances if it finds its argument.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool atEnd() {
    skip();
    return at_ == text_.size() || text_[at_] == ';';
  }
  bool take(std::string_view what) {
    skip();
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  /// Takes `what` if no letter, digit or underscore follows.
  bool takeWord(std::string_view what) {
    const std::size_t before = at_;
    if (!take(what)) return false;
    if (at_ < text_.size() && isWordChar(text_[at_])) {
      at_ = before;
      return false;
    }
    return true;
  }
  bool takeUnsigned(std::uint64_t& value) {
    skip();
    std::size_t p = at_;
    unsigned base = 10;
    if (text_.substr(p, 2) == "0x") base = 16, p += 2;
    const std::size_t first = p;
    value = 0;
    for (; p < text_.size(); ++p) {
      const int digit = digitOf(text_[p]);
      if (digit < 0 || digit >= static_cast<int>(base)) break;
      value = value * base + static_cast<std::uint64_t>(digit);
    }
    if (p == first) return false;
    at_ = p;
    return true;
  }
  bool takeInteger(std::int64_t& value) {
    const std::size_t before = at_;
    const bool negative = take("-");
    std::uint64_t magnitude = 0;
    if (!takeUnsigned(magnitude)) {
      at_ = before;
      return false;
    }
    value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
    return true;
  }
  /// Takes the text up to the next blank, comma or bracket.
  std::string_view takeToken() {
    skip();
    const std::size_t first = at_;
    while (at_ < text_.size() && std::string_view(" ,;]|").find(text_[at_]) == std::string_view::npos)
      ++at_;
    return text_.substr(first, at_ - first);
  }
  std::size_t position() const { return at_; }
  void goTo(std::size_t position) { at_ = position; }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
  }
  static bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static int digitOf(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

bool takeRegister(Cursor& c, Operand& o) {
  struct Name {
    std::string_view prefix;
    File file;
  };
  static constexpr Name kNames[] = {{"UR", File::UR}, {"UP", File::UP}, {"R", File::R}, {"P", File::P}, {"B", File::B}};
  const std::size_t before = c.position();
  for (const Name& n : kNames) {
    c.goTo(before);
    if (!c.take(n.prefix)) continue;
    const char* zero = n.file == File::P || n.file == File::UP ? "T" : "Z";
    if (n.file != File::B && c.takeWord(zero)) {
      o = Operand::zero(n.file);
      return true;
    }
    std::uint64_t number = 0;
    if (c.takeUnsigned(number) && number <= 255) {
      o = Operand::physical(n.file, static_cast<std::uint32_t>(number));
      return true;
    }
  }
  c.goTo(before);
  return false;
}

/// Parses an instruction according to one row of the table.
class RowParser {
 public:
  RowParser(const InstrDesc& d, Cursor cursor, const ParseOptions& options) : d_(d), c_(cursor), options_(options) {
    inst_ = makeInst(d.op);
  }

  /// `parts` are the dotted parts of the text's mnemonic after the row's mnemonic.
  bool run(const std::vector<std::string_view>& parts) {
    if (!modifiers(parts)) return false;
    bool first = true;
    for (unsigned i = 0; i < d_.slotCount;) {
      const std::size_t before = c_.position();
      const Bracket bracket = d_.texts[i].bracket;
      const bool glued = i > 0 && d_.texts[i - 1].bracket != Bracket::None && isAddress(bracket) &&
                         !isAddress(d_.texts[i - 1].bracket) && groupSeen_;
      if (bracket == Bracket::None) {
        if (d_.texts[i].omitPrinted) {
          ++i;
          continue;
        }
        if ((first || d_.texts[i].glued || c_.take(",")) && c_.take(d_.texts[i].before) && one(i) &&
            (!d_.texts[i].twice || (c_.take(",") && one(i)))) {
          first = false;
        } else {
          c_.goTo(before);
          if (!d_.texts[i].omitDefault && (d_.slots[i].accepts & kAcceptsNone) == 0) return false;
          inst_.operands[i] = d_.defaults[i];
        }
        ++i;
        continue;
      }
      if (!glued && !first && !c_.take(",")) {
        if (bracket != Bracket::Descriptor) return false;
      }
      unsigned end = i;
      while (end < d_.slotCount && d_.texts[end].bracket == bracket && (end == i || !d_.texts[end].opens))
        ++end;
      groupSeen_ = group(i, end);
      if (!groupSeen_) {
        if (bracket != Bracket::Descriptor) return false;
        inst_.operands[i] = d_.defaults[i];
        c_.goTo(before);
      } else {
        first = false;
      }
      i = end;
    }
    if (!c_.atEnd()) return false;
    return true;
  }
  Inst& inst() { return inst_; }
  std::size_t position() const { return c_.position(); }

 private:
  static bool isAddress(Bracket bracket) { return bracket == Bracket::Address || bracket == Bracket::Address2; }

  /// Assigns the parts of the mnemonic to modifiers, in order. Modifiers without a part get the value with an empty
  /// name.
  bool modifiers(const std::vector<std::string_view>& parts) {
    std::size_t part = 0;
    // Ignore a name that print() derives from the operands.
    if (d_.alias != Alias::None && !parts.empty() && isAliasName(parts[0])) ++part;
    for (unsigned i = 0; i < d_.modCount; ++i) {
      const ModDesc& m = d_.mods[i];
      if (m.slot >= 0) continue;
      int unnamed = -1, best = -1;
      std::size_t bestParts = 0;
      for (unsigned v = 0; v < m.valueCount(); ++v) {
        const std::string_view name = m.name(v);
        if (name == "!") continue;
        if (name.empty()) {
          // If several values have an empty name, use the default.
          if (unnamed < 0 || v == m.defaultValue) unnamed = static_cast<int>(v);
          continue;
        }
        const std::size_t n = matchParts(name, parts, part);
        if (n > bestParts) best = static_cast<int>(v), bestParts = n;
      }
      if (best >= 0)
        part += bestParts;
      else if (unnamed >= 0)
        best = unnamed;
      else
        return false;
      inst_.mods[i] = static_cast<std::uint8_t>(best);
    }
    return part == parts.size();
  }
  /// How many parts from `at` on match `name`, which may contain dots; 0 if they do not.
  static std::size_t matchParts(std::string_view name, const std::vector<std::string_view>& parts, std::size_t at) {
    std::size_t n = 0;
    while (true) {
      const std::size_t dot = name.find('.');
      if (at + n >= parts.size() || parts[at + n] != name.substr(0, dot)) return 0;
      ++n;
      if (dot == std::string_view::npos) return n;
      name.remove_prefix(dot + 1);
    }
  }

  bool group(unsigned begin, unsigned end) {
    static constexpr std::string_view kOpen[] = {"", "[", "[", "desc[", "c[", "gdesc[", "tmem["};
    if (!c_.take(kOpen[static_cast<unsigned>(d_.texts[begin].bracket)])) return false;
    for (unsigned i = begin; i < end; ++i) {
      inst_.operands[i] = d_.defaults[i];
    }
    unsigned slot = begin;
    do {
      bool taken = false;
      for (; slot < end && !taken; ++slot) {
        const std::size_t before = c_.position();
        taken = one(slot);
        if (!taken) c_.goTo(before);
      }
      if (!taken) return false;
    } while (c_.take("+"));
    if (!c_.take("]")) return false;
    if (d_.texts[begin].isPair) {
      Operand second;
      if (!c_.take(",") || !c_.take(d_.texts[begin].after) || !takeRegister(c_, second) || !c_.take("]")) return false;
      const Operand& pair = inst_.operands[begin];
      if (second.file != pair.file || second.reg != (pair.isZeroReg() ? pair.reg : pair.reg + 1)) return false;
    }
    if (hasSuffixAfter(d_.texts[begin].bracket)) suffixes(begin);
    return true;
  }

  bool one(unsigned slot) {
    Operand o;
    const SlotDesc& sd = d_.slots[slot];
    const bool minus = number(slot) ? false : c_.take("-");
    const bool inverted = c_.take("!") || c_.take("~");
    const bool bars = c_.take("|");
    if (c_.take("c[") || c_.take("cx[")) {
      if (!constant(o)) return false;
    } else if (!takeRegister(c_, o)) {
      if ((sd.accepts & kAcceptsLabel) != 0) {
        if (!label(slot, o)) return false;
      } else if (!immediate(slot, o)) {
        return false;
      }
    }
    if (!o.isReg(File::R)) half(o);
    if (bars && !o.isReg(File::R)) suffixes(slot);
    if (bars && !c_.take("|")) return false;
    if (minus) o.flags |= Operand::kNeg;
    if (inverted) o.flags |= Operand::kNot;
    if (bars) o.flags |= Operand::kAbs;
    if (sd.width == WidthRule::Address) c_.take(".64");
    if (c_.takeWord(".reuse")) o.flags |= Operand::kReuse;
    if (!d_.texts[slot].isPair && !c_.take(d_.texts[slot].after)) return false;
    if (!hasSuffixAfter(d_.texts[slot].bracket) && !(bars && !o.isReg(File::R))) suffixes(slot);
    half(o);
    o.width = static_cast<std::uint8_t>(operandWidth(inst_, slot));
    if (o.isImm() || o.kind == Operand::Kind::Label) o.width = 1;
    if (!accepts(inst_.op, inst_.mods, slot, o)) return false;
    inst_.operands[slot] = o;
    return true;
  }

  void suffixes(unsigned slot) {
    for (unsigned i = 0; i < d_.modCount; ++i) {
      const ModDesc& m = d_.mods[i];
      if (m.slot != static_cast<int>(slot)) continue;
      for (unsigned v = 0; v < m.valueCount(); ++v) {
        const std::string name(m.name(v, sourceBitsOf(inst_.op, inst_.mods)));
        if (name.empty() || name == "!" || !c_.takeWord((name[0] == ',' ? "" : ".") + name)) continue;
        inst_.mods[i] = static_cast<std::uint8_t>(v);
        break;
      }
    }
  }

  void half(Operand& o) {
    if (c_.takeWord(".H0_H0"))
      o.half = Operand::Half::H0H0;
    else if (c_.takeWord(".H1_H1"))
      o.half = Operand::Half::H1H1;
    else if (c_.takeWord(".F32"))
      o.half = Operand::Half::F32;
  }

  /// Whether a negative number follows, so that the minus sign is part of the number and not a negation.
  bool number(unsigned slot) {
    const std::size_t before = c_.position();
    const bool minus = c_.take("-");
    std::uint64_t ignored = 0;
    const bool isNumber = c_.takeUnsigned(ignored) || c_.take("INF") || c_.take("QNAN") || c_.take("SNAN");
    c_.goTo(before);
    return minus && isNumber && (d_.slots[slot].accepts & (kAcceptsImm | kAcceptsLabel)) != 0;
  }

  bool constant(Operand& o) {
    Operand ur;
    std::uint64_t bank = 0;
    std::int64_t offset = 0;
    const bool bindless = takeRegister(c_, ur);
    if (!bindless && !c_.takeUnsigned(bank)) return false;
    if (!c_.take("]") || !c_.take("[") || !c_.takeInteger(offset) || !c_.take("]")) return false;
    o = Operand::constant(static_cast<unsigned>(bank), static_cast<std::int32_t>(offset));
    if (bindless) o.reg = ur.reg;
    return true;
  }

  bool label(unsigned slot, Operand& o) {
    std::int64_t target = 0;
    if (!c_.takeInteger(target)) return false;
    o.kind = Operand::Kind::Label;
    const bool isDistance = styleOf(inst_, slot) == Style::SignedHex;
    o.imm = static_cast<std::int32_t>(isDistance ? target : target - static_cast<std::int64_t>(options_.address) - 16);
    return true;
  }

  /// Whether a number in this slot has more than 32 bits in some form, so that 0x80000000 differs from -0x80000000.
  bool hasSignOfItsOwn(unsigned slot) const {
    return std::ranges::any_of(d_.formList(), [&](const Form& form) {
      const FieldEnc& field = d_.field(form, slot);
      return field.kind == Enc::SImm && field.width + field.width2 > 32;
    });
  }

  bool immediate(unsigned slot, Operand& o) {
    const Style style = styleOf(inst_, slot);
    std::int64_t value = 0;
    switch (style) {
    case Style::Hex:
    case Style::ByType:
    case Style::SignedHex:
    case Style::Decimal:
      if (!c_.takeInteger(value)) return false;
      if (value > INT32_MAX && hasSignOfItsOwn(slot)) return false;
      break;
    case Style::WideSigned:
      if (!c_.takeInteger(value) || value < -(std::int64_t{1} << 32)) return false;
      inst_.operands[slot + 1] = Operand::immediate(value < 0 ? 1 : 0);
      if (value < 0) value += std::int64_t{1} << 32;
      break;
    case Style::Wide:
      if (!c_.takeInteger(value)) return false;
      inst_.operands[slot + 1] = Operand::immediate(static_cast<std::int32_t>(value >> 32));
      value = static_cast<std::int32_t>(value);
      break;
    case Style::Bare: {
      // Hexadecimal digits without a prefix.
      const std::string token(c_.takeToken());
      char* end = nullptr;
      value = static_cast<std::int64_t>(std::strtoull(token.c_str(), &end, 16));
      if (token.empty() || *end != 0) return false;
      break;
    }
    case Style::GroupBarrier:
      if (!c_.take("gsb") || !c_.takeInteger(value)) return false;
      break;
    case Style::Scoreboard:
      if (!c_.take("SB") || !c_.takeInteger(value)) return false;
      break;
    case Style::ScoreboardList: {
      if (!c_.take("{")) return false;
      do {
        std::uint64_t scoreboard = 0;
        if (!c_.takeUnsigned(scoreboard) || scoreboard > 31) return false;
        value |= std::int64_t{1} << scoreboard;
      } while (c_.take(","));
      if (!c_.take("}")) return false;
      break;
    }
    case Style::RpcHalf:
      if (c_.takeWord("Rpc.HI"))
        value = 1;
      else if (!c_.takeWord("Rpc.LO"))
        return false;
      break;
    case Style::SpecialReg: value = specialRegisterNumber(c_.takeToken()); break;
    case Style::F32:
    case Style::F32Or64:
    case Style::F64: {
      const auto bits = parseFloat(c_.takeToken(), style == Style::F64 ? FloatFormat::F64 : FloatFormat::F32);
      if (!bits) return false;
      value = static_cast<std::int64_t>(style == Style::F64 ? *bits >> 32 : *bits);
      break;
    }
    case Style::F16:
    case Style::Bf16: {
      const auto bits = parseFloat(c_.takeToken(), style == Style::F16 ? FloatFormat::F16 : FloatFormat::Bf16);
      if (!bits) return false;
      value = static_cast<std::int64_t>(*bits);
      break;
    }
    case Style::F16x2:
    case Style::Bf16x2: {
      const FloatFormat format = style == Style::F16x2 ? FloatFormat::F16 : FloatFormat::Bf16;
      const auto high = parseFloat(c_.takeToken(), format);
      if (!high || !c_.take(",")) return false;
      const auto low = parseFloat(c_.takeToken(), format);
      if (!low) return false;
      value = static_cast<std::int64_t>(*high << 16 | *low);
      break;
    }
    }
    if (style == Style::SpecialReg && value < 0) return false;
    if (value > 0xffffffffLL || value < -0x80000000LL) return false;
    o = Operand::immediate(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
    return true;
  }

  const InstrDesc& d_;
  Cursor c_;
  const ParseOptions& options_;
  Inst inst_;
  bool groupSeen_ = false;
};

std::vector<std::string_view> splitDots(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = text.find('.');
    parts.push_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

} // namespace

ParseResult parse(std::string_view text, const ParseOptions& options) {
  ParseResult result;
  Cursor c(text);
  Operand guard = Operand::pt();
  const bool guarded = c.take("@");
  if (guarded) {
    const bool inverted = c.take("!");
    if (!takeRegister(c, guard)) {
      result.error = "a predicate register is expected after '@'";
      return result;
    }
    if (inverted) guard.flags = Operand::kNot;
  }
  const std::string_view mnemonic = c.takeToken();
  const std::vector<std::string_view> parts = splitDots(mnemonic);

  // The rows whose mnemonic is a prefix of the text's mnemonic; longer ones come first (IMAD.WIDE before IMAD).
  struct Candidate {
    const InstrDesc* desc;
    std::size_t parts;
  };
  std::vector<Candidate> candidates;
  for (const InstrDesc& d : allInstrs()) {
    if (!d.mnemonic.starts_with(parts[0])) continue;
    const std::vector<std::string_view> own = splitDots(d.mnemonic);
    if (own.size() <= parts.size() && std::equal(own.begin(), own.end(), parts.begin()))
      candidates.push_back({&d, own.size()});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.parts > b.parts; });
  const bool known = !candidates.empty();
  std::size_t furthest = 0;
  for (const Candidate& candidate : candidates) {
    const InstrDesc& d = *candidate.desc;
    RowParser row(d, c, options);
    const std::vector<std::string_view> rest(parts.begin() + static_cast<std::ptrdiff_t>(candidate.parts), parts.end());
    if (row.run(rest) && (d.isPseudo() || fits(row.inst()))) {
      result.inst = row.inst();
      if (guarded) result.inst.guard = guard;
      return result;
    }
    furthest = std::max(furthest, row.position());
  }
  if (!known)
    result.error = fmt::format("unknown instruction {}", mnemonic);
  else
    result.error = fmt::format("the operands or modifiers do not match {} (near \"{}\")", mnemonic,
                               furthest < text.size() ? text.substr(furthest) : text);
  return result;
}

} // namespace orias::isa
