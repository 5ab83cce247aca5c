// Addresses: folds sums into the addressing modes of memory instructions.

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/rewriter.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool accessesMemory(const isa::InstrDesc& row) {
  return row.has(isa::Flag::Load) || row.has(isa::Flag::Store);
}

bool isAbsent(const Operand& source) {
  return source.isNone() || source.isZeroReg();
}

/// The constant value of a pair of known words.
std::optional<std::int64_t> constantPair(const Rewriter& rw, const Operand& o) {
  if (!o.isReg() || o.width != 2) return std::nullopt;
  Operand plain = o;
  plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
  const auto low = rw.constantOf(ori::component(plain, 0)), high = rw.constantOf(ori::component(plain, 1));
  if (!low || !high) return std::nullopt;
  const std::uint64_t bits = static_cast<std::uint64_t>(*high) << 32 | *low;
  return static_cast<std::int64_t>(o.neg() ? 0 - bits : bits);
}

bool isAlignedPair(const ori::Function& function, const Operand& o) {
  return o.isZeroReg() ||
         (o.isReg(File::R) && o.isVirtual() && o.width == 2 && o.sub % 2 == 0 && function.vreg(o.reg).align % 2 == 0);
}

bool fitsAll(const Instr& instr, const std::vector<Operand>& operands) {
  return isa::fits(instr.op, instr.mods, operands);
}

/// A one-word address as a sum: a register, a uniform register, and a constant.
struct Sum {
  Operand base = Operand::rz();
  Operand uniform = Operand::zero(File::UR);
  std::int64_t offset = 0;

  /// False if there is no room for the term, or if it cannot be read at a later point.
  bool add(const Rewriter& rw, const Operand& term) {
    if (term.neg() || term.inverted() || term.abs()) {
      Operand plain = term;
      plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
      const auto bits = rw.constantOf(plain);
      if (!bits || term.inverted() || term.abs()) return false;
      offset -= static_cast<std::int32_t>(*bits);
      return true;
    }
    if (term.isZeroReg()) return true;
    if (const auto bits = rw.constantOf(term)) {
      offset += static_cast<std::int32_t>(*bits);
      return true;
    }
    if (!term.isReg() || !rw.isStable(term)) return false;
    Operand& place = term.file == File::UR ? uniform : base;
    if (!place.isZeroReg()) return false;
    place = term;
    return true;
  }
};

/// If a register is a copy of a uniform one, returns the uniform register.
Operand uniformSource(const Rewriter& rw, const Operand& o) {
  const Definition def = rw.definition(o);
  if (!def || o.width != 1 || !isa::desc(def.instr->op).has(isa::Flag::Copy) || def.instr->op_(0).width != 1) return o;
  const Operand source = def.instr->op_(1).value();
  return source.isReg(File::UR) && rw.isStable(source) ? source : o;
}

/// Collects the terms of an address register; false if it is no useful sum.
bool decompose(const Rewriter& rw, const Operand& address, Sum& sum) {
  const Operand uniform = uniformSource(rw, address);
  if (uniform.file == File::UR || rw.constantOf(uniform)) return sum.add(rw, uniform);
  const Instr* add = rw.producer(address, Op::IADD3);
  if (!add) return false;
  for (unsigned i = 3; i < 6; ++i) {
    const Operand term = add->op_(i).value();
    if (!sum.add(rw, term.isReg(File::R) && !term.neg() ? uniformSource(rw, term) : term)) return false;
  }
  return true;
}

} // namespace

/// a * b + c: folds a product of words to a pair, without addend, into a 64-bit sum that uses it. The sum alone takes
/// two instructions, so this pays even for a product with other uses, except if the addend is an offset that an address
/// could absorb.
bool foldWideAddress(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD64 || !isAlignedPair(rw.function(), instr.op_(0).value())) return false;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand product = instr.op_(i).value(), addend = instr.op_(3 - i).value();
    if (!product.isVirtual() || product.neg() || addend.neg() || !addend.isReg(File::R) || addend.isZeroReg()) continue;
    const Instr* wide = rw.producer(product, Op::IMAD_WIDE);
    if (!wide || !isUnused(wide->op_(1).value()) || !wide->op_(4).isZeroReg()) continue;
    if (!rw.hasOneUse(product) && constantPair(rw, addend)) continue;
    if (!isAlignedPair(rw.function(), addend) || product.reg == addend.reg) continue;
    const Operand a = wide->op_(2).value(), b = wide->op_(3).value();
    if ((a.isReg() && !rw.isStable(a)) || (b.isReg() && !rw.isStable(b))) continue;
    const isa::ModValue type{isa::Mod::Type, isa::modAs<isa::IntType>(*wide, isa::Mod::Type)};
    rw.rewrite(instr, Op::IMAD_WIDE, {instr.op_(0).value(), Operand::pt(), a, b, addend}, {type});
    return true;
  }
  return false;
}

