// wgmma: products of a warp group on matrices in shared memory. They execute asynchronously. Up to allocation, the sum
// is assumed to be available at once; regalloc/wgmma_sync.h corrects that. The old sum is a separate operand, which the
// allocator assigns to the registers of the new one. A group ends with an empty product, as in ptxas' code for a group
// that has no other.

#include "frontend/lower/families.h"
#include "frontend/lower/matrix_helpers.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// The counter of products (gsb0), and the value for none.
constexpr std::int32_t kGroup = 0, kNoGroup = 7;

/// The instruction of a product, with its modifiers. The rows with A in registers follow those with A in memory.
struct Product {
  IsaOp op;
  std::vector<ModValue> mods;
  bool hasLanes = false, canNegate = false, canTranspose = false;
};

/// Products of integers and bits exist only for these numbers of columns.
std::optional<int> integerColumns(unsigned n) {
  static constexpr std::array<unsigned, 18> kColumns{8,   16,  24,  32,  48,  64,  80,  96,  112,
                                                     128, 144, 160, 176, 192, 208, 224, 240, 256};
  const auto at = std::find(kColumns.begin(), kColumns.end(), n);
  if (at == kColumns.end()) return std::nullopt;
  return static_cast<int>(at - kColumns.begin());
}

std::optional<Product> productOf(const Form& form) {
  const Type typeD = form.type(0), typeA = form.type(1), typeB = form.type(2);
  const bool isSparse = form.get(Slot::Sparsity) != Mod::None;
  const unsigned n = form.shape.n;
  if (form.shape.m != 64) return std::nullopt;
  const int columns = static_cast<int>(n / 8) - 1;
  const int sums = typeD == Type::F32 ? 1 : 0;
  enum { Wider = 32, Sparse16 = 64 };
  const bool isFloat = typeD == Type::F32 || typeD == Type::F16;
  if (isFloat && typeA == typeB && (typeA == Type::F16 || typeA == Type::BF16 || typeA == Type::TF32)) {
    const bool isTf32 = typeA == Type::TF32;
    const int shape = columns + (isSparse ? (isTf32 ? 0 : Sparse16) : isTf32 ? Wider : 0);
    return Product{isSparse ? IsaOp::HGMMA_SP : IsaOp::HGMMA,
                   {{IsaMod::Geometry, shape},
                    {IsaMod::DstFmt, sums},
                    {IsaMod::SrcFmt, isTf32                ? 2
                                     : typeA == Type::BF16 ? 1
                                                           : 0}},
                   isSparse,
                   true,
                   !isTf32};
  }
  const auto isByteFloat = [](Type t) { return t == Type::E4M3 || t == Type::E5M2; };
  if (isFloat && isByteFloat(typeA) && isByteFloat(typeB))
    return Product{isSparse ? IsaOp::QGMMA_SP : IsaOp::QGMMA,
                   {{IsaMod::Geometry, columns + (isSparse ? Wider : 0)},
                    {IsaMod::DstFmt, sums},
                    {IsaMod::Type, typeA == Type::E5M2 ? 1 : 0},
                    {IsaMod::Sub, typeB == Type::E5M2 ? 1 : 0}},
                   false,
                   true,
                   false};
  const auto place = integerColumns(n);
  if (typeD != Type::S32 || !place) return std::nullopt;
  if (typeA == Type::B1 && typeB == Type::B1 && !isSparse) return Product{IsaOp::BGMMA, {{IsaMod::Geometry, *place}}};
  const auto isByte = [](Type t) { return t == Type::S8 || t == Type::U8; };
  if (!isByte(typeA) || !isByte(typeB)) return std::nullopt;
  constexpr int kDepths = 3;
  return Product{isSparse ? IsaOp::IGMMA_SP : IsaOp::IGMMA,
                 {{IsaMod::Geometry, kDepths * *place + (isSparse ? 1 : 0)},
                  {IsaMod::SrcFmt, typeA == Type::S8 ? 1 : 0},
                  {IsaMod::DstFmt, typeB == Type::S8 ? 1 : 0},
                  {IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0}}};
}

IsaOp withRegisters(IsaOp op) {
  switch (op) {
  case IsaOp::HGMMA: return IsaOp::HGMMA_R;
  case IsaOp::HGMMA_SP: return IsaOp::HGMMA_SP_R;
  case IsaOp::QGMMA: return IsaOp::QGMMA_R;
  case IsaOp::QGMMA_SP: return IsaOp::QGMMA_SP_R;
  case IsaOp::IGMMA: return IsaOp::IGMMA_R;
  case IsaOp::IGMMA_SP: return IsaOp::IGMMA_SP_R;
  default: return IsaOp::BGMMA_R;
  }
}

std::span<const Operand> elementsOf(FunctionLowering& f, const Operand& operand) {
  return operand.is(OperandKind::Vector) ? f.parts(operand) : std::span(&operand, 1);
}

/// A word that is uniform, as the manual requires of descriptors.
void toUniform(FunctionLowering& f, IsaOperand uniform, const Value& word) {
  if (word.isConstant())
    f.emit(IsaOp::UMOV, {uniform, IsaOperand::immediate(static_cast<std::int32_t>(word.bits()))});
  else
    f.emit(IsaOp::R2UR, {IsaOperand::pt(), uniform, word.word(0)});
}

