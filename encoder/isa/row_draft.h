#pragma once

// Builds an InstrDesc from the parts of a row (rows.h). Only table.cpp includes this.

#include "encoder/isa/rows.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace orias::isa::rows {

constexpr WordFormat next(WordFormat generation) {
  return static_cast<WordFormat>(static_cast<unsigned>(generation) + 1);
}
constexpr WordFormat previous(WordFormat generation) {
  return static_cast<WordFormat>(static_cast<unsigned>(generation) - 1);
}

/// A row with the words of the generations `first` to `last`.
struct FinishedRow {
  InstrDesc d;
  RowDetails details;
  WordFormat first = WordFormat::Sm75, last = WordFormat::Sm120;
};

/// A row under construction.
struct Draft {
  InstrDesc d;
  RowDetails details;
  std::array<Slot, kMaxOperands> slots{};
  std::array<AluForms, 2> alu{};
  std::array<ExplicitForm, kMaxForms> explicitForms{};
  std::array<Fixed, 12> fixed{};
  unsigned aluCount = 0, explicitCount = 0, fixedCount = 0, limitCount = 0;
  WordFormat format = WordFormat::Sm90;
  WordFormat first = WordFormat::Sm75, last = WordFormat::Sm120; ///< the generations with the answers of since()

  /// Whether the row is one of a generation or of a later one.
  constexpr bool since(WordFormat generation) {
    const bool isIt = format >= generation;
    if (isIt)
      first = std::max(first, generation);
    else
      last = std::min(last, previous(generation));
    return isIt;
  }

  constexpr void add(const Slot& s) { slots[d.slotCount++] = s; }
  constexpr void add(const ModDesc& m) { d.mods[d.modCount++] = m; }
  constexpr void add(const CodedMod& m) {
    add(m.mod);
    setCodes(m);
  }
  constexpr void add(Order order) {
    if (since(WordFormat::Sm80))
      add(mod(Mod::Order, 77, 4, order.isLoad ? kOrderNames : kStoreOrderNames));
    else
      add(turingOrder(order.isLoad));
  }
  constexpr void add(ZeroUniform z) { add(since(WordFormat::Sm100) ? fix(z.pos, 8, 255) : fix(z.pos, 6, 63)); }
  template <typename... Parts> constexpr void add(const PartsOf<Parts...>& own) {
    if (!since(own.first) || (own.last < WordFormat::Sm120 && since(next(own.last)))) return;
    if constexpr ((... || (std::is_same_v<Parts, ExplicitForm> || std::is_same_v<Parts, AluForms>)))
      aluCount = explicitCount = 0;
    std::apply([&](const auto&... part) { (replace(part), ...); }, own.parts);
  }
  template <typename Part> constexpr void replace(const Part& part) { add(part); }
  constexpr void replace(const Slot& s) { slots[slotNamed(s.desc.name)] = s; }
  constexpr void replace(const ModDesc& m) {
    for (unsigned i = 0; i < d.modCount; ++i)
      if (d.mods[i].kind == m.kind) {
        const std::int8_t slot = d.mods[i].slot;
        d.mods[i] = m;
        d.mods[i].slot = slot;
        return;
      }
    add(m);
  }
  constexpr void replace(const CodedMod& m) {
    replace(m.mod);
    setCodes(m);
  }
  constexpr void add(const Suffix& s) {
    d.mods[d.modCount] = s.mod;
    d.mods[d.modCount++].slot = static_cast<std::int8_t>(d.slotCount - 1);
  }
  constexpr void add(const AluForms& a) { alu[aluCount++] = a; }
  constexpr void add(const ExplicitForm& f) { explicitForms[explicitCount++] = f; }
  constexpr void add(const Fixed& f) { fixed[fixedCount++] = f; }
  constexpr void add(const Unit& u) {
    d.pipe = u.pipe;
    d.latencyClass = u.latencyClass;
  }
  constexpr void add(Flag flag) { d.flags |= static_cast<std::uint32_t>(flag); }
  constexpr void add(Alias alias) { d.alias = alias; }
  constexpr void add(Mnemonic name) { d.mnemonic = name.text; }
  constexpr void add(Sms sms) { d.sms = sms.mask; }
  constexpr void add(const ModLimit& limit) {
    details.limits[limitCount++] = limit;
    details.limitedSms |= limit.sms;
  }

