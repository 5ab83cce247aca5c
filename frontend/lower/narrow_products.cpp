// Matrix products of four-bit or one-bit elements, by hardware products of bytes and of bits; sparse products.

#include "frontend/lower/matrix_helpers.h"

#include "encoder/isa/codec.h"

#include <array>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

/// Expands every other four-bit element to a byte: unsigned ones unchanged, signed ones in the upper half, 16 times as
/// large.
IsaOperand asBytes(FunctionLowering& f, IsaOperand nibbles, bool isSigned, bool isUpper) {
  const IsaOperand bytes = f.newR(nibbles.width);
  constexpr std::int64_t kUpper = static_cast<std::int32_t>(0xf0f0f0f0), kLower = 0x0f0f0f0f;
  for (unsigned w = 0; w < nibbles.width; ++w) {
    IsaOperand word = ori::component(nibbles, w);
    if (isSigned != isUpper) { // the elements are in the other half
      const IsaOperand moved = f.newR();
      const bool isRight = !isSigned;
      f.emit(IsaOp::SHF, {moved, isRight ? IsaOperand::rz() : word, f.imm(4), isRight ? word : IsaOperand::rz()},
             {{IsaMod::ShiftDir, isRight ? isa::ShiftDir::R : isa::ShiftDir::L},
              {IsaMod::ShiftType, isa::ShiftType::U32},
              {IsaMod::Hi, isRight ? 1 : 0}});
      word = moved;
    }
    f.emit(IsaOp::LOP3, {kNone, ori::component(bytes, w), word, f.imm(isSigned ? kUpper : kLower), IsaOperand::rz(),
                         f.imm(0xc0), kFalse});
  }
  return bytes;
}

IsaOperand inverted(FunctionLowering& f, IsaOperand words) {
  const IsaOperand r = f.newR(words.width);
  constexpr int kNot = 0x0f; // of the first source
  for (unsigned w = 0; w < words.width; ++w)
    f.emit(IsaOp::LOP3, {kNone, ori::component(r, w), ori::component(words, w), IsaOperand::rz(), IsaOperand::rz(),
                         f.imm(kNot), kFalse});
  return r;
}

} // namespace

