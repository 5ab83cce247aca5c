// Shifts by a constant, combined with the operation that uses or computes them: funnel shifts, LEA, IMAD.

#include "phases/optimize/shifts.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/known_bits.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

Operand immediate(std::uint32_t bits) {
  return Operand::immediate(static_cast<std::int32_t>(bits));
}

/// (x << n) | y and (x << n) ^ y, where y has only the low n bits: a sum, which LEA computes.
bool becomeShiftedSum(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::LOP3) return false;
  const auto terms = twoTerms(instr);
  if (!terms) return false;
  for (unsigned i = 0; i < 2; ++i) {
    const Operand shifted = (*terms)[i], other = (*terms)[1 - i];
    const auto shift = shiftOf(rw, shifted);
    if (!shift || !shift->isLeft || !rw.hasOneUse(shifted)) continue;
    if (!(isPlainR(other) || other.isImm()) || knownBits(rw, other).canBeOne >> shift->count != 0) continue;
    const std::vector<Operand> operands{instr.op_(1).value(), Operand::pt(), shift->word, other,
                                        immediate(shift->count)};
    if (!isa::fits(Op::LEA, isa::makeInst(Op::LEA).mods, operands)) continue;
    rw.rewrite(instr, Op::LEA, {operands[0], operands[1], operands[2], operands[3], operands[4]});
    return true;
  }
  return false;
}

/// y - (x << n) is x * -(1 << n) + y.
bool becomeProductSum(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD3) return false;
  const auto terms = twoTerms(instr);
  if (!terms) return false;
  for (unsigned i = 0; i < 2; ++i) {
    Operand shifted = (*terms)[i];
    const Operand other = (*terms)[1 - i];
    if (!shifted.neg() || !isPlainR(other)) continue;
    shifted.flags = static_cast<std::uint8_t>(shifted.flags & ~Operand::kNeg);
    const auto shift = shiftOf(rw, shifted);
    if (!shift || !shift->isLeft || !rw.hasOneUse(shifted)) continue;
    rw.rewrite(instr, Op::IMAD, {instr.op_(0).value(), shift->word, immediate(0u - (1u << shift->count)), other},
               {{Mod::Type, isa::IntType::U32}});
    return true;
  }
  return false;
}

/// (x * c) << n is x * (c << n).
bool becomeProduct(Rewriter& rw, Instr& instr) {
  const auto shift = shiftOf(rw, instr);
  if (!shift || !shift->isLeft || !rw.hasOneUse(shift->word)) return false;
  const Instr* product = rw.producer(shift->word, Op::IMAD);
  if (!product || !product->op_(3).isZeroReg()) return false;
  const auto factor = rw.constantOf(product->op_(2).value());
  const Operand word = product->op_(1).value();
  if (!factor || !isPlainR(word) || !rw.isStable(word)) return false;
  rw.rewrite(instr, Op::IMAD, {instr.op_(0).value(), word, immediate(*factor << shift->count), Operand::rz()},
             {{Mod::Type, isa::IntType::U32}});
  return true;
}

/// A shift by at least 1 of a register that can be read later, which shifts in only zeros or sign bits.
std::optional<WordShift> plainShiftOf(const Rewriter& rw, const Instr& instr) {
  const auto shift = wordShiftOf(rw, instr);
  if (!shift || shift->count == 0 || (shift->isLeft && shift->isSigned)) return std::nullopt;
  const Operand word = instr.op_(shift->slot).value(), other = instr.op_(4 - shift->slot).value();
  if (!other.isZeroReg() || !isPlainR(word) || !word.isVirtual() || !rw.isStable(word)) return std::nullopt;
  return shift;
}

/// (x << m) << n, (x >> m) >> n: one shift.
bool becomeOneShift(Rewriter& rw, Instr& instr) {
  const auto outer = plainShiftOf(rw, instr);
  const Instr* source = outer ? rw.producer(instr.op_(outer->slot).value(), Op::SHF) : nullptr;
  const auto inner = source ? plainShiftOf(rw, *source) : std::nullopt;
  if (!inner || inner->isLeft != outer->isLeft || inner->isSigned != outer->isSigned) return false;
  const unsigned count = inner->count + outer->count;
  if (count > 31 && !outer->isSigned) {
    rw.becomeCopy(instr, Operand::rz());
    return true;
  }
  rw.setOperand(instr, 2, immediate(std::min(count, 31u)));
  rw.setOperand(instr, outer->slot, source->op_(inner->slot).value());
  return true;
}

/// x << n and y >> (32 - n).
struct FunnelShift {
  Operand left, right; ///< x, y
  unsigned count;      ///< n
};

std::optional<FunnelShift> funnelShiftOf(const Rewriter& rw, const Operand& a, const Operand& b) {
  auto left = shiftOf(rw, a), right = shiftOf(rw, b);
  if (!left || !right || left->isLeft == right->isLeft || left->count + right->count != 32) return std::nullopt;
  if (!left->isLeft) std::swap(left, right);
  return FunnelShift{left->word, right->word, left->count};
}

