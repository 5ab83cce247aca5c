// Warp-level matrix instructions on registers, and the loads and stores of their fragments.

#include "encoder/isa/codec.h"
#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/matrix_helpers.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/sync.h"

#include <fmt/format.h>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

std::span<const Operand> elementsOf(FunctionLowering& f, const Operand& operand) {
  return operand.is(OperandKind::Vector) ? f.parts(operand) : std::span(&operand, 1);
}

/// The elements of a fragment in consecutive registers, as the instructions require.
IsaOperand gathered(FunctionLowering& f, const Operand& fragment, Type element) {
  auto elements = elementsOf(f, fragment);
  const unsigned each = FunctionLowering::wordsOf(element);
  const IsaOperand run = f.newR(each * static_cast<unsigned>(elements.size()));
  for (unsigned e = 0; e < elements.size(); ++e)
    f.copy(ori::component(run, e * each, each), f.source(elements[e], element));
  return run;
}

void scatter(FunctionLowering& f, const Operand& fragment, IsaOperand run) {
  auto elements = elementsOf(f, fragment);
  const unsigned each = run.width / static_cast<unsigned>(elements.size());
  for (unsigned e = 0; e < elements.size(); ++e)
    if (!elements[e].is(OperandKind::Sink)) f.copy(f.dest(elements[e]), Value::of(ori::component(run, e * each, each)));
}

void wholeWarp(FunctionLowering& f) {
  synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);
}

/// 0, 1, 2 for one, two, four matrices.
unsigned countCode(const Form& form) {
  switch (form.get(Slot::Count)) {
  case Mod::X2: return 1;
  case Mod::X4: return 2;
  default: return 0;
  }
}

/// ldmatrix of bytes, or of six-bit and four-bit numbers that are expanded to bytes.
std::vector<ModValue> byteMatrixMods(const Form& form) {
  enum { FourBits = 5, SixBits, Bytes };
  enum { Rows = 2, Transposed = 4 };
  return {{IsaMod::SrcFmt, form.has(Mod::B4x16P64)   ? FourBits
                           : form.has(Mod::B6x16P32) ? SixBits
                                                     : Bytes},
          {IsaMod::Sub, form.has(Mod::Trans) ? Transposed : Rows},
          {IsaMod::Size, countCode(form)}};
}

bool isOfHalves(const Form& form) {
  return form.shape == MatrixShape{8, 8, 0};
}

} // namespace

void lowerLdmatrix(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const Address a = sharedAddress(f, ops[1], form.space());
  const IsaOperand run = f.newR(static_cast<unsigned>(elementsOf(f, ops[0]).size())),
                   offset = IsaOperand::immediate(static_cast<std::int32_t>(a.offset));
  if (isOfHalves(form))
    f.emit(IsaOp::LDSM, {run, a.base, a.uniform, offset},
           {{IsaMod::Size, countCode(form)}, {IsaMod::Sub, form.has(Mod::Trans) ? 1 : 0}});
  else
    f.emit(IsaOp::LDSM_BYTES, {run, a.base, a.uniform, offset}, byteMatrixMods(form));
  scatter(f, ops[0], run);
  f.endUnguarded(join);
}

void lowerStmatrix(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const Address a = sharedAddress(f, ops[0], form.space());
  const IsaOperand offset = IsaOperand::immediate(static_cast<std::int32_t>(a.offset)),
                   data = gathered(f, ops[1], Type::B32);
  const ModValue size{IsaMod::Size, countCode(form)};
  if (isOfHalves(form))
    f.emit(IsaOp::STSM, {a.base, a.uniform, offset, data}, {size, {IsaMod::Sub, form.has(Mod::Trans) ? 1 : 0}});
  else
    f.emit(IsaOp::STSM_BYTES, {a.base, a.uniform, offset, data}, {size});
  f.endUnguarded(join);
}