  constexpr FinishedRow finish();

 private:
  constexpr void setCodes(const CodedMod& m) {
    for (unsigned i = 0; i < d.modCount; ++i)
      if (d.mods[i].kind == m.mod.kind) details.codes[i] = m.codes;
    details.isCoded = true;
  }
  constexpr unsigned slotAt(AluPos pos) const {
    for (unsigned i = 0; i < d.slotCount; ++i)
      if (slots[i].alu == pos) return i;
    return kMaxOperands;
  }
  constexpr unsigned slotNamed(std::string_view name) const {
    for (unsigned i = 0; i < d.slotCount; ++i)
      if (slots[i].desc.name == name) return i;
    return kMaxOperands;
  }
  constexpr bool isInNoForm(unsigned slot) const {
    for (unsigned i = 0; i < d.formCount; ++i)
      if (d.field(d.forms[i], slot).kind != Enc::None) return false;
    return d.formCount != 0;
  }
  /// A field without those of its modifier bits that another slot's field covers (the shift of LEA.HI overlaps the
  /// negation of C).
  constexpr FieldEnc freeOf(FieldEnc f, unsigned slot) const {
    for (unsigned i = 0; i < d.slotCount; ++i) {
      if (i == slot) continue;
      const FieldEnc& other = d.fields[i];
      const auto covered = [&](unsigned bit) { return bit >= other.pos && bit < unsigned{other.pos} + other.width; };
      if (covered(f.neg)) f.neg = 0;
      if (covered(f.inv)) f.inv = 0;
      if (covered(f.abs)) f.abs = 0;
    }
    return f;
  }
  constexpr Form& newForm(unsigned opcode, unsigned bit91) {
    Form& f = d.forms[d.formCount++];
    f.opcode = static_cast<std::uint16_t>(opcode);
    f.bit91 = static_cast<std::uint8_t>(bit91);
    return f;
  }
  constexpr void put(Form& f, unsigned slot, const FieldEnc& field) {
    f.overrides[f.overrideCount++] = {static_cast<std::uint8_t>(slot), ofFormat(field)};
  }
  /// Uniform registers have 8 bits from sm_100 on.
  constexpr FieldEnc ofFormat(FieldEnc field) {
    if (field.kind == Enc::Ugpr && field.width2 == 0 && since(WordFormat::Sm100)) field.width = 8;
    return field;
  }
  /// Observed: nvdisasm writes no descriptors before sm_90.
  constexpr SlotText textOf(const Slot& s) {
    SlotText text = s.text;
    if (text.bracket == Bracket::Descriptor && !since(WordFormat::Sm90)) text.omitPrinted = true;
    return text;
  }
  constexpr void expandAlu(const AluForms& a);
  constexpr void fixBits(Form& f);
};

constexpr void setBits(Word& w, unsigned pos, unsigned width, std::uint64_t value) {
  for (unsigned i = 0; i < width; ++i) {
    const unsigned b = pos + i;
    std::uint64_t& half = b < 64 ? w.lo : w.hi;
    const std::uint64_t mask = std::uint64_t{1} << (b & 63);
    half = (value >> i & 1) != 0 ? half | mask : half & ~mask;
  }
}

