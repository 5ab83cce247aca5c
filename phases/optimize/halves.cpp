// Folds the extraction of halves from words into the operations that use them.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kOtherSource = 4, kReplicateSign = 8; // bits in the selector of a byte

/// The source of a byte: a word, and a selector without kOtherSource.
struct Byte {
  Operand word;
  unsigned pick;
};

/// The word whose upper half the instruction moves to the lower half; the upper half of the result may be anything.
std::optional<Operand> shiftedDown(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::SHF || rw.constantOf(instr.op_(2).value()) != 16u) return std::nullopt;
  const auto type = isa::modAs<isa::ShiftType>(instr, Mod::ShiftType);
  if (type != isa::ShiftType::U32 && type != isa::ShiftType::S32) return std::nullopt;
  if (isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) != isa::ShiftDir::R) return std::nullopt;
  if (isa::getMod(instr.op, instr.mods, Mod::Hi) == 0) return std::nullopt;
  return instr.op_(3).value();
}

/// The source byte if the instruction copies byte `at` of the result from one of its sources.
std::optional<Byte> copiedByte(const Rewriter& rw, const Instr& instr, unsigned at) {
  if (const auto word = shiftedDown(rw, instr)) return at < 2 ? std::optional(Byte{*word, at + 2}) : std::nullopt;
  const auto order = byteOrder(rw, instr);
  if (!order) return std::nullopt;
  const unsigned pick = *order >> (4 * at) & 15;
  return Byte{instr.op_(pick & kOtherSource ? 3 : 1).value(), pick & ~kOtherSource};
}

/// The definition of the word in `use`, if it has only one.
const Instr* wordDefinition(const Rewriter& rw, const Operand& use) {
  if (!use.isReg(File::R) || !use.isVirtual() || use.width != 1) return nullptr;
  const Definition def = rw.definition(use);
  return def && def.instr->op_(def.slot).width == 1 ? def.instr : nullptr;
}

/// Half a word: the source of the lower half of `use`.
struct Half {
  Operand word;
  bool isUpper;
};
std::optional<Half> lowerHalf(const Rewriter& rw, const Operand& use) {
  const Instr* instr = wordDefinition(rw, use);
  if (!instr) return std::nullopt;
  const auto low = copiedByte(rw, *instr, 0), high = copiedByte(rw, *instr, 1);
  if (!low || !high || low->word != high->word || !isPlainR(low->word) || !rw.isStable(low->word)) return std::nullopt;
  if ((low->pick != 0 && low->pick != 2) || high->pick != low->pick + 1) return std::nullopt;
  return Half{low->word, low->pick == 2};
}

/// An operand that reads a moved lower half reads it at its original place.
bool readInPlace(Rewriter& rw, Instr& instr) {
  bool isChanged = false;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    const Operand use = instr.op_(slot).value();
    if (instr.op_(slot).isDef || use.half != Operand::Half::H0H0) continue;
    const auto half = lowerHalf(rw, use);
    if (!half) continue;
    Operand value = half->word;
    value.flags = static_cast<std::uint8_t>(value.flags | (use.flags & (Operand::kNeg | Operand::kAbs)));
    value.half = half->isUpper ? Operand::Half::H1H1 : Operand::Half::H0H0;
    if (!Rewriter::fitsWith(instr, slot, value)) continue;
    rw.setOperand(instr, slot, value);
    isChanged = true;
  }
  return isChanged;
}

