// Products of matrices in the registers of a warp: D = A B + C. A has 8 or 16 rows, B 8 columns. The PTX manual
// documents the fragments of the lanes (mma). README.md describes the order and rounding of our sums.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"
#include "encoder/isa/semantics/sparse.h"

#include <algorithm>
#include <array>
#include <limits>

namespace orias::isa::semantics {

namespace {

constexpr unsigned kColumns = 8;
enum Slot : unsigned { kD, kA, kB, kC, kMetadata, kSelector, kScaledSelector = 7 };

/// A matrix product: A is rows x depth, of elements of `bits` bits.
struct Shape {
  unsigned rows, depth, bits;
  bool isSparse = false;

  /// Stored elements in a row of A.
  unsigned held() const { return isSparse ? depth / 2 : depth; }

  /// Adjacent elements along k in one word; words are registers, or pairs of registers for f64.
  unsigned packed() const { return bits >= 32 ? 1 : 32 / bits; }
};

/// The position of an element: bits [index * width, ...) of a lane's registers.
struct Place {
  unsigned lane, index;
};

/// Eight rows of four lanes with four words along k in each, then the other eight rows, then the next words along k.
Place placeInA(const Shape& s, unsigned row, unsigned k) {
  const unsigned p = s.packed();
  return {row % 8 * 4 + k / p % 4, k % p + p * (row / 8 + s.rows / 8 * (k / (4 * p)))};
}
Place placeInB(const Shape& s, unsigned k, unsigned column) {
  const unsigned p = s.packed();
  return {column * 4 + k / p % 4, k % p + p * (k / (4 * p))};
}
/// C and D of any width: pairs of adjacent elements.
Place placeInC(unsigned row, unsigned column) {
  return {row % 8 * 4 + column / 2, row / 8 * 2 + column % 2};
}

std::uint64_t read(const WarpValues& warp, Slot slot, Place at, unsigned bits) {
  const auto& words = warp.lane[at.lane][slot].w;
  if (bits == 64) return words[2 * at.index] | std::uint64_t{words[2 * at.index + 1]} << 32;
  const unsigned first = at.index * bits;
  return words[first / 32] >> first % 32 & (~0u >> (32 - bits));
}

void write(WarpValues& warp, Place at, unsigned bits, std::uint64_t value) {
  auto& words = warp.lane[at.lane][kD].w;
  if (bits == 64) {
    words[2 * at.index] = static_cast<std::uint32_t>(value);
    words[2 * at.index + 1] = static_cast<std::uint32_t>(value >> 32);
    return;
  }
  const unsigned first = at.index * bits, shift = first % 32;
  const std::uint32_t mask = ~0u >> (32 - bits) << shift;
  words[first / 32] = (words[first / 32] & ~mask) | (static_cast<std::uint32_t>(value) << shift & mask);
}

/// Elements along k.
using Row = std::array<std::uint64_t, 256>;

/// The columns of the stored elements of A.
class Columns {
 public:
  Columns(const Inst& inst, const WarpValues& warp, const Shape& shape, unsigned selector = kSelector)
      : inst_(inst), shape_(shape), layout_{shape.bits, shape.rows * shape.held() * shape.bits / 1024} {
    if (!shape.isSparse) return;
    for (unsigned lane = 0; lane < 32; ++lane)
      metadata_[lane] = warp.lane[lane][kMetadata].w[0];
    selector_ = warp.lane[0][selector].w[0];
  }

  /// The column of the k-th stored element of a row, which is at `place`.
  unsigned operator()(unsigned k, Place place) const {
    if (!shape_.isSparse) return k;
    const auto column = sparseColumn(layout_, metadata_, selector_, place.lane, place.index);
    if (!column) throwUnsupported(inst_, "undefined metadata");
    return *column;
  }

