#include "test/exact/cases.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <random>

namespace orias::exact {

namespace {

constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

constexpr std::uint64_t number(std::uint64_t field, std::uint64_t mantissa) {
  return field << 52 | (mantissa & kMantissa);
}

const std::uint64_t kSpecial[] = {
    0,
    1,
    2,
    3,
    0x123456,
    kMantissa / 2,
    kMantissa / 2 + 1,
    kMantissa,
    number(1, 0),
    number(1, 1),
    number(1, kMantissa),
    number(2, 0),
    number(53, kMantissa),
    number(54, 0),
    number(54, 1),
    number(0x3fd, 0),
    number(0x3fe, kMantissa),
    number(0x3ff, 0),
    number(0x3ff, 1), // 1 + 2^-52, whose root is next to a midpoint
    number(0x3ff, kMantissa),
    number(0x400, 0),
    number(0x400, std::uint64_t{1} << 51), // 3
    number(0x400, kMantissa),              // 4 - 2^-51, the other such number
    number(0x436, 0),
    number(0x7f7, kMantissa),
    number(0x7f8, 0),
    number(0x7fc, kMantissa),
    number(0x7fd, 0),
    number(0x7fd, 1),
    number(0x7fe, 0),
    number(0x7fe, kMantissa),
    number(0x7ff, 0), // infinity
    number(0x7ff, 1), // NaNs
    number(0x7ff, 0x80000000),
    number(0x7ff, std::uint64_t{1} << 51),
};

/// The prime factors of 2^105 - 1 and of 2^106 - 1. If the product of some of them is a number, and that of the others
/// has 54 bits, the reciprocal is as near to a midpoint as possible.
constexpr std::uint64_t kFactors[2][11] = {{7, 7, 31, 71, 127, 151, 337, 29191, 106681, 122921, 152041},
                                           {3, 107, 6361, 69431, 20394401, 28059810762433, 1, 1, 1, 1, 1}};

/// 1 / odd modulo 2^64.
std::uint64_t inverseOf(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i)
    x *= 2 - odd * x;
  return x;
}

class DoubleCases final : public Cases {
 public:
  DoubleCases(const Operation& operation, std::uint64_t seed)
      : isRoot_(operation.op == isa::Op::FSQRT), random_(seed) {}
  Case next() override;

 private:
  std::uint64_t anyMantissa();
  Case nearMiddle();
  Case rootNearMiddle();
  Case reciprocalNearMiddle();
  Case extreme();

