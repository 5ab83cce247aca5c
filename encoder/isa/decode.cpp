#include "encoder/isa/codec.h"
#include "encoder/isa/opcode_index.h"
#include "encoder/isa/row_details.h"
#include "encoder/isa/target.h"
#include "encoder/isa/word.h"

namespace orias::isa {

namespace {

/// Returns false if an Inst cannot represent the contents of a field.
bool getOperand(const Word& w, const FieldEnc& f, unsigned width, Operand& o) {
  const std::uint64_t raw = getBits(w, f.pos, f.width) | getBits(w, f.pos2, f.width2) << f.width;
  const auto reg = [&](File file) { o = Operand::physical(file, static_cast<std::uint32_t>(raw), width); };
  switch (f.kind) {
  case Enc::None:
  case Enc::Implied: o = Operand{}; return true;
  case Enc::Gpr: reg(File::R); break;
  case Enc::Ugpr:
    reg(File::UR);
    if (raw == lowMask(f.width + f.width2)) o.reg = kURZ;
    break;
  case Enc::Pred: reg(File::P); break;
  case Enc::Upred: reg(File::UP); break;
  case Enc::PredInverted: o = Operand::physical(File::P, static_cast<std::uint32_t>(7 - raw)); break;
  case Enc::UpredInverted: o = Operand::physical(File::UP, static_cast<std::uint32_t>(7 - raw)); break;
  case Enc::Bar: reg(File::B); break;
  case Enc::UImm: o = Operand::immediate(static_cast<std::int32_t>(raw << f.scale)); break;
  case Enc::SImm: {
    const std::int64_t value = signExtend(raw, f.width + f.width2) * (std::int64_t{1} << f.scale);
    if (f.width + f.width2 > 32 && value != static_cast<std::int32_t>(value)) return false;
    o = Operand::immediate(static_cast<std::int32_t>(value));
    break;
  }
  case Enc::Label: {
    const std::int64_t distance = signExtend(raw, f.width + f.width2) * (std::int64_t{1} << f.scale);
    if (distance != static_cast<std::int32_t>(distance)) return false;
    o = Operand{};
    o.kind = Operand::Kind::Label;
    o.imm = static_cast<std::int32_t>(distance);
    break;
  }
  case Enc::Const:
    o = Operand::constant(static_cast<unsigned>(getBits(w, f.pos2, f.width2)),
                          static_cast<std::int32_t>(getBits(w, f.pos, f.width) << f.scale), width);
    if (getBits(w, 91, 1) != 0) {
      o.reg = static_cast<std::uint32_t>(getBits(w, f.ur, 6));
      if (o.reg == lowMask(6)) o.reg = kURZ;
      if (o.bank != 0) return false;
    } else if (getBits(w, f.ur, 6) != 0) {
      return false;
    }
    break;
  }
  const auto flag = [&](unsigned bit, std::uint8_t value) {
    if (bit != 0 && getBits(w, bit, 1) != 0) o.flags = static_cast<std::uint8_t>(o.flags | value);
  };
  flag(f.neg, Operand::kNeg);
  flag(f.abs, Operand::kAbs);
  flag(f.inv, Operand::kNot);
  flag(f.reuse, Operand::kReuse);
  if (f.half != 0) {
    using Half = Operand::Half;
    static constexpr Half kHalves[] = {Half::None, Half::F32, Half::H0H0, Half::H1H1};
    o.half = kHalves[getBits(w, f.half, 2)];
  }
  return true;
}

bool decodeAs(const Word& w, const InstrDesc& d, const Form& form, const RowDetails& details, Inst& inst) {
  inst.op = d.op;
  inst.operandCount = d.slotCount;
  for (unsigned i = 0; i < d.modCount; ++i) {
    const ModDesc& m = d.mods[i];
    const unsigned value = details.decoded(
        m, i, static_cast<unsigned>(getBits(w, m.pos, m.width) | getBits(w, m.pos2, m.width2) << m.width));
    if (!m.isLegal(value)) return false;
    inst.mods[i] = static_cast<std::uint8_t>(value);
  }
  if (const unsigned sourceBits = sourceBitsOf(d.op, inst.mods); sourceBits != 8)
    for (unsigned i = 0; i < d.modCount; ++i)
      if (!d.mods[i].isLegal(inst.mods[i], sourceBits)) return false;
  for (unsigned i = 0; i < d.slotCount; ++i) {
    const unsigned width = operandWidth(d.op, inst.mods, i);
    const FieldEnc& field = d.field(form, i);
    if (!getOperand(w, field, width, inst.operands[i])) return false;
    if (field.kind == Enc::Implied) inst.operands[i] = d.defaults[i];
  }
  inst.guard = Operand::physical(d.guardFile(), static_cast<std::uint32_t>(getBits(w, 12, 3)));
  if (getBits(w, 15, 1) != 0) inst.guard.flags = Operand::kNot;
  inst.control = controlOf(w);
  return true;
}

} // namespace

Control controlOf(const Word& word) {
  Control c;
  c.stall = static_cast<std::uint8_t>(getBits(word, 105, 4));
  c.yield = getBits(word, 109, 1) != 0;
  c.writeBarrier = static_cast<std::uint8_t>(getBits(word, 110, 3));
  c.readBarrier = static_cast<std::uint8_t>(getBits(word, 113, 3));
  c.waitMask = static_cast<std::uint8_t>(getBits(word, 116, 6));
  return c;
}

std::optional<Inst> decode(const Word& word, WordFormat format) {
  for (const FormId id : formsOf(static_cast<unsigned>(getBits(word, 0, 12)), format)) {
    const InstrDesc& d = desc(id.op, format);
    const Form& form = d.forms[id.form];
    if ((word.lo & form.fixed.lo) != form.value.lo || (word.hi & form.fixed.hi) != form.value.hi) continue;
    Inst inst;
    if (decodeAs(word, d, form, detailsOf(id.op, format), inst)) return inst;
  }
  return std::nullopt;
}

std::optional<Inst> decodeFor(const Target& target, const Word& word) {
  std::optional<Inst> inst = decode(word, target.words());
  // Observed: nvdisasm also decodes instructions of older chips for sm_90.
  if (inst && target.words() != WordFormat::Sm90 && !isListedFor(target, inst->op)) return std::nullopt;
  return inst;
}

} // namespace orias::isa
