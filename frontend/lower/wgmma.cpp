// wgmma: products of a warp group on matrices in shared memory. Each product is waited for where it stands: its
// registers are written while the warp goes on, and nothing else of ours may come near them. So fences and groups have
// nothing left to do. The product is added to the old sum here; then its registers are written only.

#include "frontend/lower/families.h"

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

constexpr int kFp32One = 1;

std::span<const Operand> elementsOf(FunctionLowering& f, const Operand& operand) {
  return operand.is(OperandKind::Vector) ? f.parts(operand) : std::span(&operand, 1);
}

/// A word that is the same in all lanes, as the manual demands of descriptors.
void toUniform(FunctionLowering& f, IsaOperand uniform, const Value& word) {
  if (word.isConstant())
    f.emit(IsaOp::UMOV, {uniform, IsaOperand::immediate(static_cast<std::int32_t>(word.bits()))});
  else
    f.emit(IsaOp::R2UR, {IsaOperand::pt(), uniform, word.word(0)});
}

} // namespace

void lowerWgmma(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type typeD = form.type(0), typeA = form.type(1), typeB = form.type(2);
  const bool isHalfSum = typeD == Type::F16, isTf32 = typeA == Type::TF32;
  const bool isKnown = form.shape.m == 64 && typeA == typeB && form.get(Slot::Sparsity) == Mod::None &&
                       (typeA == Type::F16 || typeA == Type::BF16 || isTf32) && (isHalfSum || typeD == Type::F32);
  const bool aIsMatrix = isKnown && !ops[1].is(OperandKind::Vector);
  if (!isKnown || ops.size() < 6) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const auto number = [&](std::size_t k) { return k < ops.size() ? ops[k].intValue() : 0; };
  const bool negA = number(4) < 0, negB = number(5) < 0;
  const bool tnspA = aIsMatrix && number(6) != 0, tnspB = number(aIsMatrix ? 7 : 6) != 0;
  if (!aIsMatrix && negA) {
    f.unsupported(std::string(f.opcodeText()) + " that negates a matrix in registers");
    return;
  }

  ori::Block* join = f.beginUnguarded();
  const IsaOperand descriptors = f.out().use(f.out().newVReg(File::UR, 4));
  const auto describe = [&](const Operand& operand, unsigned first) {
    const Value v = f.source(operand, Type::B64);
    for (unsigned w = 0; w < 2; ++w)
      toUniform(f, ori::component(descriptors, first + w),
                v.isConstant() ? Value::constant(v.bits() >> (32 * w) & 0xffffffff, 1)
                               : Value::of(ori::component(v.reg(), w)));
  };
  IsaOperand left;
  if (aIsMatrix) {
    describe(ops[1], 0);
  } else {
    auto parts = elementsOf(f, ops[1]);
    left = f.newR(static_cast<unsigned>(parts.size()));
    for (unsigned k = 0; k < parts.size(); ++k)
      f.copy(ori::component(left, k), f.source(parts[k], Type::B32));
    for (unsigned w = 0; w < 2; ++w)
      toUniform(f, ori::component(descriptors, w), Value::constant(0, 1)); // nobody reads it
  }
  describe(ops[2], 2);

  auto sums = elementsOf(f, ops[0]);
  const unsigned words = static_cast<unsigned>(sums.size());
  const IsaOperand product = f.newR(words), none = IsaOperand::rz(words), add = IsaOperand::zero(File::UP).notted();
  const int shape = static_cast<int>(form.shape.n / 8 - 1 + (isTf32 ? 32 : 0));
  std::vector<ModValue> mods{{IsaMod::Geometry, shape},
                             {IsaMod::DstFmt, isHalfSum ? 0 : kFp32One},
                             {IsaMod::SrcFmt, isTf32                ? 2
                                              : typeA == Type::BF16 ? 1
                                                                    : 0},
                             {IsaMod::Sub2, tnspB ? 1 : 0},
                             {IsaMod::Sub4, negB ? 1 : 0}};
  const IsaOperand group = IsaOperand::immediate(0);
  if (aIsMatrix) {
    mods.push_back({IsaMod::Sub, tnspA ? 1 : 0});
    mods.push_back({IsaMod::Sub3, negA ? 1 : 0});
    f.emit(IsaOp::HGMMA, {product, descriptors, none, add, group}, mods);
  } else {
    f.emit(IsaOp::HGMMA_R, {product, left, descriptors, none, add, group}, mods);
    // Read to the end: the product may not take these registers.
    f.emit(IsaOp::KEEP, {left});
  }

  const Operand& scale = ops[3];
  const bool isFresh = scale.is(OperandKind::Int) && scale.bits() == 0,
             isAdded = scale.is(OperandKind::Int) && !isFresh;
  for (unsigned k = 0; k < words; ++k) {
    const IsaOperand part = ori::component(product, k);
    if (sums[k].is(OperandKind::Sink)) continue;
    if (isFresh) {
      f.copy(f.dest(sums[k]), Value::of(part));
      continue;
    }
    IsaOperand old = f.sourceReg(sums[k], Type::B32);
    if (!isAdded) {
      const IsaOperand chosen = f.newR();
      const std::int64_t minusZero = isHalfSum ? INT64_C(-0x7fff8000) : INT64_C(-0x80000000);
      f.emit(IsaOp::SEL, {chosen, old, f.imm(minusZero), f.predicate(scale)});
      old = chosen;
    }
    if (isHalfSum)
      f.emit(IsaOp::HADD2, {f.dest(sums[k]), old, part});
    else
      f.emit(IsaOp::FADD, {f.dest(sums[k]), old, part});
  }
  f.endUnguarded(join);
}

/// wgmma.fence, commit_group, wait_group: see above.
void lowerWgmmaOrder(FunctionLowering&, const Instruction&, const Form&) {}

} // namespace orias::ptx
