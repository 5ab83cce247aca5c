#include "encoder/isa/codec.h"
#include "encoder/isa/print.h"
#include "encoder/isa/row_details.h"
#include "encoder/isa/target.h"
#include "encoder/isa/word.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::isa {

namespace {

Enc encOf(File file) {
  switch (file) {
  case File::R: return Enc::Gpr;
  case File::UR: return Enc::Ugpr;
  case File::P: return Enc::Pred;
  case File::UP: return Enc::Upred;
  case File::B: return Enc::Bar;
  }
  return Enc::None;
}

bool fitsUnsigned(std::int64_t value, unsigned width) {
  return value >= 0 && static_cast<std::uint64_t>(value) <= lowMask(width);
}

bool fitsSigned(std::int64_t value, unsigned width) {
  const std::int64_t limit = std::int64_t{1} << (width - 1);
  return value >= -limit && value < limit;
}

/// All ones is the register that reads as zero or true.
bool fitsRegister(const Operand& o, unsigned width) {
  return o.file == File::UR ? o.reg == kURZ || o.reg < lowMask(width) : o.reg <= lowMask(width);
}

bool isScaled(std::int64_t value, unsigned scale) {
  return (static_cast<std::uint64_t>(value) & lowMask(scale)) == 0;
}

/// Why a field cannot encode an operand; null if it can. Kinds are checked first: `kindOnly` stops there.
const char* mismatch(const FieldEnc& f, const Operand& o, bool kindOnly = false) {
  switch (o.kind) {
  case Operand::Kind::None: return f.kind == Enc::None ? nullptr : "an operand is missing";
  case Operand::Kind::Reg:
    if (f.kind != encOf(o.file) && !(f.kind == Enc::PredInverted && o.file == File::P) &&
        !(f.kind == Enc::UpredInverted && o.file == File::UP))
      return "a register of this file is not allowed here";
    if (!kindOnly && !o.isVirtual() && !fitsRegister(o, f.width + f.width2)) return "the register index is too high";
    break;
  case Operand::Kind::Imm:
  case Operand::Kind::Frame:
    if (f.kind != Enc::UImm && f.kind != Enc::SImm) return "an immediate is not allowed here";
    break;
  case Operand::Kind::Symbol:
    if (f.kind != Enc::UImm && f.kind != Enc::SImm && f.kind != Enc::Label)
      return "a symbol address is not allowed here";
    break;
  case Operand::Kind::Const:
    if (f.kind != Enc::Const) return "a constant bank operand is not allowed here";
    break;
  case Operand::Kind::Label:
    if (f.kind != Enc::Label) return "a label is not allowed here";
    break;
  }
  if (o.kind == Operand::Kind::Imm) {
    const unsigned width = f.width + f.width2 + f.scale;
    // A field of 32 bits holds both signed and unsigned values.
    const std::int64_t value = f.kind == Enc::UImm && width < 32 ? o.imm : static_cast<std::int64_t>(o.imm);
    if (width < 32 && !(f.kind == Enc::SImm ? fitsSigned(value, width) : fitsUnsigned(value, width)))
      return "the immediate is out of range";
    if (!isScaled(value, f.scale)) return "the immediate is not a multiple of the unit";
  }
  if (o.kind == Operand::Kind::Const) {
    if (!fitsUnsigned(o.imm, f.width + f.scale) || !isScaled(o.imm, f.scale))
      return "the constant's offset does not fit";
    if (o.bank > lowMask(f.width2)) return "the constant bank does not fit";
    if (o.reg != Operand::kNoReg && !o.isVirtual() && o.reg != kURZ && o.reg >= lowMask(6))
      return "the register index is too high";
  }
  if (o.kind == Operand::Kind::Label && !kindOnly && !isScaled(o.imm, f.scale)) return "the target is not aligned";
  if (o.neg() && f.neg == 0) return "it cannot be negated here";
  if (o.abs() && f.abs == 0) return "its absolute value cannot be taken here";
  if (o.inverted() && f.inv == 0) return "it cannot be inverted here";
  if (o.half != Operand::Half::None && f.half == 0) return "its halves cannot be selected here";
  // Only allocated code has .reuse. Without this check a form without reuse bits would ignore it.
  if (o.reuse() && f.reuse == 0) return ".reuse is not allowed here";
  return nullptr;
}

const Operand& effective(const InstrDesc& d, unsigned slot, const Operand& o, const FieldEnc& f) {
  return o.isNone() && f.kind != Enc::None ? d.defaults[slot] : o;
}

/// As mismatch() for an operand that is not in the word.
const char* impliedMismatch(const Operand& implied, const Operand& o) {
  const bool isSame = o.kind == implied.kind && o.reg == implied.reg && o.imm == implied.imm &&
                      o.neg() == implied.neg() && o.inverted() == implied.inverted();
  return isSame ? nullptr : "another operand is not allowed here";
}

/// The first form that accepts all operands; otherwise null, with the slot and error of the best match.
const Form* chooseForm(const InstrDesc& d, std::span<const Operand> operands, unsigned& badSlot, const char*& why) {
  badSlot = 0;
  why = "the instruction has no encoding";
  unsigned best = 0;
  for (const Form& form : d.formList()) {
    unsigned slot = 0;
    const char* complaint = nullptr;
    for (; slot < d.slotCount; ++slot) {
      const FieldEnc& f = d.field(form, slot);
      const Operand& o = effective(d, slot, operands[slot], f);
      complaint = f.kind == Enc::Implied ? impliedMismatch(d.defaults[slot], o) : mismatch(f, o);
      if (complaint != nullptr) break;
    }
    if (complaint == nullptr) return &form;
    if (slot >= best) {
      best = slot;
      badSlot = slot;
      why = complaint;
    }
  }
  return nullptr;
}

void putOperand(Word& w, const FieldEnc& f, const Operand& o) {
  std::uint64_t value = 0;
  switch (f.kind) {
  case Enc::None:
  case Enc::Implied: return;
  case Enc::Gpr:
  case Enc::Ugpr:
  case Enc::Pred:
  case Enc::Upred:
  case Enc::Bar: value = o.reg; break;
  case Enc::UpredInverted:
  case Enc::PredInverted: value = 7 - o.reg; break;
  case Enc::UImm:
  case Enc::SImm:
  case Enc::Label: value = static_cast<std::uint64_t>(static_cast<std::int64_t>(o.imm) >> f.scale); break;
  case Enc::Const:
    setBits(w, f.pos, f.width, static_cast<std::uint64_t>(o.imm) >> f.scale);
    setBits(w, f.pos2, f.width2, o.bank);
    if (o.reg != Operand::kNoReg) {
      setBits(w, f.ur, 6, o.reg); // URZ is all ones
      setBits(w, 91, 1, 1);
    }
    break;
  }
  if (f.kind != Enc::Const) {
    setBits(w, f.pos, f.width, value);
    setBits(w, f.pos2, f.width2, value >> f.width);
  }
  const auto flag = [&](unsigned bit, bool on) {
    if (bit != 0) setBits(w, bit, 1, on ? 1 : 0);
  };
  // Negation and inversion of sources share a bit; a slot allows one of them.
  flag(f.neg, o.neg());
  flag(f.abs, o.abs());
  flag(f.inv, o.inverted());
  flag(f.reuse, o.reuse());
  if (f.half != 0) {
    static constexpr std::uint8_t kHalfBits[] = {0, 2, 3, 0, 1};
    setBits(w, f.half, 2, kHalfBits[static_cast<unsigned>(o.half)]);
  }
}

void putControl(Word& w, const Control& c) {
  setBits(w, 105, 4, c.stall);
  setBits(w, 109, 1, c.yield ? 1 : 0);
  setBits(w, 110, 3, c.writeBarrier);
  setBits(w, 113, 3, c.readBarrier);
  setBits(w, 116, 6, c.waitMask);
}

} // namespace

