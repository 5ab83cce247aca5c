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

/// The elements of A or of B.
struct Elements {
  bool isInteger = false, isSigned = false;
  Format format = Format::F16;
  unsigned bits = 16;    ///< of an element
  unsigned spacing = 16; ///< distance in tensor memory
  bool isPadded = false; ///< 16 of them occupy 16 bytes, regardless of their size
  bool isNegated = false, isTransposed = false;

  double number(std::uint32_t raw) const {
    if (isInteger) return isSigned ? static_cast<std::int8_t>(raw) : static_cast<double>(raw);
    const double value = ieee::doubleOf(ieee::convert(Format::F64, format, raw));
    return isNegated ? -value : value;
  }
};

/// The fields of the instruction descriptor.
struct Shape {
  unsigned m = 0, n = 0, depth = 0;
  unsigned held = 0; ///< stored elements per row of A: half of them if it is sparse
  Elements a, b;
  Format sum = Format::F32;
  bool saturates = false, isSparse = false;
  unsigned selector = 0;     ///< of two columns of metadata for elements of 16 and 32 bits
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
  s.held = kDepthBytes * 8 / s.a.spacing;
  s.depth = s.held * (s.isSparse ? 2 : 1);
  s.selector = field(bits, 0, 2);
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

/// The fields of a matrix descriptor with the same meaning as on sm_90, moved to their positions there.
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

/// The columns of B that are zero (.ws), and the first column: the 64 bits of a zero-column mask descriptor (PTX
/// manual, "Zero-Column Mask Descriptor"). The manual's table of Skip Span and Use Span contradicts its examples 2 to
/// 4; this follows the examples: Use Span + 1 used columns alternate with Skip Span + 1 zero columns.
class ColumnMask {
 public:
  ColumnMask(std::uint64_t bits, unsigned rows, unsigned columns)
      : bits_(bits), rows_(rows), each_(columns / parts()) {}

  std::optional<TensorFault> fault() const {
    if (const unsigned most = rows_ == 32 ? 16 : 32; shift() > most)
      return TensorFault{"tcgen05", fmt::format("a column shift of {}; {} is the most", shift(), most)};
    for (unsigned part = 0; isMasking() && part < parts(); ++part)
      if (start(part) >= (startsWithZeros(part) ? zeros() : used()))
        return TensorFault{"unsupported", "the PTX manual does not say what a start count beyond the first span means"};
    return std::nullopt;
  }
  /// The number of columns of B before those of the product.
  unsigned shift() const { return field(bits_, 56, 6); }
  bool isZero(unsigned column) const {
    if (!isMasking()) return false;
    const unsigned part = column / each_, at = (column % each_ + start(part)) % (zeros() + used());
    return startsWithZeros(part) ? at < zeros() : at >= used();
  }

 private:
  bool isMasking() const { return field(bits_, 39, 1) != 0; }
  unsigned parts() const { return TensorMemory::kLanes / rows_; } ///< each with its own start
  unsigned start(unsigned part) const { return field(bits_, 8 * part, 8); }
  bool startsWithZeros(unsigned part) const { return field(bits_, 32 + part, 1) != 0; }
  unsigned zeros() const { return field(bits_, 40, 8) + 1; }
  unsigned used() const { return field(bits_, 48, 8) + 1; }

