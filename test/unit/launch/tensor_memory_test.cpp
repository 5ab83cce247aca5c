#include "tools/launch/tensor_memory.h"

#include <doctest/doctest.h>

#include <array>
#include <bit>

using orias::launch::TensorReduction;

namespace {

using Type = TensorReduction::Type;

std::uint32_t ofIntegers(Type type, bool isMin, std::array<std::int32_t, 4> values) {
  const auto words = std::bit_cast<std::array<std::uint32_t, 4>>(values);
  return TensorReduction{.type = type, .isMin = isMin}.of(words);
}

std::uint32_t ofFloats(TensorReduction reduction, std::array<float, 4> values) {
  reduction.type = Type::Float;
  return reduction.of(std::bit_cast<std::array<std::uint32_t, 4>>(values));
}

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

} // namespace

TEST_CASE("what a load of tensor memory is reduced to: as published of a B300") {
  const float nan = std::bit_cast<float>(0x7fc12345);
  CHECK(ofIntegers(Type::Unsigned, false, {9, 2, 15, 4}) == 15);
  CHECK(ofIntegers(Type::Unsigned, true, {9, 2, 15, 4}) == 2);
  CHECK(ofIntegers(Type::Signed, true, {-5, 7, -20, 3}) == static_cast<std::uint32_t>(-20));
  CHECK(ofFloats({.ofMagnitudes = true, .nanWins = true}, {1, -4, nan, 2}) == 0x7fffffff);
  CHECK(ofFloats({.isMin = true, .ofMagnitudes = true}, {4, -2, .5, -8}) == bits(.5));
}

TEST_CASE("what a load of tensor memory is reduced to: signs and NaNs") {
  const float nan = std::bit_cast<float>(0xffc12345);
  CHECK(ofIntegers(Type::Unsigned, true, {-1, -2, -3, -4}) == static_cast<std::uint32_t>(-4));
  CHECK(ofIntegers(Type::Signed, false, {-1, -2, 1, -4}) == 1);
  CHECK(ofFloats({}, {nan, -4, nan, -2}) == bits(-2));
  CHECK(ofFloats({.isMin = true}, {3, -4, nan, -2}) == bits(-4));
  CHECK(ofFloats({.ofMagnitudes = true}, {1, -4, nan, 2}) == bits(4));
  CHECK(ofFloats({}, {nan, nan, nan, nan}) == 0x7fffffff);
  CHECK(ofFloats({.isMin = true}, {0, -0.f, 0, 1}) == bits(-0.f));
}