 private:
  const Inst& inst_;
  Shape shape_;
  SparseShape layout_;
  std::array<std::uint32_t, 32> metadata_{};
  unsigned selector_ = 0;
};

/// Computes each element of D as dot(row of A, column of B, element of C), on raw bits.
template <typename Dot>
void multiply(const Inst& inst, WarpValues& warp, const Shape& shape, unsigned sumBits, Dot dot) {
  if (warp.active != ~0u) throwUnsupported(inst, "lanes missing");
  const Columns columnOf(inst, warp, shape);
  Row a{}, b{};
  for (unsigned row = 0; row < shape.rows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      for (unsigned k = 0; k < shape.held(); ++k) {
        const Place place = placeInA(shape, row, k);
        a[k] = read(warp, kA, place, shape.bits);
        b[k] = read(warp, kB, placeInB(shape, columnOf(k, place), column), shape.bits);
      }
      const Place at = placeInC(row, column);
      write(warp, at, sumBits, dot(a, b, read(warp, kC, at, sumBits)));
    }
}

double valueOf(Format from, Bits bits) {
  return ieee::doubleOf(ieee::convert(Format::F64, from, bits));
}

Bits rounded(Format format, double sum) {
  const Bits bits = ieee::bitsOf(sum);
  return ieee::isNan(Format::F64, bits) ? ieee::canonicalNan(format) : ieee::convert(format, Format::F64, bits);
}

/// Multiplies floating-point matrices with elements of these formats.
void multiplyFloats(const Inst& inst, WarpValues& warp, const Shape& shape, Format formatA, Format formatB) {
  const Format sumFormat = getMod(inst, Mod::DstFmt) != 0 ? Format::F32 : Format::F16;
  multiply(inst, warp, shape, sumFormat == Format::F32 ? 32 : 16, [&](const Row& a, const Row& b, Bits c) -> Bits {
    double sum = 0;
    for (unsigned k = 0; k < shape.held(); ++k)
      sum += valueOf(formatA, a[k]) * valueOf(formatB, b[k]); // the products are exact
    return rounded(sumFormat, sum + valueOf(sumFormat, c));
  });
}

Format halfFormat(const Inst& inst) {
  constexpr Format kFormats[] = {Format::F16, Format::BF16, Format::TF32};
  return kFormats[getMod(inst, Mod::SrcFmt)];
}

void multiplyHalf(const Inst& inst, WarpValues& warp, unsigned depth, bool isSparse = false) {
  const Format format = halfFormat(inst);
  multiplyFloats(inst, warp, {16, depth, format == Format::TF32 ? 32u : 16u, isSparse}, format, format);
}

void multiplyByteFloats(const Inst& inst, WarpValues& warp, unsigned depth, bool isSparse = false) {
  const auto format = [&](Mod kind) { return getMod(inst, kind) != 0 ? Format::E5M2 : Format::E4M3; };
  multiplyFloats(inst, warp, {16, depth, 8, isSparse}, format(Mod::Type), format(Mod::Sub));
}

/// Multiplies integer matrices with elements of `shape.bits` bits.
void multiplyIntegers(const Inst& inst, WarpValues& warp, const Shape& shape) {
  const bool aIsSigned = getMod(inst, Mod::SrcFmt) != 0, bIsSigned = getMod(inst, Mod::DstFmt) != 0;
  const bool saturates = getMod(inst, Mod::Sat) != 0;
  const auto value = [&](std::uint64_t element, bool isSigned) {
    return isSigned ? signedOf(element, shape.bits) : static_cast<std::int64_t>(element);
  };
  multiply(inst, warp, shape, 32, [&](const Row& a, const Row& b, std::uint64_t c) {
    std::int64_t sum = signedOf(c, 32);
    for (unsigned k = 0; k < shape.held(); ++k)
      sum += value(a[k], aIsSigned) * value(b[k], bIsSigned);
    using Limits = std::numeric_limits<std::int32_t>;
    if (saturates) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
    return static_cast<std::uint64_t>(sum);
  });
}

} // namespace

void hmma16816(const Inst& inst, WarpValues& warp) {
  multiplyHalf(inst, warp, 16);
}
void hmma1684(const Inst& inst, WarpValues& warp) {
  multiplyHalf(inst, warp, 4);
}
void mmaNeg(const Inst& inst, WarpValues&) {
  throwUnsupported(inst, "a sign for a matrix");
}
void hmma1688(const Inst& inst, WarpValues& warp) {
  multiplyHalf(inst, warp, 8);
}
void imma16832(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 32, 8});
}
void imma16816(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 16, 8});
}
void imma8816(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {8, 16, 8});
}

