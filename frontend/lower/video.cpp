// Video instructions: an operation on parts of words, then a second one with c, or the insertion of the result into c;
// also the same on two halves or four bytes at once. The hardware has only absolute differences; the others are
// sequences.

#include "encoder/isa/codec.h"
#include "frontend/lower/families.h"
#include "frontend/lower/integer_helpers.h"

#include <array>
#include <vector>

namespace orias::ptx {

using isa::ICmp;
using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

/// A range of bits of a word.
struct Part {
  unsigned position = 0, width = 32;
};

/// A signed number of as many words as exactness requires: one for few bits, two for sums of words, three for their
/// products.
using Number = std::vector<IsaOperand>;

bool isSigned(Type type) {
  return typeClass(type) == TypeClass::Signed;
}

/// `.b2`, `.h1`; without a selector the whole word.
Part partOf(const Operand& operand) {
  if (!operand.is(OperandKind::Register)) return {};
  const auto c = static_cast<unsigned>(operand.component());
  const auto from = [&](Component first) { return c - static_cast<unsigned>(first); };
  if (from(Component::B0) < 4) return {8 * from(Component::B0), 8};
  if (from(Component::H0) < 2) return {16 * from(Component::H0), 16};
  return {};
}

IsaOperand word(FunctionLowering& f, const Operand& operand) {
  return f.sourceReg(operand.is(OperandKind::Register) ? Operand::reg(operand.registerId()) : operand, Type::B32);
}

IsaOperand shiftRight(FunctionLowering& f, IsaOperand low, IsaOperand by, IsaOperand high, isa::ShiftType type,
                      bool takesHigh) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SHF, {r, low, by, high},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, type}, {IsaMod::Hi, takesHigh ? 1 : 0}});
  return r;
}
IsaOperand shiftLeft(FunctionLowering& f, IsaOperand low, IsaOperand by, IsaOperand high) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SHF, {r, low, by, high},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  return r;
}
/// All ones where the word is negative.
IsaOperand signOf(FunctionLowering& f, IsaOperand word) {
  return shiftRight(f, IsaOperand::rz(), f.imm(31), word, isa::ShiftType::S32, true);
}

/// The part of a word, extended to 32 bits.
IsaOperand extract(FunctionLowering& f, IsaOperand word, Part part, bool isSigned) {
  if (part.width == 32) return word;
  // PRMT: 0 to 3 select a byte of the first source, 4 a zero byte of the second; adding 8 repeats the sign of the byte.
  const unsigned first = part.position / 8, bytes = part.width / 8;
  unsigned selector = 0;
  for (unsigned k = 0; k < 4; ++k)
    selector |= (k < bytes ? first + k : isSigned ? 8 + first + bytes - 1 : 4) << (4 * k);
  const IsaOperand r = f.newR();
  f.emit(IsaOp::PRMT, {r, word, f.imm(selector), IsaOperand::rz()});
  return r;
}

/// `around` with the part replaced by the low bits of `value`.
IsaOperand insert(FunctionLowering& f, IsaOperand around, IsaOperand value, Part part) {
  if (part.width == 32) return value;
  const unsigned first = part.position / 8, bytes = part.width / 8;
  unsigned selector = 0;
  for (unsigned k = 0; k < 4; ++k)
    selector |= (k >= first && k < first + bytes ? 4 + k - first : k) << (4 * k);
  const IsaOperand r = f.newR();
  f.emit(IsaOp::PRMT, {r, around, f.imm(selector), value});
  return r;
}

Number extend(FunctionLowering& f, IsaOperand word, bool isSigned, std::size_t words) {
  Number n{word};
  const IsaOperand above = words == 1 ? word : isSigned ? signOf(f, word) : IsaOperand::rz();
  n.resize(words, above);
  return n;
}

