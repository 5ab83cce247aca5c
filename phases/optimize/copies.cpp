// Copy propagation: uses of the result of a COPY or MOV are replaced by its source, where the instruction allows it.

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/optimize/known_bits.h"
#include "phases/optimize/rewriter.h"

#include <array>
#include <bit>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool isSwap(Op op) {
  return op == Op::ATOMG_CAS || op == Op::ATOM_CAS;
}

/// The source that one component is a copy of; nothing if it is no copy, or the source may change.
std::optional<Operand> sourceOf(const Rewriter& rw, const Operand& use, unsigned index) {
  const Definition def = rw.definition(use, index);
  if (!def || !isa::desc(def.instr->op).has(isa::Flag::Copy) || def.slot != 0) return std::nullopt;
  const Instr& copy = *def.instr;
  // A MOV may apply to some lanes of each quad only.
  if (copy.operandCount > 2 && !copy.op_(2).isNone() && copy.op_(2).imm != 15) return std::nullopt;
  const Operand source = copy.op_(1).value();
  if (source.half != Operand::Half::None || source.neg() || source.abs()) return std::nullopt;
  if (source.isReg()) {
    if (!rw.isStable(source)) return std::nullopt;
    return ori::component(source, def.index);
  }
  const bool isPlainConst = source.isConst() && source.reg == Operand::kNoReg;
  if (copy.op_(0).width == 1 && (source.isImm() || isPlainConst)) return source;
  return std::nullopt;
}

/// The registers of a wide operand are consecutive and aligned to their number.
bool isAligned(const ori::Function& function, const Operand& o) {
  const unsigned align = ori::defaultAlign(o.width);
  return !o.isVirtual() || (o.sub % align == 0 && function.vreg(o.reg).align % align == 0);
}

/// The source that the whole operand is a copy of, without the operand's own modifiers.
std::optional<Operand> copiedValue(const Rewriter& rw, const Operand& use) {
  std::optional<Operand> all = sourceOf(rw, use, 0);
  if (!all || use.width == 1) return all;
  const bool isZero = all->isZeroReg() || (all->isImm() && all->imm == 0);
  if (!isZero && (!all->isReg() || all->isZeroReg())) return std::nullopt;
  for (unsigned k = 1; k < use.width; ++k) {
    const std::optional<Operand> part = sourceOf(rw, use, k);
    if (!part) return std::nullopt;
    if (isZero ? !(part->isZeroReg() || (part->isImm() && part->imm == 0)) : *part != ori::component(*all, k))
      return std::nullopt;
  }
  if (isZero) return Operand::zero(use.file, use.width);
  all->width = use.width;
  return isAligned(rw.function(), *all) ? all : std::nullopt;
}

/// Whether the slot takes the high word of a double as an immediate, with a low word of 0.
bool takesHighWord(const Instr& instr, unsigned slot) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return !row.isPseudo() && slot < row.slotCount && row.texts[slot].style == isa::Style::F64;
}

/// The immediate for a pair whose low word is 0 and whose high word is a constant.
std::optional<Operand> doubleImmediate(const Rewriter& rw, const Operand& use) {
  if (use.width != 2) return std::nullopt;
  const std::optional<Operand> low = sourceOf(rw, use, 0), high = sourceOf(rw, use, 1);
  if (!low || !high || !high->isImm()) return std::nullopt;
  if (!low->isZeroReg() && !(low->isImm() && low->imm == 0)) return std::nullopt;
  return high;
}

/// Whether an immediate in the slot means the same as a register with that value: only in plain integer and float
/// operations.
bool takesPlainImmediates(const Instr& instr, unsigned slot) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (instr.op == Op::SHFL || takesHighWord(instr, slot)) return true;
  if (row.pipe == isa::Pipe::Fp16) return row.texts[slot].style == isa::Style::F16x2;
  if (row.pipe != isa::Pipe::Alu && row.pipe != isa::Pipe::Fma && row.pipe != isa::Pipe::Uniform) return false;
  if (row.modIndex(isa::Mod::Byte) >= 0) return false;
  switch (row.texts[slot].style) {
  case isa::Style::Hex:
  case isa::Style::SignedHex:
  case isa::Style::ByType:
  case isa::Style::F32: return true;
  default: return false;
  }
}

