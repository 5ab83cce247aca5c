// Combines two operations: sums of three terms, products with an addend, shifted sums, and three-input logic.

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "ori/module.h"
#include "phases/optimize/lut.h"
#include "phases/optimize/rewriter.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// Whether this is an IADD3 with unused carries.
bool isPlainSum(const Instr& instr) {
  return instr.op == Op::IADD3 && isUnused(instr.op_(1).value()) && isUnused(instr.op_(2).value());
}

bool isMovable(const Rewriter& rw, const Operand& o) {
  return o.isReg() ? rw.isStable(o) : o.isImm() || (o.isConst() && o.reg == Operand::kNoReg);
}

/// The nonzero addends of a plain sum.
std::vector<Operand> addends(const Instr& sum) {
  std::vector<Operand> terms;
  for (unsigned i = 3; i < 6; ++i)
    if (!sum.op_(i).isZeroReg()) terms.push_back(sum.op_(i).value());
  return terms;
}

/// Replaces all constant terms by their sum.
std::vector<Operand> withOneNumber(const Rewriter& rw, const std::vector<Operand>& terms) {
  std::vector<Operand> rest;
  std::uint32_t number = 0;
  for (const Operand& term : terms) {
    Operand plain = term;
    plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
    if (const auto bits = rw.constantOf(plain))
      number += term.neg() ? 0u - *bits : *bits;
    else
      rest.push_back(term);
  }
  if (number != 0) rest.push_back(Operand::immediate(static_cast<std::int32_t>(number)));
  return rest;
}

/// Makes the instruction the sum of up to three terms, in an order that the encoding allows.
bool becomeSum(Rewriter& rw, Instr& instr, std::vector<Operand> terms) {
  if (terms.size() > 3) return false;
  terms.resize(3, Operand::rz());
  unsigned immediates = 0;
  for (const Operand& o : terms)
    immediates += !o.isReg() || o.file != File::R;
  // Only one operand may be something other than a register, and it must be in the middle.
  if (immediates > 1) return false;
  for (unsigned i = 0; i < 3; ++i)
    if (!terms[i].isReg(File::R)) std::swap(terms[i], terms[1]);
  if (terms[0].isZeroReg()) std::swap(terms[0], terms[2]);
  std::vector<Operand> operands{instr.op_(0).value(), Operand::pt(), Operand::pt(), terms[0], terms[1], terms[2]};
  unsigned negated = 0;
  for (const Operand& o : terms)
    negated += o.neg();
  if (negated > 1 || !isa::fits(Op::IADD3, isa::makeInst(Op::IADD3).mods, operands)) return false;
  rw.rewrite(instr, Op::IADD3, {operands[0], operands[1], operands[2], terms[0], terms[1], terms[2]});
  return true;
}

/// The instruction that computes a term, if its operands can be read at a later point.
Instr* movableTerm(const Rewriter& rw, const Operand& term, Op op) {
  if (!term.isReg(File::R) || !term.isVirtual()) return nullptr;
  Operand plain = term;
  plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
  Instr* instr = rw.producer(plain, op);
  if (!instr) return nullptr;
  for (const ori::Operand& o : instr->ops())
    if (!o.isDef && !isMovable(rw, o.value())) return nullptr;
  return instr;
}

/// The same if the term has no other use, so that its user can do its work.
Instr* loneTerm(const Rewriter& rw, const Operand& term, Op op) {
  Instr* instr = movableTerm(rw, term, op);
  return instr && rw.hasOneUse(term) ? instr : nullptr;
}

Operand negated(Operand o) {
  if (o.isImm())
    o.imm = static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(o.imm));
  else
    o.flags ^= Operand::kNeg;
  return o;
}