/// a + b, or a - b. A single word needs no carry.
Number sum(FunctionLowering& f, const Number& a, const Number& b, bool subtracts) {
  Number r;
  IsaOperand carry;
  for (std::size_t w = 0; w < a.size(); ++w) {
    const bool isLast = w + 1 == a.size();
    const IsaOperand d = f.newR(), out = isLast ? kNone : f.newP();
    if (w == 0)
      f.emit(IsaOp::IADD3, {d, out, kNone, a[w], subtracts ? b[w].negated() : b[w], IsaOperand::rz()});
    else
      f.emit(IsaOp::IADD3_X, {d, out, kNone, a[w], subtracts ? b[w].notted() : b[w], IsaOperand::rz(), carry, kFalse});
    carry = out;
    r.push_back(d);
  }
  return r;
}

IsaOperand compare(FunctionLowering& f, IsaOperand a, IsaOperand b, ICmp cmp, bool isSigned) {
  const IsaOperand p = f.newP();
  f.emit(IsaOp::ISETP, {p, kNone, a, b, IsaOperand::pt()},
         {{IsaMod::Cmp, cmp},
          {IsaMod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32},
          {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

/// Compares numbers of one or two words.
IsaOperand compare(FunctionLowering& f, const Number& a, const Number& b, ICmp cmp) {
  if (a.size() == 1) return compare(f, a[0], b[0], cmp, true);
  const IsaOperand low = compare(f, a[0], b[0], cmp, false), p = f.newP();
  f.emit(IsaOp::ISETP_EX, {p, kNone, a[1], b[1], IsaOperand::pt(), low},
         {{IsaMod::Cmp, cmp}, {IsaMod::Type, isa::IntType::S32}, {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

Number choose(FunctionLowering& f, const Number& a, const Number& b, IsaOperand p) {
  Number r;
  for (std::size_t w = 0; w < a.size(); ++w) {
    r.push_back(f.newR());
    f.emit(IsaOp::SEL, {r.back(), f.inReg(a[w]), b[w], p});
  }
  return r;
}

IsaOperand minMax(FunctionLowering& f, IsaOperand a, IsaOperand b, bool isMinimum, bool isSigned) {
  const IsaOperand r = f.newR();
  f.emit(f.target().has(isa::Capability::VectorMinMax) ? IsaOp::VIMNMX : IsaOp::IMNMX,
         {r, f.inReg(a), b, isMinimum ? kNone : kFalse},
         {{IsaMod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}});
  return r;
}

/// Clamps to `bits` bits.
IsaOperand clamp(FunctionLowering& f, const Number& n, unsigned bits, bool isSigned) {
  IsaOperand r = n[0];
  if (n.size() == 1) {
    if (!isSigned) r = minMax(f, r, IsaOperand::rz(), false, true);
  } else {
    // The number fits in a word if all higher words equal the extension of the lowest.
    const IsaOperand above = isSigned ? signOf(f, r) : IsaOperand::rz();
    IsaOperand differs = f.newR();
    f.emit(IsaOp::LOP3, {kNone, differs, n[1], above, n.size() > 2 ? n[2] : f.inReg(above),
                         f.imm(n.size() > 2 ? 0x7e : 0x3c), kFalse});
    const IsaOperand fits = compare(f, differs, IsaOperand::rz(), ICmp::EQ, false);
    const IsaOperand sign = signOf(f, n.back()), limit = f.newR();
    // Negative: the minimum, 0x80000000 or 0. Otherwise the maximum, 0x7fffffff or 0xffffffff.
    f.emit(IsaOp::LOP3, {kNone, limit, sign, f.imm(isSigned ? 0x7fffffff : -1), IsaOperand::rz(),
                         f.imm(isSigned ? 0x3c : 0x0c), kFalse});
    r = choose(f, {r}, {limit}, fits)[0];
  }
  if (bits == 32) return r;
  const std::int64_t top = std::int64_t{1} << (isSigned ? bits - 1 : bits);
  r = minMax(f, r, f.imm(top - 1), true, isSigned);
  return isSigned ? minMax(f, r, f.imm(-top), false, true) : r;
}

ICmp comparison(Mod compare) {
  switch (compare) {
  case Mod::Eq: return ICmp::EQ;
  case Mod::Ne: return ICmp::NE;
  case Mod::Lt: return ICmp::LT;
  case Mod::Le: return ICmp::LE;
  case Mod::Gt: return ICmp::GT;
  default: return ICmp::GE;
  }
}

Number difference(FunctionLowering& f, const Number& a, const Number& b) {
  const IsaOperand isLess = compare(f, a, b, ICmp::LT);
  return choose(f, sum(f, b, a, true), sum(f, a, b, true), isLess);
}

Number extreme(FunctionLowering& f, const Number& a, const Number& b, bool isMinimum) {
  if (a.size() == 1) return {minMax(f, a[0], b[0], isMinimum, true)};
  return choose(f, a, b, compare(f, a, b, isMinimum ? ICmp::LT : ICmp::GT));
}

/// Half of the sum, rounded up; negative sums are rounded down.
Number average(FunctionLowering& f, const Number& a, const Number& b) {
  const Number both = sum(f, a, b, false);
  const IsaOperand r = f.newR();
  f.emit(IsaOp::IADD3, {r, kNone, kNone, both[0], f.imm(1), signOf(f, both[0])});
  return {shiftRight(f, IsaOperand::rz(), f.imm(1), r, isa::ShiftType::S32, true)};
}

/// One or zero.
Number truth(FunctionLowering& f, IsaOperand p) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SEL, {r, IsaOperand::rz(), f.imm(1), p.notted()});
  return {r};
}

Number compute(FunctionLowering& f, const Form& form, const Number& a, const Number& b) {
  switch (form.op) {
  case Op::Vadd:
  case Op::Vadd2:
  case Op::Vadd4: return sum(f, a, b, false);
  case Op::Vsub:
  case Op::Vsub2:
  case Op::Vsub4: return sum(f, a, b, true);
  case Op::Vabsdiff:
  case Op::Vabsdiff2:
  case Op::Vabsdiff4: return difference(f, a, b);
  case Op::Vmin:
  case Op::Vmin2:
  case Op::Vmin4: return extreme(f, a, b, true);
  case Op::Vmax:
  case Op::Vmax2:
  case Op::Vmax4: return extreme(f, a, b, false);
  case Op::Vavrg2:
  case Op::Vavrg4: return average(f, a, b);
  default: return truth(f, compare(f, a, b, comparison(form.compare())));
  }
}

/// Shifts by at most 32. Of the sources only a can be signed.
Number shift(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, bool isSignedA) {
  IsaOperand by;
  if (form.mode() == Mod::Wrap) {
    by = f.newR();
    f.emit(IsaOp::LOP3, {kNone, by, b, f.imm(31), IsaOperand::rz(), f.imm(0xc0), kFalse});
  } else {
    by = minMax(f, b, f.imm(32), true, false);
  }
  if (form.op == Op::Vshr) {
    const isa::ShiftType type = isSignedA ? isa::ShiftType::S32 : isa::ShiftType::U32;
    return extend(f, shiftRight(f, IsaOperand::rz(), by, a, type, true), isSignedA, 2);
  }
  const Number wide = extend(f, a, isSignedA, 2);
  const IsaOperand low = f.newR();
  f.emit(IsaOp::SHF, {low, a, by, IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  return {low, shiftLeft(f, a, by, wide[1]), wide[1]};
}

/// The second operation, with c.
void second(FunctionLowering& f, const Form& form, IsaOperand d, IsaOperand result, IsaOperand c, bool isSignedD) {
  if (form.action() == Mod::Add)
    f.emit(IsaOp::IADD3, {d, kNone, kNone, result, c, IsaOperand::rz()});
  else
    f.copy(d, Value::of(minMax(f, result, c, form.action() == Mod::Min, isSignedD)));
}

bool isComparison(Op op) {
  return op == Op::Vset || op == Op::Vset2 || op == Op::Vset4;
}

struct Types {
  bool d, a, b; ///< whether signed
};
/// Comparisons have no result type; their result is unsigned.
Types typesOf(const Form& form) {
  if (isComparison(form.op)) return {false, isSigned(form.type(0)), isSigned(form.type(1))};
  return {isSigned(form.type(0)), isSigned(form.type(1)), isSigned(form.type(2))};
}

/// The digits of a selection as written: `.b7031` is {7, 0, 3, 1}. Empty without one.
std::vector<unsigned> digitsOf(const Operand& operand, unsigned lanes) {
  if (!operand.is(OperandKind::Register) || operand.component() == Component::None) return {};
  if (operand.component() != Component::Bytes && operand.component() != Component::Halves)
    return {partOf(operand).position / (32 / lanes)};
  // Leading zeros are not kept; a mask has at least two digits.
  std::vector<unsigned> digits;
  for (std::uint32_t rest = operand.selection(); rest != 0 || digits.size() < 2; rest >>= 4)
    digits.insert(digits.begin(), rest & 15);
  return digits;
}

/// The part of {b, a} that each lane takes.
std::array<unsigned, 4> selectLanes(const Operand& operand, unsigned lanes, unsigned first) {
  std::vector<unsigned> digits = digitsOf(operand, lanes);
  std::array<unsigned, 4> selected{};
  const bool isGiven = !digits.empty();
  while (isGiven && digits.size() < lanes)
    digits.insert(digits.begin(), 0);
  for (unsigned k = 0; k < lanes; ++k)
    selected[k] = isGiven ? digits[lanes - 1 - k] : first + k;
  return selected;
}

/// vabsdiff4 of whole words of one type is one instruction on most chips.
bool isInstruction(const FunctionLowering& f, std::span<const Operand> ops, const Form& form) {
  bool is = isa::isListedFor(f.target(), IsaOp::VABSDIFF4) && form.op == Op::Vabsdiff4 && !form.sat() &&
            form.type(1) == form.type(2);
  for (const Operand& o : ops)
    is &= !o.is(OperandKind::Register) || o.component() == Component::None;
  return is;
}

} // namespace

void lowerVideo(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Types is = typesOf(form);
  const Part partA = partOf(ops[1]), partB = partOf(ops[2]), partD = partOf(ops[0]);
  const IsaOperand a = extract(f, word(f, ops[1]), partA, is.a), b = extract(f, word(f, ops[2]), partB, is.b);
  Number result;
  if (form.op == Op::Vshl || form.op == Op::Vshr) {
    result = shift(f, form, a, b, is.a);
  } else {
    const std::size_t words = partA.width == 32 || partB.width == 32 ? 2 : 1;
    result = compute(f, form, extend(f, a, is.a, words), extend(f, b, is.b, words));
  }
  const IsaOperand value = form.sat() ? clamp(f, result, partD.width, is.d) : result[0];
  const IsaOperand d = f.dest(ops[0].is(OperandKind::Register) ? Operand::reg(ops[0].registerId()) : ops[0]);
  if (partD.width != 32)
    f.copy(d, Value::of(insert(f, word(f, ops[3]), value, partD)));
  else if (form.action() == Mod::None)
    f.copy(d, Value::of(f.inReg(value)));
  else
    second(f, form, d, value, word(f, ops[3]), is.d);
}

/// (a * b + c) >> scale, with signs; exact in three words.
void lowerVideoMad(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Types is = typesOf(form);
  const IsaOperand a = extract(f, word(f, ops[1]), partOf(ops[1]), is.a),
                   b = extract(f, word(f, ops[2]), partOf(ops[2]), is.b), c = word(f, ops[3]);
  const bool negatesProduct = ops[1].isMinus() != ops[2].isMinus(), negatesC = ops[3].isMinus();
  const bool isSignedProduct = is.a || is.b || negatesProduct;

  const auto product = [&](IsaOperand x, IsaOperand y, isa::IntType type) {
    const IsaOperand r = f.newR(2);
    f.emit(IsaOp::IMAD_WIDE, {r, kNone, x, y, IsaOperand::rz(2)}, {{IsaMod::Type, type}});
    return r;
  };
  Number n;
  if (is.a == is.b) {
    const IsaOperand low = product(a, b, is.a ? isa::IntType::S32 : isa::IntType::U32);
    n = {ori::component(low, 0), ori::component(low, 1)};
    n.push_back(is.a ? signOf(f, n[1]) : IsaOperand::rz());
  } else {
    // The unsigned value of a negative number is too large by 2^32.
    const IsaOperand low = product(a, b, isa::IntType::U32), excess = f.newR();
    f.emit(IsaOp::LOP3, {kNone, excess, signOf(f, is.a ? a : b), is.a ? b : a, IsaOperand::rz(), f.imm(0xc0), kFalse});
    const IsaOperand high = f.newR();
    f.emit(IsaOp::IADD3, {high, kNone, kNone, ori::component(low, 1), excess.negated(), IsaOperand::rz()});
    n = {ori::component(low, 0), high, signOf(f, high)};
  }
  const Number zero(3, IsaOperand::rz());
  if (negatesProduct) n = sum(f, zero, n, true);
  n = sum(f, n, extend(f, c, isSignedProduct, 3), negatesC);
  if (form.has(Mod::Po)) n = sum(f, n, {f.inReg(IsaOperand::immediate(1)), IsaOperand::rz(), IsaOperand::rz()}, false);
  if (const unsigned scale = form.has(Mod::Shr7) ? 7 : form.has(Mod::Shr15) ? 15 : 0; scale != 0)
    n = {shiftRight(f, n[0], f.imm(scale), n[1], isa::ShiftType::U32, false),
         shiftRight(f, n[1], f.imm(scale), n[2], isa::ShiftType::U32, false),
         shiftRight(f, IsaOperand::rz(), f.imm(scale), n[2], isa::ShiftType::S32, true)};
  const IsaOperand value = form.sat() ? clamp(f, n, 32, isSignedProduct || negatesC) : n[0];
  f.copy(f.dest(ops[0]), Value::of(value));
}

void lowerVideoLanes(FunctionLowering& f, const Instruction& i, const Form& form, unsigned lanes) {
  auto ops = f.operands(i);
  const Types is = typesOf(form);
  const IsaOperand words[2] = {word(f, ops[1]), word(f, ops[2])};
  const bool adds = form.has(Mod::Add);
  const IsaOperand d = f.dest(ops[0].is(OperandKind::Register) ? Operand::reg(ops[0].registerId()) : ops[0]);
  if (isInstruction(f, ops, form)) {
    f.emit(IsaOp::VABSDIFF4, {d, kNone, words[0], words[1], adds ? word(f, ops[3]) : IsaOperand::rz()},
           {{IsaMod::Type, is.a ? 1 : 0}, {IsaMod::Sub, adds ? 1 : 0}});
    return;
  }
  const unsigned bits = 32 / lanes;
  const auto laneOf = [&](unsigned part, bool isSigned) {
    return extract(f, words[part / lanes], {part % lanes * bits, bits}, isSigned);
  };
  const std::array<unsigned, 4> fromA = selectLanes(ops[1], lanes, 0), fromB = selectLanes(ops[2], lanes, lanes);
  std::uint32_t mask = 0;
  for (unsigned lane : digitsOf(ops[0], lanes))
    mask |= 1u << lane;
  const std::uint32_t all = (1u << lanes) - 1;
  if (mask == 0) mask = all;
  IsaOperand result = adds || mask != all ? word(f, ops[3]) : IsaOperand();
  for (unsigned k = 0; k < lanes; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Number lane = compute(f, form, {laneOf(fromA[k], is.a)}, {laneOf(fromB[k], is.b)});
    const IsaOperand value = form.sat() ? clamp(f, lane, bits, is.d) : lane[0];
    if (adds) {
      const IsaOperand total = f.newR();
      f.emit(IsaOp::IADD3, {total, kNone, kNone, result, value, IsaOperand::rz()});
      result = total;
    } else {
      // The other lanes overwrite the first lane's higher bits.
      result = result.isNone() ? value : insert(f, result, value, {k * bits, bits});
    }
  }
  f.copy(d, Value::of(result));
}

void lowerVideo2(FunctionLowering& f, const Instruction& i, const Form& form) {
  lowerVideoLanes(f, i, form, 2);
}
void lowerVideo4(FunctionLowering& f, const Instruction& i, const Form& form) {
  lowerVideoLanes(f, i, form, 4);
}

} // namespace orias::ptx