void imma8832(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {8, 32, 4});
}
void imma16832Nibbles(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 32, 4});
}
void imma16864(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 64, 4});
}
void qmma16816(const Inst& inst, WarpValues& warp) {
  multiplyByteFloats(inst, warp, 16);
}
void qmma16832(const Inst& inst, WarpValues& warp) {
  multiplyByteFloats(inst, warp, 32);
}

namespace {

/// Formats by the modifiers of QMMA on sm_120. Each element of fewer than eight bits occupies a byte.
Format narrowFormat(const Inst& inst, Mod kind) {
  constexpr std::array<Format, 6> kFormats{Format::E4M3, Format::E5M2, Format::E5M2,
                                           Format::E3M2, Format::E2M3, Format::E2M1};
  const unsigned value = getMod(inst, kind);
  if (value >= kFormats.size() || value == 2) throwUnsupported(inst, "a format that is not known");
  return kFormats[value];
}

/// The value of an element in a byte. 4-bit numbers are two bits higher than those of six and eight bits.
double narrowValue(Format format, Bits byte) {
  return valueOf(format, format == Format::E2M1 ? byte >> 2 & 0xf : byte);
}

void multiplyNarrow(const Inst& inst, WarpValues& warp, unsigned depth, bool isSparse = false) {
  const Format formatA = narrowFormat(inst, Mod::Type), formatB = narrowFormat(inst, Mod::Sub);
  const Format sumFormat = getMod(inst, Mod::DstFmt) != 0 ? Format::F32 : Format::F16;
  const Shape shape{16, depth, 8, isSparse};
  multiply(inst, warp, shape, sumFormat == Format::F32 ? 32 : 16, [&](const Row& a, const Row& b, Bits c) -> Bits {
    double sum = 0;
    for (unsigned k = 0; k < shape.held(); ++k)
      sum += narrowValue(formatA, a[k]) * narrowValue(formatB, b[k]);
    return rounded(sumFormat, sum + valueOf(sumFormat, c));
  });
}

/// The scale of `group` of a row of A or a column of B: a byte of the register of one lane of four. The selector
/// contains the byte and the lane (bits 0 and 2 for A, 3 and 5 for B: observed in ptxas' code for the operands of mma).
/// In sparse products the scales of A follow the metadata.
double scaleAt(const WarpValues& warp, bool ofA, unsigned line, unsigned group, Format format, bool isSparse) {
  enum : unsigned { kScalesOfA = 4, kScalesOfB = 5, kScaleSelector = 6 };
  const std::uint32_t selector = warp.lane[0][kScaleSelector].w[0];
  const unsigned byte = selector >> (ofA ? 0 : 3) & 3, thread = selector >> (ofA ? 2 : 5) & (ofA ? 1 : 3);
  // A: four lanes hold rows r and r + 8. In each pair of them, the even lane is for r, the odd one for r + 8.
  const unsigned lane = ofA ? line % 8 * 4 + 2 * thread + line / 8 : line * 4 + thread;
  const std::uint32_t scales = warp.lane[lane][ofA ? kScalesOfA : kScalesOfB].w[ofA && isSparse ? 1 : 0];
  const Bits scale = scales >> 8 * (byte + group) & 0xff;
  return valueOf(format, format == Format::E4M3 ? scale & 0x7f : scale); // UE4M3 has no sign
}

void multiplyScaled(const Inst& inst, WarpValues& warp, unsigned depth, unsigned bits, unsigned groups, Format scales,
                    Format formatA, Format formatB, bool isSparse = false) {
  if (warp.active != ~0u) throwUnsupported(inst, "lanes missing");
  const Shape shape{16, depth, bits, isSparse};
  const Columns columnOf(inst, warp, shape, isSparse ? kScaledSelector : kSelector);
  const unsigned held = shape.held();
  for (unsigned row = 0; row < shape.rows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (unsigned group = 0; group < groups; ++group) {
        double part = 0;
        for (unsigned k = group * held / groups; k < (group + 1) * held / groups; ++k) {
          const Place place = placeInA(shape, row, k);
          const Bits a = read(warp, kA, place, bits),
                     b = read(warp, kB, placeInB(shape, columnOf(k, place), column), bits);
          part +=
              bits == 8 ? narrowValue(formatA, a) * narrowValue(formatB, b) : valueOf(formatA, a) * valueOf(formatB, b);
        }
        sum += part * scaleAt(warp, true, row, group, scales, isSparse) *
               scaleAt(warp, false, column, group, scales, isSparse);
      }
      const Place at = placeInC(row, column);
      write(warp, at, 32, rounded(Format::F32, sum + valueOf(Format::F32, read(warp, kC, at, 32))));
    }
}

} // namespace