EncodeResult encode(const Inst& inst, WordFormat format) {
  const InstrDesc& d = desc(inst.op, format);
  EncodeResult result;
  const auto fail = [&](std::string_view what) {
    result.error = fmt::format("{}: {}", d.mnemonic, what);
    return result;
  };
  if (d.formCount == 0) return fail("is a pseudo instruction and has no encoding");
  for (unsigned i = 0; i < d.slotCount; ++i)
    if (inst.operands[i].isVirtual()) return fail(fmt::format("{} is not allocated", d.slots[i].name));
  const unsigned sourceBits = sourceBitsOf(inst.op, inst.mods);
  for (unsigned i = 0; i < d.modCount; ++i)
    if (!d.mods[i].isLegal(inst.mods[i], sourceBits))
      return fail(fmt::format("modifier {} has no value {}", i, inst.mods[i]));

  unsigned badSlot = 0;
  const char* why = nullptr;
  const Form* form = chooseForm(d, inst.operands, badSlot, why);
  if (form == nullptr) return fail(fmt::format("{} ({}): {}", d.slots[badSlot].name, printOperand(inst, badSlot), why));

  Word& w = result.word;
  w = form->value;
  for (unsigned i = 0; i < d.slotCount; ++i) {
    const FieldEnc& f = d.field(*form, i);
    putOperand(w, f, effective(d, i, inst.operands[i], f));
  }
  const RowDetails& details = detailsOf(inst.op, format);
  for (unsigned i = 0; i < d.modCount; ++i) {
    const ModDesc& m = d.mods[i];
    const unsigned value = details.encoded(m, i, inst.mods[i]);
    setBits(w, m.pos, m.width, value);
    setBits(w, m.pos2, m.width2, value >> m.width);
  }
  const Operand& guard = inst.guard;
  if (guard.kind != Operand::Kind::Reg || guard.isVirtual() || guard.reg > 7)
    return fail("the guard is not a predicate register");
  setBits(w, 12, 3, guard.reg);
  setBits(w, 15, 1, guard.inverted() ? 1 : 0);
  putControl(w, inst.control);
  return result;
}

