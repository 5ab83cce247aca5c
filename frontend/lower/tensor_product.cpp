// Matrix products of tensor memory (tcgen05.mma). One thread issues a product, so it is executed once for each active
// thread. All operands are in uniform registers. Most properties of the product, including the element types, are in
// the instruction descriptor, a number that the program computes. Everything as observed for sm_100a.

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/uniform_loop.h"

#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

enum class A { Shared, Tensor };

/// The instruction of a kind. Kinds with scales have further operands.
struct Product {
  IsaOp op;
  bool hasScales = false;
  std::vector<ModValue> mods;
};

Product productOf(const Form& form, A a) {
  const auto either = [&](IsaOp shared, IsaOp tensor) { return a == A::Tensor ? tensor : shared; };
  enum { FourScales = 2, TwoScales = 3 }; // Mod::Func of UTCOMMA
  switch (form.get(Slot::Kind)) {
  case Mod::KindI8: return {either(IsaOp::UTCIMMA, IsaOp::UTCIMMA_T), false, {}};
  case Mod::KindF8f6f4: return {either(IsaOp::UTCQMMA, IsaOp::UTCQMMA_T), false, {}};
  case Mod::KindMxf8f6f4: return {either(IsaOp::UTCQMMA_SF, IsaOp::UTCQMMA_SF_T), true, {}};
  case Mod::KindMxf4: return {either(IsaOp::UTCOMMA, IsaOp::UTCOMMA_T), true, {{IsaMod::Func, TwoScales}}};
  case Mod::KindMxf4nvf4: {
    const Mod scales = form.get(Slot::ScaleVector);
    const bool hasFour = scales == Mod::ScaleVec4X || scales == Mod::Block16;
    return {either(IsaOp::UTCOMMA, IsaOp::UTCOMMA_T), true, {{IsaMod::Func, hasFour ? FourScales : TwoScales}}};
  }
  default: return {either(IsaOp::UTCHMMA, IsaOp::UTCHMMA_T), false, {}}; // the descriptor specifies the type
  }
}

/// The use of the buffer for A: Mod::Sub.
int bufferOfA(Mod collector) {
  enum { Keep = 1, Reuse = 2 };
  switch (collector) {
  case Mod::CollectorAFill: return Keep;
  case Mod::CollectorAUse: return Keep | Reuse;
  case Mod::CollectorALastuse: return Reuse;
  default: return 0;
  }
}

/// Likewise for B, which has four buffers: Mod::Sub2.
int bufferOfB(Mod collector) {
  if (collector < Mod::CollectorB0Fill || collector > Mod::CollectorB3Discard) return 0;
  // Fill, use, lastuse and discard of one buffer have consecutive numbers.
  const int at = static_cast<int>(collector) - static_cast<int>(Mod::CollectorB0Fill), number = at / 4;
  enum { Keep = 4, Reuse = 8 };
  static constexpr std::array<int, 4> kUses{Keep, Keep | Reuse, Reuse, 0};
  const int use = kUses[static_cast<std::size_t>(at % 4)];
  return use == 0 ? 0 : number | use;
}

/// Collects operands in uniform registers.
class Operands {
 public:
  explicit Operands(FunctionLowering& f) : f_(f) {}

  /// `words`, one for each register of a run.
  IsaOperand run(std::span<const IsaOperand> words) {
    const IsaOperand registers = uniformRun(f_, static_cast<unsigned>(words.size()));
    for (unsigned k = 0; k < words.size(); ++k)
      words_.push_back({ori::component(registers, k), f_.inReg(words[k])});
    return registers;
  }
  IsaOperand matrix(const Operand& descriptor) {
    const IsaOperand value = f_.sourceReg(descriptor, Type::B64);
    return run(std::array{ori::component(value, 0), ori::component(value, 1)});
  }
  /// An address in tensor memory; the instructions have no offset.
  IsaOperand address(const Operand& operand) {
    const Address a = addressOf(f_, operand, StateSpace::Shared);
    return a.offset == 0 ? f_.inReg(a.base) : sharedWord(f_, a);
  }
  std::span<const LaneWord> words() const { return words_; }

