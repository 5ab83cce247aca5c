#pragma once

// The notation for the rows of instructions.inc. Only table.cpp includes it, through row_draft.h.
//
// A row is  ORIAS_INSTR(NAME, "MNEMONIC", part, part, ...)  with parts in any order, except that slots and modifiers
// are in the order in which they are printed:
//   alu(0x010, Shape::BC)      the opcode without form bits, and the shape of its forms
//   form(0x981, 1, ...)        one opcode with bit 91, and the slots whose field differs in this form
//   fix(pos, width, value)     fixed bits
//   rd(), ra(), pd(81, "Pu")   operand slots
//   mod(Mod::Cmp, 76, 3, "F|LT|...")   modifiers
//   unit(Pipe::Alu, LatencyClass::Alu), Flag::..., Alias::...
//   only(kFromSm90)            the chips that have the instruction
//   onlyWith(kSm75, Mod::Func, 0, 1)   the values of a modifier that some of these chips have
//   since100(part, ...), since120(part, ...)   parts of words from sm_100 or sm_120 on
//   until100(part, ...), until90(part, ...), until80(part, ...)   parts of words before sm_100, sm_90 or sm_80

#include "encoder/isa/row_details.h"

#include <tuple>

namespace orias::isa::rows {

/// The forms of an arithmetic instruction: which of its slots accept operands other than R, and how the others move.
enum class Shape : std::uint8_t {
  BC,        ///< B or C may be an immediate, constant or UR; if it is C, B moves to C's bits
  BCur,      ///< as BC, but C is not an immediate
  BCimm,     ///< as BC, but C is R or an immediate
  B,         ///< B only
  BNoImm,    ///< B only, without immediates
  BCNoImm,   ///< B or C may be a constant or UR
  BatCNoImm, ///< as BatC without immediates
  BatC,      ///< two sources, the second is B, with the other forms and the reuse bit of C (FADD)
  C,         ///< two sources, the second in C's bits (DADD)
  UBC,       ///< uniform datapath: UR, or an immediate in B or C
  UB,        ///< uniform datapath, B only
  UC,        ///< uniform datapath, B is the second source, C as in UBC
  RrrOnly
};

struct AluForms {
  std::uint16_t base;
  Shape shape;
};
constexpr AluForms alu(std::uint16_t base, Shape shape) {
  return {base, shape};
}

struct Fixed {
  std::uint8_t pos, width;
  std::uint64_t value;
};
constexpr Fixed fix(unsigned pos, unsigned width, std::uint64_t value) {
  return {static_cast<std::uint8_t>(pos), static_cast<std::uint8_t>(width), value};
}

struct Unit {
  Pipe pipe;
  LatencyClass latencyClass;
};
constexpr Unit unit(Pipe pipe, LatencyClass latencyClass) {
  return {pipe, latencyClass};
}

inline constexpr std::uint16_t kFromSm80 = kAmpereSms | kFromSm90, kFromSm89 = kSm89 | kFromSm90,
                               kFromSm86 = kSm86 | kFromSm89;
struct Sms {
  std::uint16_t mask;
};
constexpr Sms only(std::uint16_t mask) {
  return {mask};
}
/// Chips that have the instruction with these values of a modifier only.
template <typename... Values> constexpr ModLimit onlyWith(std::uint16_t sms, Mod kind, Values... values) {
  return {kind, sms, (... | (std::uint32_t{1} << static_cast<unsigned>(values)))};
}

/// A field that contains URZ.
struct ZeroUniform {
  std::uint8_t pos;
};
constexpr ZeroUniform urz(unsigned pos) {
  return {static_cast<std::uint8_t>(pos)};
}

/// Parts of the words of some generations. Slots and modifiers replace those of the same name or kind, forms replace
/// all others, and fixed bits override.
template <typename... Parts> struct PartsOf {
  WordFormat first, last;
  std::tuple<Parts...> parts;
};
template <typename... Parts> constexpr PartsOf<Parts...> since100(Parts... parts) {
  return {WordFormat::Sm100, WordFormat::Sm120, {parts...}};
}
/// Parts of words of sm_120 and sm_121.
template <typename... Parts> constexpr PartsOf<Parts...> since120(Parts... parts) {
  return {WordFormat::Sm120, WordFormat::Sm120, {parts...}};
}
template <typename... Parts> constexpr PartsOf<Parts...> until100(Parts... parts) {
  return {WordFormat::Sm75, WordFormat::Sm90, {parts...}};
}
template <typename... Parts> constexpr PartsOf<Parts...> until90(Parts... parts) {
  return {WordFormat::Sm75, WordFormat::Sm80, {parts...}};
}
/// Parts of words of sm_75.
template <typename... Parts> constexpr PartsOf<Parts...> until80(Parts... parts) {
  return {WordFormat::Sm75, WordFormat::Sm75, {parts...}};
}

/// The name of the instruction in the text of some generations.
struct Mnemonic {
  std::string_view text;
};
constexpr Mnemonic mnemonic(std::string_view text) {
  return {text};
}

struct NamedField {
  std::string_view slot;
  FieldEnc field;
};
struct ExplicitForm {
  std::uint16_t opcode;
  std::uint8_t bit91;
  std::array<NamedField, 4> fields;
  std::array<Fixed, 2> extra{};