void lowerMovmatrix(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const IsaOperand moved = f.newR();
  f.emit(IsaOp::MOVM, {moved, f.sourceReg(ops[1], Type::B32)});
  f.copy(f.dest(ops[0]), Value::of(moved));
  f.endUnguarded(join);
}

namespace {

/// Doubles of 16 rows: one 8x8x4 product for each half of the rows and each four of the depth, in ascending order.
IsaOperand doubleProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, IsaOperand c) {
  const IsaOperand d = f.newR(c.width);
  const unsigned steps = b.width / 2;
  for (unsigned half = 0; half < 2; ++half) {
    IsaOperand sum = ori::component(c, 4 * half, 4);
    for (unsigned k = 0; k < steps; ++k) {
      const IsaOperand next = f.newR(4);
      f.emit(IsaOp::DMMA_884, {next, ori::component(a, 4 * k + 2 * half, 2), ori::component(b, 2 * k, 2), sum},
             {{IsaMod::Rnd, rounding(form)}});
      sum = next;
    }
    f.copy(ori::component(d, 4 * half, 4), Value::of(sum));
  }
  return d;
}

/// Converts 8-bit floating-point numbers to halves: the lower two of each register, then the upper two. The order along
/// the depth does not matter if both matrices use the same.
IsaOperand byteFloatProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, IsaOperand c) {
  const bool isDeep = form.shape == MatrixShape{16, 8, 32}, isFloat = form.type(0) == Type::F32;
  const auto halves = [&](IsaOperand bytes, Type type, bool isUpper) {
    const IsaOperand r = f.newR(bytes.width);
    for (unsigned w = 0; w < bytes.width; ++w)
      unpackHalves(f, ori::component(r, w), ori::component(bytes, w), type, isUpper);
    return r;
  };
  IsaOperand sum = IsaOperand::rz(c.width);
  for (const bool isUpper : {false, true}) {
    const IsaOperand next = f.newR(c.width);
    f.emit(isDeep ? IsaOp::HMMA_16816 : IsaOp::HMMA_1688,
           {next, halves(a, form.type(1), isUpper), halves(b, form.type(2), isUpper), sum},
           {{IsaMod::DstFmt, isFloat ? 1 : 0}, {IsaMod::SrcFmt, 0}});
    sum = next;
  }
  return addSums(f, sum, c, isFloat);
}

} // namespace

