// Simplifies identities: x + 0, x * 1, x & x and similar operations.

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/lut.h"
#include "phases/optimize/rewriter.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// Whether a later copy can read the operand unchanged.
bool isCopyable(const Rewriter& rw, const Operand& o) {
  if (o.neg() || o.abs() || o.inverted() || o.half != Operand::Half::None) return false;
  return o.isReg() ? rw.isStable(o) : o.isImm() || (o.isConst() && o.reg == Operand::kNoReg);
}

bool isValue(const Rewriter& rw, const Operand& o, std::uint32_t value) {
  Operand plain = o;
  plain.flags = static_cast<std::uint8_t>(plain.flags & ~(value == 0 ? Operand::kNeg : 0));
  return rw.constantOf(plain) == value;
}

bool simplifySum(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD3 || !isUnused(instr.op_(1).value()) || !isUnused(instr.op_(2).value())) return false;
  std::optional<unsigned> only;
  for (unsigned i = 3; i < 6; ++i) {
    if (isValue(rw, instr.op_(i).value(), 0)) continue;
    if (only) return false;
    only = i;
  }
  if (!only || !isCopyable(rw, instr.op_(*only).value())) return false;
  rw.becomeCopy(instr, instr.op_(*only).value());
  return true;
}

bool simplifyWideSum(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD64) return false;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand zero = instr.op_(i).value(), rest = instr.op_(3 - i).value();
    if (!zero.isReg() || !isValue(rw, ori::component(zero, 0), 0) || !isValue(rw, ori::component(zero, 1), 0)) continue;
    if (!rest.isReg() || !isCopyable(rw, rest)) continue;
    rw.becomeCopy(instr, rest);
    return true;
  }
  return false;
}

/// Whether a later copy can read the pair unchanged.
bool isCopyablePair(const Rewriter& rw, const Operand& o) {
  return o.isReg(File::R) && o.width == 2 && isCopyable(rw, o);
}

/// A product with zero, with or without an addend.
bool simplifyWideProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD_WIDE || !isUnused(instr.op_(1).value())) return false;
  if (!isValue(rw, instr.op_(2).value(), 0) && !isValue(rw, instr.op_(3).value(), 0)) return false;
  if (!isCopyablePair(rw, instr.op_(4).value())) return false;
  rw.becomeCopy(instr, instr.op_(4).value());
  return true;
}

/// The high word of a product with 0 or, for unsigned factors, with 1.
bool simplifyHighProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD_HI || !isUnused(instr.op_(1).value()) || !instr.op_(4).isZeroReg()) return false;
  const bool isUnsigned = isa::modAs<isa::IntType>(instr, isa::Mod::Type) == isa::IntType::U32;
  for (unsigned i : {2u, 3u}) {
    const Operand factor = instr.op_(i).value();
    if (!isValue(rw, factor, 0) && !(isUnsigned && isValue(rw, factor, 1))) continue;
    rw.becomeCopy(instr, Operand::rz());
    return true;
  }
  return false;
}

bool simplifyProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD) return false;
  const Operand addend = instr.op_(3).value();
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand factor = instr.op_(i).value(), other = instr.op_(3 - i).value();
    if (isValue(rw, factor, 0) && isCopyable(rw, addend)) {
      rw.becomeCopy(instr, addend);
      return true;
    }
    if (isValue(rw, factor, 1) && addend.isZeroReg() && isCopyable(rw, other)) {
      rw.becomeCopy(instr, other);
      return true;
    }
  }
  return false;
}

/// a * -1 + b is b - a.
bool becomeDifference(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMAD) return false;
  const Operand a = instr.op_(1).value(), addend = instr.op_(3).value();
  if (!isValue(rw, instr.op_(2).value(), ~0u) || !a.isReg(File::R) || a.isZeroReg() || !isCopyable(rw, a)) return false;
  if (!addend.isReg(File::R) || addend.neg() || addend.half != Operand::Half::None) return false;
  rw.rewrite(instr, Op::IADD3,
             {instr.op_(0).value(), Operand::pt(), Operand::pt(), addend, a.negated(), Operand::rz()});
  return true;
}

/// If both factors fit in one word, one multiplication is enough.
bool narrowProduct(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IMUL64 && instr.op != Op::IMAD64) return false;
  const Operand result = instr.op_(0).value(), a = instr.op_(1).value(), b = instr.op_(2).value();
  const Operand addend = instr.op == Op::IMAD64 ? instr.op_(3).value() : Operand::rz(2);
  for (const Operand& o : {result, a, b, addend})
    if (!o.isReg(File::R) || o.neg() || (o.isVirtual() && (o.sub % 2 != 0 || rw.function().vreg(o.reg).align % 2 != 0)))
      return false;
  if (!isValue(rw, ori::component(a, 1), 0) || !isValue(rw, ori::component(b, 1), 0)) return false;
  rw.rewrite(instr, Op::IMAD_WIDE, {result, Operand::pt(), ori::component(a, 0), ori::component(b, 0), addend},
             {{isa::Mod::Type, isa::IntType::U32}});
  return true;
}

bool simplifyShift(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::SHF || !isValue(rw, instr.op_(2).value(), 0)) return false;
  const bool isHigh = isa::getMod(instr.op, instr.mods, isa::Mod::Hi) != 0;
  const Operand value = instr.op_(isHigh ? 3 : 1).value();
  if (!isCopyable(rw, value)) return false;
  rw.becomeCopy(instr, value);
  return true;
}

