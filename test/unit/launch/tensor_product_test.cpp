#include "tools/launch/tensor_product.h"

#include "support/ieee.h"

#include <cstring>
#include <doctest/doctest.h>
#include <set>

using namespace orias::launch;

TEST_CASE("tensor memory: the registers of a warp cover each cell of their shape once") {
  struct Case {
    TensorShape shape;
    unsigned lanes, columns;
  };
  constexpr unsigned kCount = 4; // repetitions
  for (const Case& c : {Case{TensorShape::Lanes32Bits32, 32, 1}, Case{TensorShape::Lanes16Bits64, 16, 2},
                        Case{TensorShape::Lanes16Bits128, 16, 4}, Case{TensorShape::Lanes16Bits256, 16, 8},
                        Case{TensorShape::Lower, 16, 1}, Case{TensorShape::Upper, 16, 1}}) {
    std::set<std::pair<unsigned, unsigned>> cells;
    unsigned places = 0;
    for (unsigned thread = 0; thread < 32; ++thread)
      for (unsigned k = 0; k < tensorRegisters(c.shape) * kCount; ++k)
        if (const auto place = tensorPlace(c.shape, thread, k)) {
          CHECK(place->lane < c.lanes);
          CHECK(place->column < c.columns * kCount);
          cells.insert({place->lane, place->column});
          ++places;
        }
    CHECK(places == c.lanes * c.columns * kCount);
    CHECK(cells.size() == places);
  }
}

TEST_CASE("tensor memory: columns are handed out aligned, and reached by their own warps only") {
  TensorMemory memory;
  CHECK(memory.allocate(1) == 0u);
  CHECK(memory.allocate(4) == 4u);
  CHECK(memory.allocate(2) == 2u);
  CHECK_FALSE(memory.allocate(16));
  CHECK(memory.allocated() == 0xfdu);
  std::uint32_t value = 7;
  const std::uint32_t lane32 = 32u << 16;
  CHECK_FALSE(memory.access(lane32, TensorShape::Lanes32Bits32, 1, 3, 0, false, true, value));
  value = 0;
  CHECK_FALSE(memory.access(lane32, TensorShape::Lanes32Bits32, 5, 3, 0, false, false, value));
  CHECK(value == 7);
  CHECK(memory.access(lane32, TensorShape::Lanes32Bits32, 2, 3, 0, false, false, value)->kind == "memcheck");
  CHECK(memory.access(40, TensorShape::Lanes32Bits32, 0, 3, 0, false, false, value)->kind == "memcheck");
  // Halves: two columns in a register.
  value = 0x00020001;
  CHECK_FALSE(memory.access(0, TensorShape::Lanes32Bits32, 0, 3, 1, true, true, value));
  CHECK(*memory.cell(3, 2) == 1);
  CHECK(*memory.cell(3, 3) == 2);
}

TEST_CASE("tensor memory: 64 rows of a product stand in half of each warp's lanes") {
  TensorMemory memory;
  REQUIRE(memory.allocate(1));
  // Bytes, rows of 32 in units of 16: A is 64 x 32, B has 8 columns. Each element of A is its row number.
  std::vector<std::byte> shared(8192);
  const auto at = [](unsigned first, unsigned row, unsigned k) {
    return first + row / 8 * 256 + k / 16 * 128 + row % 8 * 16 + k % 16;
  };
  for (unsigned k = 0; k < 32; ++k) {
    for (unsigned row = 0; row < 64; ++row)
      shared[at(0, row, k)] = std::byte(row);
    for (unsigned column = 0; column < 8; ++column)
      shared[at(4096, column, k)] = std::byte(k == 0 ? 256 - column : 0); // signed: -column
  }
  TensorProduct p;
  p.kind = TensorProduct::Kind::Integer;
  constexpr std::uint64_t kStrides = std::uint64_t{1} << 46 | std::uint64_t{16} << 32 | std::uint64_t{8} << 16;
  p.a = kStrides;
  p.b = kStrides | 4096 >> 4;
  p.shape = 2u << 4 | 1u << 10 | 1u << 17 | 4u << 24; // u8 and s8 to s32, 64 x 8
  const TensorSide side{&memory, [&](std::uint64_t address, std::span<std::byte> out) {
                          std::memcpy(out.data(), shared.data() + address, out.size());
                          return true;
                        }};
  CHECK_FALSE(multiply(p, std::span(&side, 1)));
  CHECK(static_cast<std::int32_t>(*memory.cell(32 + 5, 3)) == -3 * (16 + 5));
  CHECK(*memory.cell(16, 3) == 0);
  p.adds = true;
  CHECK_FALSE(multiply(p, std::span(&side, 1)));
  CHECK(static_cast<std::int32_t>(*memory.cell(96 + 15, 7)) == -2 * 7 * 63);
  p.shape |= 4; // sparse
  CHECK(multiply(p, std::span(&side, 1))->kind == "unsupported");
}

