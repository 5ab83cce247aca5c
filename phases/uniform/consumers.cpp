#include "phases/uniform/consumers.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;

InstrDraft::InstrDraft(const ori::Instr& instr) : op(instr.op), mods(instr.mods) {
  for (const ori::Operand& o : instr.ops())
    operands.push_back(o.value());
}

namespace {

bool fits(const InstrDraft& draft) {
  return isa::fits(draft.op, draft.mods, draft.operands);
}

/// The truth table of three inputs with two of them swapped; input 0 is the highest bit of the row's number.
std::uint8_t swapInputs(std::uint8_t lut, unsigned a, unsigned b) {
  std::uint8_t swapped = 0;
  for (unsigned row = 0; row < 8; ++row) {
    const unsigned bitA = row >> (2 - a) & 1, bitB = row >> (2 - b) & 1;
    unsigned from = row & ~(1u << (2 - a) | 1u << (2 - b));
    from |= bitA << (2 - b) | bitB << (2 - a);
    if (lut >> from & 1) swapped = static_cast<std::uint8_t>(swapped | 1u << row);
  }
  return swapped;
}

/// x < y is y > x.
std::uint8_t mirrored(std::uint8_t cmp) {
  return static_cast<std::uint8_t>(isa::mirrored(static_cast<isa::ICmp>(cmp)));
}

/// Swaps two source operands without changing the result; false when the instruction does not allow it. Handles
/// commutative instructions (Flag::Commutative) and those where the comparison, table or predicate must change, too.
bool swapSources(InstrDraft& draft, unsigned a, unsigned b) {
  const isa::InstrDesc& row = isa::desc(draft.op);
  const auto source = [&](isa::SlotId vector, isa::SlotId uniform) {
    return row.slotIndex(row.has(isa::Flag::Uniform) ? uniform : vector);
  };
  const int ra = source(isa::SlotId::Ra, isa::SlotId::URa), rb = source(isa::SlotId::Rb, isa::SlotId::URb),
            rc = source(isa::SlotId::Rc, isa::SlotId::URc);
  const auto isPair = [&](int x, int y) {
    return x >= 0 && y >= 0 &&
           ((a == static_cast<unsigned>(x) && b == static_cast<unsigned>(y)) ||
            (a == static_cast<unsigned>(y) && b == static_cast<unsigned>(x)));
  };
  const auto done = [&] {
    std::swap(draft.operands[a], draft.operands[b]);
    return true;
  };
  const int lut = row.slotIndex(isa::SlotId::lut);
  if (lut >= 0) {
    // LOP3 and PLOP3: all inputs are interchangeable.
    const int first = ra >= 0 ? ra : source(isa::SlotId::Pp, isa::SlotId::UPp);
    const unsigned i = a - static_cast<unsigned>(first), j = b - static_cast<unsigned>(first);
    if (first < 0 || i > 2 || j > 2) return false;
    for (const isa::SlotId name : {isa::SlotId::lut, isa::SlotId::lut2}) {
      const int at = row.slotIndex(name);
      if (at < 0) continue;
      Operand& table = draft.operands[static_cast<unsigned>(at)];
      table.imm = swapInputs(static_cast<std::uint8_t>(table.imm), i, j);
    }
    return done();
  }
  if (row.has(isa::Flag::Commutative)) {
    const bool isSum =
        draft.op == Op::IADD3 || draft.op == Op::IADD3_X || draft.op == Op::UIADD3 || draft.op == Op::UIADD3_X;
    return isPair(ra, rb) || (isSum && (isPair(rb, rc) || isPair(ra, rc))) ? done() : false;
  }
  if ((draft.op == Op::ISETP || draft.op == Op::UISETP) && isPair(ra, rb)) {
    const int cmp = row.modIndex(isa::Mod::Cmp);
    draft.mods[static_cast<unsigned>(cmp)] = mirrored(draft.mods[static_cast<unsigned>(cmp)]);
    return done();
  }
  if ((draft.op == Op::SEL || draft.op == Op::USEL) && isPair(ra, rb)) {
    Operand& predicate = draft.operands[static_cast<unsigned>(source(isa::SlotId::Pp, isa::SlotId::UPp))];
    predicate.flags ^= Operand::kNot;
    return done();
  }
  return false;
}

/// Converts a comparison with 1 or -1 into one with zero, which RZ provides: x < 1 is x <= 0. An immediate would occupy
/// the only operand that accepts a uniform register.
void compareWithZero(InstrDraft& draft) {
  if (draft.op != Op::ISETP) return;
  const isa::InstrDesc& row = isa::desc(draft.op);
  Operand& bound = draft.operands[row.slot(isa::SlotId::Rb)];
  std::uint8_t& cmp = draft.mods[static_cast<unsigned>(row.modIndex(isa::Mod::Cmp))];
  if (!bound.isImm()) return;
  const bool isSigned = isa::getMod(draft.op, draft.mods, isa::Mod::Type) == static_cast<int>(isa::IntType::S32);
  const auto become = [&](isa::ICmp with) {
    cmp = static_cast<std::uint8_t>(with);
    bound = Operand::rz();
  };
  const auto was = static_cast<isa::ICmp>(cmp);
  const auto number = static_cast<std::int32_t>(bound.imm);
  if (number == 0) return become(was);
  if (number == 1 && was == isa::ICmp::LT) return become(isSigned ? isa::ICmp::LE : isa::ICmp::EQ);
  if (number == 1 && was == isa::ICmp::GE) return become(isSigned ? isa::ICmp::GT : isa::ICmp::NE);
  if (number == -1 && isSigned && was == isa::ICmp::GT) return become(isa::ICmp::GE);
  if (number == -1 && isSigned && was == isa::ICmp::LE) return become(isa::ICmp::LT);
}

/// [x] becomes [UR], if the address accepts a uniform part.
bool placeInAddress(InstrDraft& draft, unsigned slot, const Operand& value) {
  const isa::InstrDesc& row = isa::desc(draft.op);
  const int uniform = row.slotIndex(isa::SlotId::URb);
  if (uniform < 0 || row.texts[slot].bracket != isa::Bracket::Address || value.width != 1) return false;
  if ((value.flags & (Operand::kNeg | Operand::kAbs | Operand::kNot)) != 0) return false;
  if (isa::getMod(draft.op, draft.mods, isa::Mod::AddrScale) != 0) return false;
  Operand& place = draft.operands[static_cast<unsigned>(uniform)];
  if (!place.isNone() && !place.isZeroReg()) return false;
  InstrDraft trial = draft;
  trial.operands[static_cast<unsigned>(uniform)] = value;
  trial.operands[slot] = Operand::rz();
  if (!fits(trial)) return false;
  draft = std::move(trial);
  return true;
}

/// PLOP3 has a separate opcode for a uniform third input.
bool placeInPredicateLogic(InstrDraft& draft, unsigned slot, const Operand& value) {
  if (draft.op != Op::PLOP3) return false;
  const auto last = isa::desc(draft.op).slot(isa::SlotId::Pr);
  InstrDraft trial = draft;
  if (slot != last && !swapSources(trial, slot, last)) return false;
  trial.operands[last] = value;
  trial.op = Op::PLOP3_U;
  if (!fits(trial)) return false;
  draft = std::move(trial);
  return true;
}

} // namespace