constexpr void Draft::expandAlu(const AluForms& a) {
  const bool uniform = a.shape == Shape::UBC || a.shape == Shape::UB || a.shape == Shape::UC;
  const unsigned b = slotAt(AluPos::B), c = slotAt(AluPos::C);
  const Enc plain = uniform ? Enc::Ugpr : Enc::Gpr;
  const auto opcode = [&](unsigned formBits) { return a.base | formBits << 9; };
  // Adds the forms for the other operand kinds of one slot; `bGoesToC`: B's register moves to C's bits.
  const auto others = [&](unsigned slotIndex, unsigned immForm, unsigned constForm, unsigned uregForm, bool bGoesToC) {
    const auto one = [&](unsigned formBits, unsigned bit91, Enc kind) {
      Form& f = newForm(opcode(formBits), bit91);
      // An operand in the middle of the word has the abs and neg bits of B, regardless of its slot.
      Slot s = slots[slotIndex];
      put(f, slotIndex, aluField(s, AluPos::B, kind));
      if (bGoesToC && b != slotIndex && b != kMaxOperands) put(f, b, freeOf(aluField(slots[b], AluPos::C, plain), b));
    };
    if (immForm != 0) one(immForm, uniform ? 1 : 0, Enc::UImm);
    if (!uniform && constForm != 0 && !since(WordFormat::Sm100)) one(constForm, 2, Enc::Const);
    if (!uniform && uregForm != 0) one(uregForm, 1, Enc::Ugpr);
  };
  newForm(opcode(1), uniform ? 1 : 0);
  switch (a.shape) {
  case Shape::BC:
  case Shape::UBC:
    others(b, 4, 5, 6, false);
    others(c, 2, 3, 7, true);
    break;
  case Shape::BCur:
    others(b, 4, 5, 6, false);
    others(c, 0, 3, 7, true);
    break;
  case Shape::BCimm:
    others(b, 4, 5, 6, false);
    others(c, 2, 0, 0, true);
    break;
  case Shape::BCNoImm:
    others(b, 0, 5, 6, false);
    others(c, 0, 3, 7, true);
    break;
  case Shape::BNoImm: others(b, 0, 5, 6, false); break;
  case Shape::B:
  case Shape::UB: others(b, 4, 5, 6, false); break;
  case Shape::BatC: others(b, 2, 3, 7, false); break;
  case Shape::BatCNoImm: others(b, 0, 3, 7, false); break;
  case Shape::C:
  case Shape::UC: others(c, 2, 3, 7, true); break;
  case Shape::RrrOnly: break;
  }
}

/// All bits of a form that belong to no field are fixed.
constexpr void Draft::fixBits(Form& f) {
  Word covered;
  const auto cover = [&](unsigned pos, unsigned width) { setBits(covered, pos, width, ~std::uint64_t{0}); };
  cover(12, 4);   // guard
  cover(105, 17); // control
  for (unsigned i = 0; i < d.slotCount; ++i) {
    const FieldEnc& e = d.field(f, i);
    if (e.kind == Enc::None) continue;
    cover(e.pos, e.width);
    cover(e.pos2, e.width2);
    for (unsigned bit : {e.neg, e.abs, e.inv, e.reuse})
      if (bit != 0) cover(bit, 1);
    if (e.half != 0) cover(e.half, 2);
    if (e.kind == Enc::Const) {
      cover(e.ur, 6);
      cover(91, 1);
    }
  }
  for (unsigned i = 0; i < d.modCount; ++i) {
    cover(d.mods[i].pos, d.mods[i].width);
    cover(d.mods[i].pos2, d.mods[i].width2);
  }
  f.fixed = {~covered.lo, ~covered.hi};
  setBits(f.value, 0, 12, f.opcode);
  if (f.bit91 == 1) setBits(f.value, 91, 1, 1);
  for (unsigned i = 0; i < fixedCount; ++i)
    setBits(f.value, fixed[i].pos, fixed[i].width, fixed[i].value);
  // A fixed field may overlap an operand of some form; there the operand wins.
  f.value = {f.value.lo & f.fixed.lo, f.value.hi & f.fixed.hi};
}