/// For a shift of a pair by a whole word or more, one word of the pair is enough.
bool simplifyLongShift(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::SHF || isa::getMod(instr.op, instr.mods, isa::Mod::Wrap) != 0) return false;
  const auto given = rw.constantOf(instr.op_(2).value());
  if (!given || *given < 32) return false;
  const auto type = isa::modAs<isa::ShiftType>(instr, isa::Mod::ShiftType);
  const bool isWide = type == isa::ShiftType::U64 || type == isa::ShiftType::S64;
  const bool isSigned = type == isa::ShiftType::S32 || type == isa::ShiftType::S64;
  const bool isLeft = isa::modAs<isa::ShiftDir>(instr, isa::Mod::ShiftDir) == isa::ShiftDir::L;
  const bool isHigh = isa::getMod(instr.op, instr.mods, isa::Mod::Hi) != 0;
  const Operand result = instr.op_(0).value(), from = instr.op_(isLeft ? 1 : 3).value();
  unsigned count = std::min(*given, isWide ? 64u : 32u) - 32;
  // The vacated half is zero, or filled with the sign.
  const bool isEmptied = isLeft != isHigh || count == 32;
  const bool isSign = isEmptied && !isLeft && isSigned;
  if (isEmptied && !isSign) {
    rw.becomeCopy(instr, Operand::immediate(0));
    return true;
  }
  if (isSign) count = 31;
  if (count == 0 ? !isCopyable(rw, from) : !from.isReg(File::R)) return false;
  const Operand amount = Operand::immediate(static_cast<std::int32_t>(count));
  const isa::ModValue direction{isa::Mod::ShiftDir, isLeft ? isa::ShiftDir::L : isa::ShiftDir::R};
  const isa::ModValue fill{isa::Mod::ShiftType, isSigned && !isLeft ? isa::ShiftType::S32 : isa::ShiftType::U32};
  if (count == 0)
    rw.becomeCopy(instr, from);
  else if (isLeft)
    rw.rewrite(instr, Op::SHF, {result, from, amount, Operand::rz()}, {direction, fill});
  else
    rw.rewrite(instr, Op::SHF, {result, Operand::rz(), amount, from}, {direction, fill, {isa::Mod::Hi, 1}});
  return true;
}

bool simplifyPermutation(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::PRMT || isa::getMod(instr.op, instr.mods, isa::Mod::PrmtMode) != 0) return false;
  const auto selector = rw.constantOf(instr.op_(2).value());
  if (!selector) return false;
  const unsigned order = *selector & 0xffff;
  if (order != 0x3210 && order != 0x7654) return false;
  const Operand value = instr.op_(order == 0x3210 ? 1 : 3).value();
  if (!isCopyable(rw, value)) return false;
  rw.becomeCopy(instr, value);
  return true;
}

bool simplifyLogic(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::LOP3 || !isUnused(instr.op_(0).value())) return false;
  const auto inputs = lutInputs(instr, 2, [&](const Operand& o) -> std::optional<bool> {
    const auto bits = rw.constantOf(o);
    if (bits == 0u) return false;
    if (bits == ~0u) return true;
    return std::nullopt;
  });
  const std::uint8_t lut = reduceLut(static_cast<std::uint8_t>(instr.op_(5).imm), inputs);
  if (lut == 0 || lut == 0xff) {
    rw.becomeCopy(instr, Operand::immediate(lut ? -1 : 0), 1);
    return true;
  }
  for (unsigned i = 0; i < 3; ++i)
    if (lut == kInputLuts[i] && isCopyable(rw, instr.op_(2 + i).value())) {
      rw.becomeCopy(instr, instr.op_(2 + i).value(), 1);
      return true;
    }
  return false;
}

bool simplifyPredicates(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::PLOP3 || !isUnused(instr.op_(1).value())) return false;
  const auto inputs = lutInputs(instr, 2, [&](const Operand& o) { return rw.truthOf(o); });
  const std::uint8_t lut = reduceLut(static_cast<std::uint8_t>(instr.op_(5).imm), inputs);
  if (lut == 0 || lut == 0xff) {
    rw.becomeCopy(instr, lut ? Operand::pt() : Operand::pt().notted());
    return true;
  }
  for (unsigned i = 0; i < 3; ++i) {
    const Operand o = instr.op_(2 + i).value();
    const auto inverse = static_cast<std::uint8_t>(~kInputLuts[i]);
    if ((lut != kInputLuts[i] && lut != inverse) || !rw.isStable(o) || inputs[i].known) continue;
    // The table includes the inversions, so it refers to the predicate without them.
    const Operand bare = o.inverted() ? o.notted() : o;
    rw.becomeCopy(instr, lut == inverse ? bare.notted() : bare);
    return true;
  }
  return false;
}

} // namespace

bool simplifyAlgebra(Rewriter& rw, Instr& instr) {
  return simplifySum(rw, instr) || simplifyWideSum(rw, instr) || simplifyProduct(rw, instr) ||
         becomeDifference(rw, instr) || simplifyWideProduct(rw, instr) || simplifyHighProduct(rw, instr) ||
         narrowProduct(rw, instr) || simplifyShift(rw, instr) || simplifyLongShift(rw, instr) ||
         simplifyPermutation(rw, instr) || simplifyLogic(rw, instr) || simplifyPredicates(rw, instr);
}

} // namespace orias::phases