constexpr std::array kHighOfLeft{isa::ModValue{Mod::ShiftDir, isa::ShiftDir::L},
                                 isa::ModValue{Mod::ShiftType, isa::ShiftType::U64}, isa::ModValue{Mod::Hi, 1}};

/// x << n and y >> (32 - n) combined are the high word of the pair {x, y} << n; for equal words, a rotation.
bool becomeFunnelShift(Rewriter& rw, Instr& instr) {
  const auto terms = twoTerms(instr);
  const auto shift = terms ? funnelShiftOf(rw, (*terms)[0], (*terms)[1]) : std::nullopt;
  if (!shift) return false;
  const Operand result = instr.op_(instr.op == Op::LOP3 ? 1 : 0).value();
  rw.rewrite(instr, Op::SHF, {result, shift->right, immediate(shift->count), shift->left},
             {kHighOfLeft[0], kHighOfLeft[1], kHighOfLeft[2]});
  return true;
}

/// A 64-bit sum whose low words are x << n and y >> (32 - n): they have no common bits, so there is no carry. 64-bit
/// rotations are sums of this kind.
bool splitSumOfShifts(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD64 || instr.isGuarded()) return false;
  const Operand result = instr.op_(0).value(), a = instr.op_(1).value(), b = instr.op_(2).value();
  const auto isPair = [](const Operand& o) { return o.isReg(File::R) && o.isVirtual() && o.width == 2 && !o.neg(); };
  if (!isPair(result) || !isPair(a) || !isPair(b)) return false;
  const auto shift = funnelShiftOf(rw, ori::component(a, 0), ori::component(b, 0));
  if (!shift) return false;
  auto mods = isa::makeInst(Op::SHF).mods;
  for (const isa::ModValue& mod : kHighOfLeft)
    isa::setMod(Op::SHF, mods, mod);
  const std::array operands{ori::component(result, 0), shift->right, immediate(shift->count), shift->left};
  rw.insertBefore(instr, Op::SHF, operands, &mods);
  rw.rewrite(instr, Op::IADD3,
             {ori::component(result, 1), Operand::pt(), Operand::pt(), ori::component(a, 1), ori::component(b, 1),
              Operand::rz()});
  return true;
}

/// A logical shift of a word by a count in a register.
struct CountedShift {
  Operand word, count;
  bool isLeft;
  bool wraps; ///< the count is taken modulo 32
};

std::optional<CountedShift> countedShiftOf(const Rewriter& rw, const Operand& term) {
  const Instr* instr = isPlainR(term) && term.isVirtual() ? rw.producer(term, Op::SHF) : nullptr;
  if (!instr || isa::modAs<isa::ShiftType>(*instr, Mod::ShiftType) != isa::ShiftType::U32) return std::nullopt;
  const bool isLeft = isa::modAs<isa::ShiftDir>(*instr, Mod::ShiftDir) == isa::ShiftDir::L;
  if ((isa::getMod(instr->op, instr->mods, Mod::Hi) == 0) != isLeft) return std::nullopt;
  const Operand word = instr->op_(isLeft ? 1 : 3).value(), count = instr->op_(2).value();
  if (!instr->op_(isLeft ? 3 : 1).isZeroReg()) return std::nullopt;
  for (const Operand& o : {word, count})
    if (!isPlainR(o) || !o.isVirtual() || !rw.isStable(o)) return std::nullopt;
  return CountedShift{word, count, isLeft, isa::getMod(instr->op, instr->mods, Mod::Wrap) != 0};
}

/// Whether the count is `whole` minus the other one, computed by a sum without more terms.
bool isRestOf(const Rewriter& rw, const Operand& count, const Operand& other, std::uint32_t whole) {
  const Instr* sum = rw.producer(count, Op::IADD3);
  const auto terms = sum ? twoTerms(*sum) : std::nullopt;
  if (whole == 0 && sum && !terms)
    return isUnused(sum->op_(1).value()) && isUnused(sum->op_(2).value()) && sum->op_(3).isZeroReg() &&
           sum->op_(4).value() == other.negated() && sum->op_(5).isZeroReg();
  if (!terms) return false;
  for (unsigned i = 0; i < 2; ++i)
    if ((*terms)[i] == other.negated() && rw.constantOf((*terms)[1 - i]) == whole) return true;
  return false;
}