  std::uint64_t bits_;
  unsigned rows_, each_;
};

/// The location of a row of D, for one of its columns.
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
    const ColumnMask mask(p_.isWeightStationary ? p_.zeroColumns : 0, std::min(s_.m, TensorMemory::kLanes), s_.n);
    if (fault_ = mask.fault(); fault_) return fault_;
    a_.resize(std::size_t{s_.m} * s_.held);
    b_[0].resize(std::size_t{s_.n} * s_.depth);
    const unsigned columns = s_.n / (p_.isPair ? 2 : 1);
    for (unsigned side = 0; side < sides_.size() && !fault_; ++side) {
      if (p_.aIsInTensor)
        loadFromTensor(side, rows);
      else
        loadFromShared(side, p_.a, s_.a, 0, rows, s_.held, a_.data() + std::size_t{side} * rows * s_.held);
      if (!fault_)
        loadFromShared(side, p_.b, s_.b, mask.shift(), columns, s_.depth,
                       b_[0].data() + std::size_t{side} * columns * s_.depth);
      if (!fault_ && s_.isSparse) loadPlaces(side, rows);
    }
    for (unsigned j = 0; j < s_.n; ++j)
      if (mask.isZero(j)) std::fill_n(b_[0].begin() + std::ptrdiff_t{j} * s_.depth, s_.depth, 0.0);
    b_[1] = b_[0];
    if (p_.scaleVectors != 0 && isScaled() && !fault_) applyScales(rows);
    for (unsigned i = 0; i < s_.m && !fault_; ++i)
      for (unsigned j = 0; j < s_.n && !fault_; ++j)
        addElement(i, j);
    return fault_;
  }

 private:
  bool isScaled() const { return p_.kind == Kind::ScaledNarrow || p_.kind == Kind::Scaled4; }
  static TensorFault invalid(const std::string& text) { return {"unsupported", text}; }

  /// Rows of A or columns of B, from `first` on.
  void loadFromShared(unsigned side, std::uint64_t bits, const Elements& e, unsigned first, unsigned rows,
                      unsigned depth, double* to) {
    const auto matrix = matrixOf(bits);
    const unsigned spacing = e.spacing;
    if (!matrix) {
      fault_ = invalid("a matrix descriptor with an absolute stride, a base offset, or swizzled in units of 32 bytes");
      return;
    }
    if (!matrix->holds(depth, spacing, e.isTransposed)) {
      fault_ = invalid("matrix rows that are longer than the swizzle");
      return;
    }
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned k = 0; k < depth; ++k) {
        std::uint64_t raw = 0;
        const auto bytes = std::as_writable_bytes(std::span(&raw, 1));
        unsigned shift = 0;
        if (e.isPadded) {
          if (e.isTransposed) {
            fault_ = invalid("a transposed matrix of 4 or 6 bits");
            return;
          }
          // 16 contiguous elements at the start of 16 bytes.
          constexpr unsigned kGroup = 16;
          const unsigned at = k % kGroup * e.bits;
          const std::uint64_t unit = matrix->address(first + i, k / kGroup * kGroup, spacing, false);
          shift = at % 8;
          for (unsigned byte = 0; byte * 8 < shift + e.bits; ++byte)
            if (!sides_[side].read(unit + at / 8 + byte, bytes.subspan(byte, 1))) return report();
        } else {
          shift = spacing < 8 ? k * spacing % 8 : 0;
          if (!sides_[side].read(matrix->address(first + i, k, spacing, e.isTransposed),
                                 bytes.first((spacing + 7) / 8)))
            return report();
        }
        to[i * depth + k] = e.number(field(raw >> shift, 0, e.bits));
      }
  }

  /// The reader has already reported the fault.
  void report() { fault_ = TensorFault{}; }

  void loadFromTensor(unsigned side, unsigned rows) {
    if (s_.a.isPadded || s_.a.isTransposed || p_.isShifted || (p_.isWeightStationary && s_.m != 128)) {
      fault_ = invalid("A in tensor memory in this form");
      return;
    }
    const auto address = static_cast<std::uint32_t>(p_.a);
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned k = 0; k < s_.held; ++k) {
        const unsigned at = k * s_.a.spacing;
        const std::uint32_t* cell =
            sides_[side].memory->cell(tensorLane(address) + laneOf(i), tensorColumn(address) + at / 32);
        if (!cell) {
          fault_ = TensorFault{"memcheck", "A lies in columns of tensor memory that are not allocated"};
          return;
        }
        a_[(std::size_t{side} * rows + i) * s_.held + k] = s_.a.number(field(*cell >> at % 32, 0, s_.a.bits));
      }
  }

  /// Reads the metadata of A. Four bits select two stored elements of a chunk of four (tf32: 0b0100 the first of two,
  /// 0b1110 the second; four-bit elements: two of four pairs). A lane has the metadata of its row, 64 bits in two
  /// columns. For elements of 16 and 32 bits it has half of that; the other half is in the lane of the row eight above
  /// or below. The descriptor selects one of two columns (CUTLASS: tmem_e_frg of mma_traits_sm100_frag.hpp).
  void loadPlaces(unsigned side, unsigned rows) {
    if (rows != TensorMemory::kLanes || s_.selector > 1) {
      fault_ = invalid("a sparse product of this shape");
      return;
    }
    const bool areWide = s_.a.spacing >= 16, areNibbles = s_.a.spacing == 4;
    const unsigned ofChunk = s_.a.spacing == 32 ? 2 : areNibbles ? 8 : 4, chunks = s_.depth / ofChunk;
    for (unsigned i = 0; i < rows && !fault_; ++i)
      for (unsigned c = 0; c < chunks && !fault_; ++c) {
        const unsigned lane = areWide ? i % 8 + 8 * (c / 4) + i / 16 * 16 : i, column = areWide ? s_.selector : c / 8,
                       shift = areWide ? 16 * (i / 8 % 2) + 4 * (c % 4) : 4 * (c % 8);
        const std::uint32_t* cell =
            sides_[side].memory->cell(tensorLane(p_.metadata) + lane, tensorColumn(p_.metadata) + column);
        if (!cell) {
          fault_ = TensorFault{"memcheck", "metadata lies in columns of tensor memory that are not allocated"};
          return;
        }
        addPlaces(field(*cell >> shift, 0, 4), c * ofChunk, ofChunk);
      }
  }
  void addPlaces(unsigned code, unsigned first, unsigned ofChunk) {
    const unsigned low = code & 3, high = code >> 2;
    if (ofChunk == 2) {
      if (code != 0b0100 && code != 0b1110) fault_ = TensorFault{"metadata", "undefined metadata of a sparse product"};
      places_.push_back(first + low / 2);
      return;
    }
    if (low >= high) fault_ = TensorFault{"metadata", "undefined metadata of a sparse product"};
    const unsigned neighbors = ofChunk / 4;
    for (const unsigned place : {low, high})
      for (unsigned n = 0; n < neighbors; ++n)
        places_.push_back(first + place * neighbors + n);
  }
  /// The column of A of the k-th stored element of a row.
  unsigned placeOfElement(unsigned row, unsigned k) const { return s_.isSparse ? places_[row * s_.held + k] : k; }

  /// The lane of a row of the block. With 64 rows, half of each warp's lanes are unused.
  unsigned laneOf(unsigned row) const {
    return s_.m == 64 && !p_.isPair && !p_.isWeightStationary ? row / 16 * 32 + row % 16 : row;
  }

  Cell placeOf(unsigned row, unsigned column) const {
    const unsigned rows = s_.m / (p_.isPair ? 2 : 1), side = row / rows;
    // If all rows fit several times, the columns are split into as many parts, one below the other.
    unsigned parts = 1;
    if (p_.isPair || p_.isWeightStationary) parts = TensorMemory::kLanes / rows;
    const unsigned width = s_.n / parts;
    return {side, laneOf(row % rows) + column / width * rows, column % width};
  }

  /// Scales of row i of a block are in lane i % 32 of column i / 32, one byte for each; each block of a pair has those
  /// of all columns of B.
  void applyScales(unsigned rows) {
    if (p_.isPair && s_.m != 256) {
      fault_ = invalid("a product of 64 rows of each block with scales");
      return;
    }
    const unsigned each = s_.depth / p_.scaleVectors;
    for (unsigned side = 0; side < sides_.size() && !fault_; ++side) {
      for (unsigned i = 0; i < rows && !fault_; ++i)
        for (unsigned k = 0; k < s_.held && !fault_; ++k) {
          const unsigned row = side * rows + i;
          a_[std::size_t{row} * s_.held + k] *= scaleOf(side, p_.scaleA, i, s_.idA + placeOfElement(row, k) / each);
        }
      for (unsigned j = 0; j < s_.n && !fault_; ++j)
        for (unsigned k = 0; k < s_.depth && !fault_; ++k)
          b_[side][std::size_t{j} * s_.depth + k] *= scaleOf(side, p_.scaleB, j, s_.idB + k / each);
    }
  }
  double scaleOf(unsigned side, std::uint32_t address, unsigned line, unsigned byte) {
    const std::uint32_t* cell = sides_[side].memory->cell(tensorLane(address) + line % kScaleRows,
                                                          (tensorColumn(address) & 0x3fff) + line / kScaleRows);
    if (!cell) {
      fault_ = TensorFault{"memcheck", "scales lie in columns of tensor memory that are not allocated"};
      return 0;
    }
    std::uint32_t raw = *cell >> 8 * byte & 0xff;
    if (s_.scale == Format::E4M3) raw &= 0x7f; // it has no sign
    return ieee::doubleOf(ieee::convert(Format::F64, s_.scale, raw));
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
    for (unsigned k = 0; k < s_.held; ++k)
      products += a_[i * s_.held + k] * b_[place.side][j * s_.depth + placeOfElement(i, k)];
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
  std::vector<double> a_;                ///< by rows
  std::array<std::vector<double>, 2> b_; ///< by columns, separate for each block
  std::vector<unsigned> places_;         ///< for sparse A: the columns of the stored elements, by rows
  std::optional<TensorFault> fault_;
};