void qmmaNarrow16816(const Inst& inst, WarpValues& warp) {
  multiplyNarrow(inst, warp, 16);
}
void qmmaNarrow16832(const Inst& inst, WarpValues& warp) {
  multiplyNarrow(inst, warp, 32);
}
void qmmaScaled16832(const Inst& inst, WarpValues& warp) {
  multiplyScaled(inst, warp, 32, 8, 1, Format::UE8M0, narrowFormat(inst, Mod::Type), narrowFormat(inst, Mod::Sub));
}
void ommaScaled16864(const Inst& inst, WarpValues& warp) {
  const bool byFour = getMod(inst, Mod::Func) == 1;
  multiplyScaled(inst, warp, 64, 4, byFour ? 4 : 2, byFour ? Format::E4M3 : Format::UE8M0, Format::E2M1, Format::E2M1);
}

void qmmaSpNarrow16864(const Inst& inst, WarpValues& warp) {
  multiplyNarrow(inst, warp, 64, true);
}
void qmmaSpScaled16864(const Inst& inst, WarpValues& warp) {
  multiplyScaled(inst, warp, 64, 8, 1, Format::UE8M0, narrowFormat(inst, Mod::Type), narrowFormat(inst, Mod::Sub),
                 true);
}
void ommaSpScaled168128(const Inst& inst, WarpValues& warp) {
  const bool byFour = getMod(inst, Mod::Func) == 1;
  multiplyScaled(inst, warp, 128, 4, byFour ? 4 : 2, byFour ? Format::E4M3 : Format::UE8M0, Format::E2M1, Format::E2M1,
                 true);
}

void hmmaSp1688(const Inst& inst, WarpValues& warp) {
  if (halfFormat(inst) != Format::TF32) throwUnsupported(inst, "elements of 16 bits");
  multiplyHalf(inst, warp, 8, true);
}
void hmmaSp16816(const Inst& inst, WarpValues& warp) {
  multiplyHalf(inst, warp, 16, true);
}
void hmmaSp16832(const Inst& inst, WarpValues& warp) {
  if (halfFormat(inst) == Format::TF32) throwUnsupported(inst, "elements of 32 bits");
  multiplyHalf(inst, warp, 32, true);
}
void immaSp16832(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 32, 8, true});
}
void immaSp16864(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 64, 8, true});
}
void immaSp16864Nibbles(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 64, 4, true});
}
void immaSp168128(const Inst& inst, WarpValues& warp) {
  multiplyIntegers(inst, warp, {16, 128, 4, true});
}
void qmmaSp16864(const Inst& inst, WarpValues& warp) {
  multiplyByteFloats(inst, warp, 64, true);
}