namespace {

/// mma with a kind, and mma of bytes on chips that have such products: sm_120.
void lowerNarrowProduct(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const auto format = [](Type type) {
    switch (type) {
    case Type::E4M3: return 0;
    case Type::E5M2: return 1;
    case Type::E3M2: return 3;
    case Type::E2M3: return 4;
    default: return 5;
    }
  };
  const bool isScaled = form.typeCount() == 5, areNibbles = form.has(Mod::KindMxf4) || form.has(Mod::KindMxf4nvf4);
  const bool isSparse = form.get(Slot::Sparsity) != Mod::None;
  const auto either = [&](IsaOp dense, IsaOp sparse) { return isSparse ? sparse : dense; };
  const IsaOp op = areNibbles ? either(IsaOp::OMMA_SF_16864, IsaOp::OMMA_SF_SP_168128)
                   : isScaled ? either(IsaOp::QMMA_SF_16832, IsaOp::QMMA_SF_SP_16864)
                   : form.shape == MatrixShape{16, 8, 16}
                       ? IsaOp::QMMA_NARROW_16816
                       : either(IsaOp::QMMA_NARROW_16832, IsaOp::QMMA_SP_NARROW_16864);
  if (!isa::isListedFor(f.target(), op)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const IsaOperand a = gathered(f, ops[1], Type::B32), b = gathered(f, ops[2], Type::B32),
                   c = gathered(f, ops[3], Type::B32);
  const IsaOperand d = f.newR(c.width);
  const std::size_t scales = isSparse ? 6 : 4; // index of the first scale operand
  const IsaOperand places = isSparse ? gathered(f, ops[4], Type::B32) : IsaOperand(),
                   selectsPlaces =
                       isSparse ? IsaOperand::immediate(static_cast<std::int32_t>(ops[5].intValue())) : IsaOperand();
  std::vector<ModValue> mods;
  if (!areNibbles) mods = {{IsaMod::Type, format(form.type(1))}, {IsaMod::Sub, format(form.type(2))}};
  if (!isScaled) {
    mods.push_back({IsaMod::DstFmt, form.type(0) == Type::F32 ? 1 : 0});
    if (isSparse)
      f.emit(op, {d, a, b, c, places, selectsPlaces}, mods);
    else
      f.emit(op, {d, a, b, c}, mods);
  } else {
    enum { kByFour = 1, kByTwo = 2 };
    if (areNibbles) mods.push_back({IsaMod::Func, form.has(Mod::ScaleVec4X) ? kByFour : kByTwo});
    const IsaOperand scalesA = gathered(f, ops[scales], Type::B32), scalesB = gathered(f, ops[scales + 2], Type::B32);
    // Byte and lane selectors, of A and of B, in one word.
    constexpr std::array<unsigned, 4> kShifts{0, 2, 3, 5};
    const auto ofA = f.parts(ops[scales + 1]), ofB = f.parts(ops[scales + 3]);
    const std::array<Value, 4> which{f.source(ofA[0], Type::U16), f.source(ofA[1], Type::U16),
                                     f.source(ofB[0], Type::U16), f.source(ofB[1], Type::U16)};
    std::uint64_t known = 0;
    IsaOperand selector;
    for (unsigned k = 0; k < which.size(); ++k) {
      if (which[k].isConstant()) {
        known |= which[k].bits() << kShifts[k];
        continue;
      }
      const IsaOperand moved = f.newR();
      f.emit(IsaOp::SHF, {moved, f.extended(which[k], Type::U16), f.imm(kShifts[k]), IsaOperand::rz()},
             {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
      if (selector.isNone()) {
        selector = moved;
      } else {
        const IsaOperand sum = f.newR();
        f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), selector, moved, IsaOperand::rz()});
        selector = sum;
      }
    }
    IsaOperand uniform = IsaOperand::zero(isa::File::UR);
    if (!selector.isNone() || known != 0) {
      uniform = f.b().newUR();
      IsaOperand all = f.inReg(f.imm(static_cast<std::int64_t>(known)));
      if (!selector.isNone()) {
        const IsaOperand sum = f.newR();
        f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), selector, all, IsaOperand::rz()});
        all = sum;
      }
      f.emit(IsaOp::R2UR, {IsaOperand::pt(), uniform, all});
    }
    if (isSparse) {
      const IsaOperand both = f.newR(2);
      f.copy(ori::component(both, 0), Value::of(places));
      f.copy(ori::component(both, 1), Value::of(scalesA));
      f.emit(op, {d, a, b, c, both, scalesB, uniform, selectsPlaces}, mods);
    } else {
      f.emit(op, {d, a, b, c, scalesA, scalesB, uniform}, mods);
    }
  }
  scatter(f, ops[0], d);
  f.endUnguarded(join);
}

} // namespace

bool isByteFloat(Type type) {
  return type == Type::E4M3 || type == Type::E5M2;
}

