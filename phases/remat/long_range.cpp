#include "phases/remat/long_range.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/induction_variables.h"
#include "phases/loop_preheader.h"
#include "phases/optimize/known_bits.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace orias::phases {

using isa::File;
using isa::ICmp;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::component;
using ori::Instr;
using ori::LoopId;

namespace {

constexpr unsigned kDepth = 6;          ///< the longest chain of definitions that is followed
constexpr unsigned kDistanceDepth = 16; ///< the same from a counter to its next value
constexpr unsigned kFactBlocks = 24;    ///< the most dominators whose branches are examined
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kWordValues = std::int64_t{1} << 32;
constexpr std::int64_t kHighestWord = kWordValues - 1;

std::optional<LongRange> sum(const LongRange& a, const LongRange& b) {
  LongRange r;
  if (__builtin_add_overflow(a.least, b.least, &r.least) || __builtin_add_overflow(a.most, b.most, &r.most))
    return std::nullopt;
  return r;
}

std::optional<LongRange> difference(const LongRange& a, const LongRange& b) {
  LongRange r;
  if (__builtin_sub_overflow(a.least, b.most, &r.least) || __builtin_sub_overflow(a.most, b.least, &r.most))
    return std::nullopt;
  return r;
}

std::optional<LongRange> product(const LongRange& a, const LongRange& b) {
  std::int64_t corners[4];
  if (__builtin_mul_overflow(a.least, b.least, &corners[0]) || __builtin_mul_overflow(a.least, b.most, &corners[1]) ||
      __builtin_mul_overflow(a.most, b.least, &corners[2]) || __builtin_mul_overflow(a.most, b.most, &corners[3]))
    return std::nullopt;
  return LongRange{*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

LongRange joined(const LongRange& a, const LongRange& b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

bool isPlainWord(const Operand& o) {
  return o.width == 1 && !o.neg() && !o.abs() && !o.inverted() && o.half == Operand::Half::None;
}

LongKey keyOf(const Long& value) {
  const auto word = [](const Operand& o) {
    return std::uint64_t{static_cast<std::uint8_t>(o.kind)} << 56 | std::uint64_t{o.sub} << 48 |
           (o.isReg() ? std::uint64_t{o.reg} : static_cast<std::uint32_t>(o.imm)) | std::uint64_t{o.bank} << 40 |
           std::uint64_t{o.flags} << 32;
  };
  return {word(value.low), word(value.high)};
}

bool isFalse(const Operand& o) {
  return o.isReg(File::P) && o.isZeroReg() && o.inverted();
}

Operand without(Operand o, Operand::Flags flag) {
  o.flags = static_cast<std::uint8_t>(o.flags & ~flag);
  return o;
}

} // namespace

LongRanges::LongRanges(const Rewriter& rewriter, const ori::Cfg& cfg, const ori::DomTree& dominators,
                       const ori::Loops& loops)
    : rewriter_(rewriter), cfg_(cfg), dominators_(dominators), loops_(loops) {
  // Outer loops first: the initial values of inner counters may be their counters.
  for (LoopId loop = 0; loop < loops.all().size(); ++loop)
    findCounters(loop);
}

// --- definitions of values

Operand LongRanges::resolved(Operand word) const {
  for (unsigned steps = 0; steps < kDepth && word.isReg(File::R) && word.isVirtual() && isPlainWord(word); ++steps) {
    const Definition def = rewriter_.definition(word);
    if (!def || def.instr->op != Op::COPY || def.slot != 0) break;
    const Operand source = def.instr->op_(1).value();
    if (!source.isReg(File::R) || source.isZeroReg() || source.neg() || source.inverted() ||
        !rewriter_.isStable(source))
      break;
    word = component(source, def.index);
  }
  if (const auto number = rewriter_.constantOf(word)) return Operand::immediate(static_cast<std::int32_t>(*number));
  return word;
}

Long LongRanges::resolved(const Long& value) const {
  return {resolved(value.low), resolved(value.high)};
}

std::vector<LongRanges::Sum> LongRanges::sumsOf(const Long& value) const {
  if (!isPlainWord(value.low) || !isPlainWord(value.high)) return {};
  const Definition low = rewriter_.definition(value.low), high = rewriter_.definition(value.high);
  if (!low || !high || low.slot != 0 || high.slot != 0 || low.instr->op != Op::IADD3) return {};
  const Operand carry = low.instr->op_(1).value();
  if (!carry.isVirtual() || !isUnused(low.instr->op_(2).value()) || !rewriter_.isSingle(carry.reg)) return {};
  std::vector<Operand> lows, highs;
  for (unsigned i = 3; i < 6; ++i)
    if (const Operand term = low.instr->op_(i).value(); !term.isZeroReg() || term.neg()) lows.push_back(term);
  const Instr& above = *high.instr;
  const Operand zero = Operand::immediate(0);
  if (above.op == Op::SEL && above.op_(3).value() == carry) {
    // The carry selects between 0 and -1, or 1 and 0.
    const auto with = rewriter_.constantOf(above.op_(1).value()), instead = rewriter_.constantOf(above.op_(2).value());
    if (!with || !instead || *with - *instead != 1) return {};
    highs.push_back(Operand::immediate(static_cast<std::int32_t>(*instead)));
  } else if (above.op == Op::IADD3_X) {
    const Operand p = above.op_(6).value(), q = above.op_(7).value();
    if (!((p == carry && isFalse(q)) || (q == carry && isFalse(p)))) return {};
    for (unsigned i = 3; i < 6; ++i)
      if (const Operand term = above.op_(i).value(); !term.isZeroReg() || term.inverted()) highs.push_back(term);
  } else {
    return {};
  }
  if (lows.size() > 2 || highs.size() > 2) return {};
  lows.resize(2, zero);
  highs.resize(2, zero);
  std::vector<Sum> sums;
  // Any low word can be combined with any high word: the sum is the same.
  for (unsigned other = 0; other < 2; ++other) {
    Sum s;
    bool isGood = true;
    for (unsigned i = 0; i < 2; ++i) {
      Operand l = lows[i], h = highs[i ^ other];
      if (l.isZeroReg() && !l.neg()) l = zero;
      if (h.isZeroReg() && !h.inverted()) h = zero;
      const bool isNegated = l.neg();
      // -a is ~a + 1; the negation of the low word provides the one as its carry.
      if (isNegated) {
        l = without(l, Operand::kNeg);
        if (h.inverted())
          h = without(h, Operand::kNot);
        else if (rewriter_.constantOf(h) == ~0u)
          h = zero;
        else
          isGood = false;
      }
      if (l.isZeroReg()) l = zero;
      if (h.isZeroReg()) h = zero;
      isGood = isGood && isPlainWord(l) && isPlainWord(h);
      s.terms[i] = {l, h};
      s.negated[i] = isNegated;
    }
    s.count = 2;
    if (isGood) sums.push_back(s);
  }
  return sums;
}

std::optional<Long> LongRanges::sumOf(const Instr& highSum) const {
  if (highSum.op != Op::IADD3_X || highSum.isGuarded()) return std::nullopt;
  for (unsigned slot : {6u, 7u}) {
    const Definition def = rewriter_.definition(highSum.op_(slot).value());
    if (!def || def.slot != 1 || def.instr->op != Op::IADD3) continue;
    const Long value{def.instr->op_(0).value(), highSum.op_(0).value()};
    if (value.low.isVirtual() && value.high.isVirtual() && !sumsOf(value).empty()) return value;
  }
  return std::nullopt;
}

// --- ranges

LongRanges::Word LongRanges::wordRange(const Operand& word, BlockId at) const {
  const Range known = knownRange(rewriter_, word);
  Word w{known.least, known.most, -kWordValues / 2, kWordValues / 2 - 1};
  const auto agree = [&] {
    if (w.most < kWordValues / 2) {
      w.signedLeast = std::max(w.signedLeast, w.least);
      w.signedMost = std::min(w.signedMost, w.most);
    } else if (w.least >= kWordValues / 2) {
      w.signedLeast = std::max(w.signedLeast, w.least - kWordValues);
      w.signedMost = std::min(w.signedMost, w.most - kWordValues);
    }
    if (w.signedLeast >= 0) {
      w.least = std::max(w.least, w.signedLeast);
      w.most = std::min(w.most, w.signedMost);
    } else if (w.signedMost < 0) {
      w.least = std::max(w.least, w.signedLeast + kWordValues);
      w.most = std::min(w.most, w.signedMost + kWordValues);
    }
  };
  agree();
  const Operand self = resolved(word);
  for (const Fact& fact : factsAt(at)) {
    if (fact.isLong) continue;
    for (unsigned side = 0; side < 2; ++side) {
      const Operand mine = side == 0 ? fact.left.low : fact.right.low,
                    other = side == 0 ? fact.right.low : fact.left.low;
      if (resolved(mine) != self) continue;
      const Range limit = knownRange(rewriter_, other);
      const ICmp comparison = side == 1 ? mirrored(fact.comparison) : fact.comparison;
      LongRange range{w.least, w.most};
      LongRange end{limit.least, limit.most};
      const bool isEquality = comparison == ICmp::EQ || comparison == ICmp::NE;
      if (fact.isSigned && !isEquality) {
        range = {w.signedLeast, w.signedMost};
        if (limit.most >= kWordValues / 2) {
          if (limit.least < kWordValues / 2) continue;
          end = {end.least - kWordValues, end.most - kWordValues};
        }
        narrow(range, comparison, true, end);
        w.signedLeast = range.least, w.signedMost = range.most;
      } else {
        narrow(range, comparison, true, end); // in 64-bit arithmetic
        w.least = range.least, w.most = range.most;
      }
      agree();
    }
  }
  return w;
}

std::optional<LongRange> LongRanges::rangeOf(const Long& given, BlockId at, unsigned depth) const {
  const Long value = resolved(given);
  if (!isPlainWord(value.low) || !isPlainWord(value.high)) return std::nullopt;
  std::optional<LongRange> range;
  if (const auto high = rewriter_.constantOf(value.high)) {
    const std::int64_t base = static_cast<std::int64_t>(static_cast<std::int32_t>(*high)) * kWordValues;
    const Word low = wordRange(value.low, at);
    range = LongRange{base + low.least, base + low.most};
  } else if (const Definition def = rewriter_.definition(value.high);
             def && def.instr->op == Op::SHF && def.instr->op_(2).isImm() && def.instr->op_(2).imm == 31 &&
             isa::modAs<isa::ShiftDir>(*def.instr, Mod::ShiftDir) == isa::ShiftDir::R &&
             isa::modAs<isa::ShiftType>(*def.instr, Mod::ShiftType) == isa::ShiftType::S32 &&
             isa::getMod(def.instr->op, def.instr->mods, Mod::Hi) != 0 &&
             resolved(def.instr->op_(3).value()) == value.low) {
    const Word low = wordRange(value.low, at);
    range = LongRange{low.signedLeast, low.signedMost};
  } else if (depth < kDepth) {
    range = computed(value, depth + 1);
  }
  if (depth < kDepth) refine(range, value, at, depth + 1);
  return range;
}

std::optional<LongRange> LongRanges::computed(const Long& value, unsigned depth) const {
  const auto [known, isNew] = computed_.try_emplace(keyOf(value));
  if (!isNew) return known->second;
  const auto range = compute(value, depth);
  return computed_[keyOf(value)] = range;
}

std::optional<LongRange> LongRanges::compute(const Long& value, unsigned depth) const {
  const Definition low = rewriter_.definition(value.low), high = rewriter_.definition(value.high);
  if (!low || !high || high.slot != 0 || low.slot != 0) return std::nullopt;
  if (low.instr == high.instr)
    return low.instr->op == Op::IMAD_WIDE && low.index == 0 && high.index == 1 ? ofProduct(*low.instr, depth)
                                                                               : std::nullopt;
  if (low.instr->op == Op::PHI && high.instr->op == Op::PHI) return ofPhi(*low.instr, *high.instr, depth);
  if (low.instr->op == Op::SHF && high.instr->op == Op::SHF) return ofShift(*low.instr, *high.instr, depth);
  if (low.instr->op == Op::LEA) return ofShiftedSum(*low.instr, *high.instr, depth);
  std::optional<LongRange> best;
  for (const Sum& s : sumsOf(value))
    if (const auto range = ofTerms(s, high.instr->block->id, depth))
      best = best ? LongRange{std::max(best->least, range->least), std::min(best->most, range->most)} : *range;
  return best;
}

std::optional<LongRange> LongRanges::ofTerms(const Sum& s, BlockId at, unsigned depth) const {
  std::optional<LongRange> total = LongRange{0, 0};
  for (unsigned i = 0; i < s.count && total; ++i) {
    const auto term = rangeOf(s.terms[i], at, depth);
    if (!term) return std::nullopt;
    total = s.negated[i] ? difference(*total, *term) : sum(*total, *term);
  }
  return total;
}

std::optional<LongRange> LongRanges::ofPhi(const Instr& low, const Instr& high, unsigned depth) const {
  if (low.block != high.block) return std::nullopt;
  if (const auto found = counterOf_.find({&low, &high}); found != counterOf_.end())
    return counters_[found->second].range;
  if (loops_.isHeader(low.block->id)) return std::nullopt;
  std::optional<LongRange> all;
  for (unsigned i = 1; i + 1 < low.operandCount; i += 2) {
    const BlockId from = low.op_(i + 1).reg;
    const Operand* other = ori::phiValueFrom(high, from);
    if (!other || other->isNone() || low.op_(i).isNone()) return std::nullopt;
    const auto range = rangeOf({low.op_(i).value(), *other}, from, depth);
    if (!range) return std::nullopt;
    all = all ? joined(*all, *range) : *range;
  }
  return all;
}

std::optional<LongRange> LongRanges::ofProduct(const Instr& wide, unsigned depth) const {
  if (!isUnused(wide.op_(1).value())) return std::nullopt;
  const BlockId at = wide.block->id;
  const Operand addend = wide.op_(4).value();
  if (addend.neg() || addend.inverted()) return std::nullopt;
  const bool isSigned = isa::modAs<isa::IntType>(wide, Mod::Type) == isa::IntType::S32;
  const auto factor = [&](const Operand& o) -> std::optional<LongRange> {
    if (!isPlainWord(o)) return std::nullopt;
    const Word w = wordRange(o, at);
    return isSigned ? LongRange{w.signedLeast, w.signedMost} : LongRange{w.least, w.most};
  };
  const auto a = factor(wide.op_(2).value()), b = factor(wide.op_(3).value());
  const auto times = a && b ? product(*a, *b) : std::nullopt;
  if (!times || addend.isZeroReg()) return times;
  const auto more = rangeOf({component(addend, 0), component(addend, 1)}, at, depth);
  return more ? sum(*times, *more) : std::nullopt;
}

/// An unsigned right shift by a constant.
std::optional<LongRange> LongRanges::ofShift(const Instr& low, const Instr& high, unsigned depth) const {
  for (const Instr* shift : {&low, &high})
    if (isa::modAs<isa::ShiftDir>(*shift, Mod::ShiftDir) != isa::ShiftDir::R || !shift->op_(2).isImm())
      return std::nullopt;
  const std::int32_t count = low.op_(2).imm;
  if (count != high.op_(2).imm || count < 1 || count > 31) return std::nullopt;
  const bool isLowGood = isa::modAs<isa::ShiftType>(low, Mod::ShiftType) == isa::ShiftType::U64 &&
                         isa::getMod(low.op, low.mods, Mod::Hi) == 0;
  const bool isHighGood = isa::modAs<isa::ShiftType>(high, Mod::ShiftType) == isa::ShiftType::U32 &&
                          isa::getMod(high.op, high.mods, Mod::Hi) != 0;
  const Operand from = low.op_(3).value();
  if (!isLowGood || !isHighGood || high.op_(3).value() != from) return std::nullopt;
  const auto range = rangeOf({low.op_(1).value(), from}, low.block->id, depth);
  if (range && range->least >= 0) return LongRange{range->least >> count, range->most >> count};
  return LongRange{0, static_cast<std::int64_t>(~std::uint64_t{0} >> count)};
}

/// LEA and LEA.HI.X: the sum of a shifted value and another one.
std::optional<LongRange> LongRanges::ofShiftedSum(const Instr& low, const Instr& high, unsigned depth) const {
  if (high.op != Op::LEA_HI_X || low.op_(1).value() != high.op_(6).value() || !low.op_(1).isVirtual() ||
      high.op_(2).value() != low.op_(2).value() || low.op_(4).imm != high.op_(5).imm || !low.op_(4).isImm() ||
      !isPlainWord(low.op_(3)) || !isPlainWord(high.op_(3)))
    return std::nullopt;
  const BlockId at = low.block->id;
  const auto shifted = rangeOf({low.op_(2).value(), high.op_(4).value()}, at, depth);
  const auto other = rangeOf({low.op_(3).value(), high.op_(3).value()}, at, depth);
  if (!shifted || !other || low.op_(4).imm > 31) return std::nullopt;
  const std::int64_t factor = std::int64_t{1} << low.op_(4).imm;
  const auto times = product(*shifted, {factor, factor});
  return times ? sum(*times, *other) : std::nullopt;
}

// --- facts from branches

void LongRanges::narrow(LongRange& range, ICmp comparison, bool isSigned, const LongRange& limit) {
  LongRange result = range;
  // An unsigned value below a limit that is not negative is not negative either.
  if (!isSigned && comparison != ICmp::EQ && comparison != ICmp::NE) {
    if (limit.least < 0) return;
    if (comparison == ICmp::LT || comparison == ICmp::LE)
      result.least = std::max<std::int64_t>(result.least, 0);
    else if (range.least < 0)
      return;
  }
  switch (comparison) {
  case ICmp::LT:
    if (limit.most != kLowest) result.most = std::min(result.most, limit.most - 1);
    break;
  case ICmp::LE: result.most = std::min(result.most, limit.most); break;
  case ICmp::GT:
    if (limit.least != kHighest) result.least = std::max(result.least, limit.least + 1);
    break;
  case ICmp::GE: result.least = std::max(result.least, limit.least); break;
  case ICmp::EQ:
    result.least = std::max(result.least, limit.least);
    result.most = std::min(result.most, limit.most);
    break;
  case ICmp::NE:
    if (limit.least == limit.most && result.least == limit.least && result.least != kHighest) ++result.least;
    if (limit.least == limit.most && result.most == limit.most && result.most != kLowest) --result.most;
    break;
  default: break;
  }
  if (result.least <= result.most) range = result; // else no lane reaches this point
}

std::optional<LongComparison> LongRanges::comparisonOf(Instr& high) const {
  if (high.op != Op::ISETP_EX || high.isGuarded()) return std::nullopt;
  const Definition def = rewriter_.definition(high.op_(5).value());
  if (!def || def.slot != 0 || def.instr->op != Op::ISETP || high.op_(5).inverted()) return std::nullopt;
  const Instr& low = *def.instr;
  const auto comparison = isa::modAs<ICmp>(high, Mod::Cmp);
  if (isa::modAs<ICmp>(low, Mod::Cmp) != comparison || !low.op_(4).isZeroReg() || low.op_(4).inverted() ||
      isa::modAs<isa::BoolOp>(low, Mod::Bool) != isa::BoolOp::AND)
    return std::nullopt;
  const bool isEquality = comparison == ICmp::EQ || comparison == ICmp::NE;
  if (!isEquality && isa::modAs<isa::IntType>(low, Mod::Type) != isa::IntType::U32) return std::nullopt;
  LongComparison result{def.instr,
                        &high,
                        {low.op_(2).value(), high.op_(2).value()},
                        {low.op_(3).value(), high.op_(3).value()},
                        comparison,
                        isa::modAs<isa::IntType>(high, Mod::Type) == isa::IntType::S32};
  for (const Operand& o : {result.left.low, result.left.high, result.right.low, result.right.high})
    if (!isPlainWord(o)) return std::nullopt;
  return result;
}

std::optional<LongRanges::Fact> LongRanges::factOf(const Operand& predicate, bool holds) const {
  if (!predicate.isReg(File::P) || !predicate.isVirtual()) return std::nullopt;
  const Definition def = rewriter_.definition(predicate);
  if (!def || def.slot > 1 || (def.instr->op != Op::ISETP && def.instr->op != Op::ISETP_EX)) return std::nullopt;
  const Instr& compare = *def.instr;
  if (isa::modAs<isa::BoolOp>(compare, Mod::Bool) != isa::BoolOp::AND || !compare.op_(4).isZeroReg() ||
      compare.op_(4).inverted())
    return std::nullopt;
  if (predicate.inverted()) holds = !holds;
  if (def.slot == 1) holds = !holds;
  Fact fact;
  if (compare.op == Op::ISETP_EX) {
    const auto both = comparisonOf(*def.instr);
    if (!both) return std::nullopt;
    fact = {both->left, both->right, true, both->isSigned, both->comparison};
  } else {
    fact = {{compare.op_(2).value(), {}},
            {compare.op_(3).value(), {}},
            false,
            isa::modAs<isa::IntType>(compare, Mod::Type) == isa::IntType::S32,
            isa::modAs<ICmp>(compare, Mod::Cmp)};
  }
  if (!holds) fact.comparison = isa::opposite(fact.comparison);
  return fact;
}

const std::vector<LongRanges::Fact>& LongRanges::factsAt(BlockId at) const {
  const auto [found, isNew] = facts_.try_emplace(at);
  if (!isNew) return found->second;
  std::vector<Fact> facts;
  const ori::Function& function = rewriter_.function();
  for (unsigned n = 0; n < kFactBlocks && at != ori::kNoId && dominators_.isInTree(at); ++n) {
    const BlockId above = dominators_.idom(at);
    if (above == ori::kNoId) break;
    const ori::Block& block = *function.block(above);
    const Instr* last = block.last;
    if (last && ori::isTerminator(last->op) && last->isGuarded()) {
      if (last->op == Op::EXIT) {
        if (const auto fact = factOf(last->guard().value(), false)) facts.push_back(*fact);
      } else if (ori::plainBranch(block) == last && cfg_.predecessors(at).size() == 1 &&
                 block.fallthrough != ori::kNoId && block.fallthrough != last->op_(1).reg) {
        if (const auto fact = factOf(last->guard().value(), last->op_(1).reg == at)) facts.push_back(*fact);
      }
    }
    at = above;
  }
  found->second = std::move(facts);
  return found->second;
}

void LongRanges::refine(std::optional<LongRange>& range, const Long& value, BlockId at, unsigned depth) const {
  // Facts refer to each other. A copy, since queries may add facts.
  const std::vector<Fact> facts = factsAt(at);
  for (const Fact& fact : facts) {
    if (!fact.isLong) continue;
    for (unsigned side = 0; side < 2; ++side) {
      if (resolved(side == 0 ? fact.left : fact.right) != value) continue;
      const auto limit = rangeOf(side == 0 ? fact.right : fact.left, at, std::max(depth, kDepth - 1));
      if (!limit) continue;
      const ICmp comparison = side == 1 ? mirrored(fact.comparison) : fact.comparison;
      LongRange refined = range.value_or(LongRange{kLowest, kHighest});
      narrow(refined, comparison, fact.isSigned, *limit);
      if (refined.least != kLowest || refined.most != kHighest) range = refined;
    }
  }
}

// --- counters

std::optional<LongRange> LongRanges::distance(const LongCounter& counter, const Long& value) const {
  return distance(counter, value, 0);
}

std::optional<LongRange> LongRanges::distance(const LongCounter& counter, const Long& given, unsigned depth) const {
  const Long value = resolved(given);
  if (value == counter.value) return LongRange{0, 0};
  if (depth >= kDistanceDepth || !isPlainWord(value.low) || !isPlainWord(value.high)) return std::nullopt;
  const std::pair key(static_cast<const Instr*>(counter.lowPhi), keyOf(value));
  const auto [known, isNew] = distances_.try_emplace(key);
  if (!isNew) return known->second;
  const auto result = computeDistance(counter, value, depth);
  return distances_[key] = result;
}

std::optional<LongRange> LongRanges::computeDistance(const LongCounter& counter, const Long& value,
                                                     unsigned depth) const {
  const Definition low = rewriter_.definition(value.low), high = rewriter_.definition(value.high);
  if (!low || !high || !loops_.contains(counter.loop, low.instr->block->id) ||
      !loops_.contains(counter.loop, high.instr->block->id))
    return std::nullopt;
  if (low.instr->op == Op::PHI && high.instr->op == Op::PHI) {
    // A phi of an inner loop's header may change over many iterations.
    if (low.instr->block != high.instr->block || loops_.isHeader(low.instr->block->id) || depth + 4 > kDistanceDepth)
      return std::nullopt;
    std::optional<LongRange> all;
    for (unsigned i = 1; i + 1 < low.instr->operandCount; i += 2) {
      const Operand* other = ori::phiValueFrom(*high.instr, low.instr->op_(i + 1).reg);
      if (!other) return std::nullopt;
      const auto one = distance(counter, {low.instr->op_(i).value(), *other}, depth + 4);
      if (!one) return std::nullopt;
      all = all ? joined(*all, *one) : *one;
    }
    return all;
  }
  for (const Sum& s : sumsOf(value))
    for (unsigned i = 0; i < 2; ++i) {
      if (s.negated[i]) continue;
      const auto inner = distance(counter, s.terms[i], depth + 1);
      if (!inner) continue;
      const auto more = rangeOf(s.terms[1 - i], high.instr->block->id, kDepth - 2);
      if (!more) continue;
      return s.negated[1 - i] ? difference(*inner, *more) : sum(*inner, *more);
    }
  return std::nullopt;
}

void LongRanges::findCounters(LoopId loop) {
  const BlockId from = uniqueEntering(loops_, cfg_, loop);
  if (from == ori::kNoId || loops_.loop(loop).latches.size() != 1) return;
  const BlockId latch = loops_.loop(loop).latches[0];
  std::vector<LongCounter> found;
  std::map<ori::VRegId, Instr*> phiOf[2];
  const ori::Function& function = rewriter_.function();
  for (Instr& phi : *function.block(loops_.loop(loop).header)) {
    if (phi.op != Op::PHI) break;
    const Operand result = phi.op_(0).value();
    if (result.isReg(File::R) && result.isVirtual() && result.width == 1 && result.sub < 2 &&
        function.vreg(result.reg).width == 2 && !function.vreg(result.reg).multiDef)
      phiOf[result.sub][result.reg] = &phi;
  }
  for (const auto& [reg, low] : phiOf[0]) {
    const auto high = phiOf[1].find(reg);
    if (high == phiOf[1].end()) continue;
    LongCounter c;
    c.loop = loop;
    c.lowPhi = low;
    c.highPhi = high->second;
    c.value = {low->op_(0).value(), high->second->op_(0).value()};
    const Operand* values[]{ori::phiValueFrom(*low, from), ori::phiValueFrom(*high->second, from),
                            ori::phiValueFrom(*low, latch), ori::phiValueFrom(*high->second, latch)};
    if (std::any_of(std::begin(values), std::end(values), [](const Operand* o) { return !o || o->isNone(); })) continue;
    c.first = {*values[0], *values[1]};
    c.next = {*values[2], *values[3]};
    found.push_back(c);
  }
  if (found.empty()) return;
  boundCounters(loop, found);
  computed_.clear(); // values derived from these counters are known now
  for (LongCounter& c : found) {
    counterOf_[{c.lowPhi, c.highPhi}] = counters_.size();
    counters_.push_back(std::move(c));
  }
}

void LongRanges::boundCounters(LoopId loop, std::vector<LongCounter>& counters) const {
  const BlockId from = uniqueEntering(loops_, cfg_, loop);
  std::optional<std::int64_t> rounds = shortTrips(loop); // the most backedges that a lane takes
  std::vector<std::pair<std::optional<LongRange>, std::optional<LongRange>>> firstAndStep;
  for (LongCounter& c : counters) {
    const auto first = rangeOf(c.first, from, 0), step = distance(c, c.next, 0);
    firstAndStep.emplace_back(first, step);
    if (!first || !step || (step->least < 0 && step->most > 0)) continue;
    c.range = boundByTests(c, *first, *step);
    const std::int64_t length = step->least > 0 ? step->least : step->most < 0 ? -step->most : 0;
    if (!c.range || length == 0) continue;
    std::int64_t way = 0;
    if (__builtin_sub_overflow(c.range->most, c.range->least, &way)) continue;
    rounds = std::min(rounds.value_or(kHighest), way / length);
  }
  if (!rounds) return;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const auto& [first, step] = firstAndStep[i];
    if (counters[i].range || !first || !step) continue;
    const auto way = product(*step, {0, *rounds});
    counters[i].range = way ? sum(*first, *way) : std::nullopt;
  }
}

/// Bounds a counter that only grows, or only shrinks, by the tests that each iteration executes. Sums that do not wrap
/// stay within 64 bits by induction over the iterations: the bounds hold for the counter with its steps and distances.
std::optional<LongRange> LongRanges::boundByTests(const LongCounter& c, const LongRange& first,
                                                  const LongRange& step) const {
  const bool isUp = step.least >= 0;
  if (step.least == 0 && step.most == 0) return first;
  const ori::Function& function = rewriter_.function();
  const BlockId latch = loops_.loop(c.loop).latches[0];
  std::optional<LongRange> best;
  for (BlockId id : loops_.blocks(c.loop)) {
    const ori::Block& block = *function.block(id);
    const Instr* branch = ori::plainBranch(block);
    if (!branch || !branch->isGuarded() || block.fallthrough == ori::kNoId || loops_.innermost(id) != c.loop ||
        !dominators_.dominates(id, latch))
      continue;
    const bool staysTaken = loops_.contains(c.loop, branch->op_(1).reg);
    if (staysTaken == loops_.contains(c.loop, block.fallthrough)) continue;
    const auto fact = factOf(branch->guard().value(), staysTaken);
    if (!fact || !fact->isLong) continue;
    for (unsigned side = 0; side < 2; ++side) {
      const auto off = distance(c, side == 0 ? fact->left : fact->right, 0);
      if (!off) continue;
      const Long end = resolved(side == 0 ? fact->right : fact->left);
      const auto limit = rangeOf(end, id, 1);
      if (!limit) continue;
      const ICmp stay = side == 1 ? mirrored(fact->comparison) : fact->comparison;
      const bool isLess = stay == ICmp::LT || stay == ICmp::LE, isMore = stay == ICmp::GT || stay == ICmp::GE;
      // The upper (lower) bound of the compared value where a lane stays in the loop.
      std::int64_t bound = 0;
      if (isUp && isLess) {
        if (!fact->isSigned && limit->least < 0) continue;
        bound = limit->most;
        if (stay == ICmp::LT && __builtin_sub_overflow(bound, 1, &bound)) continue;
      } else if (!isUp && isMore) {
        bound = limit->least;
        if (stay == ICmp::GT && __builtin_add_overflow(bound, 1, &bound)) continue;
        // If unsigned, it must not pass below zero, which would be the largest value.
        if (!fact->isSigned) {
          const auto start = sum(first, *off), around = difference(*off, *off);
          const auto again = around ? sum(*around, step) : std::nullopt;
          std::int64_t lowest = 0;
          if (limit->least < 0 || !start || start->least < 0 || !again ||
              __builtin_add_overflow(bound, again->least, &lowest) || lowest < 0)
            continue;
        }
      } else if (stay == ICmp::NE) {
        // It reaches the limit from its own side, in steps that cannot jump over it.
        const auto start = sum(first, *off);
        const std::int64_t length = isUp ? step.least : -step.least;
        if (!start || step.least != step.most || off->least != off->most) continue;
        if (isUp ? start->most > limit->least : start->least < limit->most) continue;
        const auto isOutside = [&](const Operand& o) {
          const Definition def = rewriter_.definition(o);
          return o.isImm() || o.isZeroReg() || (o.isConst() && o.reg == Operand::kNoReg) ||
                 (def && !loops_.contains(c.loop, def.instr->block->id));
        };
        if (!isOutside(end.low) || !isOutside(end.high)) continue;
        if (length != 1) {
          const bool areNumbers = start->least == start->most && limit->least == limit->most;
          if (areNumbers ? (limit->least - start->least) % length != 0 : true) {
            if (!std::has_single_bit(static_cast<std::uint64_t>(length)) || length > kHighestWord) continue;
            const auto mask = static_cast<std::uint32_t>(length - 1);
            if ((knownBits(rewriter_, end.low).canBeOne & mask) != 0 ||
                (knownBits(rewriter_, resolved(c.first.low)).canBeOne & mask) != 0 ||
                (static_cast<std::uint64_t>(off->least) & mask) != 0)
              continue;
          }
        }
        bound = isUp ? limit->most : limit->least;
        if (isUp ? __builtin_sub_overflow(bound, length, &bound) : __builtin_add_overflow(bound, length, &bound))
          continue;
      } else {
        continue;
      }
      // The next value is the counter plus `step`, the compared one the counter plus `off`.
      const bool isNext = resolved(side == 0 ? fact->left : fact->right) == resolved(c.next);
      const auto way = isNext ? std::optional(LongRange{0, 0}) : difference(step, *off);
      std::int64_t next = 0;
      if (!way || __builtin_add_overflow(bound, isUp ? way->most : way->least, &next)) continue;
      LongRange range = first;
      if (isUp)
        range.most = std::max(range.most, next);
      else
        range.least = std::min(range.least, next);
      if (!sum(range, joined(step, *off))) continue; // it might wrap
      best = best ? LongRange{std::max(best->least, range.least), std::min(best->most, range.most)} : range;
    }
  }
  return best;
}

/// The most backedges that a lane takes, according to tests of 32-bit counters.
std::optional<std::int64_t> LongRanges::shortTrips(LoopId loop) const {
  const BlockId from = uniqueEntering(loops_, cfg_, loop);
  if (!definitions_) definitions_.emplace(rewriter_.function());
  const Definitions& definitions = *definitions_;
  std::optional<std::int64_t> rounds;
  for (const Counter& counter : phases::findCounters(definitions, loops_, loop, from)) {
    if (counter.value.width != 1) continue;
    for (ori::VRegId reg : {counter.value.reg, counter.next.reg})
      rewriter_.function().forEachUse(reg, [&](ori::Ref use) {
        if (use.owner->op != Op::ISETP) return;
        const auto test = testOf(definitions, loops_, dominators_, loop, counter, *use.owner);
        if (!test) return;
        std::optional<std::int64_t> most = test->rounds;
        if (!most && (counter.by == 1u || counter.by == ~0u) && endsInOrder(*test, counter))
          most = orderedTrips(*test, counter, from);
        if (most) rounds = std::min(rounds.value_or(kHighest), *most);
      });
  }
  return rounds;
}

/// The same for a counter with the step 1 or -1 towards a limit that is not known.
std::int64_t LongRanges::orderedTrips(const ExitTest& test, const Counter& counter, BlockId from) const {
  constexpr std::int64_t kAll = kWordValues - 1;
  if (test.stay == ICmp::NE) return kAll;
  const bool isUp = test.stay == ICmp::LT;
  const Word first = wordRange(counter.first[0], from);
  LongRange start = test.isSigned ? LongRange{first.signedLeast, first.signedMost} : LongRange{first.least, first.most};
  const LongRange words =
      test.isSigned ? LongRange{-kWordValues / 2, kWordValues / 2 - 1} : LongRange{0, kWordValues - 1};
  const std::int64_t step = !test.comparesNext ? 0 : isUp ? 1 : -1;
  start = {start.least + step, start.most + step};
  if (start.least < words.least || start.most > words.most) return kAll; // the first value may wrap around
  return isUp ? words.most - start.least : start.most - words.least;
}

} // namespace orias::phases
