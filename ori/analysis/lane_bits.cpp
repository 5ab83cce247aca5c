#include "ori/analysis/lane_bits.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/print.h"

#include <algorithm>
#include <bit>

namespace orias::ori {

using isa::Mod;
using isa::Op;

namespace {

constexpr std::int32_t kLaneId = 0, kThreadX = 33;
constexpr std::uint32_t kWarpSize = 32;
constexpr LaneBits kLaneNumber = kWarpSize - 1;

bool isModified(const Operand& o) {
  return o.neg() || o.abs() || o.inverted() || o.half != isa::Operand::Half::None;
}

/// The bits that carries can reach: all from the lowest one on.
LaneBits upFrom(LaneBits bits) {
  return bits == 0 ? 0 : kAllLaneBits << std::countr_zero(bits);
}

struct Term {
  LaneBits bits = 0; ///< that may differ
  int zeros = 0;     ///< at the low end of the word, in all lanes
  bool isNegated = false;
};

/// Only the low bits of one term differ, and the other terms are zero there: the sum differs in the same bits.
LaneBits ofSum(std::initializer_list<Term> terms) {
  LaneBits all = 0;
  bool isPlain = true;
  for (const Term& t : terms) {
    isPlain &= all == 0 || t.bits == 0;
    isPlain &= t.bits == 0 || !t.isNegated;
    all |= t.bits;
  }
  const int width = std::bit_width(all);
  for (const Term& t : terms)
    isPlain &= t.bits != 0 || t.zeros >= width;
  return isPlain ? all : upFrom(all);
}

Term termOf(const Operand& o, const LaneWord& word) {
  return {word.bits, word.value ? std::countr_zero(*word.value) : 0, isModified(o)};
}

/// LOP3: a bit of the result differs unless the table has the same result for all possible values of the lanes.
std::optional<LaneBits> ofLogic(const Instr& instr, std::span<const LaneWord> sources) {
  constexpr unsigned kFirst = 2, kTable = 5, kPredicate = 6, kRows = 8;
  if (sources[kPredicate].bits != 0) return std::nullopt;
  const auto table = static_cast<unsigned>(instr.op_(kTable).imm);
  LaneBits result = 0;
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned other = row + 1; other < kRows; ++other) {
      if ((table >> row & 1) == (table >> other & 1)) continue;
      LaneBits possible = kAllLaneBits; // bits in which lanes may select these two rows
      for (unsigned n = 0; n < 3; ++n) {
        const unsigned shift = 2 - n;
        const bool a = row >> shift & 1, b = other >> shift & 1;
        const LaneWord& source = sources[kFirst + n];
        if (a != b)
          possible &= source.bits;
        else if (source.value)
          possible &= a ? *source.value : ~*source.value;
      }
      result |= possible;
    }
  return result;
}

std::optional<LaneBits> ofShift(const Instr& instr, std::span<const LaneWord> sources) {
  const auto type = isa::modAs<isa::ShiftType>(instr, Mod::ShiftType);
  const bool isLeft = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L;
  const auto count = sources[2].value;
  if (isLeft == (isa::getMod(instr.op, instr.mods, Mod::Hi) != 0) || !count || *count > 31) return std::nullopt;
  if (type != isa::ShiftType::U32 && type != isa::ShiftType::S32) return std::nullopt;
  // The other word is shifted in.
  const LaneBits low = sources[1].bits, high = sources[3].bits;
  if (isLeft) return low << *count;
  if (type == isa::ShiftType::U32) return high >> *count;
  return static_cast<LaneBits>(static_cast<std::int32_t>(high) >> *count);
}

/// (Rc:Ra >> (32 - n)) + Rb
std::optional<LaneBits> ofHighSum(const Instr& instr, std::span<const LaneWord> sources) {
  const std::uint64_t pair = std::uint64_t{sources[4].bits} << 32 | sources[2].bits;
  const auto count = static_cast<unsigned>(instr.op_(5).imm);
  if (count > 31 || isModified(instr.op_(2))) return std::nullopt;
  return ofSum({{static_cast<LaneBits>(pair >> (32 - count)), 0, false}, termOf(instr.op_(3), sources[3])});
}

LaneBits ofProduct(const Instr& instr, std::span<const LaneWord> sources) {
  const Term addend = termOf(instr.op_(3), sources[3]);
  Term product{upFrom(sources[1].bits | sources[2].bits), 0, false};
  for (const unsigned n : {1u, 2u}) {
    const auto& factor = sources[n].value;
    if (!factor) continue;
    const int zeros = std::countr_zero(*factor);
    product.zeros = std::max(product.zeros, zeros);
    const LaneBits bits = sources[3 - n].bits;
    product.bits = zeros == 32 ? 0 : (std::has_single_bit(*factor) ? bits : upFrom(bits)) << zeros;
  }
  return ofSum({product, addend});
}

/// A comparison of a word whose low bits differ with a number: uniform if only the high bits decide.
LaneBits ofComparison(const Instr& instr, std::span<const LaneWord> sources) {
  constexpr unsigned kLeft = 2, kRight = 3, kPredicate = 4;
  if ((sources[kLeft].bits | sources[kRight].bits | sources[kPredicate].bits) == 0) return 0;
  if (sources[kPredicate].bits != 0) return kAllLaneBits;
  const bool isSwapped = sources[kLeft].bits == 0;
  const unsigned word = isSwapped ? kRight : kLeft;
  const auto& value = sources[isSwapped ? kLeft : kRight].value;
  if (!value || isModified(instr.op_(word))) return kAllLaneBits;
  const int width = std::bit_width(sources[word].bits);
  if (width == 32 && isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::S32) return kAllLaneBits; // its sign
  const auto how = isa::modAs<isa::ICmp>(instr, Mod::Cmp);
  switch (isSwapped ? isa::mirrored(how) : how) {
  case isa::ICmp::LT:
  case isa::ICmp::GE: return std::countr_zero(*value) >= width ? 0 : kAllLaneBits;
  case isa::ICmp::LE:
  case isa::ICmp::GT: return std::countr_one(*value) >= width ? 0 : kAllLaneBits;
  default: return kAllLaneBits;
  }
}

} // namespace

