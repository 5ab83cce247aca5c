// Operations all of whose inputs are known: their result is a constant.

#include "encoder/isa/desc.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

using Word = std::uint32_t;

bool isUnused(const Operand& result) {
  return result.isNone() || result.isZeroReg();
}

/// The value of a source, with its modifiers; integers only.
std::optional<Word> valueOf(const Rewriter& rw, const Operand& o) {
  Operand plain = o;
  plain.flags = static_cast<std::uint8_t>(plain.flags & ~(Operand::kNeg | Operand::kNot));
  std::optional<Word> v = rw.constantOf(plain);
  if (!v) return v;
  if (o.inverted()) v = ~*v;
  if (o.neg()) v = 0u - *v;
  return v;
}

template <std::size_t N>
bool valuesOf(const Rewriter& rw, const Instr& instr, unsigned first, std::array<Word, N>& values) {
  for (unsigned i = 0; i < N; ++i) {
    const auto v = valueOf(rw, instr.op_(first + i).value());
    if (!v) return false;
    values[i] = *v;
  }
  return true;
}

Word shift(Word value, Word count, isa::ShiftDir direction, bool isSigned) {
  if (direction == isa::ShiftDir::L) return count > 31 ? 0 : value << count;
  const auto s = static_cast<std::int32_t>(value);
  if (isSigned) return static_cast<Word>(s >> (count > 31 ? 31 : count));
  return count > 31 ? 0 : value >> count;
}

/// Each nibble of the selector chooses one of eight bytes, or with its high bit set eight times that byte's sign.
Word permute(Word a, Word b, Word selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
  Word result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const Word nibble = selector >> (4 * i) & 15;
    Word byte = static_cast<Word>(bytes >> (8 * (nibble & 7)) & 0xff);
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

bool compare(isa::ICmp comparison, isa::IntType type, Word a, Word b) {
  // The order of signed numbers is that of unsigned ones with the sign turned around.
  if (type == isa::IntType::S32) a ^= 0x80000000u, b ^= 0x80000000u;
  switch (comparison) {
  case isa::ICmp::F: return false;
  case isa::ICmp::LT: return a < b;
  case isa::ICmp::EQ: return a == b;
  case isa::ICmp::LE: return a <= b;
  case isa::ICmp::GT: return a > b;
  case isa::ICmp::NE: return a != b;
  case isa::ICmp::GE: return a >= b;
  case isa::ICmp::T: return true;
  }
  return false;
}

/// The word that the instruction computes, when it is known.
std::optional<Word> evaluate(const Rewriter& rw, const Instr& instr) {
  switch (instr.op) {
  case Op::IADD3: {
    std::array<Word, 3> v{};
    if (!isUnused(instr.op_(1).value()) || !isUnused(instr.op_(2).value()) || !valuesOf(rw, instr, 3, v))
      return std::nullopt;
    return v[0] + v[1] + v[2];
  }
  case Op::IMAD: {
    std::array<Word, 3> v{};
    if (!valuesOf(rw, instr, 1, v)) return std::nullopt;
    return v[0] * v[1] + v[2];
  }
  case Op::PRMT: {
    std::array<Word, 3> v{};
    if (isa::getMod(instr.op, instr.mods, Mod::PrmtMode) != 0) return std::nullopt;
    // Rb is the selector.
    if (!valuesOf(rw, instr, 1, v)) return std::nullopt;
    return permute(v[0], v[2], v[1]);
  }
  case Op::SHF: {
    const auto direction = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir);
    const auto type = isa::modAs<isa::ShiftType>(instr, Mod::ShiftType);
    const bool high = isa::getMod(instr.op, instr.mods, Mod::Hi) != 0;
    if (type != isa::ShiftType::U32 && type != isa::ShiftType::S32) return std::nullopt;
    // The two plain shifts: the low word to the left, the high word to the right.
    const bool isLeft = direction == isa::ShiftDir::L && !high, isRight = direction == isa::ShiftDir::R && high;
    if (!isLeft && !isRight) return std::nullopt;
    const auto value = valueOf(rw, instr.op_(isLeft ? 1 : 3).value()), count = valueOf(rw, instr.op_(2).value());
    if (!value || !count) return std::nullopt;
    const Word bits = isa::getMod(instr.op, instr.mods, Mod::Wrap) ? *count & 31 : *count;
    return shift(*value, bits, direction, type == isa::ShiftType::S32);
  }
  default: return std::nullopt;
  }
}

bool foldSelect(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::SEL) return false;
  const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
  const auto which = rw.truthOf(instr.op_(3).value());
  if (!which && a != b) return false;
  const Operand& chosen = !which || *which ? a : b;
  if (chosen.isReg() ? !rw.isStable(chosen) : !(chosen.isImm() || chosen.isConst())) return false;
  rw.becomeCopy(instr, chosen);
  return true;
}

bool foldComparison(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::ISETP || !isUnused(instr.op_(1).value())) return false;
  const auto a = valueOf(rw, instr.op_(2).value()), b = valueOf(rw, instr.op_(3).value());
  const auto other = rw.truthOf(instr.op_(4).value());
  const auto comparison = isa::modAs<isa::ICmp>(instr, Mod::Cmp);
  bool isTrue = false;
  if (a && b) {
    isTrue = compare(comparison, isa::modAs<isa::IntType>(instr, Mod::Type), *a, *b);
  } else if (b && *b == 0 && isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::U32 &&
             (comparison == isa::ICmp::GE || comparison == isa::ICmp::LT)) {
    isTrue = comparison == isa::ICmp::GE;
  } else {
    return false;
  }
  if (!other) return false;
  switch (isa::modAs<isa::BoolOp>(instr, Mod::Bool)) {
  case isa::BoolOp::AND: isTrue = isTrue && *other; break;
  case isa::BoolOp::OR: isTrue = isTrue || *other; break;
  case isa::BoolOp::XOR: isTrue = isTrue != *other; break;
  }
  rw.becomeCopy(instr, isTrue ? Operand::pt() : Operand::pt().notted());
  return true;
}

} // namespace

bool foldConstants(Rewriter& rw, Instr& instr) {
  if (const std::optional<Word> value = evaluate(rw, instr)) {
    rw.becomeCopy(instr, Operand::immediate(static_cast<std::int32_t>(*value)));
    return true;
  }
  return foldSelect(rw, instr) || foldComparison(rw, instr);
}

} // namespace orias::phases