/// [x + constant] for an address pair x + constant. Both sums are modulo 2^64.
bool foldOffset(Rewriter& rw, Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!accessesMemory(row)) return false;
  const int address = row.slotIndex(isa::SlotId::Ra), offset = row.slotIndex(isa::SlotId::offset);
  if (address < 0 || offset < 0) return false;
  const Operand base = instr.op_(static_cast<unsigned>(address)).value();
  Operand at = instr.op_(static_cast<unsigned>(offset)).value();
  if (base.width != 2 || !base.isVirtual() || !(at.isImm() || at.isNone())) return false;
  const Instr* add = rw.producer(base, Op::IADD64);
  if (!add) return false;
  for (unsigned i = 1; i <= 2; ++i) {
    const auto constant = constantPair(rw, add->op_(i).value());
    const Operand rest = add->op_(3 - i).value();
    if (!constant || rest.neg() || !isAlignedPair(rw.function(), rest) || rest.isZeroReg() || !rw.isStable(rest))
      continue;
    constexpr std::int64_t kFar = 1 << 24;
    if (*constant < -kFar || *constant > kFar) continue;
    at = Operand::immediate(static_cast<std::int32_t>(at.imm + *constant));
    if (!Rewriter::fitsWith(instr, static_cast<unsigned>(offset), at)) continue;
    rw.setOperand(instr, static_cast<unsigned>(offset), at);
    rw.setOperand(instr, static_cast<unsigned>(address), rest);
    return true;
  }
  return false;
}

/// [R1 + object + constant] for the address of an object of the frame. Other addresses in it may still need a register.
bool foldFrameAddress(Rewriter& rw, Instr& instr) {
  if ((instr.op != Op::LDL && instr.op != Op::STL) || rw.function().growsStack) return false;
  const isa::InstrDesc& row = isa::desc(instr.op);
  const int address = row.slotIndex(isa::SlotId::Ra), offset = row.slotIndex(isa::SlotId::offset);
  if (address < 0 || offset < 0) return false;
  const Operand base = instr.op_(static_cast<unsigned>(address)).value();
  const Operand at = instr.op_(static_cast<unsigned>(offset)).value();
  if (base.width != 1 || !base.isVirtual() || !(at.isImm() || at.isNone())) return false;
  const Instr* sum = rw.producer(base, Op::IADD3);
  if (!sum) return false;
  const Operand stack = sum->op_(3).value();
  Operand object = sum->op_(4).value();
  if (object.kind != Operand::Kind::Frame || stack.isVirtual() || !sum->op_(5).isZeroReg()) return false;
  object.imm += at.imm;
  rw.setOperand(instr, static_cast<unsigned>(offset), object);
  rw.setOperand(instr, static_cast<unsigned>(address), stack);
  return true;
}

/// [x + UR + constant] in shared and local memory, whose addresses are one word.
bool foldUniformBase(Rewriter& rw, Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!accessesMemory(row)) return false;
  const int address = row.slotIndex(isa::SlotId::Ra), uniform = row.slotIndex(isa::SlotId::URb),
            offset = row.slotIndex(isa::SlotId::offset);
  if (address < 0 || offset < 0) return false;
  if (isa::getMod(instr.op, instr.mods, isa::Mod::AddrScale) != 0 || row.modIndex(isa::Mod::E) >= 0) return false;
  const Operand base = instr.op_(static_cast<unsigned>(address)).value();
  const Operand at = instr.op_(static_cast<unsigned>(offset)).value();
  if (base.width != 1 || !base.isReg(File::R) || !base.isVirtual() || !(at.isImm() || at.isNone())) return false;
  Sum sum;
  sum.offset = at.imm;
  const Operand before = uniform < 0 ? Operand::zero(File::UR) : instr.op_(static_cast<unsigned>(uniform)).value();
  if (!before.isNone() && !before.isZeroReg()) sum.uniform = before;
  if (!decompose(rw, base, sum)) return false;
  constexpr std::int64_t kFar = 1 << 24;
  if (sum.offset < -kFar || sum.offset > kFar || (uniform < 0 && !isAbsent(sum.uniform))) return false;
  std::vector<Operand> operands;
  for (const ori::Operand& o : instr.ops())
    operands.push_back(o.value());
  operands[static_cast<unsigned>(address)] = sum.base;
  operands[static_cast<unsigned>(offset)] = Operand::immediate(static_cast<std::int32_t>(sum.offset));
  if (uniform >= 0 && !isAbsent(sum.uniform)) operands[static_cast<unsigned>(uniform)] = sum.uniform;
  if (!fitsAll(instr, operands)) return false;
  for (unsigned i = 0; i < operands.size(); ++i)
    if (operands[i] != instr.op_(i).value()) rw.setOperand(instr, i, operands[i]);
  return true;
}