/// Expands sixteen contiguous six-bit numbers to a byte each.
std::array<std::uint8_t, 16> bytesOfSixBits(const std::array<std::uint8_t, 16>& packed) {
  std::array<std::uint8_t, 16> bytes{};
  constexpr unsigned kBits = 6;
  for (unsigned k = 0; k < bytes.size(); ++k)
    for (unsigned bit = 0; bit < kBits; ++bit) {
      const unsigned at = k * kBits + bit;
      bytes[k] |= static_cast<std::uint8_t>((packed[at / 8] >> at % 8 & 1) << bit);
    }
  return bytes;
}

} // namespace

std::optional<TensorFault> multiply(const TensorProduct& product, std::span<const TensorSide> sides) {
  const auto shape = shapeOf(product);
  if (!shape) return TensorFault{"unsupported", fmt::format("the instruction descriptor {:#x}", product.shape)};
  // "Shifts the rows of A down by one row, except for the last row" (PTX manual, "tcgen05.mma").
  if (product.isShifted)
    return TensorFault{"unsupported", "the PTX manual does not say which row of A a row of D gets with .ashift"};
  return Multiplication(product, sides, *shape).run();
}

std::optional<TensorFault> copyToTensor(std::uint32_t address, std::uint64_t descriptor, TensorCopyShape shape,
                                        TensorCopyFormat format, const TensorSide& side) {
  unsigned rows = 128, bytes = 16, group = 32;
  std::vector<std::vector<unsigned>> lanesOf; // by group of rows: the first lanes of the destinations
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
  case TensorCopyShape::Rows4Bits256: // a lane of each warp (CUTLASS: SM100_UTCCP_4dp256bit)
    rows = 4;
    bytes = 32;
    group = 1;
    lanesOf = {{0}, {32}, {64}, {96}};
    break;
  default: return TensorFault{"unsupported", "a copy to tensor memory of this shape"};
  }
  if (format == TensorCopyFormat::FourBits)
    return TensorFault{"unsupported", "the text of the PTX manual does not say which bits of a byte .b4x16_p64 fills"};
  const auto matrix = matrixOf(descriptor);
  if (!matrix) return TensorFault{"unsupported", "a matrix descriptor of this form"};
  constexpr unsigned kUnit = 16;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned at = 0; at < bytes; at += kUnit) {
      std::array<std::uint8_t, kUnit> unit{};
      if (!side.read(matrix->address(row, at, 8, false), std::as_writable_bytes(std::span(unit)))) return TensorFault{};
      if (format == TensorCopyFormat::SixBits) unit = bytesOfSixBits(unit);
      for (const unsigned lane : lanesOf[row / group])
        for (unsigned word = 0; word < kUnit / 4; ++word) {
          std::uint32_t* cell =
              side.memory->cell(tensorLane(address) + lane + row % group, tensorColumn(address) + at / 4 + word);
          if (!cell) return TensorFault{"memcheck", "a copy to columns of tensor memory that are not allocated"};
          std::memcpy(cell, unit.data() + std::size_t{4} * word, 4);
        }
    }
  return std::nullopt;
}

} // namespace orias::launch
