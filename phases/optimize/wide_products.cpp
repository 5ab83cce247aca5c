// Words of one product: IMAD and IMAD.HI become IMAD.WIDE, which also absorbs a sum of both words with its carries.

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::File;
using isa::IntType;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::component;
using ori::Instr;

namespace {

/// Maximum distance of the two instructions that are combined: both words of the product are live from there on.
constexpr unsigned kMaxDistance = 32;

constexpr unsigned kLowWord = 0, kHighWord = 1;

bool isPlainRegister(const Operand& o) {
  return o.isReg(File::R) && o.width == 1 && !o.neg() && !o.inverted() && o.half == Operand::Half::None;
}

bool isPlainSource(const Operand& o) {
  return isPlainRegister(o) || o.isImm() || (o.isConst() && o.reg == Operand::kNoReg && !o.neg());
}

/// Whether an instruction reads (or, `asResult`, writes) any part of a register.
bool names(const Instr& instr, const Operand& o, bool asResult) {
  for (const ori::Operand& other : instr.refs())
    if (other.isDef == asResult && other.isReg() && other.isVirtual() && other.reg == o.reg) return true;
  return false;
}

/// Whether a source of `from` has the same value at `to`, which is later in the same block.
bool holdsBetween(const Rewriter& rw, const Operand& o, const Instr& from, const Instr& to) {
  if (!o.isReg() || !o.isVirtual() || rw.isStable(o)) return true;
  const Instr* at = &from;
  for (unsigned n = 0; at && n < 2 * kMaxDistance; ++n, at = at->next) {
    if (at == &to) return true;
    if (names(*at, o, true)) return false;
  }
  return false;
}

struct Factors {
  Operand a, b;
  bool operator==(const Factors& o) const { return (a == o.a && b == o.b) || (a == o.b && b == o.a); }
};

bool arePlain(const Factors& f) {
  return isPlainRegister(f.a) && isPlainSource(f.b);
}

/// The factors of an instruction that computes one word of a product without an addend.
std::optional<Factors> factorsOf(const Instr& instr, unsigned word) {
  if (instr.op != (word == kLowWord ? Op::IMAD : Op::IMAD_HI) || instr.isGuarded()) return std::nullopt;
  const unsigned first = word == kLowWord ? 1 : 2;
  if (word == kHighWord && !isUnused(instr.op_(1).value())) return std::nullopt;
  if (!instr.op_(first + 2).isZeroReg()) return std::nullopt;
  const Factors factors{instr.op_(first).value(), instr.op_(first + 1).value()};
  return arePlain(factors) ? std::optional(factors) : std::nullopt;
}

/// Whether a constant has at most one bit set: its products are shifts.
bool isPowerOfTwo(const Rewriter& rw, const Operand& factor) {
  const auto bits = rw.constantOf(factor);
  return bits && (*bits & (*bits - 1)) == 0;
}

/// How many instructions `to` is after `from`; nothing if too many.
std::optional<unsigned> distance(const Instr& from, const Instr& to) {
  const Instr* at = from.next;
  for (unsigned n = 1; at && n <= kMaxDistance; ++n, at = at->next)
    if (at == &to) return n;
  return std::nullopt;
}

/// A sum of one word with at most one carry out.
bool isSum(const Instr& instr) {
  return (instr.op == Op::IADD3 || instr.op == Op::IADD3_X) && !instr.isGuarded() && isUnused(instr.op_(2).value()) &&
         instr.op_(0).isReg(File::R);
}

/// The only carry-in of a sum; None if there is none; nothing if there are two.
std::optional<Operand> carryInOf(const Instr& sum) {
  if (sum.op == Op::IADD3) return Operand();
  const Operand p = sum.op_(6).value(), q = sum.op_(7).value();
  const auto isFalse = [](const Operand& o) { return o.isReg(File::P) && o.isZeroReg() && o.inverted(); };
  if (isFalse(p)) return isFalse(q) ? Operand() : q;
  return isFalse(q) ? std::optional(p) : std::nullopt;
}

/// The addend next to term `at` of a sum; nothing if there are two, or one has a modifier.
std::optional<Operand> addendBeside(const Instr& sum, unsigned at) {
  Operand addend = Operand::rz();
  for (unsigned i = 3; i < 6; ++i) {
    const Operand term = sum.op_(i).value();
    // Even a negated zero counts: it produces a carry.
    if (term.neg() || term.inverted()) return std::nullopt;
    if (i == at || term.isZeroReg()) continue;
    if (!addend.isZeroReg() || !isPlainSource(term)) return std::nullopt;
    addend = term;
  }
  return addend;
}

/// The words of a product, and the addends of two sums that are linked by a carry.
struct ProductSum {
  Factors factors;
  IntType type;
  Operand lowAddend, highAddend;
  Operand carryIn; ///< None without one
};

/// The instruction whose product has a term as its low or high word: IMAD, IMAD.HI, or IMAD.WIDE.
Instr* productOf(const Rewriter& rw, const Operand& term, unsigned word) {
  if (!term.isReg(File::R) || !term.isVirtual() || term.width != 1) return nullptr;
  const Definition def = rw.definition(term);
  if (!def || def.slot != 0) return nullptr;
  const bool isWord = def.instr->op == (word == kLowWord ? Op::IMAD : Op::IMAD_HI);
  const bool isHalf = def.instr->op == Op::IMAD_WIDE && def.index == word;
  return isWord || isHalf ? def.instr : nullptr;
}

/// Whether this is an unused copy that the rewriter has not visited yet.
bool isDeadCopy(const Rewriter& rw, const Instr& instr) {
  return instr.op == Op::COPY && instr.op_(0).isVirtual() && !rw.function().hasUses(instr.op_(0).reg);
}

unsigned useCount(const Rewriter& rw, const Operand& result) {
  unsigned uses = 0;
  rw.function().forEachUse(result.reg, [&](ori::Ref use) { uses += !isDeadCopy(rw, *use.owner); });
  return uses;
}

/// The product whose words two instructions compute, if they have no other uses; without addends.
std::optional<ProductSum> productOfBoth(const Rewriter& rw, const Instr& low, const Instr& high) {
  if (&low == &high) {
    if (low.isGuarded() || !isUnused(low.op_(1).value()) || !low.op_(4).isZeroReg()) return std::nullopt;
    const Factors factors{low.op_(2).value(), low.op_(3).value()};
    if (!arePlain(factors) || useCount(rw, low.op_(0).value()) != 2) return std::nullopt;
    return ProductSum{factors, isa::modAs<IntType>(low, Mod::Type), {}, {}, {}};
  }
  const auto lowFactors = factorsOf(low, kLowWord), highFactors = factorsOf(high, kHighWord);
  if (!lowFactors || !highFactors || !(*lowFactors == *highFactors)) return std::nullopt;
  if (!rw.hasOneUse(low.op_(0).value()) || !rw.hasOneUse(high.op_(0).value())) return std::nullopt;
  return ProductSum{*highFactors, isa::modAs<IntType>(high, Mod::Type), {}, {}, {}};
}

std::optional<ProductSum> productSum(const Rewriter& rw, const Instr& low, const Instr& high) {
  const auto carryIn = carryInOf(low);
  if (!carryIn || (carryIn->isReg() && !rw.isStable(*carryIn))) return std::nullopt;
  for (unsigned i = 3; i < 6; ++i)
    for (unsigned k = 3; k < 6; ++k) {
      const Instr* highProduct = productOf(rw, high.op_(i).value(), kHighWord);
      const Instr* lowProduct = productOf(rw, low.op_(k).value(), kLowWord);
      if (!highProduct || !lowProduct) continue;
      auto sum = productOfBoth(rw, *lowProduct, *highProduct);
      const auto lowAddend = addendBeside(low, k), highAddend = addendBeside(high, i);
      if (!sum || !lowAddend || !highAddend) continue;
      // The new instruction reads its sources at the place of either sum.
      bool isSame = holdsBetween(rw, *lowAddend, low, high);
      for (const Operand& factor : {sum->factors.a, sum->factors.b})
        for (const Instr* product : {lowProduct, highProduct})
          isSame = isSame && holdsBetween(rw, factor, *product, high);
      if (!isSame) continue;
      sum->lowAddend = *lowAddend;
      sum->highAddend = *highAddend;
      sum->carryIn = *carryIn;
      return sum;
    }
  return std::nullopt;
}

/// Inserts an instruction; operands that are not given have their defaults.
Instr& emitBefore(Rewriter& rw, Instr& where, Op op, std::initializer_list<Operand> operands,
                  std::initializer_list<isa::ModValue> mods = {}) {
  const isa::InstrDesc& row = isa::desc(op);
  std::vector<Operand> all(operands);
  for (std::size_t i = all.size(); i < row.slotCount; ++i)
    all.push_back(row.defaults[i]);
  auto values = isa::makeInst(op).mods;
  for (const isa::ModValue& mod : mods)
    isa::setMod(op, values, mod);
  return rw.insertBefore(where, op, all, &values);
}

/// Emits a pair of two words before an instruction.
Operand makePair(Rewriter& rw, Instr& where, const Operand& low, const Operand& high) {
  if (low.isZeroReg() && high.isZeroReg()) return Operand::rz(2);
  const Operand pair = rw.newRegister(File::R, 2);
  emitBefore(rw, where, low.isReg() ? Op::COPY : Op::MOV, {component(pair, kLowWord), low});
  emitBefore(rw, where, high.isReg() ? Op::COPY : Op::MOV, {component(pair, kHighWord), high});
  return pair;
}

void emitWide(Rewriter& rw, Instr& where, const ProductSum& sum, const Operand& result, const Operand& carryOut,
              const Operand& addend) {
  const isa::ModValue type{Mod::Type, sum.type};
  const auto [a, b] = sum.factors;
  if (sum.carryIn.isNone())
    emitBefore(rw, where, Op::IMAD_WIDE, {result, carryOut, a, b, addend}, {type});
  else
    emitBefore(rw, where, Op::IMAD_WIDE_X, {result, carryOut, a, b, addend, sum.carryIn}, {type});
}

} // namespace