void lowerMma(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type typeD = form.type(0), typeA = form.type(1), typeB = form.type(2), typeC = form.type(3);
  const MatrixShape shape = form.shape;
  auto ops = f.operands(i);
  IsaOp op = IsaOp::NOP;
  std::vector<isa::ModValue> mods;
  // Floating-point: one source format for both matrices, sums in f16 or f32.
  const bool isHalf = typeA == Type::F16 || typeA == Type::BF16;
  if (typeA == typeB && typeC == typeD && (typeD == Type::F32 || (typeD == Type::F16 && typeA == Type::F16)) &&
      (isHalf || typeA == Type::TF32)) {
    if (isHalf && shape == MatrixShape{16, 8, 16}) op = IsaOp::HMMA_16816;
    if (shape == MatrixShape{16, 8, 8}) op = IsaOp::HMMA_1688;
    if (shape == MatrixShape{16, 8, 4}) op = IsaOp::HMMA_1684;
    mods = {{IsaMod::DstFmt, typeD == Type::F32 ? 1 : 0},
            {IsaMod::SrcFmt, typeA == Type::BF16   ? 1
                             : typeA == Type::TF32 ? 2
                                                   : 0}};
  }
  // Bytes with 32-bit accumulators.
  const auto isByte = [](Type t) { return t == Type::S8 || t == Type::U8; };
  if (isByte(typeA) && isByte(typeB) && typeD == Type::S32 && typeC == Type::S32) {
    if (shape == MatrixShape{16, 8, 32}) op = IsaOp::IMMA_16832;
    if (shape == MatrixShape{16, 8, 16}) op = IsaOp::IMMA_16816;
    if (shape == MatrixShape{8, 8, 16}) op = IsaOp::IMMA_8816;
    mods = {{IsaMod::SrcFmt, typeA == Type::S8 ? 1 : 0},
            {IsaMod::DstFmt, typeB == Type::S8 ? 1 : 0},
            {IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0}};
  }
  const Type word = typeA == Type::F64 ? Type::F64 : Type::B32;
  if (typeA == Type::F64 && shape == MatrixShape{8, 8, 4}) {
    op = IsaOp::DMMA_884;
    mods = {{IsaMod::Rnd, rounding(form)}};
  }
  const bool isDoubleOf16 = typeA == Type::F64 && shape.m == 16;
  const bool isByteProduct = isByteFloat(typeA) && isByteFloat(typeB) && typeC == typeD;
  const bool hasByteProducts = isa::isListedFor(f.target(), IsaOp::QMMA_NARROW_16832);
  if (form.get(Slot::Kind) != Mod::None ||
      (isByteProduct && hasByteProducts && (form.get(Slot::Sparsity) == Mod::None || form.has(Mod::SpOrdered)))) {
    lowerNarrowProduct(f, i, form);
    return;
  }
  if (isDoubleOf16) op = IsaOp::DMMA_884;
  if (isByteProduct) op = IsaOp::HMMA_16816;
  const bool isSparse = form.get(Slot::Sparsity) != Mod::None;
  const bool isNarrow = bitWidth(typeA) < 8;
  const bool isQuad = typeA == Type::F16 && shape == MatrixShape{8, 8, 4};
  const bool isUsualLayout = form.get(Slot::Layout) == Mod::Row && form.get(Slot::LayoutB) == Mod::Col;
  if ((op == IsaOp::NOP && !isSparse && !isNarrow && !isQuad) || ops.size() != (isSparse ? 6u : 4u) ||
      (!isUsualLayout && !isQuad)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const IsaOperand a = gathered(f, ops[1], word), b = gathered(f, ops[2], word), c = gathered(f, ops[3], word);
  IsaOperand d;
  if (isSparse || isNarrow || isQuad) {
    auto product = isQuad     ? quadProduct(f, form, a, b, c)
                   : isSparse ? sparseProduct(f, form, a, b, c, gathered(f, ops[4], Type::B32),
                                              IsaOperand::immediate(static_cast<std::int32_t>(ops[5].intValue())))
                              : fourBitProduct(f, form, a, b, c);
    if (!product && isNarrow && !isSparse) product = bitProduct(f, form, a, b, c);
    if (!product) {
      f.unsupported(std::string(f.opcodeText()));
      return;
    }
    d = *product;
  } else if (isDoubleOf16) {
    d = doubleProduct(f, form, a, b, c);
  } else if (isByteProduct) {
    d = byteFloatProduct(f, form, a, b, c);
  } else {
    d = f.newR(c.width);
    f.emit(op, {d, a, b, c}, mods);
  }
  scatter(f, ops[0], d);
  f.endUnguarded(join);
}

} // namespace orias::ptx
