// Compares sparse products with dense products of the expanded matrix. The layout of the metadata is from other sources
// than the functions under test: CUTLASS' reorder_meta and an ldmatrix (sm_80), the ELayouts of its wgmma traits, and
// for the short shapes the PTX manual.

#include "evaluate.h"
#include "support/check.h"
#include "support/ieee.h"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

using namespace orias;
using isa::WarpValues;
using test::Machine;

namespace {

enum : unsigned { kD, kA, kB, kC, kMetadata, kSelector };
constexpr unsigned kRows = 16, kColumns = 8;

using Words = std::array<std::uint32_t, 32>;

struct Product {
  const char* text;
  unsigned bits, depth;
  char kind; ///< h: f16, b: bf16, t: tf32, s: signed integers, q: e4m3

  unsigned elementsOfChunk() const { return bits == 32 ? 2 : bits == 4 ? 8 : 4; }
  unsigned chunks() const { return depth / elementsOfChunk(); }
  unsigned registers() const { return kRows * depth / 2 * bits / 1024; }
  bool isShort() const { return registers() == 2; }
  /// Lanes of four that have metadata.
  unsigned readers() const { return bits >= 16 ? registers() / 2 : registers(); }

  std::uint32_t encoded(int value) const {
    const auto single = test::bits(static_cast<float>(value));
    switch (kind) {
    case 'h': return ieee::floatToHalf(static_cast<float>(value));
    case 'b': return single >> 16;
    case 't': return single;
    case 'q': return value == 0 ? 0 : (value < 0 ? 0x80u : 0u) | (std::abs(value) == 1 ? 0x38u : 0x40u);
    default: return static_cast<std::uint32_t>(value) & ((1u << bits) - 1);
    }
  }
};

constexpr Product kProducts[] = {
    {"HMMA.SP.16816.F32 R0, R4, R8, R12, R16, ", 16, 16, 'h'},
    {"HMMA.SP.16816.F32.BF16 R0, R4, R8, R12, R16, ", 16, 16, 'b'},
    {"HMMA.SP.16832.F32 R0, R4, R8, R12, R16, ", 16, 32, 'h'},
    {"HMMA.SP.1688.F32.TF32 R0, R4, R8, R12, R16, ", 32, 8, 't'},
    {"HMMA.SP.16816.F32.TF32 R0, R4, R8, R12, R16, ", 32, 16, 't'},
    {"IMMA.SP.16832.S8.S8 R0, R4.ROW, R8.COL, R12, R16, ", 8, 32, 's'},
    {"IMMA.SP.16864.S8.S8 R0, R4.ROW, R8.COL, R12, R16, ", 8, 64, 's'},
    {"IMMA.SP.16864.S4.S4 R0, R4.ROW, R8.COL, R12, R16, ", 4, 64, 's'},
    {"IMMA.SP.168128.S4.S4 R0, R4.ROW, R8.COL, R12, R16, ", 4, 128, 's'},
    {"QMMA.SP.16864.F32.E4M3.E4M3 R0, R4.ROW, R8.COL, R12, R16, ", 8, 64, 'q'},
};

/// The four bits of each row and chunk.
using Codes = std::vector<std::array<unsigned, 16>>;

Codes randomCodes(const Product& p, std::mt19937& random) {
  static constexpr std::array<unsigned, 12> kPairs = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe, 0x1, 0x2, 0x3, 0x6, 0x7, 0xb};
  Codes codes(kRows);
  for (auto& row : codes)
    for (unsigned chunk = 0; chunk < p.chunks(); ++chunk)
      row[chunk] = p.bits == 32 ? (random() % 2 ? 0x4 : 0xe) : kPairs[random() % kPairs.size()];
  return codes;
}

/// The metadata of lanes that must not be read.
constexpr std::uint32_t kOtherPlaces = 0x9999eeee;

/// From the manual, for the short shapes: 16 bits for each of two rows in the selected lane, or a row in each lane of
/// the selected pair.
Words shortMetadata(const Product& p, const Codes& codes, unsigned selector) {
  Words words;
  words.fill(kOtherPlaces);
  for (unsigned g = 0; g < 8; ++g) {
    std::uint32_t upper = 0, lower = 0;
    for (unsigned chunk = p.chunks(); chunk-- > 0;) {
      upper = upper << 4 | codes[g][chunk];
      lower = lower << 4 | codes[g + 8][chunk];
    }
    if (p.bits >= 16) {
      words[4 * g + selector] = upper | lower << 16;
    } else {
      words[4 * g + 2 * selector] = upper;
      words[4 * g + 2 * selector + 1] = lower;
    }
  }
  return words;
}

