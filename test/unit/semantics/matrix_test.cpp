// Products of matrices. The position of each element is specified here separately, lane by lane, according to the PTX
// manual.

#include "evaluate.h"
#include "support/check.h"
#include "support/ieee.h"

#include <doctest/doctest.h>

using namespace orias;
using isa::WarpValues;
using test::Machine;

namespace {

enum : unsigned { kD, kA, kB, kC };

void run(const std::string& text, WarpValues& warp) {
  const isa::Inst inst = Machine::parse(text);
  const isa::WarpFunction function = isa::warpFunction(inst.op);
  test::rowsTested().insert(inst.op);
  REQUIRE((function != nullptr));
  function(inst, warp);
}

} // namespace

TEST_CASE("HMMA.16816: A times the identity is A") {
  WarpValues w;
  w.active = ~0u;
  const auto half = [](unsigned value) { return std::uint32_t{ieee::floatToHalf(static_cast<float>(value))}; };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned row = g + 8 * (r % 2), column = 2 * t + 8 * (r / 2);
      w.lane[lane][kA].w[r] = half(16 * row + column) | half(16 * row + column + 1) << 16;
    }
    // B is 16 x 8: ones if k = column. The words hold k = 2 t and 2 t + 1, then these + 8; column g.
    w.lane[lane][kB].w[0] = (2 * t == g ? 0x3c00u : 0) | (2 * t + 1 == g ? 0x3c000000u : 0);
    w.lane[lane][kB].w[1] = 0;
    for (unsigned k = 0; k < 4; ++k)
      w.lane[lane][kC].w[k] = test::bits(0.5f);
  }
  run("HMMA.16816.F32 R0, R4, R8, R12", w);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned k = 0; k < 4; ++k)
      CHECK(w.lane[lane][kD].w[k] == test::bits(static_cast<float>(16 * (g + 8 * (k / 2)) + 2 * t + k % 2) + 0.5f));
  }
}

TEST_CASE("BMMA counts the bits that a row and a column share") {
  WarpValues w;
  w.active = ~0u;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    // Row g has the bits below 16 g, row g + 8 all other bits; column g has every bit of the lower half, and bit 200 +
    // g.
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned first = 32 * t + 128 * (r / 2), limit = 16 * g;
      const std::uint32_t below = limit <= first ? 0 : limit >= first + 32 ? ~0u : (1u << (limit - first)) - 1;
      w.lane[lane][kA].w[r] = r % 2 == 0 ? below : ~below;
    }
    w.lane[lane][kB].w[0] = ~0u;
    w.lane[lane][kB].w[1] = (200 + g) / 32 == 4 + t ? 1u << ((200 + g) % 32) : 0;
    w.lane[lane][kC].w = {1000, 0, 0, 0};
  }
  run("BMMA.168256.AND.POPC R0, R4.ROW, R8.COL, R12", w);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4;
    CHECK(w.lane[lane][kD].w[0] == 1000 + 16 * g);
    CHECK(w.lane[lane][kD].w[1] == 16 * g);
    CHECK(w.lane[lane][kD].w[2] == 128 - 16 * g + 1);
  }
}

TEST_CASE("BMMA of 128 bits, with 8 rows and with 16") {
  for (const char* text :
       {"BMMA.88128.AND.POPC R0, R4.ROW, R8.COL, R12", "BMMA.168128.AND.POPC R0, R4.ROW, R8.COL, R12"}) {
    CAPTURE(text);
    WarpValues w;
    w.active = ~0u;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      w.lane[lane][kA].w = {(1u << g) - 1, t == 3 ? 1u : 0, 0, 0}; // rows g and g + 8
      w.lane[lane][kB].w = {g % 2 == 0 ? ~0u : 0, 0, 0, 0};        // column g
      w.lane[lane][kC].w = {5, 6, 7, 8};
    }
    run(text, w);
    for (unsigned lane = 0; lane < 32; ++lane) {
      CHECK(w.lane[lane][kD].w[0] == 5 + 4 * (lane / 4)); // even columns share g bits in each of four lanes
      CHECK(w.lane[lane][kD].w[1] == 6);
      if (text[5] == '1') CHECK(w.lane[lane][kD].w[2] == 7 + 1);
    }
  }
}