  bool isRoot_;
  std::mt19937_64 random_;
  std::uint64_t count_ = 0;
};

std::uint64_t DoubleCases::anyMantissa() {
  const std::uint64_t bits = random_();
  switch (bits & 7) {
  case 0: return kMantissa - (bits >> 58); // near the next power of two
  case 1: return bits >> 58;
  case 2: return (bits >> 32) << 40;
  default: return bits >> 12;
  }
}

Case DoubleCases::nearMiddle() {
  const std::uint64_t choice = random_();
  if (isRoot_) {
    // k k + k rounded to a number: a root near k + 1/2.
    const std::uint64_t k = std::uint64_t{1} << 52 | anyMantissa();
    __extension__ using Wide = unsigned __int128;
    const Wide square = Wide{k} * k + (choice & 1 ? k : 0);
    const int drop = square >> 105 ? 53 : 52;
    const auto mantissa = static_cast<std::uint64_t>(square >> drop) + (choice >> 1 & 1);
    const std::uint64_t field = (1023 + (drop - 52)) + 2 * (choice % 300) - 300;
    return {number(field, mantissa), 0};
  }
  // a 2^s = m b + r for a small r: m is -r / b modulo 2^s.
  const unsigned s = 52 + (choice & 1);
  const std::uint64_t b = (std::uint64_t{1} << 52 | anyMantissa()) | 1;
  const std::uint64_t r = (choice >> 1 & 3) + 1, low = (std::uint64_t{1} << s) - 1;
  std::uint64_t m = (choice >> 3 & 1 ? 0 - r : r) * inverseOf(b) & low;
  m |= std::uint64_t{1} << s;
  __extension__ using Wide = unsigned __int128;
  const Wide dividend = (Wide{m} * b + (choice >> 3 & 1 ? r : 0) - (choice >> 3 & 1 ? 0 : r)) >> s;
  const auto a = static_cast<std::uint64_t>(dividend);
  // It may have one bit too many. Then the quotient is only close by chance.
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  return {std::bit_cast<std::uint64_t>(x), std::bit_cast<std::uint64_t>(y)};
}

/// A number a with m^2 = a - j 2^-106 for an odd m of 54 bits and |j| < 162: roots are never nearer to a midpoint. The
/// odd roots of -j modulo a power of 2 are found bit by bit. There are four; two of them differ from the others in the
/// top bit.
Case DoubleCases::rootNearMiddle() {
  __extension__ using Wide = __int128;
  for (;;) {
    const std::uint64_t choice = random_();
    const std::int64_t minusJ = 8 * static_cast<std::int64_t>(choice % 41) - 159;
    const unsigned drop = 54 + (choice >> 8 & 1);
    std::uint64_t root = 1;
    for (unsigned bit = 3; bit < drop; ++bit)
      if (((root * root - static_cast<std::uint64_t>(minusJ)) >> bit & 1) != 0) root += std::uint64_t{1} << (bit - 1);
    if ((choice >> 9 & 1) != 0) root = 0 - root;
    if ((choice >> 10 & 1) != 0) root += std::uint64_t{1} << (drop - 1);
    root &= (std::uint64_t{1} << drop) - 1;
    if (root >> 53 != 1) continue;
    const auto mantissa = static_cast<std::uint64_t>((Wide{root} * root - minusJ) >> drop);
    if (mantissa >> 52 != 1) continue;
    return {number(1023 + (drop - 54) - 150 + 2 * ((choice >> 16) % 150), mantissa), 0};
  }
}

Case DoubleCases::reciprocalNearMiddle() {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t choice = random_();
  std::uint64_t product = 0;
  while (product >> 51 == 0) {
    const std::uint64_t chosen = random_();
    product = 1;
    for (unsigned i = 0; i < std::size(kFactors[0]); ++i)
      if (const Wide more = Wide{product} * kFactors[choice & 1][i]; (chosen >> i & 1) != 0 && more >> 53 == 0)
        product = static_cast<std::uint64_t>(more);
  }
  product <<= product >> 52 == 0 ? 1 : 0;
  const std::uint64_t a = number(0x3f0 + (choice >> 1) % 32, random_() >> 12);
  const std::uint64_t b = number(0x3f0 + (choice >> 6) % 32, product & kMantissa);
  return (choice >> 11 & 1) != 0 ? Case{a, b} : Case{b, a};
}

Case DoubleCases::extreme() {
  const std::uint64_t bits = random_(), spread = bits % 64;
  // Roots and reciprocals: arguments at the ends of the range. Quotients: any arguments, with results at an end.
  std::uint64_t fieldB = bits >> 8 & 3 ? (bits >> 16) % 0x7ff : bits >> 10 & 1 ? 0x7fe - spread : spread % 4;
  const std::int64_t wanted =
      bits >> 12 & 1 ? 1023 - static_cast<std::int64_t>(spread % 4) : -1015 - static_cast<std::int64_t>(spread);
  std::int64_t fieldA = static_cast<std::int64_t>(fieldB) + wanted;
  if (isRoot_) fieldA = static_cast<std::int64_t>(bits >> 13 & 1 ? spread : 0x7fe - spread);
  fieldA = fieldA < 0 ? 0 : fieldA > 0x7fe ? 0x7fe : fieldA;
  std::uint64_t a = number(static_cast<std::uint64_t>(fieldA), anyMantissa()), b = number(fieldB, anyMantissa());
  if (fieldA == 0) a >>= random_() % 52;
  if (fieldB == 0) b >>= random_() % 52;
  return {a, b};
}

Case DoubleCases::next() {
  constexpr std::uint64_t kCount = std::size(kSpecial), kAll = 4 * kCount * kCount;
  const std::uint64_t at = count_++;
  Case c;
  if (at < kAll) {
    c = {kSpecial[at / 4 % kCount], kSpecial[at / 4 / kCount]};
    return {c.first | (at & 1 ? kSign : 0), c.second | (at & 2 ? kSign : 0)};
  }
  switch (at % 5) {
  case 0: return {random_(), random_()};
  case 1:
    c = {number(0x3f0 + random_() % 32, anyMantissa()), number(0x3f0 + random_() % 32, anyMantissa())};
    if (at % 4 == 0) c = isRoot_ ? rootNearMiddle() : reciprocalNearMiddle();
    break;
  case 2: {
    const std::uint64_t a = random_() >> (33 + random_() % 30), b = random_() >> (37 + random_() % 26);
    c = {std::bit_cast<std::uint64_t>(static_cast<double>(isRoot_ ? b * b : a * b)),
         std::bit_cast<std::uint64_t>(static_cast<double>(b))};
    break;
  }
  case 3: c = nearMiddle(); break;
  default: c = extreme(); break;
  }
  const std::uint64_t signs = isRoot_ ? 0 : random_();
  return {c.first | (signs & 1 ? kSign : 0), c.second | (signs & 2 ? kSign : 0)};
}

} // namespace

std::unique_ptr<Cases> doubleCases(const Operation& operation, std::uint64_t seed) {
  return std::make_unique<DoubleCases>(operation, seed);
}

} // namespace orias::exact