/// CUTLASS for sm_80: reorder_meta shuffles 16-bit or 32-bit words of metadata in a tile of 32 or 16 rows and two
/// columns, which is stored by columns in pairs (ColumnMajorInterleaved<2>). ldmatrix loads 32 bits of it for each
/// lane; four lanes hold a row of eight of them. In a tile of 32 rows, the second product of 16 rows has selector 1.
Words reorderedMetadata(const Product& p, const Codes& codes, unsigned selector) {
  const bool isHalf = p.bits >= 16;
  const unsigned rows = isHalf ? 32 : 16, interweave = isHalf ? 4 : 2, chunksOfWord = isHalf ? 4 : 8;
  std::vector<std::uint32_t> tile(rows * 2, isHalf ? 0x9999u : kOtherPlaces); // by row, two columns
  for (unsigned m = 0; m < kRows; ++m)
    for (unsigned k = 0; k < 2; ++k) {
      std::uint32_t word = 0;
      for (unsigned chunk = 0; chunk < chunksOfWord; ++chunk)
        word |= codes[m][chunksOfWord * k + chunk] << 4 * chunk;
      const unsigned from = m + 16 * selector;
      unsigned row = from % 8 * interweave + from / 8, column = k;
      if (row % 2 == 0 && column == 1)
        ++row, column = 0;
      else if (row % 2 == 1 && column == 0)
        --row, column = 1;
      tile[row * 2 + column] = word;
    }
  Words words;
  for (unsigned lane = 0; lane < 32; ++lane)
    words[lane] = isHalf ? tile[2 * lane] | tile[2 * lane + 1] << 16 : tile[lane];
  return words;
}

/// CUTLASS for sparse wgmma: (lane, bit) -> (row, column), ELayout_64x64, 64x32 and 64x16. Lanes that differ in a
/// dimension with stride 0 have the same values.
Words groupMetadata(const Product& p, const Codes& codes) {
  Words words{};
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned bit = 0; bit < 32; ++bit) {
      unsigned row = lane / 4, chunk = 0;
      if (p.bits == 8) {
        row += lane % 2 * 8;
        chunk = (lane / 2 % 2 * 32 + bit) / 4; // a bit for each column
      } else {
        row += bit / 16 * 8;
        chunk = p.bits == 16 ? (lane % 2 * 16 + bit % 16) / 4 : (lane % 2 * 8 + bit % 16 / 2) / 2;
      }
      words[lane] |= (codes[row][chunk] >> bit % 4 & 1) << bit;
    }
  return words;
}

/// A product of random matrices with the metadata `words`: the sums by rows, as integers.
struct Run {
  std::vector<int> got, wanted;
};

/// The columns of the stored elements of a row of A.
std::vector<unsigned> placesOf(const Product& p, const std::array<unsigned, 16>& row) {
  std::vector<unsigned> places;
  for (unsigned chunk = 0; chunk < p.chunks(); ++chunk) {
    const unsigned begin = chunk * p.elementsOfChunk(), code = row[chunk];
    if (p.bits == 32) {
      places.push_back(begin + (code == 0xe ? 1 : 0));
      continue;
    }
    const unsigned run = p.elementsOfChunk() / 4;
    for (const unsigned place : {code & 3, code >> 2})
      for (unsigned n = 0; n < run; ++n)
        places.push_back(begin + place * run + n);
  }
  return places;
}