/// IMAD.HI and the IMAD of the same factors near it become IMAD.WIDE.
bool pairProducts(Rewriter& rw, Instr& instr) {
  const auto factors = factorsOf(instr, kHighWord);
  if (!factors || !factors->a.isVirtual() || isPowerOfTwo(rw, factors->b)) return false;
  Instr* low = nullptr;
  rw.function().forEachUse(factors->a.reg, [&](ori::Ref use) {
    if (low || use.owner->block != instr.block) return;
    if (const auto other = factorsOf(*use.owner, kLowWord); other && *other == *factors) low = use.owner;
  });
  if (!low) return false;
  const bool isLowFirst = distance(*low, instr).has_value();
  if (!isLowFirst && !distance(instr, *low)) return false;
  const Instr &first = isLowFirst ? *low : instr, &second = isLowFirst ? instr : *low;
  for (const Operand& factor : {factors->a, factors->b})
    if (!holdsBetween(rw, factor, first, second)) return false;
  const Operand result = rw.newRegister(File::R, 2);
  const auto type = isa::modAs<IntType>(instr, Mod::Type);
  emitWide(rw, isLowFirst ? *low : instr, {*factors, type, {}, {}, {}}, result, Operand::pt(), Operand::rz(2));
  rw.becomeCopy(*low, component(result, kLowWord));
  rw.becomeCopy(instr, component(result, kHighWord));
  return true;
}