/// The value with the modifiers of the operand that it replaces; nothing if it cannot have them.
std::optional<Operand> withModifiersOf(const Instr& instr, unsigned slot, const Operand& use, Operand value) {
  constexpr std::uint8_t kModifiers = Operand::kNeg | Operand::kAbs | Operand::kNot;
  if (value.isImm() && value.imm == 0 && use.file == File::R) value = Operand::rz();
  if (!value.isImm()) {
    if (value.isConst() && use.half != Operand::Half::None) return std::nullopt;
    // Sources of copies have no modifiers except the inversion of predicates.
    value.flags = static_cast<std::uint8_t>(value.flags ^ (use.flags & kModifiers));
    value.half = use.half;
    return value;
  }
  auto bits = static_cast<std::uint32_t>(value.imm);
  const isa::Style style = isa::desc(instr.op).texts[slot].style;
  if (style == isa::Style::F16x2) {
    if (use.inverted()) return std::nullopt;
    if (use.half == Operand::Half::H0H0) bits = (bits & 0xffff) * 0x10001u;
    if (use.half == Operand::Half::H1H1) bits = (bits >> 16) * 0x10001u;
    if (use.abs()) bits &= 0x7fff7fffu;
    if (use.neg()) bits ^= 0x80008000u;
    value.imm = static_cast<std::int32_t>(bits);
    return value;
  }
  if (use.half != Operand::Half::None) return std::nullopt;
  if (style == isa::Style::F32 || style == isa::Style::F64) {
    if (use.abs()) bits &= 0x7fffffffu;
    if (use.neg()) bits ^= 0x80000000u;
    if (use.inverted()) return std::nullopt;
  } else {
    if (use.abs()) return std::nullopt;
    if (use.neg()) bits = 0u - bits;
    if (use.inverted()) bits = ~bits;
  }
  value.imm = static_cast<std::int32_t>(bits);
  return value;
}

/// -0.0 can be RZ with a sign, which leaves the constant operand to another source.
bool isNegativeZero(const Instr& instr, unsigned slot, const Operand& value) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!value.isImm() || static_cast<std::uint32_t>(value.imm) != 0x80000000u || slot >= row.slotCount) return false;
  const isa::Style style = row.texts[slot].style;
  return (style == isa::Style::F32 || style == isa::Style::F64) && row.slots[slot].canNeg &&
         row.slots[slot].file == File::R;
}

/// Replaces a register by a value. Registers of the same file fit anywhere, other operands where the table allows them.
bool replaceUse(Rewriter& rw, Instr& instr, unsigned slot, const Operand& source) {
  const Operand use = instr.op_(slot).value();
  const bool isPseudo = isa::desc(instr.op).isPseudo();
  // A zero can also be a register. Operands of phis cannot be looked up, as they may exceed the slots of the row.
  if (isPseudo && source.isImm() && source.imm != 0) return false;
  std::optional<Operand> value = withModifiersOf(instr, slot, use, source);
  if (!value) return false;
  if (!isPseudo && isNegativeZero(instr, slot, *value)) value = Operand::rz(use.width).negated();
  if (isPseudo) {
    // Phis take registers only; the expansion of other pseudo instructions decides what they take.
    if (!value->isReg(use.file) || (instr.op == Op::PHI && value->isZeroReg())) return false;
    if (instr.op == Op::PHI && value->inverted()) return false;
  } else {
    if (value->isImm() && !takesPlainImmediates(instr, slot)) return false;
    if (value->isImm() && (use.width == 2) != takesHighWord(instr, slot)) return false;
    if (value->isConst() && isa::desc(instr.op).pipe == isa::Pipe::Uniform) return false;
    // Coordinates are never RZ: nvdisasm does not accept such an encoding.
    if (value->isZeroReg() && isa::desc(instr.op).pipe == isa::Pipe::Tex) return false;
    if (value->isZeroReg() && isSwap(instr.op) && !rw.function().module().target().has(isa::Capability::SwapsZero))
      return false;
    // A constant condition of a branch is not replaced here: that would change control flow.
    if (ori::isTerminator(instr.op) && value->isZeroReg()) return false;
    if (!Rewriter::fitsWith(instr, slot, *value)) return false;
  }
  rw.setOperand(instr, slot, *value);
  return true;
}