/// A half that is shifted to the upper half: if it was in the upper half before, only the lower one must be cleared.
bool shiftInPlace(Rewriter& rw, Instr& instr) {
  const bool isPlainLeft = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L &&
                           isa::modAs<isa::ShiftType>(instr, Mod::ShiftType) == isa::ShiftType::U32 &&
                           isa::getMod(instr.op, instr.mods, Mod::Hi) == 0 && instr.op_(3).isZeroReg();
  if (!isPlainLeft || rw.constantOf(instr.op_(2).value()) != 16u || !isPlainR(instr.op_(1).value())) return false;
  const auto half = lowerHalf(rw, instr.op_(1).value());
  if (!half) return false;
  if (half->isUpper) {
    constexpr int kAnd = 0xc0;
    rw.rewrite(instr, Op::LOP3,
               {Operand::pt(), instr.op_(0).value(), half->word,
                Operand::immediate(static_cast<std::int32_t>(0xffff0000)), Operand::rz(), Operand::immediate(kAnd),
                Operand::pt().notted()});
  } else {
    rw.setOperand(instr, 1, half->word);
  }
  return true;
}

/// Replaces a source whose bytes are copies of another word's bytes by that word.
bool permuteSource(Rewriter& rw, Instr& instr, unsigned order, unsigned slot) {
  const Instr* inner = wordDefinition(rw, instr.op_(slot).value());
  if (!inner || inner == &instr || !isPlainR(instr.op_(slot).value())) return false;
  std::optional<Operand> word;
  unsigned changed = order;
  for (unsigned at = 0; at < 4; ++at) {
    const unsigned pick = order >> (4 * at) & 15;
    if (((pick & kOtherSource) != 0) != (slot == 3)) continue;
    const auto byte = copiedByte(rw, *inner, pick & 3);
    if (!byte || (word && *word != byte->word)) return false;
    word = byte->word;
    const unsigned composed = byte->pick | (pick & (kOtherSource | kReplicateSign));
    changed = (changed & ~(15u << (4 * at))) | composed << (4 * at);
  }
  if (!word || !isPlainR(*word) || !rw.isStable(*word)) return false;
  std::vector<Operand> operands;
  for (const ori::Operand& o : instr.ops())
    operands.push_back(o.value());
  operands[slot] = *word;
  operands[2] = Operand::immediate(static_cast<std::int32_t>(changed));
  if ((changed & 0x1111 * kOtherSource) == 0) operands[3] = Operand::rz(); // no byte comes from it any more
  if (!isa::fits(instr.op, instr.mods, operands)) return false;
  for (const unsigned i : {1u, 2u, 3u})
    if (instr.op_(i).value() != operands[i]) rw.setOperand(instr, i, operands[i]);
  return true;
}

/// Two values that are converted separately and then packed are converted together.
bool convertTogether(Rewriter& rw, Instr& instr, unsigned order) {
  if (order != 0x5410 && order != 0x1054) return false;
  const Operand lower = instr.op_(order == 0x5410 ? 1 : 3).value(), upper = instr.op_(order == 0x5410 ? 3 : 1).value();
  if (!isPlainR(lower) || !isPlainR(upper)) return false;
  const Instr* first = rw.producer(lower, Op::F2FP);
  const Instr* second = rw.producer(upper, Op::F2FP);
  if (!first || !second || first->mods != second->mods) return false;
  const Operand low = first->op_(2).value(), high = second->op_(2).value();
  for (const Operand& o : {low, high})
    if (!o.isReg(File::R) || (!o.isZeroReg() && !rw.isStable(o))) return false;
  const std::vector<Operand> operands{instr.op_(0).value(), high, low};
  if (!isa::fits(Op::F2FP, first->mods, operands)) return false;
  const auto mods = first->mods;
  rw.rewrite(instr, Op::F2FP, {operands[0], operands[1], operands[2]});
  instr.mods = mods;
  return true;
}

/// Whether this is an operation on two independent halves.
bool isOnHalves(Op op) {
  return op == Op::HADD2 || op == Op::HMUL2 || op == Op::HFMA2 || op == Op::HMNMX2;
}

/// Joins scalar operations on halves into one on pairs of them.
class PairBuilder {
 public:
  PairBuilder(Rewriter& rw, Instr& where) : rw_(rw), where_(where) {}

