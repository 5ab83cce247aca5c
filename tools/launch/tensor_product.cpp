#include "tools/launch/tensor_product.h"

#include "support/ieee.h"
#include "tools/launch/matrix_descriptor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace orias::launch {

namespace {

using ieee::Format;
using Kind = TensorProduct::Kind;

constexpr unsigned kDepthBytes = 32; ///< along the sum, of both matrices
constexpr unsigned kScaleRows = 32;  ///< lanes of a column of scales

unsigned field(std::uint64_t bits, unsigned at, unsigned count) {
  return static_cast<unsigned>(bits >> at & ((std::uint64_t{1} << count) - 1));
}

/// Elements of A or of B.
struct Elements {
  bool isInteger = false, isSigned = false;
  Format format = Format::F16;
  unsigned bits = 16;    ///< of an element
  unsigned spacing = 16; ///< from one to the next in tensor memory
  bool isPadded = false; ///< 16 of them fill 16 bytes, whatever they take
  bool isNegated = false, isTransposed = false;

  double number(std::uint32_t raw) const {
    if (isInteger) return isSigned ? static_cast<std::int8_t>(raw) : static_cast<double>(raw);
    const double value = ieee::doubleOf(ieee::convert(Format::F64, format, raw));
    return isNegated ? -value : value;
  }
};

/// What the instruction descriptor says.
struct Shape {
  unsigned m = 0, n = 0, depth = 0;
  Elements a, b;
  Format sum = Format::F32;
  bool saturates = false, isSparse = false;
  unsigned idA = 0, idB = 0; ///< of the scales: their byte in a column
  Format scale = Format::UE8M0;
};

std::optional<Elements> elementsOf(Kind kind, unsigned format) {
  Elements e;
  switch (kind) {
  case Kind::Half:
    if (format > 2) return std::nullopt;
    e.format = format == 0 ? Format::F16 : format == 1 ? Format::BF16 : Format::TF32;
    e.bits = e.spacing = format == 2 ? 32 : 16;
    return e;
  case Kind::Integer:
    if (format > 1) return std::nullopt;
    e.isInteger = true;
    e.isSigned = format == 1;
    e.bits = e.spacing = 8;
    return e;
  case Kind::Narrow:
  case Kind::ScaledNarrow: {
    constexpr std::array kFormats{Format::E4M3, Format::E5M2, Format::F64, Format::E2M3, Format::E3M2, Format::E2M1};
    if (format >= kFormats.size() || kFormats[format] == Format::F64) return std::nullopt;
    e.format = kFormats[format];
    e.bits = format < 2 ? 8 : format == 5 ? 4 : 6;
    e.spacing = 8;
    e.isPadded = format >= 2;
    return e;
  }
  case Kind::Scaled4:
    if (format != 1) return std::nullopt;
    e.format = Format::E2M1;
    e.bits = e.spacing = 4;
    return e;
  }
  return std::nullopt;
}

std::optional<Shape> shapeOf(const TensorProduct& product) {
  const std::uint32_t bits = product.shape;
  const bool isScaled = product.kind == Kind::ScaledNarrow || product.kind == Kind::Scaled4;
  Shape s;
  const auto a = elementsOf(product.kind, field(bits, 7, 3)), b = elementsOf(product.kind, field(bits, 10, 3));
  if (!a || !b || a->spacing != b->spacing) return std::nullopt;
  s.a = *a, s.b = *b;
  s.a.isNegated = field(bits, 13, 1) != 0;
  s.b.isNegated = field(bits, 14, 1) != 0;
  s.a.isTransposed = field(bits, 15, 1) != 0;
  s.b.isTransposed = field(bits, 16, 1) != 0;
  s.isSparse = field(bits, 2, 1) != 0;
  s.n = field(bits, 17, 6) * 8;
  s.m = field(bits, 24, 5) * 16;
  s.depth = kDepthBytes * 8 / s.a.spacing;
  if (isScaled) {
    s.idB = field(bits, 4, 2);
    s.idA = field(bits, 29, 2);
    s.scale = field(bits, 23, 1) != 0 ? Format::UE8M0 : Format::E4M3;
    if (field(bits, 31, 1) != 0) return std::nullopt; // K = 96
  } else {
    s.saturates = field(bits, 3, 1) != 0;
    const unsigned sum = field(bits, 4, 2);
    if (sum > 2 || (sum == 2) != s.a.isInteger) return std::nullopt;
    s.sum = sum == 0 ? Format::F16 : Format::F32;
  }
  return s;
}

/// The fields of a matrix descriptor that say the same as on sm_90, in the places that they have there.
std::optional<MatrixDescriptor> matrixOf(std::uint64_t bits) {
  // By layout: none, 128 bytes in units of 32, 128, 64, 32 bytes.
  constexpr std::array<int, 8> kSwizzles{0, -1, 1, -1, 2, -1, 3, -1};
  const int swizzle = kSwizzles[field(bits, 61, 3)];
  const bool isAbsolute = field(bits, 52, 1) != 0;
  if (swizzle < 0 || isAbsolute) return std::nullopt;
  MatrixDescriptor d(bits);
  d.swizzle = static_cast<unsigned>(swizzle);
  if (d.baseOffset != 0) return std::nullopt;
  return d;
}

/// Where a row of D is, for one of its columns.
struct Cell {
  unsigned side, lane, column;
};

class Multiplication {
 public:
  Multiplication(const TensorProduct& product, std::span<const TensorSide> sides, const Shape& shape)
      : p_(product), sides_(sides), s_(shape) {}