/// x >> n and y << (32 - n), with n below 32, combined are the low word of the pair {y, x} >> n; likewise for left
/// shifts. For equal words, modulo 32, this is a rotation: x >> n | x << (-n & 31).
bool becomeCountedFunnelShift(Rewriter& rw, Instr& instr) {
  const auto terms = twoTerms(instr);
  if (!terms) return false;
  constexpr std::uint32_t kWordBits = 32;
  constexpr int kOr = 0xfc;
  for (unsigned i = 0; i < 2; ++i) {
    const auto first = countedShiftOf(rw, (*terms)[i]), rest = countedShiftOf(rw, (*terms)[1 - i]);
    if (!first || !rest || first->isLeft == rest->isLeft) continue;
    const bool isBelow = first->wraps || (knownBits(rw, first->count).canBeOne & ~(kWordBits - 1)) == 0;
    const bool isRotation =
        instr.op == Op::LOP3 && instr.op_(5).imm == kOr && rest->wraps && first->word == rest->word &&
        (isRestOf(rw, rest->count, first->count, 0) || isRestOf(rw, rest->count, first->count, kWordBits));
    const bool isFunnel = !first->wraps && !rest->wraps && isRestOf(rw, rest->count, first->count, kWordBits);
    if (!isBelow || !(isRotation || isFunnel)) continue;
    const Operand result = instr.op_(instr.op == Op::LOP3 ? 1 : 0).value();
    const bool isLeft = first->isLeft;
    rw.rewrite(instr, Op::SHF,
               {result, isLeft ? rest->word : first->word, first->count, isLeft ? first->word : rest->word},
               {{Mod::ShiftDir, isLeft ? isa::ShiftDir::L : isa::ShiftDir::R},
                {Mod::Wrap, 1},
                {Mod::ShiftType, isa::ShiftType::U32},
                {Mod::Hi, isLeft ? 1 : 0}});
    return true;
  }
  return false;
}

/// A shift of a word by n & 31 can take n modulo 32 itself.
bool wrapCount(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::SHF || isa::getMod(instr.op, instr.mods, Mod::Wrap) != 0) return false;
  const auto type = isa::modAs<isa::ShiftType>(instr, Mod::ShiftType);
  if (type != isa::ShiftType::U32 && type != isa::ShiftType::S32) return false;
  const Operand count = instr.op_(2).value();
  const Instr* mask =
      isPlainR(count) && count.isVirtual() && rw.hasOneUse(count) ? rw.producer(count, Op::LOP3, 1) : nullptr;
  constexpr int kAnd = 0xc0;
  constexpr std::uint32_t kCountBits = 31;
  if (!mask || !isUnused(mask->op_(0).value()) || mask->op_(5).imm != kAnd || !mask->op_(4).isZeroReg()) return false;
  for (unsigned slot = 2; slot < 4; ++slot) {
    const Operand value = mask->op_(slot).value();
    if (rw.constantOf(mask->op_(5 - slot).value()) != kCountBits || !isPlainR(value) || !value.isVirtual() ||
        !rw.isStable(value))
      continue;
    auto mods = instr.mods;
    isa::setMod(instr.op, mods, {Mod::Wrap, 1});
    rw.setOperand(instr, 2, value);
    instr.mods = mods;
    return true;
  }
  return false;
}

} // namespace

std::optional<Shift> shiftOf(const Rewriter& rw, const Instr& instr) {
  const auto shift = plainShiftOf(rw, instr);
  return shift && !shift->isSigned ? std::optional(Shift{instr.op_(shift->slot).value(), shift->count, shift->isLeft})
                                   : std::nullopt;
}

std::optional<Shift> shiftOf(const Rewriter& rw, const Operand& term) {
  if (!isPlainR(term) || !term.isVirtual()) return std::nullopt;
  const Instr* instr = rw.producer(term, Op::SHF);
  return instr ? shiftOf(rw, *instr) : std::nullopt;
}

std::optional<std::array<Operand, 2>> twoTerms(const Instr& instr) {
  if (instr.op == Op::IADD3) {
    if (!isUnused(instr.op_(1).value()) || !isUnused(instr.op_(2).value())) return std::nullopt;
    std::array<Operand, 2> terms;
    unsigned count = 0;
    for (unsigned slot = 3; slot < 6; ++slot) {
      if (instr.op_(slot).isZeroReg()) continue;
      if (count == terms.size()) return std::nullopt;
      terms[count++] = instr.op_(slot).value();
    }
    return count == terms.size() ? std::optional(terms) : std::nullopt;
  }
  if (instr.op != Op::LOP3 || !isUnused(instr.op_(0).value())) return std::nullopt;
  constexpr int kOr = 0xfc, kXor = 0x3c;
  if ((instr.op_(5).imm != kOr && instr.op_(5).imm != kXor) || !instr.op_(4).isZeroReg()) return std::nullopt;
  return std::array{instr.op_(2).value(), instr.op_(3).value()};
}

bool combineShifts(Rewriter& rw, Instr& instr) {
  return becomeOneShift(rw, instr) || wrapCount(rw, instr) || becomeFunnelShift(rw, instr) ||
         splitSumOfShifts(rw, instr) || becomeCountedFunnelShift(rw, instr) || becomeShiftedSum(rw, instr) ||
         becomeProductSum(rw, instr) || becomeProduct(rw, instr);
}

} // namespace orias::phases