/// The equivalent comparison of swapped operands.
isa::FCmp mirrored(isa::FCmp comparison) {
  switch (comparison) {
  case isa::FCmp::LT: return isa::FCmp::GT;
  case isa::FCmp::GT: return isa::FCmp::LT;
  case isa::FCmp::LE: return isa::FCmp::GE;
  case isa::FCmp::GE: return isa::FCmp::LE;
  case isa::FCmp::LTU: return isa::FCmp::GTU;
  case isa::FCmp::GTU: return isa::FCmp::LTU;
  case isa::FCmp::LEU: return isa::FCmp::GEU;
  case isa::FCmp::GEU: return isa::FCmp::LEU;
  default: return comparison;
  }
}

/// Whether the sources of a floating-point comparison can be swapped. The first and last comparison of doubles select
/// the minimum and maximum, and for equal operands the second one.
bool isFloatComparison(const Instr& instr) {
  if (instr.op != Op::FSETP && instr.op != Op::DSETP) return false;
  const auto comparison = isa::modAs<isa::FCmp>(instr, isa::Mod::Cmp);
  return comparison != isa::FCmp::F && comparison != isa::FCmp::T;
}

/// Adapts a comparison whose sources were swapped.
void mirror(Instr& instr) {
  if (instr.op == Op::ISETP)
    isa::setMod(instr.op, instr.mods, {isa::Mod::Cmp, isa::mirrored(isa::modAs<isa::ICmp>(instr, isa::Mod::Cmp))});
  else if (isFloatComparison(instr))
    isa::setMod(instr.op, instr.mods, {isa::Mod::Cmp, mirrored(isa::modAs<isa::FCmp>(instr, isa::Mod::Cmp))});
}

/// The first two sources, if they can be swapped (with mirror(), for a comparison).
std::optional<std::array<unsigned, 2>> commutingSlots(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  const bool isComparison = instr.op == Op::ISETP || isFloatComparison(instr);
  if ((!row.has(isa::Flag::Commutative) && !isComparison) || row.isPseudo()) return std::nullopt;
  // DADD has its second source in slot C.
  const int a = row.slotIndex(isa::SlotId::Ra),
            b = row.slotIndex(row.slotIndex(isa::SlotId::Rb) < 0 ? isa::SlotId::Rc : isa::SlotId::Rb);
  if (a < 0 || b < 0) return std::nullopt;
  return std::array<unsigned, 2>{static_cast<unsigned>(a), static_cast<unsigned>(b)};
}

/// Replaces by an immediate or constant that only the other of two commutative sources can be, swapping them.
bool replaceSwapped(Rewriter& rw, Instr& instr, unsigned slot, const Operand& source) {
  const auto pair = commutingSlots(instr);
  if (!pair || slot != (*pair)[0] || source.isReg()) return false;
  const unsigned other = (*pair)[1];
  const Operand a = instr.op_(slot).value(), b = instr.op_(other).value();
  if (!b.isReg(File::R)) return false;
  const isa::SlotDesc &slotA = isa::desc(instr.op).slots[slot], &slotB = isa::desc(instr.op).slots[other];
  for (const auto& [operand, to] : {std::pair{a, slotB}, std::pair{b, slotA}})
    if ((operand.neg() && !to.canNeg) || (operand.abs() && !to.canAbs) || (operand.inverted() && !to.canNot))
      return false;
  const ori::ChangeId lastChange = instr.lastChange;
  rw.function().setOperand(&instr, slot, b);
  rw.function().setOperand(&instr, other, a);
  if (replaceUse(rw, instr, other, source)) {
    mirror(instr);
    return true;
  }
  rw.function().setOperand(&instr, slot, a);
  rw.function().setOperand(&instr, other, b);
  instr.lastChange = lastChange;
  return false;
}

