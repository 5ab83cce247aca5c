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
  // Bytes, rows of 32 in units of 16: A is 64 x 32, B 8 columns. All of a row of A is its number.
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