TEST_CASE("HMMA.1684: four tf32 along k, of which A has two rows in a lane and B one") {
  WarpValues w;
  w.active = ~0u;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    w.lane[lane][kA].w[0] = test::bits(static_cast<float>(4 * g + t));       // row g, column t
    w.lane[lane][kA].w[1] = test::bits(static_cast<float>(4 * (g + 8) + t)); // row g + 8
    w.lane[lane][kB].w[0] = test::bits(t == g % 4 ? 1.0f : 0.0f);            // row t, column g
    w.lane[lane][kC].w = {0, 0, test::bits(0.5f), 0};
  }
  run("HMMA.1684.F32.TF32 R0, R4, R6, R8", w);
  const auto& d = w.lane[6][kD].w; // row 1, columns 4 and 5; row 9
  CHECK(d[0] == test::bits(4.0f));
  CHECK(d[1] == test::bits(5.0f));
  CHECK(d[2] == test::bits(36.5f));
  CHECK(d[3] == test::bits(37.0f));
}

TEST_CASE("IMMA counts signs, and wraps unless it saturates") {
  WarpValues w;
  w.active = ~0u;
  for (auto& lane : w.lane) {
    lane[kA].w = {0x80808080, 0x80808080, 0x80808080, 0x80808080};
    lane[kB].w = {0xffffffff, 0xffffffff, 0, 0};
    lane[kC].w = {0, 0x7fffffff, 0, 0};
  }
  WarpValues saturated = w;
  run("IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R12", w);
  CHECK(w.lane[9][kD].w[0] == 32 * 128);
  CHECK(w.lane[9][kD].w[1] == 0x7fffffffu + 32 * 128);
  run("IMMA.16832.U8.S8 R0, R4.ROW, R8.COL, R12", w);
  CHECK(w.lane[9][kD].w[0] == static_cast<std::uint32_t>(-32 * 128));
  run("IMMA.16832.S8.S8.SAT R0, R4.ROW, R8.COL, R12", saturated);
  CHECK(saturated.lane[9][kD].w[1] == 0x7fffffff);
}

TEST_CASE("DMMA: row times column") {
  WarpValues w;
  w.active = ~0u;
  for (unsigned lane = 0; lane < 32; ++lane) {
    w.lane[lane][kA] = isa::LaneValue::of64(test::bits(static_cast<double>(lane % 4)));
    w.lane[lane][kB] = isa::LaneValue::of64(test::bits(static_cast<double>(lane / 4)));
  }
  run("DMMA.8x8x4 R0, R4, R8, RZ", w);
  const auto& d = w.lane[6][kD].w; // row 1, columns 4 and 5
  CHECK((d[0] | std::uint64_t{d[1]} << 32) == test::bits(24.0));
  CHECK((d[2] | std::uint64_t{d[3]} << 32) == test::bits(30.0));
}

TEST_CASE("DMMA of factors with signs; what the sign of other factors does is not known") {
  WarpValues w;
  w.active = ~0u;
  for (unsigned lane = 0; lane < 32; ++lane) {
    w.lane[lane][kA] = isa::LaneValue::of64(test::bits(static_cast<double>(lane % 4)));
    w.lane[lane][kB] = isa::LaneValue::of64(test::bits(static_cast<double>(lane / 4)));
  }
  run("DMMA.8x8x4 R0, -R4, R8, RZ", w);
  const auto& d = w.lane[6][kD].w;
  CHECK((d[0] | std::uint64_t{d[1]} << 32) == test::bits(-24.0));
  run("DMMA.8x8x4 R0, -R4, -R8, RZ", w);
  CHECK((d[0] | std::uint64_t{d[1]} << 32) == test::bits(24.0));
  CHECK_THROWS_AS(run("HMMA.1688.F32 R0, R4, -R8, R12", w), const Error&);
  CHECK_THROWS_AS(run("QMMA.16816.F32.E4M3.E5M2 R0, R4, -R8, R12", w), const Error&);
}

