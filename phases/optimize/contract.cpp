// Fuses a product and a sum into one operation that rounds once. Only if the PTX allows it: both instructions have
// `mayContract`.

#include "encoder/isa/desc.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

struct Family {
  Op sum, product, fused;
};
constexpr Family kFamilies[] = {{Op::FADD, Op::FMUL, Op::FFMA}, {Op::DADD, Op::DMUL, Op::DFMA}};

std::uint8_t flushing(const Instr& instr) {
  return isa::getMod(instr.op, instr.mods, Mod::Ftz);
}

bool saturates(const Instr& instr) {
  return isa::getMod(instr.op, instr.mods, Mod::Sat) != 0;
}

/// Whether a product can be fused into a sum: same kind, and the sum does not use its absolute value.
bool takesProduct(const Instr& sum, const Operand& use, const Family& family, const Instr& product) {
  return sum.op == family.sum && sum.mayContract && !use.abs() && flushing(sum) == flushing(product);
}

bool isMovable(const Rewriter& rw, const Operand& o) {
  return o.isReg() ? rw.isStable(o) : o.isImm() || (o.isConst() && o.reg == Operand::kNoReg);
}

/// The product that computes a term of a sum, if fusing pays: all its uses can be fused, so the product becomes dead.
const Instr* fusibleProduct(const Rewriter& rw, const Instr& sum, const Operand& term, const Family& family) {
  const Instr* product = rw.producer(term, family.product);
  if (!product || !product->mayContract || saturates(*product)) return nullptr;
  bool isWorth = takesProduct(sum, term, family, *product);
  rw.function().forEachUse(term.reg,
                           [&](ori::Ref use) { isWorth &= takesProduct(*use.owner, use->value(), family, *product); });
  return isWorth && isMovable(rw, product->op_(1).value()) && isMovable(rw, product->op_(2).value()) ? product
                                                                                                     : nullptr;
}

bool fuse(Rewriter& rw, Instr& sum, const Operand& term, const Operand& other, const Family& family) {
  const Instr* product = fusibleProduct(rw, sum, term, family);
  if (!product) return false;
  Operand a = product->op_(1).value(), b = product->op_(2).value();
  if (term.neg()) a.flags ^= Operand::kNeg;
  const std::uint8_t flush = flushing(sum);
  const bool isSaturated = saturates(sum);
  const std::vector<Operand> operands{sum.op_(0).value(), a, b, other};
  if (a.abs() || b.abs() || other.abs() || !isa::fits(family.fused, isa::makeInst(family.fused).mods, operands))
    return false;
  rw.rewrite(sum, family.fused, {operands[0], a, b, other});
  if (family.fused == Op::FFMA) {
    isa::setMod(sum.op, sum.mods, {Mod::Ftz, flush});
    isa::setMod(sum.op, sum.mods, {Mod::Sat, isSaturated ? 1 : 0});
  }
  return true;
}

} // namespace

/// Fuses a * b + c. As in ptxas, a product with any other use is kept.
bool contractProducts(Rewriter& rw, Instr& instr) {
  if (!instr.mayContract) return false;
  for (const Family& family : kFamilies) {
    if (instr.op != family.sum) continue;
    const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
    return fuse(rw, instr, a, b, family) || fuse(rw, instr, b, a, family);
  }
  return false;
}

} // namespace orias::phases