  /// The operation whose lower half is that of `first`, and whose upper half is the lower one of `second`; null if
  /// there is none. Without `isTrial`, joined operands are emitted before the insertion point.
  struct Pair {
    const Instr* first;
    std::vector<Operand> sources;
    bool mayContract;
  };
  std::optional<Pair> join(const Operand& first, const Operand& second, unsigned depth, bool isTrial) {
    const Instr *one = producerOf(first), *other = producerOf(second);
    if (!one || !other || one->op != other->op || one->mods != other->mods) return std::nullopt;
    Pair pair{one, {}, one->mayContract && other->mayContract};
    for (unsigned slot = 1; slot < one->operandCount; ++slot) {
      const auto source = joined(one->op_(slot).value(), other->op_(slot).value(), depth, isTrial);
      if (!source) return std::nullopt;
      pair.sources.push_back(*source);
    }
    std::vector<Operand> operands = pair.sources;
    operands.insert(operands.begin(), one->op_(0).value());
    if (!isa::fits(one->op, one->mods, operands)) return std::nullopt;
    return pair;
  }

  Operand emit(const Pair& pair) {
    std::vector<Operand> operands = pair.sources;
    operands.insert(operands.begin(), rw_.newRegister(File::R, 1));
    Instr& instr = rw_.insertBefore(where_, pair.first->op, operands, &pair.first->mods);
    instr.mayContract = pair.mayContract;
    return instr.op_(0).value();
  }

 private:
  const Instr* producerOf(const Operand& word) const {
    if (!isPlainR(word)) return nullptr;
    const Definition def = rw_.definition(word);
    if (!def || def.slot != 0 || !isOnHalves(def.instr->op) || def.instr->op_(0).width != 1) return nullptr;
    return def.instr;
  }

  /// The operand whose halves are the lower halves of two operands.
  std::optional<Operand> joined(const Operand& low, const Operand& high, unsigned depth, bool isTrial) {
    if (low.flags != high.flags) return std::nullopt;
    if (low.kind == Operand::Kind::Imm && high.kind == Operand::Kind::Imm)
      return Operand::immediate(static_cast<std::int32_t>((low.imm & 0xffff) | (high.imm & 0xffff) << 16));
    if (low.isZeroReg() && high.isZeroReg() && low.file == high.file) return low;
    if (!low.isReg(File::R) || !high.isReg(File::R) || low.isZeroReg() || high.isZeroReg()) return std::nullopt;
    if (!isHalf(low) || !isHalf(high)) return low == high ? std::optional(low) : std::nullopt;
    const bool isLowUpper = low.half == Operand::Half::H1H1, isHighUpper = high.half == Operand::Half::H1H1;
    Operand word = low, other = high;
    word.half = other.half = Operand::Half::None;
    if (word == other) {
      if ((isLowUpper && !isHighUpper) || !rw_.isStable(word)) return std::nullopt;
      word.half = isLowUpper ? Operand::Half::H1H1 : isHighUpper ? Operand::Half::None : Operand::Half::H0H0;
      return word;
    }
    constexpr unsigned kSigns = Operand::kNeg | Operand::kAbs;
    const unsigned signs = word.flags & kSigns;
    word.flags = other.flags = static_cast<std::uint8_t>(word.flags & ~kSigns);
    if (depth == 0 || isLowUpper || isHighUpper || !rw_.hasOneUse(word) || !rw_.hasOneUse(other)) return std::nullopt;
    const auto pair = join(word, other, depth - 1, isTrial);
    if (!pair) return std::nullopt;
    Operand result = isTrial ? word : emit(*pair);
    result.flags = static_cast<std::uint8_t>(result.flags | signs);
    return result;
  }

  static bool isHalf(const Operand& o) {
    return o.width == 1 &&
           (o.half == Operand::Half::None || o.half == Operand::Half::H0H0 || o.half == Operand::Half::H1H1);
  }

  Rewriter& rw_;
  Instr& where_;
};