/// A quick test that excludes most operands.
bool isFromCopy(const Rewriter& rw, const ori::Operand& use) {
  const Definition def = rw.definition(use);
  return def && isa::desc(def.instr->op).has(isa::Flag::Copy);
}

bool propagateIntoGuard(Rewriter& rw, Instr& instr) {
  if (!isFromCopy(rw, instr.guard())) return false;
  const Operand guard = instr.guard().value();
  std::optional<Operand> value = copiedValue(rw, guard);
  if (!value || value->file != guard.file) return false;
  if (ori::isTerminator(instr.op) && value->isZeroReg()) return false;
  if (guard.inverted()) *value = value->notted();
  rw.setGuard(instr, *value);
  return true;
}

} // namespace

bool propagateCopies(Rewriter& rw, Instr& instr) {
  bool isChanged = propagateIntoGuard(rw, instr);
  for (unsigned i = 0; i < instr.operandCount; ++i) {
    // Follows chains of copies. Cyclic copies in unreachable code are limited by the number of steps.
    for (unsigned steps = 0; steps < 16; ++steps) {
      if (instr.op_(i).isDef || !isFromCopy(rw, instr.op_(i))) break;
      const Operand use = instr.op_(i).value();
      std::optional<Operand> value = copiedValue(rw, use);
      if (!value) value = doubleImmediate(rw, use);
      if (!value || !(replaceUse(rw, instr, i, *value) || replaceSwapped(rw, instr, i, *value))) break;
      isChanged = true;
    }
  }
  return isChanged;
}

/// Replaces LDC of one word at a fixed address if all its uses can have the constant as operand.
bool propagateConstantLoad(Rewriter& rw, Instr& instr) {
  constexpr unsigned kMaxUses = 8;
  const std::optional<Operand> place = loadedConstant(instr);
  if (!place || instr.isGuarded()) return false;
  const Operand result = instr.op_(0).value();
  if (!result.isVirtual() || !rw.isSingle(result.reg)) return false;
  auto constantFor = [&](const ori::Operand& use) -> std::optional<Operand> {
    if (use.width != 1 || use.sub < result.sub || use.sub >= result.sub + result.width) return std::nullopt;
    return Operand::constant(place->bank, place->imm + 4 * (use.sub - result.sub));
  };
  std::vector<ori::Ref> uses;
  for (const ori::Ref o : rw.function().refs(result.reg)) {
    if (o->isDef) {
      if (o.owner != &instr) return false;
      continue;
    }
    Instr& user = *o.owner;
    const std::optional<Operand> value = constantFor(*o);
    if (!value || uses.size() == kMaxUses || o.isGuard()) return false;
    const unsigned slot = o.index();
    const isa::InstrDesc& row = isa::desc(user.op);
    if (row.pipe != isa::Pipe::Alu && row.pipe != isa::Pipe::Fma) return false;
    const std::optional<Operand> full = withModifiersOf(user, slot, o->value(), *value);
    if (!full || !Rewriter::fitsWith(user, slot, *full)) return false;
    uses.push_back(o);
  }
  // One instruction may use it twice. Then only the first use is replaced, and the load is kept for the other.
  bool isChanged = false;
  for (const ori::Ref o : uses)
    isChanged |= replaceUse(rw, *o.owner, o.index(), *constantFor(*o));
  return isChanged;
}

/// Turns a phi all of whose sources are one value (or the phi itself) into a copy of that value.
bool simplifyPhi(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::PHI) return false;
  std::optional<Operand> value;
  for (unsigned i = 1; i + 1 < instr.operandCount; i += 2) {
    const Operand o = instr.op_(i).value();
    if (o == instr.op_(0).value()) continue;
    if (!o.isReg() || o.isZeroReg() || o.inverted() || !rw.isStable(o)) return false;
    if (value && *value != o) return false;
    value = o;
  }
  if (!value || value->width != instr.op_(0).width) return false;
  // Copies come after the phis.
  Instr* last = &instr;
  while (last->next && last->next->op == Op::PHI)
    last = last->next;
  if (last != &instr) {
    rw.function().unlink(&instr);
    rw.function().insertAfter(last, &instr);
  }
  rw.becomeCopy(instr, *value);
  return true;
}

} // namespace orias::phases
