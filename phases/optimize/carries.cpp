// Removes carries that are always false, and joins 64-bit sums to sums of three terms.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"
#include "phases/optimize/rewriter.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool isPlain(const Operand& o) {
  return !o.neg() && !o.abs() && !o.inverted();
}

/// The maximum of the sum without wrapping; nothing if a term is negated or inverted.
std::optional<std::uint64_t> greatestSum(const Rewriter& rw, const Instr& sum) {
  std::uint64_t greatest = 0;
  for (unsigned slot = 3; slot < 6; ++slot) {
    const Operand term = sum.op_(slot).value();
    if (!isPlain(term) || term.width != 1) return std::nullopt;
    greatest += knownRange(rw, term).most;
  }
  if (sum.op == Op::IADD3_X)
    for (unsigned slot = 6; slot < 8; ++slot)
      greatest += rw.truthOf(sum.op_(slot).value()) != false;
  return greatest;
}

/// The carry-out of a sum that cannot wrap is false.
bool dropCarryOut(Rewriter& rw, Instr& sum) {
  if (sum.isGuarded() || (isUnused(sum.op_(1).value()) && isUnused(sum.op_(2).value()))) return false;
  const auto greatest = greatestSum(rw, sum);
  if (!greatest || *greatest > ~std::uint32_t{0}) return false;
  for (unsigned slot = 1; slot < 3; ++slot) {
    const Operand carry = sum.op_(slot).value();
    if (isUnused(carry)) continue;
    rw.setOperand(sum, slot, Operand::pt());
    const Operand operands[]{carry, Operand::pt().notted()};
    rw.insertBefore(sum, Op::COPY, operands);
  }
  return true;
}

/// A sum whose carries-in are false needs none.
bool dropCarryIn(Rewriter& rw, Instr& sum) {
  if (sum.op != Op::IADD3_X) return false;
  for (unsigned slot = 6; slot < 8; ++slot)
    if (rw.truthOf(sum.op_(slot).value()) != false) return false;
  std::vector<Operand> operands;
  for (unsigned slot = 0; slot < 6; ++slot)
    operands.push_back(sum.op_(slot).value());
  for (unsigned slot = 3; slot < 6; ++slot)
    if (!isPlain(operands[slot])) return false;
  if (!isa::fits(Op::IADD3, isa::makeInst(Op::IADD3).mods, operands)) return false;
  rw.rewrite(sum, Op::IADD3, {operands[0], operands[1], operands[2], operands[3], operands[4], operands[5]});
  return true;
}

/// The two words of a 64-bit sum: an IADD3, and the IADD3.X that is the only user of its carry. A subtracted term is
/// negated in the low word and inverted in the high one.
struct LongSum {
  Instr *low = nullptr, *high = nullptr;
  std::vector<Operand> lowTerms, highTerms; ///< nonzero terms, at most two each
};

/// Whether the terms of one word are registers or constants, and at most one of them has a modifier, which must be
/// `modifier`.
bool areTerms(const Rewriter& rw, const std::vector<Operand>& terms, std::uint8_t modifier) {
  unsigned modified = 0;
  for (Operand term : terms) {
    modified += (term.flags & modifier) != 0;
    term.flags = static_cast<std::uint8_t>(term.flags & ~modifier);
    if (!isPlain(term) || term.width != 1 || (term.isReg() && !term.isZeroReg() && !rw.isStable(term))) return false;
  }
  return modified <= 1;
}

/// Returns the terms. An inverted or negated zero counts: subtracting zero produces a carry.
std::vector<Operand> termsOf(const Instr& sum) {
  std::vector<Operand> terms;
  for (unsigned slot = 3; slot < 6; ++slot)
    if (const ori::Operand& term = sum.op_(slot); !term.isZeroReg() || term.inverted() || term.neg())
      terms.push_back(term.value());
  return terms;
}

/// The sum that ends with an IADD3.X, if its words are those of plain pairs, and its carry-out is unused.
std::optional<LongSum> longSumOf(const Rewriter& rw, Instr& high) {
  if (high.op != Op::IADD3_X || high.isGuarded() || rw.truthOf(high.op_(7).value()) != false) return std::nullopt;
  const Operand carry = high.op_(6).value();
  if (!isUnused(high.op_(1).value()) || !isUnused(high.op_(2).value()) || !carry.isVirtual() || carry.inverted() ||
      !rw.hasOneUse(carry))
    return std::nullopt;
  Instr* low = rw.producer(carry, Op::IADD3, 1);
  if (!low || low->block != high.block || low->isGuarded() || !isUnused(low->op_(2).value())) return std::nullopt;
  LongSum sum{low, &high, termsOf(*low), termsOf(high)};
  if (sum.lowTerms.size() > 2 || sum.highTerms.size() > 2) return std::nullopt;
  if (!areTerms(rw, sum.lowTerms, Operand::kNeg) || !areTerms(rw, sum.highTerms, Operand::kNot)) return std::nullopt;
  return sum;
}

/// Arranges three terms as the encoding requires: a term that is not in file R must be in the middle.
bool arrange(std::vector<Operand>& terms) {
  terms.resize(3, Operand::rz());
  for (unsigned i = 0; i < 3; ++i)
    if (!terms[i].isReg(File::R)) std::swap(terms[i], terms[1]);
  return terms[0].isReg(File::R) && terms[2].isReg(File::R);
}

} // namespace

/// If a term of a 64-bit sum is another 64-bit sum without other uses, joins both to one sum of three terms with two
/// carries.
bool combineLongSums(Rewriter& rw, Instr& instr) {
  const auto outer = longSumOf(rw, instr);
  if (!outer) return false;
  for (std::size_t i = 0; i < outer->highTerms.size(); ++i) {
    const Operand highTerm = outer->highTerms[i];
    if (highTerm.inverted()) continue;
    Instr* high = highTerm.isReg(File::R) && highTerm.isVirtual() ? rw.producer(highTerm, Op::IADD3_X) : nullptr;
    if (!high || high->block != instr.block || !rw.hasOneUse(highTerm)) continue;
    const auto inner = longSumOf(rw, *high);
    if (!inner) continue;
    const Operand lowTerm = inner->low->op_(0).value();
    const auto at = std::ranges::find(outer->lowTerms, lowTerm);
    if (at == outer->lowTerms.end() || !rw.hasOneUse(lowTerm)) continue;
    std::vector<Operand> low = inner->lowTerms, words = inner->highTerms;
    for (const Operand& term : outer->lowTerms)
      if (term != lowTerm) low.push_back(term);
    for (const Operand& term : outer->highTerms)
      if (term != highTerm) words.push_back(term);
    if (low.size() > 3 || words.size() > 3 || !areTerms(rw, low, Operand::kNeg) || !areTerms(rw, words, Operand::kNot))
      continue;
    if (!arrange(low) || !arrange(words)) continue;
    const Operand carry = outer->high->op_(6).value(), more = rw.newRegister(File::P, 1);
    const Operand lowResult = outer->low->op_(0).value(), highResult = instr.op_(0).value();
    rw.rewrite(instr, Op::IADD3_X,
               {highResult, Operand::pt(), Operand::pt(), words[0], words[1], words[2], carry, more});
    rw.rewrite(*outer->low, Op::IADD3, {lowResult, carry, more, low[0], low[1], low[2]});
    return true;
  }
  return false;
}

/// Drops carries of sums that cannot wrap, and makes sums without a carry-in plain ones.
bool foldCarries(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD3 && instr.op != Op::IADD3_X) return false;
  return dropCarryOut(rw, instr) || dropCarryIn(rw, instr);
}

} // namespace orias::phases