/// Adds two words to the words of a product, where only the second sum uses the carry of the first: IMAD.WIDE has a
/// pair as its addend, a carry-in and a carry-out. It replaces the second sum, or the first if the low word is used
/// between them.
bool combineCarryPair(Rewriter& rw, Instr& high) {
  if (high.op != Op::IADD3_X || !isSum(high)) return false;
  const auto link = carryInOf(high);
  if (!link || !link->isVirtual() || link->inverted() || !rw.hasOneUse(*link)) return false;
  const Definition def = rw.definition(*link);
  if (!def || def.slot != 1 || !isSum(*def.instr) || def.instr->block != high.block) return false;
  Instr& low = *def.instr;
  const auto sum = productSum(rw, low, high);
  if (!sum || !distance(low, high)) return false;
  const Operand carryOut = high.op_(1).value(), lowResult = low.op_(0).value(), highResult = high.op_(0).value();
  // Only for unsigned products is the carry known to be the one that PTX requires.
  if (sum->type == IntType::S32 && !isUnused(carryOut)) return false;

  const bool hasLow = !lowResult.isZeroReg();
  if (hasLow && sum->highAddend.isVirtual() && sum->highAddend.reg == lowResult.reg) return false;
  bool canWait = true, canPrecede = true;
  for (const Instr* i = low.next; i != &high; i = i->next) {
    canWait &= !hasLow || !(names(*i, lowResult, false) || names(*i, lowResult, true));
    canPrecede &= !sum->highAddend.isVirtual() || !names(*i, sum->highAddend, true);
  }
  if (!canWait && !canPrecede) return false;

  Instr& where = canWait ? high : low;
  if (canWait && hasLow) {
    rw.function().unlink(&low);
    rw.function().insertBefore(&high, &low);
  }
  // From here on, the carry-out is that of the product.
  rw.setOperand(high, 1, Operand::pt());
  Instr& at = hasLow ? low : where;
  const Operand addend = makePair(rw, at, sum->lowAddend, sum->highAddend), result = rw.newRegister(File::R, 2);
  emitWide(rw, at, *sum, result, carryOut, addend);
  if (hasLow) rw.becomeCopy(low, component(result, kLowWord));
  if (highResult.isZeroReg())
    rw.function().erase(&high);
  else
    rw.becomeCopy(high, component(result, kHighWord));
  return true;
}

} // namespace orias::phases
