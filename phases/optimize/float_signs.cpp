// Folds negations and absolute values into the operations that use them.

#include "encoder/isa/desc.h"
#include "phases/optimize/rewriter.h"

#include <array>
#include <optional>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool isDouble(Op op) {
  return op == Op::DADD || op == Op::DMUL || op == Op::DFMA || op == Op::DSETP;
}

/// Whether an operation reads numbers, not bits: all NaNs are equal to it.
bool readsNumbers(Op op) {
  switch (op) {
  case Op::FADD:
  case Op::FMUL:
  case Op::FFMA:
  case Op::FSETP:
  case Op::FMNMX:
  case Op::MUFU:
  case Op::F2I:
  case Op::F2I_64:
  case Op::F2F:
  case Op::F2F_64: return true;
  default: return isDouble(op);
  }
}

/// Whether a conversion or function reads half-precision sources, which its operand width does not show.
bool readsHalves(const Instr& instr) {
  if (instr.op == Op::MUFU) return isa::getMod(instr.op, instr.mods, Mod::FuncFmt) != 0;
  if (isa::desc(instr.op).modIndex(Mod::SrcFmt) < 0) return false;
  const auto format = isa::modAs<isa::Fmt>(instr, Mod::SrcFmt);
  return format != isa::Fmt::F32 && format != isa::Fmt::F64;
}

bool flushes(const Instr& instr) {
  return isa::desc(instr.op).modIndex(Mod::Ftz) >= 0 && isa::getMod(instr.op, instr.mods, Mod::Ftz) != 0;
}

/// The operand that a sum with -0 returns, perhaps with another sign; nothing for other sums.
std::optional<Operand> signOf(const Rewriter& rw, const Instr& sum) {
  if (sum.op != Op::FADD && sum.op != Op::DADD) return std::nullopt;
  if (isa::modAs<isa::Rnd>(sum, Mod::Rnd) != isa::Rnd::RN) return std::nullopt;
  if (sum.op == Op::FADD && isa::getMod(sum.op, sum.mods, Mod::Sat) != 0) return std::nullopt;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand zero = sum.op_(i).value(), number = sum.op_(3 - i).value();
    const bool isNegativeZero = zero.isReg(File::R) && zero.isZeroReg() && zero.neg();
    if (!isNegativeZero || !number.isReg(File::R) || number.isZeroReg() || !rw.isStable(number)) continue;
    if (number.half != Operand::Half::None) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

/// The operand with the modifiers that `use` applies to the sum.
Operand withSignOf(Operand number, const Operand& use) {
  if (use.abs()) {
    number.flags = static_cast<std::uint8_t>((number.flags | Operand::kAbs) & ~Operand::kNeg);
    if (use.neg()) number.flags |= Operand::kNeg;
  } else if (use.neg()) {
    number.flags ^= Operand::kNeg;
  }
  return number;
}

/// -(a b) becomes (-a) b if the product is rounded to nearest and has no other use. This is invalid for a fused product
/// and sum: the sum of two numbers that cancel is +0 with either sign.
bool negateProduct(Rewriter& rw, Instr& sum) {
  const std::optional<Operand> number = signOf(rw, sum);
  if (!number || !number->neg() || number->abs() || !rw.hasOneUse(*number)) return false;
  const Op op = sum.op == Op::DADD ? Op::DMUL : Op::FMUL;
  const Instr* product = rw.producer(*number, op);
  if (!product || flushes(*product) != flushes(sum)) return false;
  if (isa::modAs<isa::Rnd>(*product, Mod::Rnd) != isa::Rnd::RN) return false;
  if (op == Op::FMUL && isa::getMod(op, product->mods, Mod::Sat) != 0) return false;
  Operand a = product->op_(1).value(), b = product->op_(2).value();
  const auto isMovable = [&](const Operand& o) { return o.isImm() || (o.isReg() && rw.isStable(o)); };
  if (!isMovable(a) || !isMovable(b) || a.isImm()) return false;
  a.flags ^= Operand::kNeg;
  const bool flush = flushes(sum), mayContract = product->mayContract;
  const Operand result = sum.op_(0).value();
  if (!isa::fits(op, product->mods, std::vector<Operand>{result, a, b})) return false;
  rw.rewrite(sum, op, {result, a, b});
  if (op == Op::FMUL) isa::setMod(sum.op, sum.mods, {Mod::Ftz, flush ? 1 : 0});
  sum.mayContract = mayContract;
  return true;
}

/// Whether all uses of a word read it as a number.
bool isReadAsNumber(const Rewriter& rw, const Operand& word) {
  if (!word.isReg(File::R) || !word.isVirtual() || word.width != 1 || !rw.isSingle(word.reg)) return false;
  bool isNumber = true;
  rw.function().forEachUse(word.reg, [&](ori::Ref use) {
    const Instr& reader = *use.owner;
    isNumber = isNumber && use->width == 1 && use->sub == word.sub && readsNumbers(reader.op) && !isDouble(reader.op) &&
               !readsHalves(reader);
  });
  return isNumber;
}

/// Changes the signs of a select's words if its uses read numbers.
bool chooseSigned(Rewriter& rw, Instr& choice) {
  if (!isReadAsNumber(rw, choice.op_(0).value())) return false;
  std::array<Operand, 2> words{choice.op_(1).value(), choice.op_(2).value()};
  bool isChanged = false;
  for (Operand& word : words) {
    const Instr* sum = rw.producer(word, Op::FADD);
    if (!sum || flushes(*sum)) continue;
    const std::optional<Operand> number = signOf(rw, *sum);
    if (!number) continue;
    word = *number;
    isChanged = true;
  }
  const Operand operands[] = {choice.op_(0).value(), words[0], words[1], choice.op_(3).value()};
  if (!isChanged || !isa::fits(Op::FSEL, isa::makeInst(Op::FSEL).mods, operands)) return false;
  rw.rewrite(choice, Op::FSEL, {operands[0], operands[1], operands[2], operands[3]});
  return true;
}

} // namespace

/// Folds -x and |x|, computed as a sum with -0, into modifiers. The sum is kept for uses of its bits.
bool foldSigns(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::SEL) return chooseSigned(rw, instr);
  if (!readsNumbers(instr.op) || readsHalves(instr)) return false;
  if (negateProduct(rw, instr)) return true;
  bool isChanged = false;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    const ori::Operand& read = instr.op_(slot);
    const Op add = read.width == 2 ? Op::DADD : Op::FADD;
    if (read.isDef || !rw.isFrom(add, read) || !read.isReg(File::R)) continue;
    const Operand use = read.value();
    const Instr* sum = rw.producer(use, add);
    if (!sum || sum == &instr || (flushes(*sum) && !flushes(instr))) continue;
    const std::optional<Operand> number = signOf(rw, *sum);
    if (!number || number->width != use.width) continue;
    const Operand value = withSignOf(*number, use);
    if (!Rewriter::fitsWith(instr, slot, value)) continue;
    rw.setOperand(instr, slot, value);
    isChanged = true;
  }
  return isChanged;
}

} // namespace orias::phases