bool hasWholeRows(const Function& function) {
  return function.bounds.reqntid[0] != 0 && function.bounds.reqntid[0] % kWarpSize == 0;
}

bool hasConsecutiveX(const Function& function) {
  const auto& xyz = function.bounds.reqntid;
  return hasWholeRows(function) || (xyz[0] != 0 && xyz[1] <= 1 && xyz[2] <= 1);
}

std::optional<LaneBits> laneBitsOf(const Function& function, const Instr& instr, std::span<const LaneWord> sources) {
  if (instr.op_(0).width != 1) return std::nullopt;
  switch (instr.op) {
  case Op::S2R:
    if (instr.op_(1).imm == kLaneId) return kLaneNumber;
    if (instr.op_(1).imm == kThreadX && hasConsecutiveX(function)) return kLaneNumber;
    return std::nullopt;
  case Op::COPY:
  case Op::MOV: return isModified(instr.op_(1)) ? std::nullopt : std::optional(sources[1].bits);
  case Op::SEL: return sources[3].bits == 0 ? std::optional(sources[1].bits | sources[2].bits) : std::nullopt;
  case Op::LOP3: return ofLogic(instr, sources);
  case Op::SHF: return ofShift(instr, sources);
  case Op::IADD3:
    return ofSum(
        {termOf(instr.op_(3), sources[3]), termOf(instr.op_(4), sources[4]), termOf(instr.op_(5), sources[5])});
  case Op::LEA: {
    if (!instr.op_(1).isZeroReg()) return std::nullopt; // a carry out of bits that are not in the result
    const auto count = static_cast<int>(instr.op_(4).imm);
    Term shifted = termOf(instr.op_(2), sources[2]);
    shifted.bits <<= count;
    shifted.zeros += count;
    return ofSum({shifted, termOf(instr.op_(3), sources[3])});
  }
  case Op::LEA_HI: return ofHighSum(instr, sources);
  case Op::IMAD: return ofProduct(instr, sources);
  case Op::ISETP: return ofComparison(instr, sources);
  case Op::PHI: {
    LaneBits all = 0;
    for (unsigned n = 1; n < instr.operandCount; n += 2)
      all |= sources[n].bits;
    return all;
  }
  default: return std::nullopt;
  }
}

} // namespace orias::ori