TEST_CASE("the smaller shapes: HMMA.1688 and IMMA.16816") {
  WarpValues w;
  w.active = ~0u;
  const auto half = [](unsigned value) { return std::uint32_t{ieee::floatToHalf(static_cast<float>(value))}; };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < 2; ++r)
      w.lane[lane][kA].w[r] = half(8 * (g + 8 * r) + 2 * t) | half(8 * (g + 8 * r) + 2 * t + 1) << 16;
    w.lane[lane][kB].w[0] = (2 * t == g ? 0x3c00u : 0) | (2 * t + 1 == g ? 0x3c000000u : 0); // the identity
    w.lane[lane][kC].w = {};
  }
  run("HMMA.1688.F32 R0, R4, R8, R12", w);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned k = 0; k < 4; ++k)
      CHECK(w.lane[lane][kD].w[k] ==
            test::bits(static_cast<float>(8 * (lane / 4 + 8 * (k / 2)) + 2 * (lane % 4) + k % 2)));

  for (auto& lane : w.lane) {
    lane[kA].w = {0x80808080, 0x80808080, 0, 0};
    lane[kB].w = {0xffffffff, 0, 0, 0};
    lane[kC].w = {1, 0, 0, 0};
  }
  run("IMMA.16816.S8.S8 R0, R4.ROW, R8.COL, R12", w);
  CHECK(w.lane[5][kD].w[0] == 16 * 128 + 1);
  CHECK(w.lane[5][kD].w[3] == 16 * 128);
  run("IMMA.8816.S8.S8 R0, R4.ROW, R8.COL, R12", w);
  CHECK(w.lane[5][kD].w[0] == 16 * 128 + 1);
  CHECK(w.lane[5][kD].w[1] == 16 * 128);
}

TEST_CASE("products before sm_90 of four bits, of 8-bit floating-point numbers, and of bits that differ") {
  struct Product {
    const char* text;
    std::uint32_t a, b; ///< each register of the two factors, in each lane
    std::uint32_t sum;  ///< of each row and column
    unsigned sums;      ///< registers of D
  };
  const Product products[] = {
      {"IMMA.8832.S4.U4 R0, R4.ROW, R8.COL, R12", 0xffffffff, 0x22222222, 0u - 64, 2},
      {"IMMA.16832.U4.U4 R0, R4.ROW, R8.COL, R12", 0xffffffff, 0x22222222, 15 * 64, 4},
      {"IMMA.16864.S4.S4 R0, R4.ROW, R8.COL, R12", 0x88888888, 0x77777777, 0u - 56 * 64, 4},
      {"BMMA.88128.XOR.POPC R0, R4.ROW, R8.COL, R12", 0xff00ff00, 0xffff0000, 64, 2},
      // 1.0 in e4m3 and 2.0 in e5m2, and 1.0 in e5m2 and 2.0 in e4m3.
      {"QMMA.16816.F32.E4M3.E5M2 R0, R4.ROW, R8.COL, R12", 0x38383838, 0x40404040, 0x42000000, 4},
      {"QMMA.16832.F32.E5M2.E4M3 R0, R4.ROW, R8.COL, R12", 0x3c3c3c3c, 0x40404040, 0x42800000, 4},
      // sm_120: e2m1 is shifted by two bits in its byte.
      {"QMMA.16816.F32.E4M3.E5M2 R0, R4, R8, R12", 0x38383838, 0x40404040, 0x42000000, 4},
      {"QMMA.16832.F32.E2M1.E3M2 R0, R4, R8, R12", 0x08080808, 0x10101010, 0x42800000, 4},
  };
  for (const Product& product : products) {
    CAPTURE(product.text);
    WarpValues w;
    w.active = ~0u;
    for (auto& lane : w.lane) {
      lane[kA].w.fill(product.a);
      lane[kB].w.fill(product.b);
      lane[kC].w.fill(0);
    }
    run(product.text, w);
    for (const auto& lane : w.lane)
      for (unsigned r = 0; r < product.sums; ++r)
        CHECK(lane[kD].w[r] == product.sum);
  }
}