void addInteger(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool saturates) {
  if (!saturates) {
    f.emit(IsaOp::IADD3, {d, kNone, kNone, a, b, IsaOperand::rz()});
    return;
  }
  const IsaOperand sum = f.newR(), changed = f.newR(), sign = f.newR(), limit = f.newR(), isOver = f.newP();
  f.emit(IsaOp::IADD3, {sum, kNone, kNone, a, b, IsaOperand::rz()});
  constexpr int kBothDiffer = 0x42, kXor = 0x3c; // (a ^ c) & (b ^ c); a ^ b
  f.emit(IsaOp::LOP3, {kNone, changed, a, b, sum, f.imm(kBothDiffer), kFalse});
  f.emit(IsaOp::ISETP, {isOver, kNone, changed, IsaOperand::rz(), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::LT}, {IsaMod::Type, isa::IntType::S32}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::SHF, {sign, IsaOperand::rz(), f.imm(31), a},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
  f.emit(IsaOp::LOP3, {kNone, limit, sign, f.imm(0x7fffffff), IsaOperand::rz(), f.imm(kXor), kFalse});
  f.emit(IsaOp::SEL, {d, limit, sum, isOver});
}

namespace {

bool isFourBits(Type type) {
  return type == Type::S4 || type == Type::U4;
}

/// Products of signed and unsigned four-bit elements, by two products `op` of bytes. `places`: the metadata of a sparse
/// left matrix, which tells its elements and their lanes. It describes pairs of neighbors, so it holds for each element
/// of a pair.
IsaOperand productByBytes(FunctionLowering& f, const Form& form, IsaOp op, IsaOperand a, IsaOperand b, IsaOperand c,
                          std::span<const IsaOperand> places) {
  const bool aSigned = form.type(1) == Type::S4, bSigned = form.type(2) == Type::S4;
  IsaOperand sum = IsaOperand::rz(c.width);
  for (const bool isUpper : {false, true}) {
    const IsaOperand next = f.newR(c.width);
    std::vector<IsaOperand> operands{next, asBytes(f, a, aSigned, isUpper), asBytes(f, b, bSigned, isUpper), sum};
    operands.insert(operands.end(), places.begin(), places.end());
    const std::vector<isa::ModValue> mods{
        {IsaMod::SrcFmt, aSigned ? 1 : 0}, {IsaMod::DstFmt, bSigned ? 1 : 0}, {IsaMod::Sat, 0}};
    f.emit(op, operands, mods);
    sum = next;
  }
  const unsigned by = (aSigned ? 4 : 0) + (bSigned ? 4 : 0);
  const IsaOperand d = f.newR(c.width);
  for (unsigned w = 0; w < c.width; ++w) {
    IsaOperand part = ori::component(sum, w);
    if (by != 0) {
      const IsaOperand scaled = f.newR();
      f.emit(IsaOp::SHF, {scaled, IsaOperand::rz(), f.imm(by), part},
             {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
      part = scaled;
    }
    addInteger(f, ori::component(d, w), ori::component(c, w), part, form.has(Mod::Satfinite));
  }
  return d;
}

} // namespace

std::optional<IsaOperand> fourBitProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b,
                                         IsaOperand c) {
  if (!isFourBits(form.type(1)) || !isFourBits(form.type(2))) return std::nullopt;
  IsaOp op = IsaOp::NOP;
  if (form.shape == MatrixShape{8, 8, 32}) op = IsaOp::IMMA_8816;
  if (form.shape == MatrixShape{16, 8, 32}) op = IsaOp::IMMA_16816;
  if (form.shape == MatrixShape{16, 8, 64}) op = IsaOp::IMMA_16832;
  if (op == IsaOp::NOP) return std::nullopt;
  return productByBytes(f, form, op, a, b, c, {});
}

namespace {

/// Counts common bits on chips without such an instruction: a product of bytes for each bit of a byte. The order along
/// the depth does not matter if both matrices use the same.
IsaOperand bitProductByBytes(FunctionLowering& f, IsaOp op, IsaOperand a, IsaOperand b, IsaOperand c) {
  constexpr unsigned kBits = 8;
  constexpr std::int64_t kOnes = 0x01010101, kAnd = 0xc0;
  const auto place = [&](IsaOperand words, unsigned bit) {
    const IsaOperand r = f.newR(words.width);
    for (unsigned w = 0; w < words.width; ++w) {
      IsaOperand word = ori::component(words, w);
      if (bit != 0) {
        const IsaOperand moved = f.newR();
        f.emit(IsaOp::SHF, {moved, IsaOperand::rz(), f.imm(bit), word},
               {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
        word = moved;
      }
      f.emit(IsaOp::LOP3, {IsaOperand::pt(), ori::component(r, w), f.inReg(word), f.imm(kOnes), IsaOperand::rz(),
                           f.imm(kAnd), IsaOperand::pt().notted()});
    }
    return r;
  };
  IsaOperand sum = c;
  for (unsigned bit = 0; bit < kBits; ++bit) {
    const IsaOperand next = f.newR(c.width);
    f.emit(op, {next, place(a, bit), place(b, bit), sum}, {{IsaMod::SrcFmt, 0}, {IsaMod::DstFmt, 0}, {IsaMod::Sat, 0}});
    sum = next;
  }
  return sum;
}

} // namespace

std::optional<IsaOperand> bitProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, IsaOperand c) {
  if (form.type(1) != Type::B1 || form.type(2) != Type::B1) return std::nullopt;
  IsaOp op = IsaOp::NOP;
  if (form.shape == MatrixShape{8, 8, 128}) op = IsaOp::BMMA_88128;
  if (form.shape == MatrixShape{16, 8, 128}) op = IsaOp::BMMA_168128;
  if (form.shape == MatrixShape{16, 8, 256}) op = IsaOp::BMMA_168256;
  if (op == IsaOp::NOP) return std::nullopt;
  if (!isa::isListedFor(f.target(), op)) {
    const IsaOp bytes = op == IsaOp::BMMA_88128    ? IsaOp::IMMA_8816
                        : op == IsaOp::BMMA_168128 ? IsaOp::IMMA_16816
                                                   : IsaOp::IMMA_16832;
    if (!form.has(Mod::Xor)) return bitProductByBytes(f, bytes, a, b, c);
    return bitProductByBytes(f, bytes, inverted(f, a), b, bitProductByBytes(f, bytes, a, inverted(f, b), c));
  }
  const IsaOperand d = f.newR(c.width);
  if (!form.has(Mod::Xor) || f.target().has(isa::Capability::BitDifferences)) {
    f.emit(op, {d, a, b, c}, {{IsaMod::Func, form.has(Mod::Xor) ? 0 : 1}});
    return d;
  }
  // Bits that differ are set in exactly one of the two.
  const IsaOperand half = f.newR(c.width);
  const ModValue common{IsaMod::Func, 1};
  f.emit(op, {half, a, inverted(f, b), c}, {common});
  f.emit(op, {d, inverted(f, a), b, half}, {common});
  return d;
}

std::optional<IsaOperand> sparseProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, IsaOperand c,
                                        IsaOperand places, IsaOperand selector) {
  const Type typeD = form.type(0), typeA = form.type(1), typeB = form.type(2), typeC = form.type(3);
  IsaOp op = IsaOp::NOP;
  std::vector<ModValue> mods;
  const auto is = [&](unsigned k) { return form.shape == MatrixShape{16, 8, static_cast<std::uint16_t>(k)}; };
  const bool isHalf = typeA == Type::F16 || typeA == Type::BF16, isTf32 = typeA == Type::TF32;
  const auto isByte = [](Type t) { return t == Type::S8 || t == Type::U8; };
  if (typeA == typeB && typeC == typeD && (isHalf || isTf32)) {
    if (isHalf) op = is(16) ? IsaOp::HMMA_SP_16816 : is(32) ? IsaOp::HMMA_SP_16832 : IsaOp::NOP;
    if (isTf32) op = is(8) ? IsaOp::HMMA_SP_1688 : is(16) ? IsaOp::HMMA_SP_16816 : IsaOp::NOP;
    mods = {{IsaMod::DstFmt, typeD == Type::F32 ? 1 : 0}, {IsaMod::SrcFmt, isTf32 ? 2 : typeA == Type::BF16 ? 1 : 0}};
  } else if (isFourBits(typeA) && isFourBits(typeB)) {
    op = is(64) ? IsaOp::IMMA_SP_16832 : is(128) ? IsaOp::IMMA_SP_16864 : IsaOp::NOP;
    if (op == IsaOp::NOP) return std::nullopt;
    return productByBytes(f, form, op, a, b, c, std::array{places, selector});
  } else if (isByteFloat(typeA) && isByteFloat(typeB) && is(64)) {
    if (!isa::isListedFor(f.target(), IsaOp::QMMA_SP_16864)) return sparseByteFloatProduct(f, form, a, b, c, places);
    op = IsaOp::QMMA_SP_16864;
    mods = {{IsaMod::DstFmt, typeD == Type::F32 ? 1 : 0},
            {IsaMod::Type, typeA == Type::E5M2 ? 1 : 0},
            {IsaMod::Sub, typeB == Type::E5M2 ? 1 : 0}};
  } else if (isByte(typeA) && isByte(typeB)) {
    op = is(32) ? IsaOp::IMMA_SP_16832 : is(64) ? IsaOp::IMMA_SP_16864 : IsaOp::NOP;
    mods = {{IsaMod::SrcFmt, typeA == Type::S8 ? 1 : 0},
            {IsaMod::DstFmt, typeB == Type::S8 ? 1 : 0},
            {IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0}};
  }
  if (op == IsaOp::NOP) return std::nullopt;
  const IsaOperand d = f.newR(c.width);
  const std::vector<IsaOperand> operands{d, a, b, c, places, selector};
  f.emit(op, operands, mods);
  return d;
}

} // namespace orias::ptx