bool isListedFor(const Target& target, Op op) {
  return (desc(op).sms & target.instructions()) != 0;
}

bool existsOn(const Target& target, Op op, std::span<const std::uint8_t, kMaxMods> mods) {
  // Phase 105 replaces ULDC with LDCU.
  if (!isListedFor(target, op))
    return (op == Op::ULDC || op == Op::ULDC_INDEXED) && target.has(Capability::UniformLoadConstant);
  const RowDetails& details = detailsOf(op, target.words());
  const std::uint16_t chip = target.instructions();
  if ((details.limitedSms & chip) == 0) return true;
  return std::ranges::all_of(details.limits, [&](const ModLimit& limit) {
    return (limit.sms & chip) == 0 || (limit.values >> getMod(op, mods, limit.kind) & 1) != 0;
  });
}

EncodeResult encode(const Inst& inst, const Target& target) {
  const bool isKept = target.words() < WordFormat::Sm100 || isListedFor(target, inst.op); // not ULDC
  if (isKept && existsOn(target, inst.op, inst.mods)) return encode(inst, target.words());
  EncodeResult result;
  result.error = fmt::format("{}: {} does not have it", desc(inst.op).mnemonic, target.name());
  return result;
}

bool accepts(Op op, std::span<const std::uint8_t, kMaxMods>, unsigned slot, const Operand& operand) {
  const InstrDesc& d = desc(op);
  if (d.isPseudo()) return true;
  if (slot >= d.slotCount) return false;
  if (operand.isNone()) return (d.slots[slot].accepts & kAcceptsNone) != 0;
  for (const Form& form : d.formList())
    if (mismatch(d.field(form, slot), operand, true) == nullptr) return true;
  return false;
}

bool fits(Op op, std::span<const std::uint8_t, kMaxMods>, std::span<const Operand> operands) {
  const InstrDesc& d = desc(op);
  if (d.isPseudo()) return true;
  if (operands.size() < d.slotCount) return false;
  for (const Form& form : d.formList()) {
    bool good = true;
    for (unsigned i = 0; good && i < d.slotCount; ++i) {
      const FieldEnc& f = d.field(form, i);
      good = mismatch(f, effective(d, i, operands[i], f), true) == nullptr;
    }
    if (good) return true;
  }
  return false;
}

std::array<unsigned, kMaxOperands> reuseBits(Op op, std::span<const Operand> operands) {
  std::array<unsigned, kMaxOperands> bits{};
  unsigned badSlot = 0;
  const char* why = nullptr;
  const InstrDesc& d = desc(op);
  if (operands.size() != d.slotCount) return bits;
  if (const Form* form = chooseForm(d, operands, badSlot, why))
    for (unsigned slot = 0; slot < d.slotCount; ++slot)
      bits[slot] = d.field(*form, slot).reuse;
  return bits;
}

} // namespace orias::isa
