#include "test/exact/cases.h"

#include <random>

namespace orias::exact {

namespace {

class IntegerCases final : public Cases {
 public:
  IntegerCases(const Operation& operation, std::uint64_t seed) : bits_(operation.bits()), random_(seed) {}

  Case next() override {
    const std::uint64_t choice = random_();
    if (choice & 1) {
      const std::uint64_t mask = choice & 2 ? 0xffffffff : ~std::uint64_t{0}; // whose upper words are zero, too
      return {number() & mask, number() & mask};
    }
    const std::uint64_t b = number();
    // Just below, at and just above a multiple, where the quotient changes.
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits_);
    const std::uint64_t quotient = b ? number() % most / b : 0;
    return {quotient * b + (choice >> 1) % 3 - 1, b};
  }

 private:
  /// Cut to the type, with its upper bits left at random where nobody may look at them.
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
};

} // namespace

std::unique_ptr<Cases> integerCases(const Operation& operation, std::uint64_t seed) {
  return std::make_unique<IntegerCases>(operation, seed);
}

} // namespace orias::exact