/// If a term is a sum itself, replaces it by its terms. If the inner sum has other uses, this pays only if the number
/// of terms does not grow: the same work with a shorter latency chain.
bool becomeLongerSum(Rewriter& rw, Instr& instr, const Operand& term, const std::vector<Operand>& others) {
  const Instr* inner = movableTerm(rw, term, Op::IADD3);
  if (!inner || !isPlainSum(*inner)) return false;
  std::vector<Operand> all = others;
  for (const Operand& o : addends(*inner))
    all.push_back(term.neg() ? negated(o) : o);
  all = withOneNumber(rw, all);
  if (!rw.hasOneUse(term) && all.size() > others.size() + 1) return false;
  return becomeSum(rw, instr, all);
}

/// a * b + other, or other - a * constant.
bool becomeProductSum(Rewriter& rw, Instr& instr, const Operand& term, const Operand& other) {
  const Instr* product = loneTerm(rw, term, Op::IMAD);
  if (!product || !product->op_(3).isZeroReg()) return false;
  const Operand d = instr.op_(0).value(), a = product->op_(1).value();
  Operand b = product->op_(2).value();
  if (term.neg()) {
    if (!b.isImm() || b.neg()) return false;
    b = negated(b);
  }
  const std::vector<Operand> operands{d, a, b, other};
  const isa::ModValue type{isa::Mod::Type, isa::modAs<isa::IntType>(*product, isa::Mod::Type)};
  if (!isa::fits(Op::IMAD, product->mods, operands)) return false;
  rw.rewrite(instr, Op::IMAD, {d, a, b, other}, {type});
  return true;
}

/// (a << n) + b, for n from 1 to 31.
bool becomeShiftedSum(Rewriter& rw, Instr& instr, const Instr& shift, const Operand& other) {
  const bool isPlainLeft = isa::modAs<isa::ShiftDir>(shift, isa::Mod::ShiftDir) == isa::ShiftDir::L &&
                           isa::modAs<isa::ShiftType>(shift, isa::Mod::ShiftType) == isa::ShiftType::U32 &&
                           isa::getMod(shift.op, shift.mods, isa::Mod::Hi) == 0 && shift.op_(3).isZeroReg();
  const auto count = rw.constantOf(shift.op_(2).value());
  const Operand value = shift.op_(1).value();
  if (!isPlainLeft || !count || *count == 0 || *count > 31 || value.neg()) return false;
  const std::vector<Operand> operands{instr.op_(0).value(), Operand::pt(), value, other,
                                      Operand::immediate(static_cast<std::int32_t>(*count))};
  if (!isa::fits(Op::LEA, isa::makeInst(Op::LEA).mods, operands)) return false;
  rw.rewrite(instr, Op::LEA, {operands[0], operands[1], operands[2], operands[3], operands[4]});
  return true;
}

/// a * b + other + carry, for an IADD3.X without carry-out, with two terms and one carry.
bool becomeProductSumWithCarry(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD3_X || !isUnused(instr.op_(1).value()) || !isUnused(instr.op_(2).value())) return false;
  const Operand never = Operand::pt().notted();
  if (instr.op_(7).value() != never) return false;
  for (unsigned i = 3; i < 6; ++i) {
    const Operand term = instr.op_(i).value();
    if (term.inverted()) continue;
    const Instr* product = loneTerm(rw, term, Op::IMAD);
    if (!product || !product->op_(3).isZeroReg()) continue;
    std::vector<Operand> others;
    for (unsigned k = 3; k < 6; ++k)
      if (k != i && (!instr.op_(k).isZeroReg() || instr.op_(k).inverted())) others.push_back(instr.op_(k).value());
    if (others.size() > 1) continue;
    const Operand d = instr.op_(0).value(), a = product->op_(1).value(), b = product->op_(2).value();
    const Operand other = others.empty() ? Operand::rz() : others[0], carry = instr.op_(6).value();
    const std::vector<Operand> operands{d, a, b, other, carry};
    if (!isa::fits(Op::IMAD_X, isa::makeInst(Op::IMAD_X).mods, operands)) continue;
    rw.rewrite(instr, Op::IMAD_X, {d, a, b, other, carry}, {{isa::Mod::Type, isa::IntType::U32}});
    return true;
  }
  return false;
}

} // namespace