bool isBroadcast(const ori::Function& function, const ori::Instr& instr) {
  if (instr.op != isa::Op::R2UR || !instr.op_(0).isZeroReg()) return false;
  if (instr.isGuarded()) {
    const ori::Operand& word = instr.op_(1);
    if (!word.isVirtual()) return false;
    bool isOnly = true;
    function.forEachDef(word.reg, [&](ori::Ref other) {
      isOnly &= other.operand == &word || other->sub >= word.sub + word.width || word.sub >= other->sub + other->width;
    });
    if (!isOnly) return false;
  }
  const ori::Operand& source = instr.op_(2);
  return source.isVirtual() && !source.neg() && !source.abs() && !source.inverted();
}

bool placeUniform(InstrDraft& draft, unsigned slot, const Operand& value) {
  const isa::InstrDesc& row = isa::desc(draft.op);
  if (row.isPseudo()) return false;
  InstrDraft trial = draft;
  compareWithZero(trial);
  trial.operands[slot] = value;
  if (fits(trial)) {
    draft = std::move(trial);
    return true;
  }
  for (unsigned other = 0; other < row.slotCount; ++other) {
    if (other == slot || row.slots[other].role != isa::Role::Use) continue;
    InstrDraft swapped = trial;
    if (!swapSources(swapped, slot, other) || !fits(swapped)) continue;
    draft = std::move(swapped);
    return true;
  }
  return placeInAddress(draft, slot, value) || placeInPredicateLogic(draft, slot, value);
}

bool placeInstead(InstrDraft& draft, const Operand& old, const Operand& value) {
  const isa::InstrDesc& row = isa::desc(draft.op);
  for (unsigned slot = 0; slot < draft.operands.size(); ++slot) {
    const Operand& there = draft.operands[slot];
    const bool isIt = there.isReg(old.file) && there.isVirtual() && there.reg == old.reg && there.sub == old.sub &&
                      there.width == old.width && there.flags == old.flags && there.half == old.half;
    if (isIt && (slot >= row.slotCount || row.slots[slot].role == isa::Role::Use))
      return placeUniform(draft, slot, value);
  }
  return false;
}

void commit(ori::Function& function, ori::Instr& instr, const InstrDraft& draft) {
  if (draft.op != instr.op) {
    function.rewrite(&instr, draft.op, draft.operands);
  } else {
    for (unsigned i = 0; i < draft.operands.size(); ++i) {
      const isa::Operand& now = instr.op_(i).value();
      const isa::Operand& then = draft.operands[i];
      const bool isSame = now.kind == then.kind && now.file == then.file && now.reg == then.reg &&
                          now.sub == then.sub && now.width == then.width && now.flags == then.flags &&
                          now.half == then.half && now.imm == then.imm;
      if (!isSame) function.setOperand(&instr, i, then);
    }
  }
  instr.mods = draft.mods;
}

} // namespace orias::phases
