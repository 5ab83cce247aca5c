#include "test/exact/cases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <random>

namespace orias::exact {

namespace {

constexpr std::uint32_t kMantissa = 0x007fffff, kSign = 0x80000000;

const std::uint32_t kSpecial[] = {0,          1,          2,          3,          0x00001234, 0x003fffff, 0x00400000,
                                  0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000, 0x0c7fffff, 0x0c800000,
                                  0x0cffffff, 0x0d000000, 0x0d000001, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001,
                                  0x3fffffff, 0x40000000, 0x40400000, 0x407fffff, 0x7dffffff, 0x7e000000, 0x7e7fffff,
                                  0x7e800000, 0x7e800001, 0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001,
                                  0x7fc00000, 0x7fffffff};

std::uint32_t bitsOf(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

class FloatCases final : public Cases {
 public:
  FloatCases(const Operation& operation, std::uint64_t seed) : isRoot_(operation.op == isa::Op::FSQRT), random_(seed) {}

  Case next() override {
    constexpr std::uint64_t kCount = std::size(kSpecial), kAll = 4 * kCount * kCount;
    const std::uint64_t at = count_++;
    if (at < kAll) return signs(kSpecial[at / 4 % kCount], kSpecial[at / 4 / kCount], at);
    const std::uint64_t bits = random_();
    switch (at % 5) {
    case 0: return {bits & 0xffffffff, bits >> 32};
    case 1: return signs(moderate(), moderate(), bits);
    case 2: return exact(bits);
    case 3: return isRoot_ ? nearRoot(bits) : near(bits);
    default: return extreme(bits);
    }
  }

 private:
  static Case signs(std::uint32_t a, std::uint32_t b, std::uint64_t which) {
    return {a ^ (which & 1 ? kSign : 0), b ^ (which & 2 ? kSign : 0)};
  }
  std::uint32_t mantissa() {
    const auto bits = static_cast<std::uint32_t>(random_());
    switch (bits & 7) {
    case 0: return kMantissa - (bits >> 28); // near the next power of two
    case 1: return bits >> 28;
    default: return bits >> 9;
    }
  }
  std::uint32_t moderate() { return static_cast<std::uint32_t>(112 + random_() % 32) << 23 | mantissa(); }

  /// A product, so that the quotient or root is a number or a midpoint, including subnormals.
  Case exact(std::uint64_t bits) {
    const std::uint64_t a = (bits >> 8 & 0xffffff) >> bits % 24 | 1, b = (bits >> 40) >> (bits >> 5 & 7) * 3 | 1;
    const float divisor = static_cast<float>(b);
    if (!isRoot_ && bits >> 4 & 1) return exactSubnormal(bits);
    return {bitsOf(static_cast<float>(isRoot_ ? b * b : a * b)), bitsOf(divisor)};
  }
  /// A product times 2^n over a factor times 2^(n + 150): the quotient is an odd multiple of half of the least
  /// subnormal.
  Case exactSubnormal(std::uint64_t bits) {
    constexpr int kLeast = -149, kLeastUp = 150, kMax = 100;
    const unsigned size = bits % 23 + 1; // of the factor; the sum of both sizes is 24
    const std::uint64_t b = (bits >> 8 & 0xffffff) >> (24 - size) | 1, odd = (bits >> 32 & 0xffffff) >> size | 1;
    const int n = kLeast + static_cast<int>((bits >> 56) % kMax);
    const Case c{bitsOf(std::ldexp(static_cast<float>(odd * b), n)),
                 bitsOf(std::ldexp(static_cast<float>(b), n + kLeastUp))};
    return signs(static_cast<std::uint32_t>(c.first), static_cast<std::uint32_t>(c.second), bits >> 6);
  }
  Case near(std::uint64_t bits) {
    Case c = nearQuotient(0x800000 | mantissa(), 24 + (bits & 1), bits & 2 ? 1 : -1, bits >> 8);
    return signs(static_cast<std::uint32_t>(c.first), static_cast<std::uint32_t>(c.second), bits >> 2);
  }
  /// k k + k, whose root is near k + 1/2, or k k, and adjacent numbers.
  Case nearRoot(std::uint64_t bits) {
    const std::uint64_t k = 0x800000 | mantissa(), square = k * k + (bits & 1 ? k : 0);
    const unsigned drop = square >> 47 ? 24 : 23;
    const auto field = static_cast<std::uint32_t>(127 + (drop - 23) + 2 * (bits >> 8) % 60 - 60);
    return {field << 23 | (((square >> drop) + (bits >> 1 & 1)) & kMantissa), 0};
  }
  /// Arguments at the ends of the range, and quotients at the ends.
  Case extreme(std::uint64_t bits) {
    const auto spread = static_cast<int>(bits % 32);
    const int fieldB = bits >> 8 & 3    ? static_cast<int>((bits >> 16) % 255)
                       : bits >> 10 & 1 ? 254 - spread
                                        : spread % 4;
    const int wanted = bits >> 11 & 1 ? 128 - spread % 4 : -120 - spread;
    const int fieldA = isRoot_ ? (bits >> 12 & 1 ? spread : 254 - spread) : std::clamp(fieldB + wanted, 0, 254);
    return signs(number(fieldA), number(fieldB), bits >> 13);
  }
  std::uint32_t number(int field) {
    const std::uint32_t m = mantissa();
    return field == 0 ? m >> random_() % 23 : static_cast<std::uint32_t>(field) << 23 | m;
  }

  bool isRoot_;
  std::mt19937_64 random_;
  std::uint64_t count_ = 0;
};

} // namespace

Case nearQuotient(std::uint64_t b, unsigned bits, int error, std::uint64_t choice) {
  // a 2^s = m b + error, m of s + 1 bits: m is -error / b modulo 2^s, for an odd b. For an even b, the factor 2^t of b
  // is applied to the error, and t bits of m are arbitrary.
  const auto t = static_cast<unsigned>(std::countr_zero(b));
  const unsigned s = bits - 1, free = t < s ? t : s;
  const std::uint64_t odd = b >> t, low = (std::uint64_t{1} << (s - free)) - 1;
  std::uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i)
    inverse *= 2 - odd * inverse;
  std::uint64_t m = (0 - static_cast<std::uint64_t>(static_cast<std::int64_t>(error))) * inverse & low;
  m |= (choice & ((std::uint64_t{1} << free) - 1)) << (s - free) | std::uint64_t{1} << s;
  const std::uint64_t dividend = (m * odd + static_cast<std::uint64_t>(static_cast<std::int64_t>(error))) >> (s - free);
  // It may have one bit too many. Then the quotient is only close by chance.
  return {bitsOf(static_cast<float>(dividend)), bitsOf(static_cast<float>(b))};
}

std::unique_ptr<Cases> floatCases(const Operation& operation, std::uint64_t seed) {
  return std::make_unique<FloatCases>(operation, seed);
}

} // namespace orias::exact