 private:
  FunctionLowering& f_;
  std::vector<LaneWord> words_;
};

} // namespace

void lowerTensorProduct(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const A a = ops[1].is(OperandKind::Address) ? A::Tensor : A::Shared;
  const bool isPair = form.get(Slot::CtaGroup) == Mod::CtaGroup2, isSparse = form.get(Slot::Sparsity) != Mod::None;
  const bool isWs = form.has(Mod::Ws);
  Product product = productOf(form, a);
  std::size_t next = 3;
  const Operand* metadata = isSparse ? &ops[next++] : nullptr;
  const Operand& shape = ops[next++];
  LaneRegion region(f);
  Operands in(f);
  const IsaOperand left = a == A::Tensor ? in.run(std::array{in.address(ops[1])}) : in.matrix(ops[1]),
                   right = in.matrix(ops[2]), d = in.run(std::array{in.address(ops[0])}),
                   described = in.run(
                       std::array{metadata ? in.address(*metadata) : IsaOperand::rz(), f.sourceReg(shape, Type::B32)});
  IsaOperand more; // scales, disabled lanes of D, or zero columns of B
  if (product.hasScales) {
    more = in.run(std::array{in.address(ops[next]), in.address(ops[next + 1])});
    next += 2;
  } else if (ops[next].is(OperandKind::Vector)) {
    std::vector<IsaOperand> lanes;
    for (const Operand& part : f.parts(ops[next]))
      lanes.push_back(f.sourceReg(part, Type::B32));
    more = in.run(lanes);
    ++next;
  }
  const Operand& enable = ops[next++];
  IsaOperand adds = IsaOperand::zero(File::UP), enabled;
  if (enable.is(OperandKind::Int)) {
    if (enable.bits() == 0) adds = adds.notted();
  } else {
    const IsaOperand word = f.newR();
    f.emit(IsaOp::SEL, {word, IsaOperand::rz(), f.imm(1), f.predicate(enable).notted()});
    enabled = in.run(std::array{word});
    adds = f.out().use(f.out().newVReg(File::UP));
  }
  IsaOperand scale;
  if (next < ops.size() && isWs) {
    const IsaOperand mask = f.sourceReg(ops[next], Type::B64);
    more = in.run(std::array{ori::component(mask, 0), ori::component(mask, 1), IsaOperand::rz(), IsaOperand::rz()});
  } else if (next < ops.size()) {
    scale = IsaOperand::immediate(static_cast<std::int32_t>(ops[next].intValue()));
  }

  std::vector<ModValue>& mods = product.mods;
  mods.insert(mods.end(), {{IsaMod::Sub4, isPair ? 1 : 0}, {IsaMod::Sub, bufferOfA(form.get(Slot::Collector))}});
  if (isa::desc(product.op).modIndex(IsaMod::Sub3) >= 0) // no product with scales
    mods.insert(mods.end(), {{IsaMod::Sub3, isWs ? 1 : 0}, {IsaMod::Sub2, bufferOfB(form.get(Slot::Collector))}});
  if (form.has(Mod::Ashift)) mods.push_back({IsaMod::Wrap, 1});
  std::vector<IsaOperand> operands{left, right, d, described, more, adds};
  if (!scale.isNone()) operands.push_back(scale);
  const auto findEnabled = [&] {
    const IsaOperand always = IsaOperand::zero(File::UP);
    if (!enabled.isNone())
      f.emit(IsaOp::UISETP, {adds, always, enabled, IsaOperand::zero(File::UR), always},
             {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  };
  region.forEachLane(in.words(), findEnabled, [&] { f.emit(product.op, operands, mods); });
  region.end();
}

} // namespace orias::ptx
