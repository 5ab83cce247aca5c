#include "test/exact/cases.h"

#include <optional>
#include <random>

namespace orias::exact {

namespace {

class IntegerCases final : public Cases {
 public:
  IntegerCases(const Operation& operation, std::uint64_t seed, std::optional<std::uint64_t> divisor)
      : bits_(operation.bits()), random_(seed), divisor_(divisor) {}

  Case next() override {
    const std::uint64_t choice = random_();
    if (choice & 1) {
      const std::uint64_t mask = choice & 2 ? 0xffffffff : ~std::uint64_t{0}; // also numbers whose upper word is zero
      return {number() & mask, divisor_ ? *divisor_ : number() & mask};
    }
    const std::uint64_t b = divisor_ ? *divisor_ : number();
    // Just below, at and just above a multiple, where the quotient changes.
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits_);
    const std::uint64_t quotient = b ? number() % most / b : 0;
    return {quotient * b + (choice >> 1) % 3 - 1, b};
  }

 private:
  /// A number truncated to the type. Upper bits that must be ignored are random.
  std::uint64_t number() {
    const std::uint64_t choice = random_(), bits = random_() >> (64 - bits_);
    switch (choice & 3) {
    case 0: return bits;
    case 1: return (std::uint64_t{1} << (choice >> 8) % bits_) + (choice >> 16) % 5 - 2;
    case 2: return (choice >> 8 & 63) == 0 ? 0 : 0 - (bits >> (choice >> 8) % bits_);
    default: return bits >> (choice >> 8) % bits_;
    }
  }

  unsigned bits_;
  std::mt19937_64 random_;
  std::optional<std::uint64_t> divisor_;
};

} // namespace

std::unique_ptr<Cases> integerCases(const Operation& operation, std::uint64_t seed,
                                    std::optional<std::uint64_t> divisor) {
  return std::make_unique<IntegerCases>(operation, seed, divisor);
}

std::vector<std::uint64_t> divisors(const Operation& operation, std::uint64_t seed, std::size_t count) {
  const unsigned bits = operation.bits();
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  std::vector<std::uint64_t> all{0, 1, 3, 5, 6, 7, 9, 10, 11, 12, 14, 25, 28, 100, 125, 625, 641, 1000, 6700417};
  for (unsigned k = 1; k < bits; ++k)
    for (int delta = -1; delta <= 1; ++delta)
      all.push_back((std::uint64_t{1} << k) + static_cast<std::uint64_t>(delta));
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i)
    all.push_back(0 - all[i]);
  std::mt19937_64 random(seed);
  while (all.size() < count)
    all.push_back(random() >> random() % 64);
  all.resize(count);
  for (std::uint64_t& divisor : all)
    divisor &= mask;
  return all;
}

} // namespace orias::exact
