// Integer arithmetic, shifts, bit fields and comparisons. Cases that neither ptxas' use nor the PTX manual defines
// follow Mesa's NAK, whose foldable operations are compared with the hardware.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

#include <algorithm>
#include <bit>

namespace orias::isa::semantics {

namespace {

/// A source of a sum. Its negation is the inversion plus one, including the carry: -0 is 2^32.
std::uint64_t addend(const Lane& lane, unsigned slot) {
  const std::uint32_t v = lane.raw(slot);
  const Operand& o = lane.operand(slot);
  if (o.neg()) return std::uint64_t{~v} + 1;
  return o.inverted() ? ~v : v;
}

/// Sets the low word of the sum, and the carries: whether it has reached 2^32 and 2^33.
void setSum(Lane& lane, std::uint64_t sum) {
  lane.set(0, static_cast<std::uint32_t>(sum));
  lane.setPred(1, sum >> 32 != 0);
  lane.setPred(2, sum >> 33 != 0);
}

/// A factor, extended by the type of the multiplication.
std::uint64_t factor(const Lane& lane, unsigned slot) {
  const std::uint32_t v = lane.u32(slot);
  const bool isSigned = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  return isSigned ? static_cast<std::uint64_t>(signedOf(v, 32)) : v;
}

/// 64-bit Ra * Rb + Rc + carry, with Ra in slot 2. Returns the low 64 bits and sets the carry in slot 1.
std::uint64_t wideMultiplyAdd(Lane& lane, bool carry) {
  using Wide = unsigned __int128;
  const std::uint64_t product = factor(lane, 2) * factor(lane, 3);
  // As in sums, the carry of a negation counts.
  const Operand& c = lane.operand(4);
  const std::uint64_t raw = lane.raw64(4);
  const Wide addend = c.neg() ? Wide{~raw} + 1 : c.inverted() ? Wide{~raw} : Wide{raw};
  const Wide sum = Wide{product} + addend + (carry ? 1 : 0);
  lane.setPred(1, sum >> 64 != 0);
  return static_cast<std::uint64_t>(sum);
}

bool compareIntegers(const Lane& lane, std::uint32_t a, std::uint32_t b) {
  const bool isSigned = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  const auto comparison = lane.modAs<ICmp>(Mod::Cmp);
  return isSigned ? compares(comparison, signedOf(a, 32), signedOf(b, 32)) : compares(comparison, a, b);
}

/// Ra shifted left plus Rb. For the high half, the word above Ra is shifted as well.
struct ShiftAdd {
  std::uint32_t high; ///< the word above Ra
  bool isHigh, isExtended;
};

/// Slots: Rd, Pu, Ra, Rb, ..., the shift in `shiftSlot`, for .X the carry after it.
void shiftAdd(Lane& lane, unsigned shiftSlot, ShiftAdd form) {
  const unsigned shift = lane.raw(shiftSlot) & 31;
  const std::uint64_t wide = std::uint64_t{form.high} << 32 | lane.raw(2);
  const auto shifted = static_cast<std::uint32_t>(form.isHigh ? wide >> (32 - shift) : wide << shift);
  const Operand& a = lane.operand(2);
  // The modifier of Ra applies to the shifted value.
  const std::uint64_t first = a.neg() ? std::uint64_t{~shifted} + 1 : a.inverted() ? ~shifted : shifted;
  const bool carry = form.isExtended && lane.pred(shiftSlot + 1);
  const std::uint64_t sum = first + addend(lane, 3) + (carry ? 1 : 0);
  lane.set(0, static_cast<std::uint32_t>(sum));
  lane.setPred(1, sum >> 32 != 0);
}

std::uint32_t signWord(std::uint32_t v) {
  return static_cast<std::uint32_t>(signedOf(v, 32) >> 32);
}

/// The types of VIMNMX and similar instructions.
enum class VType : std::uint8_t { U32, S32, U16x2, S16x2 };

std::uint32_t extremum32(std::uint32_t a, std::uint32_t b, bool isSigned, bool wantsLess) {
  const bool isLess = isSigned ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
  return isLess == wantsLess ? a : b;
}

std::uint32_t extremum(VType type, std::uint32_t a, std::uint32_t b, bool wantsLess) {
  if (type == VType::U32 || type == VType::S32) return extremum32(a, b, type == VType::S32, wantsLess);
  const bool isSigned = type == VType::S16x2;
  const auto half = [&](std::uint32_t v, unsigned i) {
    const std::uint32_t bits = v >> (16 * i) & 0xffff;
    return isSigned ? static_cast<std::uint32_t>(signedOf(bits, 16)) : bits;
  };
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 2; ++i)
    result |= (extremum32(half(a, i), half(b, i), isSigned, wantsLess) & 0xffff) << (16 * i);
  return result;
}

std::uint32_t reluIf(const Lane& lane, VType type, std::uint32_t v) {
  return lane.mod(Mod::Relu) != 0 ? extremum(type, v, 0, false) : v;
}

std::int64_t element(std::uint32_t word, unsigned index, unsigned bits, bool isSigned) {
  const std::uint64_t v = word >> (index * bits) & ((std::uint64_t{1} << bits) - 1);
  return isSigned ? signedOf(v, bits) : static_cast<std::int64_t>(v);
}

std::uint64_t distance(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a > b ? a - b : b - a);
}