/// Combines a sum with the sum, product or shift that computes one of its terms, if that has no other use.
bool combineSums(Rewriter& rw, Instr& instr) {
  if (!isPlainSum(instr)) return becomeProductSumWithCarry(rw, instr);
  const std::vector<Operand> terms = addends(instr);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::vector<Operand> others = terms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (becomeLongerSum(rw, instr, terms[i], others)) return true;
    if (others.size() != 1) continue;
    if (becomeProductSum(rw, instr, terms[i], others[0])) return true;
    if (terms[i].neg()) continue;
    if (Instr* shift = loneTerm(rw, terms[i], Op::SHF))
      if (becomeShiftedSum(rw, instr, *shift, others[0])) return true;
  }
  return false;
}

namespace {

/// The combined inputs of two tables: at most three different ones.
class LogicInputs {
 public:
  /// The index of the input, or 3 if there is no room.
  unsigned add(const Operand& o) {
    const auto at = std::find(inputs_.begin(), inputs_.end(), o);
    if (at != inputs_.end()) return static_cast<unsigned>(at - inputs_.begin());
    if (inputs_.size() == 3) return 3;
    inputs_.push_back(o);
    return static_cast<unsigned>(inputs_.size() - 1);
  }
  std::vector<Operand>& all() { return inputs_; }

 private:
  std::vector<Operand> inputs_;
};

/// Whether the table inverts one register, and all uses of the result are tables, too: each of them can use the
/// register instead, and the inversion becomes dead.
bool isInversionForTables(const Rewriter& rw, const Instr& source, const Operand& term) {
  const auto lut = static_cast<unsigned>(source.op_(5).imm);
  for (unsigned i = 0; i < 3; ++i) {
    if (lut != (~kInputLuts[i] & 0xffu)) continue;
    const Operand& input = source.op_(2 + i).value();
    if (!input.isReg(File::R) || !input.isVirtual()) return false;
    bool areTables = true;
    rw.function().forEachUse(term.reg, [&](ori::Ref use) {
      const Instr& user = *use.owner;
      areTables &= user.op == Op::LOP3 && isUnused(user.op_(0).value()) && use->value().isReg(File::R);
    });
    return areTables;
  }
  return false;
}

} // namespace