TEST_CASE("HMMA.884: a step gives four neighbors of a row of one of four products") {
  const auto half = [](unsigned value) { return std::uint32_t{ieee::floatToHalf(static_cast<float>(value))}; };
  for (const unsigned step : {0u, 1u}) {
    WarpValues w;
    w.active = ~0u;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned number = lane / 4 % 4, line = lane % 4 + lane / 16 * 4;
      // The first column of A is the row's number; the first row of B is the product's number plus one in each column.
      w.lane[lane][kA].w = {half(line), 0, 0, 0};
      w.lane[lane][kB].w = {half(number + 1), 0, 0, 0};
      w.lane[lane][kC].w = {half(100) | half(200) << 16, 0, 0, 0};
    }
    run(step == 0 ? "HMMA.884.F16.F16.STEP0 R0, R4.ROW, R8.COL, R12" : "HMMA.884.F16.F16.STEP1 R0, R4.ROW, R8.COL, R12",
        w);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned product = (lane / 4 % 4 + 1) * (lane % 4 + lane / 16 * 4);
      CHECK(w.lane[lane][kD].w[0] == (half(100 + product) | half(200 + product) << 16));
      CHECK(w.lane[lane][kD].w[1] == (half(product) | half(product) << 16));
    }
  }
}

TEST_CASE("products with scales: of 32 elements, of 16") {
  struct Product {
    const char* text;
    std::uint32_t elements, scaleA, scaleB, sum;
  };
  static constexpr Product kProducts[] = {
      {"QMMA.SF.16832.F32.E4M3.E4M3.E8 R0, R4, R8, R12, R16, R20, URZ", 0x38383838, 0x80, 0x81, 0x43800000},
      {"OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X R0, R4, R8, R12, R16, R20, URZ", 0x22222222, 0x38404038, 0x38383838,
       0x42c00000},
      {"OMMA.SF.16864.F32.E2M1.E2M1.E8 R0, R4, R8, R12, R16, R20, URZ", 0x22222222, 0x807f, 0x7f7f, 0x42c00000},
  };
  enum : unsigned { kScalesOfA = 4, kScalesOfB = 5, kScaleSelector = 6 };
  for (const Product& product : kProducts) {
    CAPTURE(product.text);
    WarpValues w;
    w.active = ~0u;
    for (auto& lane : w.lane) {
      lane[kA].w.fill(product.elements);
      lane[kB].w.fill(product.elements);
      lane[kC].w.fill(0);
      lane[kScalesOfA].w.fill(product.scaleA);
      lane[kScalesOfB].w.fill(product.scaleB);
      lane[kScaleSelector].w.fill(0);
    }
    run(product.text, w);
    for (const auto& lane : w.lane)
      for (unsigned r = 0; r < 4; ++r)
        CHECK(lane[kD].w[r] == product.sum);
  }
}

TEST_CASE("narrow sparse products: the first two of four elements are there, and meet those of B") {
  struct Product {
    const char* text;
    std::uint32_t elements, scaleA, scaleB, sum;
  };
  static constexpr Product kProducts[] = {
      {"QMMA.SP.16864.F32.E3M2.E3M2 R0, R4, R8, R12, R16, 0x0", 0x0c0c0c0c, 0, 0, 0x42000000},
      {"QMMA.SF.SP.16864.F32.E4M3.E4M3.E8 R0, R4, R8, R12, R16, R20, URZ, 0x0", 0x38383838, 0x80, 0x81, 0x43800000},
      {"OMMA.SF.SP.168128.F32.E2M1.E2M1.UE4M3.4X R0, R4, R8, R12, R16, R20, URZ, 0x0", 0x22222222, 0x38404038,
       0x38383838, 0x42c00000},
      {"OMMA.SF.SP.168128.F32.E2M1.E2M1.E8 R0, R4, R8, R12, R16, R20, URZ, 0x0", 0x22222222, 0x807f, 0x7f7f,
       0x42c00000},
  };
  enum : unsigned { kPlaces = 4, kScalesOfB = 5, kSelector = 6, kSelectorOfScaled = 7 };
  for (const Product& product : kProducts) {
    CAPTURE(product.text);
    WarpValues w;
    w.active = ~0u;
    const bool isScaled = product.scaleA != 0;
    for (auto& lane : w.lane) {
      lane[kA].w.fill(product.elements);
      lane[kB].w.fill(product.elements);
      lane[kC].w.fill(0);
      lane[kPlaces].w.fill(0x44444444);
      if (isScaled) lane[kPlaces].w[1] = product.scaleA;
      lane[kScalesOfB].w.fill(isScaled ? product.scaleB : 0);
      lane[kSelector].w.fill(0);
      lane[kSelectorOfScaled].w.fill(0);
    }
    run(product.text, w);
    for (const auto& lane : w.lane)
      for (unsigned r = 0; r < 4; ++r)
        CHECK(lane[kD].w[r] == product.sum);
  }
}