Run multiply(const Product& p, const Codes& codes, const Words& words, unsigned selector) {
  std::mt19937 random(7);
  const auto small = [&] { return static_cast<int>(random() % 5) - 2; };
  std::vector<int> a(kRows * p.depth / 2), b(p.depth * kColumns);
  for (int& x : a)
    x = small();
  for (int& x : b)
    x = small();

  Run run;
  for (unsigned row = 0; row < kRows; ++row) { // A expanded
    const std::vector<unsigned> places = placesOf(p, codes[row]);
    std::vector<int> dense(p.depth);
    for (unsigned k = 0; k < p.depth / 2; ++k)
      dense[places[k]] = a[row * p.depth / 2 + k];
    for (unsigned column = 0; column < kColumns; ++column) {
      int sum = 3;
      for (unsigned k = 0; k < p.depth; ++k)
        sum += dense[k] * b[k * kColumns + column];
      run.wanted.push_back(sum);
    }
  }

  const isa::Inst inst = Machine::parse(p.text + std::to_string(selector));
  WarpValues w;
  w.active = ~0u;
  const unsigned packed = 32 / p.bits;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    w.lane[lane][kMetadata].w[0] = words[lane];
    w.lane[lane][kSelector].w[0] = selector;
    for (unsigned r = 0; r < p.registers(); ++r)
      for (unsigned i = 0; i < packed; ++i) {
        const unsigned row = g + 8 * (r % 2), k = packed * t + i + 4 * packed * (r / 2);
        w.lane[lane][kA].w[r] |= p.encoded(a[row * p.depth / 2 + k]) << i * p.bits;
        w.lane[lane][kB].w[r] |= p.encoded(b[(packed * t + i + 4 * packed * r) * kColumns + g]) << i * p.bits;
      }
    w.lane[lane][kC].w.fill(p.kind == 's' ? 3 : test::bits(3.0f));
  }
  const isa::WarpFunction function = isa::warpFunction(inst.op);
  test::rowsTested().insert(inst.op);
  REQUIRE((function != nullptr));
  function(inst, w);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      const std::uint32_t word = w.lane[row % 8 * 4 + column / 2][kD].w[row / 8 * 2 + column % 2];
      run.got.push_back(p.kind == 's' ? static_cast<int>(word) : static_cast<int>(std::bit_cast<float>(word)));
    }
  return run;
}

Words metadataOf(const Product& p, const Codes& codes, unsigned selector) {
  return p.isShort() ? shortMetadata(p, codes, selector) : reorderedMetadata(p, codes, selector);
}

} // namespace

TEST_CASE("sparse products are those of the matrix written out, for each selector") {
  std::mt19937 random(1);
  for (const Product& p : kProducts)
    for (unsigned selector = 0; selector < 4 / p.readers(); ++selector) {
      CAPTURE(p.text);
      CAPTURE(selector);
      const Codes codes = randomCodes(p, random);
      const Run run = multiply(p, codes, metadataOf(p, codes, selector), selector);
      CHECK(run.got == run.wanted);
    }
}

TEST_CASE("wgmma and mma.sp of the deep shapes lay metadata out alike") {
  std::mt19937 random(2);
  for (const Product& p : kProducts) {
    if (p.isShort() || p.bits == 4) continue;
    CAPTURE(p.text);
    const Codes codes = randomCodes(p, random);
    const Words group = groupMetadata(p, codes);
    for (unsigned selector = 0; selector < 4 / p.readers(); ++selector) {
      const Words reordered = reorderedMetadata(p, codes, selector);
      for (unsigned lane = 0; lane < 32; ++lane)
        if (lane % 4 / p.readers() == selector) CHECK(group[lane] == reordered[lane]);
    }
    const Run run = multiply(p, codes, group, 0);
    CHECK(run.got == run.wanted);
  }
}

TEST_CASE("another selector, and the metadata of two lanes exchanged, give another product") {
  std::mt19937 random(3);
  for (const Product& p : kProducts) {
    CAPTURE(p.text);
    const Codes codes = randomCodes(p, random);
    Words words = metadataOf(p, codes, 0);
    if (p.readers() < 4 && p.bits < 32) {
      const Run other = multiply(p, codes, words, 1);
      CHECK(other.got != other.wanted);
    }
    std::swap(words[0], words[p.bits < 16 ? 1 : 4]);
    const Run swapped = multiply(p, codes, words, 0);
    CHECK(swapped.got != swapped.wanted);
  }
}

TEST_CASE("metadata that names one place twice, and selectors that a shape does not have, are refused") {
  std::mt19937 random(4);
  for (const Product& p : kProducts) {
    CAPTURE(p.text);
    Codes codes = randomCodes(p, random);
    if (p.readers() > 1) CHECK_THROWS_AS(multiply(p, codes, metadataOf(p, codes, 0), 4 / p.readers()), const Error&);
    const unsigned good = codes[3][1];
    codes[3][1] = 0x5;
    const Words words = metadataOf(p, codes, 0);
    codes[3][1] = good;
    CHECK_THROWS_AS(multiply(p, codes, words, 0), const Error&);
  }
}