/// Rejects instructions with a predicate result, whose meaning is unknown.
void rejectPredicateResult(const Lane& lane, unsigned slot) {
  if (!lane.isUnused(slot)) throwUnsupported(lane.inst(), "a predicate result");
}

} // namespace

void iadd3(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  setSum(lane, addend(lane, 3) + addend(lane, 4) + addend(lane, 5));
}

void iadd3X(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const unsigned carries = (lane.pred(6) ? 1u : 0u) + (lane.pred(7) ? 1u : 0u);
  setSum(lane, addend(lane, 3) + addend(lane, 4) + addend(lane, 5) + carries);
}

void viadd(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, lane.u32(1) + lane.u32(2));
}

void viadd16x2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t a = lane.raw(1), high = lane.raw(2) & 0xffff0000, low = lane.raw(2) & 0xffff;
  // A negation applies to each half.
  const bool isNegated = lane.operand(2).neg();
  lane.set(0, ((isNegated ? a - low : a + low) & 0xffff) |
                  (isNegated ? (a & 0xffff0000) - high : (a & 0xffff0000) + high));
}

void viaddSat(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto source = [&](unsigned slot) {
    const std::int64_t v = signedOf(lane.raw(slot), 32);
    return lane.operand(slot).neg() ? -v : v;
  };
  const std::int64_t sum = source(1) + source(2);
  lane.set(0, static_cast<std::uint32_t>(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX)));
}

void viaddBytes(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool isNegated = lane.operand(2).neg();
  std::uint32_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const std::uint32_t a = lane.raw(1) >> shift, b = lane.raw(2) >> shift;
    result |= ((isNegated ? a - b : a + b) & 0xff) << shift;
  }
  lane.set(0, result);
}

void imad(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, lane.u32(1) * lane.u32(2) + lane.u32(3));
}

void imadX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, lane.u32(1) * lane.u32(2) + lane.u32(3) + (lane.pred(4) ? 1 : 0));
}

void imadWide(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, wideMultiplyAdd(lane, false));
}

void imadWideX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, wideMultiplyAdd(lane, lane.pred(5)));
}

void imadHi(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, static_cast<std::uint32_t>(wideMultiplyAdd(lane, false) >> 32));
}

void imadHiX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, static_cast<std::uint32_t>(wideMultiplyAdd(lane, lane.pred(5)) >> 32));
}

void isetp(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.setComparison(0, compareIntegers(lane, lane.raw(2), lane.raw(3)), lane.pred(4));
}

void isetpEx(const Inst& inst, LaneValues& values) {
  // The high words decide. If they are equal, the comparison of the low words is the result.
  Lane lane(inst, values);
  const auto comparison = lane.modAs<ICmp>(Mod::Cmp);
  const bool isFixed = comparison == ICmp::F || comparison == ICmp::T;
  const std::uint32_t a = lane.raw(2), b = lane.raw(3);
  lane.setComparison(0, a == b && !isFixed ? lane.pred(5) : compareIntegers(lane, a, b), lane.pred(4));
}