/// Combines a LOP3 with a LOP3 that computes an input, if that has no other use or is an inversion used only by tables.
/// Both become one table if there are at most three inputs in total.
bool combineLogic(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::LOP3 || !isUnused(instr.op_(0).value())) return false;
  const auto outerLut = static_cast<unsigned>(instr.op_(5).imm);
  for (unsigned inner = 0; inner < 3; ++inner) {
    const Operand term = instr.op_(2 + inner).value();
    if (!term.isReg(File::R) || !term.isVirtual() || !dependsOn(outerLut, inner)) continue;
    const Instr* source = rw.producer(term, Op::LOP3, 1);
    if (!source || !isUnused(source->op_(0).value())) continue;
    if (!rw.hasOneUse(term) && !isInversionForTables(rw, *source, term)) continue;
    const auto innerLut = static_cast<unsigned>(source->op_(5).imm);
    LogicInputs inputs;
    std::array<unsigned, 3> outerFrom{}, innerFrom{}; // new index of each old input
    bool isPossible = true;
    for (unsigned i = 0; i < 3; ++i) {
      if (dependsOn(innerLut, i)) {
        innerFrom[i] = inputs.add(source->op_(2 + i).value());
        isPossible &= innerFrom[i] < 3 && isMovable(rw, source->op_(2 + i).value());
      }
      if (i != inner && dependsOn(outerLut, i)) {
        outerFrom[i] = inputs.add(instr.op_(2 + i).value());
        isPossible &= outerFrom[i] < 3;
      }
    }
    if (!isPossible) continue;
    std::vector<Operand>& all = inputs.all();
    all.resize(3, Operand::rz());
    // An immediate or constant must be in the middle, and only one is possible.
    std::array<unsigned, 3> place{0, 1, 2};
    for (unsigned i = 0; i < 3; ++i)
      if (!all[i].isReg(File::R)) std::swap(place[i], place[1]);
    std::array<Operand, 3> placed;
    for (unsigned i = 0; i < 3; ++i)
      placed[place[i]] = all[i];
    unsigned lut = 0;
    for (unsigned row = 0; row < 8; ++row) {
      auto bitOf = [&](unsigned input) { return row >> (2 - place[input]) & 1; };
      unsigned innerRow = 0, outerRow = 0;
      for (unsigned i = 0; i < 3; ++i)
        innerRow |= (dependsOn(innerLut, i) ? bitOf(innerFrom[i]) : 0) << (2 - i);
      for (unsigned i = 0; i < 3; ++i)
        outerRow |= (i == inner               ? innerLut >> innerRow & 1
                     : dependsOn(outerLut, i) ? bitOf(outerFrom[i])
                                              : 0)
                    << (2 - i);
      lut |= (outerLut >> outerRow & 1) << row;
    }
    const Operand table = Operand::immediate(static_cast<std::int32_t>(lut));
    const std::vector<Operand> operands{Operand::pt(), instr.op_(1).value(),  placed[0], placed[1], placed[2],
                                        table,         Operand::pt().notted()};
    if (!isa::fits(Op::LOP3, isa::makeInst(Op::LOP3).mods, operands)) continue;
    rw.rewrite(instr, Op::LOP3,
               {operands[0], operands[1], operands[2], operands[3], operands[4], operands[5], operands[6]});
    return true;
  }
  return false;
}

/// The rounded number is integral: any conversion of it gives the same result as if the conversion had rounded.
bool combineRounding(Rewriter& rw, Instr& instr) {
  constexpr unsigned kSource = 1;
  if (instr.op != Op::F2I && instr.op != Op::F2I_64) return false;
  const Operand rounded = instr.op_(kSource).value();
  if (rounded.neg() || rounded.abs()) return false;
  const auto format = isa::modAs<isa::Fmt>(instr, Mod::SrcFmt);
  if (format != isa::Fmt::F32 && format != isa::Fmt::F64) return false;
  const Instr* round = rw.producer(rounded, format == isa::Fmt::F64 ? Op::FRND_64 : Op::FRND);
  if (!round || isa::modAs<isa::Fmt>(*round, Mod::SrcFmt) != format ||
      isa::modAs<isa::Fmt>(*round, Mod::DstFmt) != format || !rw.hasOneUse(rounded))
    return false;
  const Operand source = round->op_(kSource).value();
  if (!isMovable(rw, source)) return false;
  auto mods = instr.mods;
  for (Mod mod : {Mod::Ftz, Mod::Round})
    isa::setMod(instr.op, mods, {mod, isa::getMod(round->op, round->mods, mod)});
  const Operand operands[] = {instr.op_(0).value(), source};
  if (!isa::existsOn(rw.function().module().target(), instr.op, mods) || !isa::fits(instr.op, mods, operands))
    return false;
  rw.rewrite(instr, instr.op, {operands[0], operands[1]},
             {{Mod::DstFmt, isa::getMod(instr.op, mods, Mod::DstFmt)},
              {Mod::SrcFmt, format},
              {Mod::Ntz, isa::getMod(instr.op, mods, Mod::Ntz)},
              {Mod::Ftz, isa::getMod(instr.op, mods, Mod::Ftz)},
              {Mod::Round, isa::getMod(instr.op, mods, Mod::Round)}});
  return true;
}

} // namespace orias::phases