  std::optional<TensorFault> run() {
    const unsigned rows = s_.m / (p_.isPair ? 2 : 1);
    const bool isKnown = p_.isPair               ? s_.m == 256 || s_.m == 128
                         : p_.isWeightStationary ? s_.m == 128 || s_.m == 64 || s_.m == 32
                                                 : s_.m == 128 || s_.m == 64;
    if (!isKnown || s_.n == 0 || s_.n > 256) return invalid(fmt::format("a product of {} x {} elements", s_.m, s_.n));
    a_.resize(std::size_t{s_.m} * s_.depth);
    b_.resize(std::size_t{s_.n} * s_.depth);
    const unsigned columns = s_.n / (p_.isPair ? 2 : 1);
    for (unsigned side = 0; side < sides_.size() && !fault_; ++side) {
      if (p_.aIsInTensor)
        loadFromTensor(side, rows);
      else
        loadFromShared(side, p_.a, s_.a, rows, a_.data() + std::size_t{side} * rows * s_.depth);
      if (!fault_) loadFromShared(side, p_.b, s_.b, columns, b_.data() + std::size_t{side} * columns * s_.depth);
    }
    if (p_.scaleVectors != 0 && isScaled() && !fault_) applyScales();
    for (unsigned i = 0; i < s_.m && !fault_; ++i)
      for (unsigned j = 0; j < s_.n && !fault_; ++j)
        addElement(i, j);
    return fault_;
  }

 private:
  bool isScaled() const { return p_.kind == Kind::ScaledNarrow || p_.kind == Kind::Scaled4; }
  static TensorFault invalid(const std::string& text) { return {"unsupported", text}; }

  void loadFromShared(unsigned side, std::uint64_t bits, const Elements& e, unsigned rows, double* to) {
    const auto matrix = matrixOf(bits);
    const unsigned spacing = e.spacing;
    if (!matrix) {
      fault_ = invalid("a matrix descriptor with an absolute stride, a base offset, or swizzled in units of 32 bytes");
      return;
    }
    if (!matrix->holds(s_.depth, spacing, e.isTransposed)) {
      fault_ = invalid("matrix rows that are longer than the swizzle");
      return;
    }
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned k = 0; k < s_.depth; ++k) {
        std::uint64_t raw = 0;
        const auto bytes = std::as_writable_bytes(std::span(&raw, 1));
        unsigned shift = 0;
        if (e.isPadded) {
          if (e.isTransposed) {
            fault_ = invalid("a transposed matrix of 4 or 6 bits");
            return;
          }
          // 16 elements without gaps at the start of 16 bytes.
          constexpr unsigned kGroup = 16;
          const unsigned at = k % kGroup * e.bits;
          const std::uint64_t unit = matrix->address(i, k / kGroup * kGroup, spacing, false);
          shift = at % 8;
          for (unsigned byte = 0; byte * 8 < shift + e.bits; ++byte)
            if (!sides_[side].read(unit + at / 8 + byte, bytes.subspan(byte, 1))) return report();
        } else {
          shift = spacing < 8 ? k * spacing % 8 : 0;
          if (!sides_[side].read(matrix->address(i, k, spacing, e.isTransposed), bytes.first((spacing + 7) / 8)))
            return report();
        }
        to[i * s_.depth + k] = e.number(field(raw >> shift, 0, e.bits));
      }
  }