TEST_CASE("tensor memory: rows move within the lanes of each warp, and the last one stays") {
  TensorMemory memory;
  REQUIRE(memory.allocate(1));
  for (unsigned lane = 0; lane < TensorMemory::kLanes; ++lane)
    for (unsigned column = 0; column < TensorMemory::kGroupColumns; ++column)
      *memory.cell(lane, column) = 1000 * lane + column;
  CHECK_FALSE(memory.shiftRows(4));
  CHECK(*memory.cell(0, 4) == 1004);
  CHECK(*memory.cell(30, 11) == 31011);
  CHECK(*memory.cell(31, 4) == 31004); // not the row of the next warp
  CHECK(*memory.cell(126, 4) == 127004);
  CHECK(*memory.cell(127, 4) == 127004);
  CHECK(*memory.cell(0, 3) == 3); // 32 bytes: eight columns
  CHECK(*memory.cell(0, 12) == 12);
  CHECK(memory.shiftRows(1u << 16)->kind == "memcheck");
  CHECK(memory.shiftRows(32u << 16)->kind == "unsupported");
  CHECK(memory.shiftRows(28)->kind == "memcheck"); // four columns of it are not allocated
}

TEST_CASE("tensor memory: what the PTX manual leaves open is refused with what is open") {
  TensorMemory memory;
  REQUIRE(memory.allocate(1));
  const TensorSide side{&memory, [](std::uint64_t, std::span<std::byte>) { return true; }};
  TensorProduct p;
  p.shape = 1u << 4 | 1u << 17 | 8u << 24;
  p.aIsInTensor = p.isShifted = true;
  const auto shifted = multiply(p, std::span(&side, 1));
  REQUIRE(shifted);
  CHECK(shifted->kind == "unsupported");
  CHECK(shifted->text.find(".ashift") != std::string::npos);
  const auto expanded =
      copyToTensor(0, std::uint64_t{1} << 46, TensorCopyShape::Rows128Bits128, TensorCopyFormat::FourBits, side);
  REQUIRE(expanded);
  CHECK(expanded->text.find(".b4x16_p64") != std::string::npos);
}

TEST_CASE("tensor memory: columns that a mask names count as zeros, and a shift leaves columns out") {
  TensorMemory memory;
  REQUIRE(memory.allocate(1));
  // Bytes: A is ones, column j of B is j + 1 if k is 0.
  std::vector<std::byte> shared(16384);
  for (unsigned i = 0; i < 4096; ++i)
    shared[i] = std::byte{1};
  for (unsigned column = 0; column < 64; ++column)
    shared[4096 + column / 8 * 256 + column % 8 * 16] = std::byte(column + 1);
  const TensorSide side{&memory, [&](std::uint64_t address, std::span<std::byte> out) {
                          std::memcpy(out.data(), shared.data() + address, out.size());
                          return true;
                        }};
  TensorProduct p;
  p.kind = TensorProduct::Kind::Integer;
  p.isWeightStationary = true;
  constexpr std::uint64_t kStrides = std::uint64_t{1} << 46 | std::uint64_t{16} << 32 | std::uint64_t{8} << 16;
  p.a = kStrides;
  p.b = kStrides | 4096 >> 4;
  constexpr std::uint64_t kOn = std::uint64_t{1} << 39, kSpans = std::uint64_t{2} << 40 | std::uint64_t{3} << 48;
  /// Row 0 of D for m x 32 columns.
  const auto columnsOf = [&](unsigned m, std::uint64_t mask) {
    p.shape = 2u << 4 | 4u << 17 | m / 16 << 24;
    p.zeroColumns = mask;
    std::vector<unsigned> columns;
    CHECK_FALSE(multiply(p, std::span(&side, 1)));
    for (unsigned part = 0; part < 128 / m; ++part)
      for (unsigned j = 0; j < 32 / (128 / m); ++j)
        columns.push_back(*memory.cell(part * m, j));
    return columns;
  };
  const auto startsWith = [](const std::vector<unsigned>& all, std::vector<unsigned> first) {
    return std::equal(first.begin(), first.end(), all.begin());
  };
  // The manual's examples, the lowest bit of the masks first.
  CHECK(startsWith(columnsOf(128, kSpans), {1, 2, 3, 4, 5, 6, 7, 8}));                     // 1: off
  CHECK(startsWith(columnsOf(128, kOn | kSpans), {1, 2, 3, 4, 0, 0, 0, 8, 9, 10, 11, 0})); // 2
  const auto third = columnsOf(64, kOn | kSpans | std::uint64_t{1} << 32);
  CHECK(startsWith(third, {0, 0, 0, 4, 5, 6, 7, 0}));
  CHECK(startsWith({third.begin() + 16, third.end()}, {17, 18, 19, 20, 0, 0, 0, 24}));
  const auto fourth =
      columnsOf(32, kOn | kSpans | std::uint64_t{3} << 32 | 1 << 24 | 2 << 16 | 1 << 8 | std::uint64_t{2} << 56);
  CHECK(startsWith(fourth, {0, 0, 0, 6, 7, 8, 9, 0}));
  CHECK(startsWith({fourth.begin() + 8, fourth.end()}, {0, 0, 13, 14, 15, 16, 0, 0}));
  CHECK(startsWith({fourth.begin() + 16, fourth.end()}, {19, 20, 0, 0, 0, 24, 25, 26}));
  CHECK(startsWith({fourth.begin() + 24, fourth.end()}, {27, 28, 29, 0, 0, 0, 33, 34}));

  p.zeroColumns = std::uint64_t{17} << 56;
  CHECK(multiply(p, std::span(&side, 1))->kind == "tcgen05"); // the maximum for 32 rows is 16
  p.zeroColumns = kOn | kSpans | 4;
  CHECK(multiply(p, std::span(&side, 1))->kind == "unsupported");
  p.isWeightStationary = false; // other products have no such operand
  p.shape = 2u << 4 | 4u << 17 | 8u << 24;
  CHECK_FALSE(multiply(p, std::span(&side, 1)));
}