namespace {

/// Counts the common or the differing bits of a row and a column.
void multiplyBits(const Inst& inst, WarpValues& warp, unsigned rows, unsigned depth) {
  const bool areCommon = getMod(inst, Mod::Func) != 0;
  multiply(inst, warp, {rows, depth, 1}, 32, [&](const Row& a, const Row& b, std::uint64_t c) {
    for (unsigned k = 0; k < depth; ++k)
      c += areCommon ? a[k] & b[k] : a[k] ^ b[k];
    return c;
  });
}

} // namespace

void bmma88128(const Inst& inst, WarpValues& warp) {
  multiplyBits(inst, warp, 8, 128);
}
void bmma168128(const Inst& inst, WarpValues& warp) {
  multiplyBits(inst, warp, 16, 128);
}
void bmma168256(const Inst& inst, WarpValues& warp) {
  multiplyBits(inst, warp, 16, 256);
}

void dmma884(const Inst& inst, WarpValues& warp) {
  const auto rounding = static_cast<Rounding>(getMod(inst, Mod::Rnd));
  const auto sign = [&](unsigned slot) { return inst.operands[slot].neg() ? Bits{1} << 63 : Bits{0}; };
  const Bits signA = sign(kA), signB = sign(kB);
  multiply(inst, warp, {8, 4, 64}, 64, [&](const Row& a, const Row& b, Bits c) {
    for (unsigned k = 0; k < 4; ++k)
      c = ieee::fma(Format::F64, a[k] ^ signA, b[k] ^ signB, c, rounding);
    return c;
  });
}

namespace {

/// The eight lanes that hold the matrices of one of the four products of mma.m8n8k4, by the PTX manual: four lanes i
/// and the lanes i + 16.
struct Octet {
  unsigned number;

  /// Each half of the lanes holds four rows (columns). The lane gives one coordinate, the index the other.
  Place place(unsigned outer, unsigned inner, bool laneIsOuter) const {
    const unsigned within = laneIsOuter ? outer % 4 : inner;
    return {4 * number + within + outer / 4 * 16, laneIsOuter ? inner : outer % 4};
  }
  Place placeInA(unsigned row, unsigned k, bool byColumns) const { return place(row, k, !byColumns); }
  Place placeInB(unsigned k, unsigned column, bool byColumns) const { return place(column, k, byColumns); }
};

} // namespace

/// A step computes two registers of D: four adjacent f16 elements, or two f32 elements of each of two rows. The
/// registers of C are those of the same elements.
void hmma884(const Inst& inst, WarpValues& warp) {
  const bool isSingle = getMod(inst, Mod::DstFmt) != 0, addsSingle = getMod(inst, Mod::SrcFmt) != 0;
  if (warp.active != ~0u || (addsSingle && !isSingle))
    throwUnsupported(inst, "inactive lanes, or f16 sums with an f32 addend");
  const bool aByColumns = getMod(inst, Mod::Sub) != 0, bByColumns = getMod(inst, Mod::Sub2) != 0;
  const unsigned step = getMod(inst, Mod::Func), values = isSingle ? 2 : 4;
  const Format format = isSingle ? Format::F32 : Format::F16;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const Octet octet{lane / 4 % 4};
    const unsigned upper = lane / 16 * 4;
    for (unsigned v = 0; v < values; ++v) {
      const unsigned row = upper + (isSingle ? lane % 2 + step % 2 * 2 : lane % 4);
      const unsigned column = isSingle ? step / 2 * 4 + (lane & 2) + v : step * 4 + v;
      double sum = 0;
      for (unsigned k = 0; k < 4; ++k)
        sum += valueOf(Format::F16, read(warp, kA, octet.placeInA(row, k, aByColumns), 16)) *
               valueOf(Format::F16, read(warp, kB, octet.placeInB(k, column, bByColumns), 16));
      const double c =
          addsSingle
              ? valueOf(Format::F32, read(warp, kC, {lane, v}, 32))
              : valueOf(Format::F16, read(warp, kC, {4 * octet.number + row % 4 + row / 4 * 16, column % 4}, 16));
      write(warp, {lane, v}, isSingle ? 32 : 16, rounded(format, sum + c));
    }
  }
}

} // namespace orias::isa::semantics