  /// Adds fixed bits of this form only.
  constexpr ExplicitForm where(unsigned pos, unsigned width, std::uint64_t value) const {
    ExplicitForm copy = *this;
    copy.extra[copy.extra[0].width == 0 ? 0 : 1] = fix(pos, width, value);
    return copy;
  }
};
/// A field without a kind means that the slot is absent in this form.
constexpr ExplicitForm form(std::uint16_t opcode, unsigned bit91, NamedField a = {}, NamedField b = {},
                            NamedField c = {}, NamedField d = {}) {
  return {opcode, static_cast<std::uint8_t>(bit91), {a, b, c, d}};
}

/// An operand slot; the members that return Slot refine it.
struct Slot {
  SlotDesc desc;
  FieldEnc field;
  SlotText text;
  Operand def;
  AluPos alu = AluPos::None;
  bool wantHalf = false; ///< packed halves: has the two bits of Operand::half
  bool fp16Bits = false; ///< abs and neg of C are one bit higher
  bool noReuse = false;  ///< read by a unit that does not use the operand cache

  constexpr Slot named(std::string_view name) const {
    Slot s = *this;
    s.desc.name = name;
    return s;
  }
  constexpr Slot wide(WidthRule rule) const {
    Slot s = *this;
    s.desc.width = rule;
    return s;
  }
  constexpr Slot two() const { return wide(WidthRule::Two); }
  constexpr Slot neg() const {
    Slot s = *this;
    s.desc.canNeg = true;
    return s;
  }
  constexpr Slot abs() const {
    Slot s = *this;
    s.desc.canAbs = true;
    return s;
  }
  constexpr Slot negAbs() const { return neg().abs(); }
  /// For slots outside the arithmetic scheme: sets the bit of the negation.
  constexpr Slot negAt(unsigned bit) const {
    Slot s = neg();
    s.field.neg = static_cast<std::uint8_t>(bit);
    return s;
  }
  /// For slots outside the arithmetic scheme: sets the bit of the bitwise inversion.
  constexpr Slot invAt(unsigned bit) const {
    Slot s = inv();
    s.field.inv = static_cast<std::uint8_t>(bit);
    return s;
  }
  /// Bitwise inversion, in the bit of the negation.
  constexpr Slot inv() const {
    Slot s = *this;
    s.desc.canNot = true;
    return s;
  }
  constexpr Slot style(Style style) const {
    Slot s = *this;
    s.text.style = style;
    return s;
  }
  constexpr Slot f32() const { return style(Style::F32); }
  constexpr Slot unsignedImm() const { return style(Style::Hex); }
  constexpr Slot f64() const { return two().style(Style::F64); }
  /// Packed halves: has the two bits of Operand::half, and the modifiers of C are one bit higher.
  constexpr Slot half() const {
    Slot s = *this;
    s.wantHalf = s.fp16Bits = true;
    return s;
  }
  /// Read from a queue: late, and bypassing the operand cache.
  constexpr Slot queued() const {
    Slot s = late();
    s.noReuse = true;
    return s;
  }
  /// Read bypassing the operand cache.
  constexpr Slot uncached() const {
    Slot s = *this;
    s.noReuse = true;
    return s;
  }
  constexpr Slot fp16C() const {
    Slot s = *this;
    s.fp16Bits = true;
    return s;
  }
  constexpr Slot f16() const { return style(Style::F16x2).half(); }
  constexpr Slot reusable(unsigned bit) const {
    Slot s = *this;
    s.field.reuse = static_cast<std::uint8_t>(bit);
    return s;
  }
  /// Written after the register.
  constexpr Slot after(std::string_view text) const {
    Slot s = *this;
    s.text.after = text;
    return s;
  }
  /// Written twice: the instruction reads two fields of one register.
  constexpr Slot twice() const {
    Slot s = *this;
    s.text.twice = true;
    return s;
  }
  /// Not written if it is the default.
  constexpr Slot opt() const {
    Slot s = *this;
    s.text.omitDefault = true;
    s.desc.accepts |= kAcceptsNone;
    return s;
  }
  /// Absent in some form, which is selected if there is no operand.
  constexpr Slot mayMiss() const {
    Slot s = *this;
    s.desc.accepts |= kAcceptsNone;
    s.def = Operand{};
    return s;
  }
  constexpr Slot hidden() const {
    Slot s = *this;
    s.text.omitPrinted = true;
    s.desc.accepts |= kAcceptsNone;
    return s;
  }
  constexpr Slot late() const {
    Slot s = *this;
    s.desc.readLate = true;
    return s;
  }
  /// Written after a space, without a comma.
  constexpr Slot glued() const {
    Slot s = *this;
    s.text.glued = true;
    return s;
  }
  /// Starts new brackets after a slot with brackets of the same kind.
  constexpr Slot opens() const {
    Slot s = *this;
    s.text.opens = true;
    return s;
  }
  /// A pair whose second register is written in separate brackets.
  constexpr Slot andSecond(std::string_view open) const {
    Slot s = two();
    s.text.isPair = true;
    s.text.after = open;
    return s;
  }
  constexpr Slot before(std::string_view text) const {
    Slot s = *this;
    s.text.before = text;
    return s;
  }
  constexpr Slot in(Bracket bracket) const {
    Slot s = *this;
    s.text.bracket = bracket;
    return s;
  }
  /// Not in the word: always the default.
  constexpr Slot implied() const {
    Slot s = *this;
    s.field = {};
    s.field.kind = Enc::Implied;
    return s;
  }
  constexpr Slot defaultsTo(Operand operand) const {
    Slot s = *this;
    s.def = operand;
    return s;
  }
  /// Default !PT.
  constexpr Slot orFalse() const { return defaultsTo(def.notted()); }
};

// --- fields
// -----------------------------------------------------------------------------------------------------------

constexpr FieldEnc bits(Enc kind, unsigned pos, unsigned width, unsigned scale = 0) {
  FieldEnc f;
  f.kind = kind;
  f.pos = static_cast<std::uint8_t>(pos);
  f.width = static_cast<std::uint8_t>(width);
  f.scale = static_cast<std::uint8_t>(scale);
  return f;
}
constexpr FieldEnc splitBits(Enc kind, unsigned pos, unsigned width, unsigned pos2, unsigned width2) {
  FieldEnc f = bits(kind, pos, width);
  f.pos2 = static_cast<std::uint8_t>(pos2);
  f.width2 = static_cast<std::uint8_t>(width2);
  return f;
}
constexpr FieldEnc gpr(unsigned pos) {
  return bits(Enc::Gpr, pos, 8);
}
/// Draft::ofFormat widens it to 8 bits for the chips that have them.
constexpr FieldEnc ugpr(unsigned pos) {
  return bits(Enc::Ugpr, pos, 6);
}
constexpr FieldEnc uimm(unsigned pos, unsigned width) {
  return bits(Enc::UImm, pos, width);
}
/// In units of 32 bytes.
constexpr FieldEnc scaledOffset(unsigned pos, unsigned width) {
  return bits(Enc::SImm, pos, width, 5);
}
constexpr FieldEnc simm(unsigned pos, unsigned width) {
  return bits(Enc::SImm, pos, width);
}
/// c[bank][offset] in the bits that the arithmetic instructions use: words.
constexpr FieldEnc constBank(unsigned pos = 40, unsigned width = 14, unsigned scale = 2, unsigned ur = 32) {
  FieldEnc f = splitBits(Enc::Const, pos, width, 54, 5);
  f.scale = static_cast<std::uint8_t>(scale);
  f.ur = static_cast<std::uint8_t>(ur);
  return f;
}

/// B of FFMA2 if an immediate is in its position.
constexpr FieldEnc pairFactorInC() {
  FieldEnc f = gpr(64);
  f.neg = 75;
  f.abs = 74;
  f.reuse = 123;
  return f;
}
/// A slot's field if its operand is of `kind` and at position `at` of the arithmetic scheme.
constexpr FieldEnc aluField(const Slot& slot, AluPos at, Enc kind) {
  if (kind == Enc::UImm) return uimm(32, 32);
  const unsigned pos = at == AluPos::A ? 24 : at == AluPos::B ? 32 : 64;
  FieldEnc f = kind == Enc::Const ? constBank() : kind == Enc::Gpr ? gpr(pos) : ugpr(pos);
  std::uint8_t negBit = 0, absBit = 0, halfBits = 0;
  switch (at) {
  case AluPos::A: negBit = 72, absBit = 73, halfBits = 74; break;
  case AluPos::B: negBit = 63, absBit = 62, halfBits = 60; break;
  default:
    negBit = slot.fp16Bits ? 84 : 75;
    absBit = slot.fp16Bits ? 83 : 74;
    halfBits = 81;
    break;
  }
  if (slot.desc.canNeg) f.neg = negBit;
  if (slot.desc.canAbs) f.abs = absBit;
  if (slot.desc.canNot) f.inv = negBit;
  if (slot.wantHalf) f.half = halfBits;
  // The reuse bit depends on the operand, not on its position.
  if (kind == Enc::Gpr && !slot.noReuse) f.reuse = slot.alu == AluPos::A ? 122 : slot.alu == AluPos::B ? 123 : 124;
  return f;
}

// --- slots
// ------------------------------------------------------------------------------------------------------------

constexpr File fileOf(Enc kind) {
  switch (kind) {
  case Enc::Ugpr: return File::UR;
  case Enc::Pred:
  case Enc::PredInverted: return File::P;
  case Enc::Upred:
  case Enc::UpredInverted: return File::UP;
  case Enc::Bar: return File::B;
  default: return File::R;
  }
}

constexpr Slot slot(std::string_view name, Role role, FieldEnc field) {
  Slot s;
  s.desc.name = name;
  s.desc.role = role;
  s.desc.file = fileOf(field.kind);
  s.field = field;
  switch (field.kind) {
  case Enc::Gpr:
  case Enc::Ugpr:
  case Enc::Pred:
  case Enc::PredInverted:
  case Enc::UpredInverted:
  case Enc::Upred: s.def = Operand::zero(fileOf(field.kind)); break;
  case Enc::Bar: s.def = Operand::physical(File::B, 0); break;
  case Enc::UImm:
  case Enc::SImm: s.def = Operand::immediate(0); break;
  case Enc::Const: s.def = Operand::constant(0, 0); break;
  default: break;
  }
  return s;
}

constexpr Slot rd(unsigned pos = 16) {
  return slot("Rd", Role::Def, gpr(pos));
}
constexpr Slot urd(unsigned pos = 16) {
  return slot("URd", Role::Def, ugpr(pos));
}
constexpr Slot pd(unsigned pos, std::string_view name = "Pu") {
  return slot(name, Role::Def, bits(Enc::Pred, pos, 3));
}
constexpr Slot upd(unsigned pos, std::string_view name = "UPu") {
  return slot(name, Role::Def, bits(Enc::Upred, pos, 3));
}
/// A predicate source with its inversion bit directly above.
constexpr Slot predicate(std::string_view name, Enc kind, unsigned pos) {
  Slot s = slot(name, Role::Use, bits(kind, pos, 3));
  s.field.inv = static_cast<std::uint8_t>(pos + 3);
  s.desc.canNot = true;
  return s;
}
constexpr Slot ps(unsigned pos, std::string_view name = "Pp") {
  return predicate(name, Enc::Pred, pos);
}
constexpr Slot ups(unsigned pos, std::string_view name = "UPp") {
  return predicate(name, Enc::Upred, pos);
}

/// The predicate of loads, whose number is stored inverted.
constexpr Slot predInverted(unsigned pos) {
  return predicate("Pp", Enc::PredInverted, pos);
}
constexpr Slot upsInverted(unsigned pos) {
  return predicate("UPp", Enc::UpredInverted, pos);
}

/// A source of the arithmetic scheme. Its field is computed when the row is finished.
constexpr Slot source(std::string_view name, AluPos pos, File file) {
  Slot s = slot(name, Role::Use, file == File::UR ? ugpr(24) : gpr(24));
  s.alu = pos;
  s.text.style = Style::SignedHex;
  return s;
}
constexpr Slot ra() {
  return source("Ra", AluPos::A, File::R);
}
constexpr Slot rb() {
  return source("Rb", AluPos::B, File::R);
}
constexpr Slot rc() {
  return source("Rc", AluPos::C, File::R);
}
constexpr Slot ura() {
  return source("URa", AluPos::A, File::UR);
}
constexpr Slot urb() {
  return source("URb", AluPos::B, File::UR);
}
constexpr Slot urc() {
  return source("URc", AluPos::C, File::UR);
}

/// A source register of an instruction outside the arithmetic scheme.
constexpr Slot reg(std::string_view name, unsigned pos) {
  return slot(name, Role::Use, gpr(pos));
}
constexpr Slot ureg(std::string_view name, unsigned pos) {
  return slot(name, Role::Use, ugpr(pos));
}
constexpr Slot imm(std::string_view name, unsigned pos, unsigned width) {
  return slot(name, Role::Use, uimm(pos, width));
}
constexpr Slot immSplit(std::string_view name, unsigned pos, unsigned width, unsigned pos2, unsigned width2) {
  return slot(name, Role::Use, splitBits(Enc::UImm, pos, width, pos2, width2));
}
constexpr Slot offset(unsigned pos = 40, unsigned width = 24) {
  return slot("offset", Role::Use, simm(pos, width)).style(Style::SignedHex).in(Bracket::Address).opt();
}
constexpr Slot bar(Role role, unsigned pos) {
  return slot(role == Role::Def ? "Bd" : "Ba", role, bits(Enc::Bar, pos, 4));
}
/// Written as the target; with Style::SignedHex as the distance.
constexpr Slot label(unsigned pos, unsigned width, unsigned pos2 = 0, unsigned width2 = 0) {
  FieldEnc f = splitBits(Enc::Label, pos, width, pos2, width2);
  f.scale = 2;
  return slot("target", Role::Use, f);
}
/// As target: the address of the instruction itself.
constexpr Operand ownAddress() {
  Operand o = Operand::label(Operand::kNoReg);
  o.imm = -16;
  return o;
}
/// The address register; written as `R2.64` if it is a pair.
constexpr Slot address(unsigned pos = 24) {
  return reg("Ra", pos).wide(WidthRule::Address).in(Bracket::Address).opt().late();
}
/// A uniform register that is added to the address.
constexpr Slot addressUr(unsigned pos) {
  return ureg("URb", pos).in(Bracket::Address).mayMiss().late();
}
/// Added to a 64-bit address: a pair, according to ptxas' loads of it for sm_75.
constexpr Slot wideAddressUr(unsigned pos) {
  return addressUr(pos).two();
}
/// The descriptor of a global access.
constexpr Slot descriptor(unsigned pos) {
  return ureg("desc", pos).two().in(Bracket::Descriptor).mayMiss().late();
}
constexpr Slot sharedAddress() {
  return reg("Ra", 24).in(Bracket::Address).opt().late();
}
constexpr Slot sharedUr(unsigned pos) {
  return addressUr(pos);
}

constexpr Slot specialReg() {
  return imm("sr", 72, 8).style(Style::SpecialReg);
}

/// Operands of pseudo instructions.
constexpr Slot anyDef(std::string_view name = "Rd") {
  Slot s;
  s.desc.name = name;
  s.desc.role = Role::Def;
  s.desc.width = WidthRule::Any;
  s.desc.accepts = kAcceptsReg | kAcceptsUReg;
  return s;
}
constexpr Slot anyUse(std::string_view name) {
  Slot s;
  s.desc.name = name;
  s.desc.width = WidthRule::Any;
  s.desc.accepts = kAcceptsReg | kAcceptsUReg | kAcceptsImm | kAcceptsConst;
  s.text.style = Style::SignedHex;
  return s;
}
constexpr Slot anyRegister(std::string_view name) {
  Slot s = anyUse(name);
  s.desc.accepts = kAcceptsReg;
  return s;
}

// --- modifiers
// --------------------------------------------------------------------------------------------------------

constexpr Slot typedDef() {
  return anyDef().wide(WidthRule::MacroType);
}
constexpr Slot typedUse(std::string_view name) {
  return anyUse(name).wide(WidthRule::MacroType);
}

constexpr ModDesc mod(Mod kind, unsigned pos, unsigned width, std::string_view names, unsigned defaultValue = 0) {
  ModDesc m;
  m.kind = kind;
  m.pos = static_cast<std::uint8_t>(pos);
  m.width = static_cast<std::uint8_t>(width);
  m.names = names;
  m.defaultValue = static_cast<std::uint8_t>(defaultValue);
  return m;
}
/// The field value 0 is `first`; the default is `first` + `more`.
constexpr ModDesc modFrom(Mod kind, unsigned pos, unsigned width, std::string_view names, unsigned first,
                          unsigned more = 0) {
  ModDesc m = mod(kind, pos, width, names, first + more);
  m.bias = static_cast<std::uint8_t>(first);
  return m;
}
constexpr ModDesc splitMod(Mod kind, unsigned pos, unsigned width, unsigned pos2, unsigned width2,
                           std::string_view names, unsigned defaultValue = 0) {
  ModDesc m = mod(kind, pos, width, names, defaultValue);
  m.pos2 = static_cast<std::uint8_t>(pos2);
  m.width2 = static_cast<std::uint8_t>(width2);
  return m;
}
/// A modifier whose values are encoded by other numbers. `codes`: by value.
struct CodedMod {
  ModDesc mod;
  std::uint64_t codes = 0; ///< as RowDetails::codes
};
template <typename... Codes> constexpr CodedMod coded(ModDesc mod, Codes... codes) {
  CodedMod m{mod, 0};
  unsigned at = 0;
  ((m.codes |= static_cast<std::uint64_t>(codes) << at, at += 4), ...);
  return m;
}
/// A modifier of the previous operand: `R2.64`, `R3.H1`.
struct Suffix {
  ModDesc mod;
};
constexpr Suffix suffix(ModDesc mod) {
  return {mod};
}

inline constexpr std::string_view kICmpNames = "F|LT|EQ|LE|GT|NE|GE|T";
inline constexpr std::string_view kFCmpNames = "F|LT|EQ|LE|GT|NE|GE|NUM|NAN|LTU|EQU|LEU|GTU|NEU|GEU|T";
inline constexpr std::string_view kBoolNames = "AND|OR|XOR";
inline constexpr std::string_view kRndNames = "|RM|RP|RZ";

inline constexpr std::string_view kOrderNames =
    "|CONSTANT.PRIVATE|CONSTANT.CTA|CONSTANT.CTA.PRIVATE|CONSTANT|STRONG.SM|STRONG.GPU.PRIVATE|STRONG.GPU|MMIO.GPU|"
    "CONSTANT.SM|STRONG.SYS|CONSTANT.SM.PRIVATE|MMIO.SYS|CONSTANT.VC|CONSTANT.VC.PRIVATE|CONSTANT.GPU";
/// Stores and atomics: as for loads, but value 4 differs.
inline constexpr std::string_view kStoreOrderNames =
    "|CONSTANT.PRIVATE|CONSTANT.CTA|CONSTANT.CTA.PRIVATE|STRONG.SM.PRIVATE|STRONG.SM|STRONG.GPU.PRIVATE|STRONG.GPU|"
    "MMIO.GPU|CONSTANT.SM|STRONG.SYS|CONSTANT.SM.PRIVATE|MMIO.SYS|CONSTANT.VC|CONSTANT.VC.PRIVATE|CONSTANT.GPU";

constexpr ModDesc eflag() {
  return mod(Mod::E, 72, 1, "!|E", 1);
}
constexpr ModDesc evict() {
  return mod(Mod::Evict, 84, 3, "EF||EL|LU|EU|NA", 1);
}
constexpr ModDesc prefetch() {
  return mod(Mod::Prefetch, 68, 2, "|LTC64B|LTC128B|LTC256B");
}
constexpr ModDesc memSize() {
  return mod(Mod::Size, 73, 3, "U8|S8|U16|S16||64|128", 4);
}
/// The memory order and scope of an access: one number, on sm_75 (turingOrder) two.
struct Order {
  bool isLoad;
};
constexpr Order order() {
  return {true};
}
constexpr Order storeOrder() {
  return {false};
}
/// Stores to global memory from sm_100 on.
constexpr ModDesc globalStoreOrder() {
  return mod(Mod::Order, 77, 4,
             "|CONSTANT.PRIVATE|CONSTANT.CTA|CONSTANT.CTA.PRIVATE|STRONG.SM.PRIVATE|STRONG.SM|STRONG.GPU.PRIVATE|"
             "STRONG.GPU|MMIO.GPU|CONSTANT.SM|STRONG.SYS|CONSTANT.SM.PRIVATE|MMIO.SYS|SYS.ORDERED|STRONG.SYS.ORDERED|"
             "MMIO.SYS.ORDERED");
}
constexpr Suffix addressScale() {
  return suffix(mod(Mod::AddrScale, 78, 2, "|X4|X8|X16"));
}

constexpr ModDesc ftz() {
  return mod(Mod::Ftz, 80, 1, "|FTZ");
}
constexpr ModDesc sat() {
  return mod(Mod::Sat, 77, 1, "|SAT");
}
constexpr ModDesc rnd(unsigned pos = 78) {
  return mod(Mod::Rnd, pos, 2, kRndNames);
}
constexpr ModDesc boolOp(unsigned pos = 74) {
  return mod(Mod::Bool, pos, 2, kBoolNames);
}
constexpr ModDesc fcmp() {
  return mod(Mod::Cmp, 76, 4, kFCmpNames);
}
/// On sm_75: the scope (CTA, SM, GPU, SYS) in the two low bits, the order (constant, weak, strong, MMIO) in the others.
/// Only loads that are not of surfaces have the constant order.
constexpr CodedMod turingOrder(bool hasConstant) {
  return coded(mod(Mod::Order, 77, 4,
                   hasConstant ? "SYS|!|!|!|CONSTANT.SYS|STRONG.CTA|!|STRONG.GPU|!|!|STRONG.SYS|!|MMIO.SYS"
                               : "SYS|!|!|!|!|STRONG.CTA|!|STRONG.GPU|!|!|STRONG.SYS|!|MMIO.SYS"),
               0b0111, 0, 0, 0, 0b0011, 0b1000, 0, 0b1010, 0, 0, 0b1011, 0, 0b1111);
}
/// The part of a register that contains an 8-bit or 16-bit integer source.
constexpr ModDesc bytes(unsigned pos) {
  ModDesc m = mod(Mod::Byte, pos, 2, "|B1|B2|B3");
  m.names16 = "|H1|!|!";
  m.names32 = "|!|!|!";
  return m;
}
constexpr ModDesc bf16() {
  return mod(Mod::Bf16, 85, 1, "|BF16_V2");
}
constexpr ModDesc relu79() {
  return mod(Mod::Relu, 79, 1, "!|RELU", 1);
}
/// The type of floating-point atomics.
constexpr ModDesc atomFloat() {
  return mod(Mod::AtomFloat, 73, 4,
             "F16x2.RN|F16x4.RN|F16x8.RN|BF16x2.RN|BF16x4.RN|BF16x8.RN|!|!|!|F32.FTZ.RN|F32x2.FTZ.RN|F32x4.FTZ.RN|"
             "F32.RN|F32x2.RN|F32x4.RN|F64.RN");
}
/// That of the chips before sm_90, where it is a part of the type of all atomics (olderAtomType).
constexpr CodedMod olderAtomFloat() {
  return coded(mod(Mod::AtomFloat, 73, 3, "F16x2.RN|!|!|!|!|!|!|!|!|F32.FTZ.RN|!|!|!|!|!|F64.RN"), 4, 0, 0, 0, 0, 0, 0,
               0, 0, 3, 0, 0, 0, 0, 0, 6);
}
/// FTZ or FMZ (see Ftz).
constexpr ModDesc ftzFmz() {
  return splitMod(Mod::Ftz, 80, 1, 76, 1, "|FTZ|FMZ");
}
constexpr ModDesc atomOp() {
  return mod(Mod::AtomOp, 87, 4, "ADD|MIN|MAX|INC|DEC|AND|OR|XOR|EXCH");
}
constexpr ModDesc atomType(std::string_view names = "|S32|64|S64|128") {
  return mod(Mod::AtomType, 73, 3, names);
}
constexpr CodedMod olderAtomType() {
  return coded(atomType("|S32|64|S64"), 0, 1, 2, 5);
}
constexpr ModDesc macroType() {
  return mod(Mod::MacroType, 0, 0, "U16|S16|U32|S32|U64|S64|F32|F64", 3);
}
/// "U32" is written, the signed type is not.
constexpr ModDesc intType(unsigned pos = 73) {
  return mod(Mod::Type, pos, 1, "U32|", 1);
}

} // namespace orias::isa::rows