/// A predicate that is uniform.
IsaOperand toUniform(FunctionLowering& f, IsaOperand predicate) {
  const IsaOperand word = f.newR(), uniform = f.out().use(f.out().newVReg(File::UR)),
                   made = f.out().use(f.out().newVReg(File::UP)), always = IsaOperand::zero(File::UP);
  f.emit(IsaOp::SEL, {word, IsaOperand::rz(), f.imm(1), predicate.notted()});
  f.emit(IsaOp::R2UR, {IsaOperand::pt(), uniform, word});
  f.emit(IsaOp::UISETP, {made, always, uniform, IsaOperand::zero(File::UR), always},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  return made;
}

} // namespace

void lowerWgmma(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool isSparse = form.get(Slot::Sparsity) != Mod::None;
  std::optional<Product> product = productOf(form);
  const std::size_t first = isSparse ? 5 : 3; // index of the first operand after the matrices
  if (!product || ops.size() <= first) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const bool aIsMatrix = !ops[1].is(OperandKind::Vector);
  const auto number = [&](std::size_t k) { return first + k < ops.size() ? ops[first + k].intValue() : 0; };
  const bool negA = product->canNegate && number(1) < 0, negB = product->canNegate && number(2) < 0;
  const bool tnspA = product->canTranspose && aIsMatrix && number(3) != 0,
             tnspB = product->canTranspose && number(aIsMatrix ? 4 : 3) != 0;

  ori::Block* join = f.beginUnguarded();
  const IsaOperand descriptors = f.out().use(f.out().newVReg(File::UR, 4));
  const auto describe = [&](const Operand& operand, unsigned at) {
    const Value v = f.source(operand, Type::B64);
    for (unsigned w = 0; w < 2; ++w)
      toUniform(f, ori::component(descriptors, at + w),
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
      toUniform(f, ori::component(descriptors, w), Value::constant(0, 1)); // unused
  }
  describe(ops[2], 2);
  IsaOperand places;
  if (isSparse) {
    places = f.newR();
    f.copy(places, f.source(ops[3], Type::B32));
  }

  auto sums = elementsOf(f, ops[0]);
  const unsigned words = static_cast<unsigned>(sums.size());
  const IsaOperand result = f.newR(words);
  const Operand& scale = ops[first];
  const bool isKnown = scale.is(OperandKind::Int), isFresh = isKnown && scale.bits() == 0;
  IsaOperand old = IsaOperand::rz(words), isAdded = IsaOperand::zero(File::UP).notted();
  if (!isFresh) {
    old = f.newR(words);
    for (unsigned k = 0; k < words; ++k)
      f.copy(ori::component(old, k),
             sums[k].is(OperandKind::Sink) ? Value::constant(0, 1) : f.source(sums[k], Type::B32));
    isAdded = isKnown ? IsaOperand::zero(File::UP) : toUniform(f, f.predicate(scale));
  }
  std::vector<ModValue>& mods = product->mods;
  if (product->canNegate) {
    mods.push_back({IsaMod::Sub4, negB ? 1 : 0});
    if (aIsMatrix) mods.push_back({IsaMod::Sub3, negA ? 1 : 0});
  }
  if (product->canTranspose) {
    mods.push_back({IsaMod::Sub2, tnspB ? 1 : 0});
    if (aIsMatrix) mods.push_back({IsaMod::Sub, tnspA ? 1 : 0});
  }
  std::vector<IsaOperand> in{result};
  if (!aIsMatrix) in.push_back(negA ? left.negated() : left);
  in.insert(in.end(), {descriptors, old, isAdded});
  if (isSparse) in.push_back(places);
  if (product->hasLanes) in.push_back(IsaOperand::immediate(static_cast<std::int32_t>(ops[4].intValue())));
  in.push_back(IsaOperand::immediate(kNoGroup));
  f.emit(aIsMatrix ? product->op : withRegisters(product->op), in, mods);

  for (unsigned k = 0; k < words; ++k)
    if (!sums[k].is(OperandKind::Sink)) f.copy(f.dest(sums[k]), Value::of(ori::component(result, k)));
  f.endUnguarded(join);
}

/// wgmma.fence, commit_group, wait_group.
void lowerWgmmaOrder(FunctionLowering& f, const Instruction& i, const Form& form) {
  ori::Block* join = f.beginUnguarded();
  switch (form.op) {
  case Op::WgmmaFence: f.emit(IsaOp::WARPGROUP_ARRIVE, {}); break;
  case Op::WgmmaCommitGroup:
    f.emit(IsaOp::HGMMA,
           {IsaOperand::rz(2), IsaOperand::zero(File::UR, 4), IsaOperand::rz(2), IsaOperand::zero(File::UP).notted(),
            IsaOperand::immediate(kGroup)},
           {{IsaMod::Geometry, 0}, {IsaMod::DstFmt, 0}});
    break;
  default:
    f.emit(IsaOp::WARPGROUP_DEPBAR, {IsaOperand::immediate(kGroup),
                                     IsaOperand::immediate(static_cast<std::int32_t>(f.operands(i)[0].intValue()))});
    break;
  }
  f.endUnguarded(join);
}

} // namespace orias::ptx