constexpr std::uint8_t acceptsOf(Enc kind) {
  switch (kind) {
  case Enc::UImm:
  case Enc::SImm: return kAcceptsImm;
  case Enc::Const: return kAcceptsConst;
  case Enc::Label: return kAcceptsLabel;
  case Enc::Implied: return kAcceptsNone;
  default: return kAcceptsReg;
  }
}

/// Bit i: value i is legal; for the first 64 values.
constexpr std::uint64_t legalValues(std::string_view names) {
  std::uint64_t legal = 0;
  std::size_t from = 0;
  for (unsigned value = 0; value < 64; ++value) {
    std::size_t to = from;
    while (to < names.size() && names[to] != '|')
      ++to;
    if (to - from != 1 || names[from] != '!') legal |= std::uint64_t{1} << value;
    if (to == names.size()) break;
    from = to + 1;
  }
  return legal;
}

constexpr FinishedRow Draft::finish() {
  for (unsigned i = 0; i < d.modCount; ++i) {
    d.modKinds[i] = d.mods[i].kind;
    d.modDefaults[i] = d.mods[i].defaultValue;
    d.mods[i].legalValues = legalValues(d.mods[i].names);
  }
  for (unsigned i = 0; i < d.slotCount; ++i) {
    Slot& s = slots[i];
    if (s.alu != AluPos::None) {
      s.field = aluField(s, s.alu, s.desc.file == File::UR ? Enc::Ugpr : Enc::Gpr);
      if (s.alu == AluPos::B && aluCount != 0 && (alu[0].shape == Shape::BatC || alu[0].shape == Shape::BatCNoImm) &&
          !s.noReuse)
        s.field.reuse = 124;
    }
    d.slots[i] = s.desc;
    d.roles[i] = s.desc.role;
    d.slotIds[i] = slotIdOf(s.desc.name);
    d.fields[i] = ofFormat(s.field);
    d.texts[i] = textOf(s);
    d.defaults[i] = s.def;
  }
  for (unsigned i = 0; i < aluCount; ++i)
    expandAlu(alu[i]);
  const unsigned firstExplicit = d.formCount;
  for (unsigned i = 0; i < explicitCount; ++i) {
    const ExplicitForm& e = explicitForms[i];
    Form& f = newForm(e.opcode, e.bit91);
    for (const NamedField& n : e.fields)
      if (!n.slot.empty()) put(f, slotNamed(n.slot), n.field);
  }
  // A modifier that is written after an operand which these words do not have moves to the previous operand.
  for (unsigned i = 0; i < d.modCount; ++i)
    while (d.mods[i].slot > 0 && isInNoForm(static_cast<unsigned>(d.mods[i].slot)))
      --d.mods[i].slot;
  for (unsigned i = 0; i < d.formCount; ++i) {
    fixBits(d.forms[i]);
    // The fixed bits of a form override those of the row.
    if (i >= firstExplicit) {
      for (const Fixed& own : explicitForms[i - firstExplicit].extra)
        setBits(d.forms[i].value, own.pos, own.width, own.value);
    }
    for (unsigned s = 0; s < d.slotCount; ++s) {
      const Enc kind = d.field(d.forms[i], s).kind;
      const bool isOtherFile = acceptsOf(kind) == kAcceptsReg && fileOf(kind) != d.slots[s].file;
      if (kind != Enc::None) d.slots[s].accepts |= isOtherFile ? kAcceptsUReg : acceptsOf(kind);
    }
  }
  return {d, details, first, last};
}

template <typename... Parts>
constexpr FinishedRow row(WordFormat format, Op op, std::string_view name, std::string_view mnemonic,
                          const Parts&... parts) {
  Draft draft;
  draft.format = format;
  draft.d.op = op;
  draft.d.name = name;
  draft.d.mnemonic = mnemonic;
  (draft.add(parts), ...);
  return draft.finish();
}

} // namespace orias::isa::rows