void shf(const Inst& inst, LaneValues& values) {
  // Shifts the pair {Rc:Ra}. The type determines the fill and the range of the count.
  Lane lane(inst, values);
  const auto type = lane.modAs<ShiftType>(Mod::ShiftType);
  const unsigned bits = type == ShiftType::S64 || type == ShiftType::U64 ? 64 : 32;
  const bool isSigned = type == ShiftType::S64 || type == ShiftType::S32;
  const std::uint64_t pair = std::uint64_t{lane.raw(3)} << 32 | lane.raw(1);
  const std::uint32_t given = lane.raw(2);
  const unsigned count = lane.mod(Mod::Wrap) != 0 ? given & (bits - 1) : std::min(given, bits);
  std::uint64_t shifted;
  if (lane.modAs<ShiftDir>(Mod::ShiftDir) == ShiftDir::L)
    shifted = count > 63 ? 0 : pair << count;
  else if (isSigned)
    shifted = static_cast<std::uint64_t>(static_cast<std::int64_t>(pair) >> std::min(count, 63u));
  else
    shifted = count > 63 ? 0 : pair >> count;
  lane.set(0, static_cast<std::uint32_t>(lane.mod(Mod::Hi) != 0 ? shifted >> 32 : shifted));
}

void lea(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  shiftAdd(lane, 4, {0, false, false});
}

void leaX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  shiftAdd(lane, 4, {0, false, true});
}

void leaHi(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  shiftAdd(lane, 5, {lane.raw(4), true, false});
}

void leaHiX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  shiftAdd(lane, 5, {lane.raw(4), true, true});
}

void leaHiSx32(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  shiftAdd(lane, 4, {signWord(lane.raw(2)), true, false});
}

void leaHiXSx32(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  shiftAdd(lane, 4, {signWord(lane.raw(2)), true, true});
}

void lop3(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t a = lane.raw(2), b = lane.raw(3), c = lane.raw(4), lut = lane.raw(5);
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if ((lut >> i & 1) != 0) result |= ((i & 4) ? a : ~a) & ((i & 2) ? b : ~b) & ((i & 1) ? c : ~c);
  lane.set(1, result);
  // Whether the result is nonzero, or'ed (with .PAND: and'ed) with the predicate input.
  const bool input = lane.pred(6);
  lane.setPred(0, lane.mod(Mod::Pand) != 0 ? result != 0 && input : result != 0 || input);
}

void vimnmx(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto type = lane.modAs<VType>(Mod::Type);
  lane.set(0, reluIf(lane, type, extremum(type, lane.u32(1), lane.u32(2), lane.pred(3))));
}

void vimnmxBytes(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  enum { S8x4 = 5 };
  const bool isSigned = lane.mod(Mod::Type) == S8x4;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::int64_t a = element(lane.raw(1), i, 8, isSigned), b = element(lane.raw(2), i, 8, isSigned);
    result |= (static_cast<std::uint32_t>((a < b) == lane.pred(3) ? a : b) & 0xff) << 8 * i;
  }
  lane.set(0, result);
}

void vimnmx3(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto type = lane.modAs<VType>(Mod::Type);
  const bool wantsLess = lane.pred(4);
  const std::uint32_t first = extremum(type, lane.u32(1), lane.u32(2), wantsLess);
  lane.set(0, reluIf(lane, type, extremum(type, first, lane.u32(3), wantsLess)));
}

void viaddmnmx(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto type = lane.modAs<VType>(Mod::Type);
  const std::uint32_t a = lane.u32(1), b = lane.u32(2);
  const bool isPacked = type == VType::U16x2 || type == VType::S16x2;
  // The meaning of a negated pair of halves is unknown.
  if (isPacked && lane.operand(2).neg()) throwUnsupported(inst, "a negated pair of halves");
  const std::uint32_t sum = isPacked ? ((a + b) & 0xffff) | ((a & 0xffff0000) + (b & 0xffff0000)) : a + b;
  lane.set(0, reluIf(lane, type, extremum(type, sum, lane.u32(3), lane.pred(4))));
}

void imnmx(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool isSigned = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  lane.set(0, extremum32(lane.u32(1), lane.u32(2), isSigned, lane.pred(3)));
}