  /// The read was reported by who did it.
  void report() { fault_ = TensorFault{}; }

  void loadFromTensor(unsigned side, unsigned rows) {
    if (s_.a.isPadded || s_.a.isTransposed || p_.isShifted || (p_.isWeightStationary && s_.m != 128) ||
        (p_.isPair && s_.m == 128)) {
      fault_ = invalid("A in tensor memory in this form");
      return;
    }
    const auto address = static_cast<std::uint32_t>(p_.a);
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned k = 0; k < s_.depth; ++k) {
        const unsigned at = k * s_.a.spacing;
        const std::uint32_t* cell =
            sides_[side].memory->cell(tensorLane(address) + laneOf(i), tensorColumn(address) + at / 32);
        if (!cell) {
          fault_ = TensorFault{"memcheck", "A lies in columns of tensor memory that are not allocated"};
          return;
        }
        a_[(std::size_t{side} * rows + i) * s_.depth + k] = s_.a.number(field(*cell >> at % 32, 0, s_.a.bits));
      }
  }

  /// Of a row of the block's own. 64 rows leave half of each warp's lanes out.
  unsigned laneOf(unsigned row) const {
    return s_.m == 64 && !p_.isPair && !p_.isWeightStationary ? row / 16 * 32 + row % 16 : row;
  }

  Cell placeOf(unsigned row, unsigned column) const {
    const unsigned rows = s_.m / (p_.isPair ? 2 : 1), side = row / rows;
    // Where all of the rows fit several times, the columns are in as many parts, one below the other.
    unsigned parts = 1;
    if (p_.isPair || p_.isWeightStationary) parts = TensorMemory::kLanes / rows;
    const unsigned width = s_.n / parts;
    return {side, laneOf(row % rows) + column / width * rows, column % width};
  }

  /// Scales of row i stand in lane i % 32 of column i / 32, a byte for each.
  void applyScales() {
    if (p_.isPair) {
      fault_ = invalid("a product of a pair of blocks with scales");
      return;
    }
    scale(p_.scaleA, s_.idA, s_.m, a_);
    if (!fault_) scale(p_.scaleB, s_.idB, s_.n, b_);
  }
  void scale(std::uint32_t address, unsigned id, unsigned rows, std::vector<double>& matrix) {
    const unsigned each = s_.depth / p_.scaleVectors;
    for (unsigned i = 0; i < rows; ++i) {
      const std::uint32_t* cell = sides_[0].memory->cell(tensorLane(address) + i % kScaleRows,
                                                         (tensorColumn(address) & 0x3fff) + i / kScaleRows);
      if (!cell) {
        fault_ = TensorFault{"memcheck", "scales lie in columns of tensor memory that are not allocated"};
        return;
      }
      for (unsigned k = 0; k < s_.depth; ++k) {
        std::uint32_t raw = *cell >> 8 * (id + k / each) & 0xff;
        if (s_.scale == Format::E4M3) raw &= 0x7f; // it has no sign
        matrix[std::size_t{i} * s_.depth + k] *= ieee::doubleOf(ieee::convert(Format::F64, s_.scale, raw));
      }
    }
  }

  void addElement(unsigned i, unsigned j) {
    const Cell place = placeOf(i, j);
    const unsigned lane = tensorLane(p_.d) + place.lane;
    if ((p_.skippedLanes[place.side * 4 + lane % TensorMemory::kLanes / 32] >> lane % 32 & 1) != 0) return;
    std::uint32_t* cell = sides_[place.side].memory->cell(lane, tensorColumn(p_.d) + place.column);
    if (!cell) {
      fault_ = TensorFault{"memcheck", "D lies in columns of tensor memory that are not allocated"};
      return;
    }
    double products = 0;
    for (unsigned k = 0; k < s_.depth; ++k)
      products += a_[i * s_.depth + k] * b_[j * s_.depth + k];
    if (s_.a.isInteger) {
      using Limits = std::numeric_limits<std::int32_t>;
      std::int64_t sum = static_cast<std::int64_t>(products) + (p_.adds ? static_cast<std::int32_t>(*cell) : 0);
      if (s_.saturates) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
      *cell = static_cast<std::uint32_t>(sum);
      return;
    }
    double old = 0;
    if (p_.adds) {
      const std::uint32_t bits = s_.sum == Format::F16 ? *cell & 0xffff : *cell;
      old = std::ldexp(ieee::doubleOf(ieee::convert(Format::F64, s_.sum, bits)), -static_cast<int>(p_.scaleOfD));
    }
    const ieee::Bits total = ieee::bitsOf(products + old);
    *cell = static_cast<std::uint32_t>(ieee::isNan(Format::F64, total) ? ieee::canonicalNan(s_.sum)
                                                                       : ieee::convert(s_.sum, Format::F64, total));
  }

  const TensorProduct& p_;
  std::span<const TensorSide> sides_;
  const Shape& s_;
  std::vector<double> a_, b_; ///< by rows, and by columns
  std::optional<TensorFault> fault_;
};

} // namespace

