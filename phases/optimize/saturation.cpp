// Folds clamping to 0 .. 1 into the operation that computes the value.

#include "encoder/isa/desc.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

/// A saturated sum with zero becomes the operation itself, saturated, if nothing else reads its result.
bool foldSaturation(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::FADD || isa::getMod(instr.op, instr.mods, Mod::Sat) == 0) return false;
  for (unsigned i = 1; i <= 2; ++i) {
    const Operand zero = instr.op_(i).value(), number = instr.op_(3 - i).value();
    if (!zero.isReg(File::R) || !zero.isZeroReg() || !number.isReg(File::R) || !number.isVirtual()) continue;
    if (number.neg() || number.abs() || number.half != Operand::Half::None || !rw.hasOneUse(number)) continue;
    for (Op op : {Op::FFMA, Op::FMUL, Op::FADD}) {
      const Instr* source = rw.producer(number, op);
      if (!source || isa::getMod(op, source->mods, Mod::Sat) != 0) continue;
      // If the sum flushes subnormals and the operation does not, folding would lose the flush.
      if (isa::getMod(instr.op, instr.mods, Mod::Ftz) != 0 && isa::getMod(op, source->mods, Mod::Ftz) == 0) continue;
      bool isMovable = true;
      for (unsigned slot = 1; slot < source->operandCount; ++slot) {
        const Operand o = source->op_(slot).value();
        isMovable &= o.isReg() ? rw.isStable(o) : o.isImm();
      }
      if (!isMovable) continue;
      const auto mods = source->mods;
      const Operand result = instr.op_(0).value(), a = source->op_(1).value(), b = source->op_(2).value();
      if (op == Op::FFMA)
        rw.rewrite(instr, op, {result, a, b, source->op_(3).value()});
      else
        rw.rewrite(instr, op, {result, a, b});
      instr.mods = mods;
      isa::setMod(instr.op, instr.mods, {Mod::Sat, 1});
      return true;
    }
  }
  return false;
}

} // namespace orias::phases