void iabs(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t v = lane.raw(1);
  lane.set(0, v >> 31 != 0 ? 0 - v : v);
}

void popc(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, static_cast<std::uint32_t>(std::popcount(lane.u32(1))));
}

void flo(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  rejectPredicateResult(lane, 1);
  std::uint32_t v = lane.u32(2);
  if (lane.modAs<IntType>(Mod::Type) == IntType::S32 && v >> 31 != 0) v = ~v;
  // PTX bfind, which compiles to this instruction: all ones if there is no such bit, also for the shift amount.
  const auto leading = static_cast<std::uint32_t>(std::countl_zero(v));
  lane.set(0, v == 0 ? ~0u : lane.mod(Mod::Sub) != 0 ? leading : 31 - leading);
}

void brev(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t v = lane.raw(1);
  std::uint32_t reversed = 0;
  for (unsigned i = 0; i < 32; ++i)
    reversed |= (v >> i & 1) << (31 - i);
  lane.set(0, reversed);
}

void sgxt(const Inst& inst, LaneValues& values) {
  // PTX szext.
  Lane lane(inst, values);
  const std::uint32_t v = lane.raw(1), given = lane.raw(2);
  const unsigned width = lane.mod(Mod::Wrap) != 0 ? given & 31 : std::min(given, 32u);
  if (width == 0) return lane.set(0, 0);
  const bool isSigned = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  const std::uint64_t low = v & ((std::uint64_t{1} << width) - 1);
  lane.set(0, static_cast<std::uint32_t>(isSigned ? static_cast<std::uint64_t>(signedOf(low, width)) : low));
}

void bmsk(const Inst& inst, LaneValues& values) {
  // PTX bmsk: a number of ones from a bit position on.
  Lane lane(inst, values);
  const bool wraps = lane.mod(Mod::Wrap) != 0;
  const auto limited = [&](std::uint32_t v) { return wraps ? v & 31 : std::min(v, 32u); };
  const std::uint64_t ones = (std::uint64_t{1} << limited(lane.raw(2))) - 1;
  lane.set(0, static_cast<std::uint32_t>(ones << limited(lane.raw(1))));
}

void idp4a(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  std::int64_t sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    sum +=
        element(lane.raw(1), i, 8, lane.mod(Mod::SrcFmt) != 0) * element(lane.raw(2), i, 8, lane.mod(Mod::DstFmt) != 0);
  lane.set(0, static_cast<std::uint32_t>(sum) + lane.u32(3));
}

void idp2a(const Inst& inst, LaneValues& values) {
  // Products of the halves of Ra with the low or high two bytes of Rb.
  Lane lane(inst, values);
  const unsigned first = lane.mod(Mod::Sub) != 0 ? 2 : 0;
  std::int64_t sum = 0;
  for (unsigned i = 0; i < 2; ++i)
    sum += element(lane.raw(1), i, 16, lane.mod(Mod::SrcFmt) != 0) *
           element(lane.raw(2), first + i, 8, lane.mod(Mod::DstFmt) != 0);
  lane.set(0, static_cast<std::uint32_t>(sum) + lane.u32(3));
}

void vabsdiff(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  rejectPredicateResult(lane, 1);
  const bool isSigned = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  const auto difference = distance(element(lane.raw(2), 0, 32, isSigned), element(lane.raw(3), 0, 32, isSigned));
  lane.set(0, static_cast<std::uint32_t>(difference) + lane.raw(4));
}

void vabsdiff4(const Inst& inst, LaneValues& values) {
  // Four differences, or with .ACC their sum and Rc.
  Lane lane(inst, values);
  rejectPredicateResult(lane, 1);
  const bool isSigned = lane.mod(Mod::Type) != 0, accumulates = lane.mod(Mod::Sub) != 0;
  std::uint32_t result = accumulates ? lane.raw(4) : 0;
  for (unsigned i = 0; i < 4; ++i) {
    const auto difference = static_cast<std::uint32_t>(
        distance(element(lane.raw(2), i, 8, isSigned), element(lane.raw(3), i, 8, isSigned)));
    result += accumulates ? difference : difference << (8 * i);
  }
  lane.set(0, result);
}

} // namespace orias::isa::semantics