std::optional<TensorFault> multiply(const TensorProduct& product, std::span<const TensorSide> sides) {
  const auto shape = shapeOf(product);
  if (!shape) return TensorFault{"unsupported", fmt::format("the instruction descriptor {:#x}", product.shape)};
  if (shape->isSparse) return TensorFault{"unsupported", "a sparse product of tensor memory"};
  if (product.isShifted) return TensorFault{"unsupported", "a product with .ashift"};
  if (product.zeroColumns != 0) return TensorFault{"unsupported", "a mask of columns that are zero"};
  return Multiplication(product, sides, *shape).run();
}

std::optional<TensorFault> copyToTensor(std::uint32_t address, std::uint64_t descriptor, TensorCopyShape shape,
                                        const TensorSide& side) {
  unsigned rows = 128, bytes = 16;
  std::vector<std::vector<unsigned>> lanesOf; // by group of 32 rows: the first lanes of where they go
  switch (shape) {
  case TensorCopyShape::Rows128Bits256: bytes = 32; [[fallthrough]];
  case TensorCopyShape::Rows128Bits128: lanesOf = {{0}, {32}, {64}, {96}}; break;
  case TensorCopyShape::Rows64Warps02:
    rows = 64;
    lanesOf = {{0, 64}, {32, 96}};
    break;
  case TensorCopyShape::Rows64Warps01:
    rows = 64;
    lanesOf = {{0, 32}, {64, 96}};
    break;
  case TensorCopyShape::Rows32:
    rows = 32;
    lanesOf = {{0, 32, 64, 96}};
    break;
  default: return TensorFault{"unsupported", "a copy of 4 rows to tensor memory"};
  }
  const auto matrix = matrixOf(descriptor);
  if (!matrix) return TensorFault{"unsupported", "a matrix descriptor of this form"};
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned at = 0; at < bytes; at += 4) {
      std::uint32_t word = 0;
      if (!side.read(matrix->address(row, at, 8, false), std::as_writable_bytes(std::span(&word, 1))))
        return TensorFault{};
      for (const unsigned lane : lanesOf[row / 32]) {
        std::uint32_t* cell = side.memory->cell(tensorLane(address) + lane + row % 32, tensorColumn(address) + at / 4);
        if (!cell) return TensorFault{"memcheck", "a copy to columns of tensor memory that are not allocated"};
        *cell = word;
      }
    }
  return std::nullopt;
}

} // namespace orias::launch