/// Whether all uses of the word read only its lower half.
bool isReadAsHalf(const Rewriter& rw, const Operand& word) {
  bool isHalf = true;
  rw.function().forEachUse(word.reg, [&](ori::Ref use) {
    if (use->half == Operand::Half::H0H0) return;
    const Instr& reader = *use.owner;
    const auto order = byteOrder(rw, reader);
    isHalf &= order.has_value();
    for (unsigned at = 0; isHalf && at < 4; ++at) {
      const unsigned pick = *order >> (4 * at) & 15;
      const bool isOfThis = use.index() == (pick & kOtherSource ? 3U : 1U);
      isHalf &= !isOfThis || (pick & ~kOtherSource) < 2;
    }
  });
  return isHalf;
}

/// The earlier of two instructions of a block, if they are close together.
Instr* earlierOf(Instr& one, Instr& other) {
  constexpr unsigned kFarthest = 256;
  const Instr *afterOne = &one, *afterOther = &other;
  for (unsigned i = 0; i < kFarthest && (afterOne || afterOther); ++i) {
    if (afterOne == &other) return &one;
    if (afterOther == &one) return &other;
    afterOne = afterOne ? afterOne->next : nullptr;
    afterOther = afterOther ? afterOther->next : nullptr;
  }
  return nullptr;
}

/// Two halves that are packed and also used separately are computed together, and their other uses read the halves of
/// the result. The operands are joined from words that both halves use, so they are available before the earlier one.
bool computeOnce(Rewriter& rw, const Operand& lower, const Operand& upper, unsigned depth) {
  Instr *low = rw.definition(lower).instr, *high = rw.definition(upper).instr;
  if (low->block != high->block || (rw.hasOneUse(lower) && rw.hasOneUse(upper)) || !isReadAsHalf(rw, lower) ||
      !isReadAsHalf(rw, upper))
    return false;
  Instr* place = earlierOf(*low, *high);
  if (!place) return false;
  PairBuilder builder(rw, *place);
  const auto pair = builder.join(lower, upper, depth, false);
  const Operand word = builder.emit(*pair);
  rw.becomeCopy(*low, word);
  constexpr int kHalfBits = 16;
  rw.rewrite(*high, Op::SHF, {high->op_(0).value(), Operand::rz(), Operand::immediate(kHalfBits), word},
             {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::U32}, {Mod::Hi, 1}});
  return true;
}

/// Two halves that are computed separately and then packed are computed together.
bool computeTogether(Rewriter& rw, Instr& instr, unsigned order) {
  constexpr unsigned kDepth = 8;
  if (order != 0x5410 && order != 0x1054) return false;
  const Operand lower = instr.op_(order == 0x5410 ? 1 : 3).value(), upper = instr.op_(order == 0x5410 ? 3 : 1).value();
  PairBuilder builder(rw, instr);
  if (lower == upper || !builder.join(lower, upper, kDepth, true)) return false;
  if (computeOnce(rw, lower, upper, kDepth)) return true;
  const auto pair = builder.join(lower, upper, kDepth, false);
  const auto mods = pair->first->mods;
  const Op op = pair->first->op;
  const Operand result = instr.op_(0).value();
  const std::vector<Operand>& s = pair->sources;
  if (s.size() == 2)
    rw.rewrite(instr, op, {result, s[0], s[1]});
  else
    rw.rewrite(instr, op, {result, s[0], s[1], s[2]});
  instr.mods = mods;
  instr.mayContract = pair->mayContract;
  return true;
}

} // namespace

/// Uses halves in place, instead of extracting them from a word, or inserting them into one, first.
bool foldHalves(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::SHF) return shiftInPlace(rw, instr);
  if (const auto order = byteOrder(rw, instr))
    return convertTogether(rw, instr, *order) || computeTogether(rw, instr, *order) ||
           permuteSource(rw, instr, *order, 1) || permuteSource(rw, instr, *order, 3);
  return readInPlace(rw, instr);
}

} // namespace orias::phases