/// [x + constant] in shared memory, for a copy from global to shared memory.
bool foldSharedOffset(Rewriter& rw, Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  const int address = row.slotIndex(isa::SlotId::Rs), offset = row.slotIndex(isa::SlotId::sharedOffset);
  if (address < 0 || offset < 0) return false;
  const Operand base = instr.op_(static_cast<unsigned>(address)).value();
  const Operand at = instr.op_(static_cast<unsigned>(offset)).value();
  if (!base.isVirtual() || !(at.isImm() || at.isNone())) return false;
  Sum sum;
  sum.offset = at.imm;
  if (!decompose(rw, base, sum) || sum.offset == at.imm || !isAbsent(sum.uniform)) return false;
  constexpr std::int64_t kFar = 1 << 24;
  if (sum.offset < -kFar || sum.offset > kFar) return false;
  const Operand there = Operand::immediate(static_cast<std::int32_t>(sum.offset));
  if (!Rewriter::fitsWith(instr, static_cast<unsigned>(offset), there)) return false;
  rw.setOperand(instr, static_cast<unsigned>(offset), there);
  rw.setOperand(instr, static_cast<unsigned>(address), sum.base);
  return true;
}

/// The uniform register that a register of the lanes was moved to shortly before in the same block.
Operand movedBefore(const Rewriter& rw, const Instr& where, const Operand& base) {
  constexpr unsigned kFarthest = 128;
  unsigned left = kFarthest;
  for (const Instr* i = where.prev; i && left-- != 0; i = i->prev) {
    if (i->op != Op::R2UR || i->isGuarded() || i->op_(2).value() != base || !isUnused(i->op_(0).value())) continue;
    const Operand to = i->op_(1).value();
    if (to.isVirtual() && to.width == 1 && rw.isStable(to)) return to;
  }
  return {};
}

/// [UR + constant] in tensor memory, if the uniform register is a copy of a lanes' register plus the constant: the
/// loads and stores of a tile then share one base. ptxas does the same (observed).
bool foldTensorOffset(Rewriter& rw, Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!accessesMemory(row)) return false;
  const int address = row.slotIndex(isa::SlotId::URt), offset = row.slotIndex(isa::SlotId::offset);
  if (address < 0 || offset < 0) return false;
  const Operand base = instr.op_(static_cast<unsigned>(address)).value();
  const Operand at = instr.op_(static_cast<unsigned>(offset)).value();
  if (!base.isVirtual() || !(at.isImm() || at.isNone())) return false;
  const Definition def = rw.definition(base);
  if (!def || def.instr->op != Op::R2UR || !isUnused(def.instr->op_(0).value())) return false;
  const Operand moved = def.instr->op_(2).value();
  if (!moved.isReg(File::R) || !moved.isVirtual()) return false;
  Sum sum;
  sum.offset = at.isImm() ? at.imm : 0;
  const std::int64_t before = sum.offset;
  if (!decompose(rw, moved, sum) || sum.offset == before || !isAbsent(sum.uniform) || isAbsent(sum.base)) return false;
  constexpr std::int64_t kFar = 1 << 24;
  if (sum.offset < -kFar || sum.offset > kFar) return false;
  const Operand there = Operand::immediate(static_cast<std::int32_t>(sum.offset));
  if (!Rewriter::fitsWith(instr, static_cast<unsigned>(offset), there)) return false;
  Operand uniform = movedBefore(rw, *def.instr, sum.base);
  if (uniform.isNone()) {
    uniform = rw.newRegister(File::UR, 1);
    const Operand operands[] = {def.instr->op_(0).value(), uniform, sum.base};
    rw.insertBefore(*def.instr, Op::R2UR, operands);
  }
  rw.setOperand(instr, static_cast<unsigned>(offset), there);
  rw.setOperand(instr, static_cast<unsigned>(address), uniform);
  return true;
}

/// Folds the known index of a load of constants into its offset, c[bank][constant]. Its uses can then have the constant
/// as operand.
bool foldConstantIndex(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::LDC) return false;
  constexpr unsigned kIndex = 2, kOffset = 3;
  const Operand index = instr.op_(kIndex).value(), offset = instr.op_(kOffset).value();
  if (!index.isReg(File::R) || index.isZeroReg() || !offset.isImm()) return false;
  const auto number = rw.constantOf(index);
  constexpr std::uint32_t kBankSize = 1 << 16;
  if (!number || *number >= kBankSize) return false;
  const Operand place = Operand::immediate(static_cast<std::int32_t>(static_cast<std::uint32_t>(offset.imm) + *number));
  if (place.imm < 0 || !Rewriter::fitsWith(instr, kOffset, place)) return false;
  rw.setOperand(instr, kIndex, Operand::rz());
  rw.setOperand(instr, kOffset, place);
  return true;
}

} // namespace orias::phases
