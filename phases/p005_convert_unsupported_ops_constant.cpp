#include "phases/expansion.h"

#include <bit>

// Division by a known number, by the upper half of a product: Granlund and Montgomery, "Division by invariant integers
// using multiplication" (PLDI 1994), sections 4 and 5. Let l = ceil(log2 d). The multiplier m and shift s come from an
// interval between 2^(N+l) / d and (2^(N+l) + 2^l) / d; both bounds are halved while an integer lies between them. Then
// floor(m x / 2^N) >> s = floor(x / d) for all x of N bits. Where m has N + 1 bits, an even divisor lets x be shifted
// right first; for an odd divisor the highest bit of m is added separately.

namespace orias::phases {

using isa::Operand;

namespace {

__extension__ using Wide = unsigned __int128;

struct Multiplier {
  Wide value; ///< N or N + 1 bits
  unsigned shift;
};

/// Returns the multiplier for dividends below 2^precision and products of `bits` by `bits` bits. d is no power of two.
Multiplier multiplierOf(std::uint64_t d, unsigned bits, unsigned precision) {
  const auto log = static_cast<unsigned>(std::bit_width(d - 1));
  unsigned shift = log;
  // 2^(bits + log) / d. No power of two is a multiple of d, so subtracting one from the dividend does not change the
  // quotient.
  const Wide dividend = bits + log >= 128 ? ~Wide{0} : Wide{1} << (bits + log);
  Wide least = dividend / d;
  const Wide rest = (bits + log >= 128 ? Wide{0} : dividend) - least * d; // modulo 2^128
  Wide greatest = least + (rest + (Wide{1} << (bits + log - precision))) / d;
  while (shift > 0 && least / 2 < greatest / 2) {
    least /= 2;
    greatest /= 2;
    --shift;
  }
  return {greatest, shift};
}

/// Arithmetic of one width, 32 or 64 bits, unsigned unless a name says otherwise.
class Arithmetic {
 public:
  Arithmetic(Expansion& e, unsigned bits) : e_(e), bits_(bits) {}

  Operand constant(std::uint64_t value) {
    const auto low = static_cast<std::uint32_t>(value), high = static_cast<std::uint32_t>(value >> 32);
    return bits_ == 32 ? e_.constant(low) : e_.pair(e_.constant(low), e_.constant(high));
  }
  Operand upperProduct(Operand a, Operand b) { return bits_ == 32 ? e_.multiplyHigh(a, b) : e_.multiplyHigh64(a, b); }
  Operand product(Operand a, Operand b) { return bits_ == 32 ? e_.multiply(a, b) : e_.multiply64(a, b); }
  Operand sum(Operand a, Operand b) { return bits_ == 32 ? e_.add(a, b) : e_.add64(a, b); }
  Operand difference(Operand a, Operand b) { return sum(a, b.negated()); }
  Operand negated(Operand a) { return difference(Operand::rz(bits_ / 32), a); }
  Operand masked(Operand a, std::uint64_t mask) {
    const auto low = static_cast<std::uint32_t>(mask), high = static_cast<std::uint32_t>(mask >> 32);
    if (bits_ == 32) return e_.bitAnd(a, Expansion::imm(low));
    return e_.pair(e_.bitAnd(Expansion::low(a), Expansion::imm(low)),
                   e_.bitAnd(Expansion::high(a), Expansion::imm(high)));
  }
  Operand shiftedRight(Operand a, unsigned count) {
    if (count == 0) return a;
    return bits_ == 32 ? e_.shiftRight(a, count) : e_.shiftRight64(a, count);
  }

  /// a / d, d at least 1.
  Operand quotient(Operand a, std::uint64_t d) {
    if (std::has_single_bit(d)) return shiftedRight(a, static_cast<unsigned>(std::countr_zero(d)));
    Multiplier m = multiplierOf(d, bits_, bits_);
    if (m.value >> bits_ == 0)
      return shiftedRight(upperProduct(a, constant(static_cast<std::uint64_t>(m.value))), m.shift);
    const auto twos = static_cast<unsigned>(std::countr_zero(d));
    if (twos == 0) {
      // (m x) >> N = x + t for the lower N bits of m, and (x + t) >> s without a carry
      Operand t = upperProduct(a, constant(static_cast<std::uint64_t>(m.value - (Wide{1} << bits_))));
      return shiftedRight(sum(t, shiftedRight(difference(a, t), 1)), m.shift - 1);
    }
    m = multiplierOf(d >> twos, bits_, bits_ - twos);
    return shiftedRight(upperProduct(shiftedRight(a, twos), constant(static_cast<std::uint64_t>(m.value))), m.shift);
  }
  Operand remainder(Operand a, std::uint64_t d) {
    if (std::has_single_bit(d)) return masked(a, d - 1);
    return difference(a, product(quotient(a, d), constant(d)));
  }

 private:
  Expansion& e_;
  unsigned bits_;
};

/// a / d for a signed 32-bit a, d from 1 to 2^31.
Operand signedQuotient(Expansion& e, Operand a, std::uint32_t d) {
  if (d == 1) return a;
  Operand sign = e.signMask(a);
  if (std::has_single_bit(d)) {
    const auto log = static_cast<unsigned>(std::countr_zero(d));
    return e.shiftRight(e.add(a, e.shiftRight(sign, 32 - log)), log, true);
  }
  // Magnitudes have 31 bits. The multiplier is used as a signed number: where its highest bit is set, it is too small
  // by 2^32.
  const Multiplier m = multiplierOf(d, 32, 31);
  const auto word = static_cast<std::uint32_t>(m.value);
  Operand product = e.multiplyHigh(a, e.constant(word), true);
  if (word >> 31) product = e.add(product, a);
  if (m.shift) product = e.shiftRight(product, m.shift, true);
  return e.add(product, sign.negated());
}

Operand signed32(Expansion& e, Operand a, std::int32_t d, bool wantsRemainder) {
  const std::uint32_t magnitude = d < 0 ? 0u - static_cast<std::uint32_t>(d) : static_cast<std::uint32_t>(d);
  Operand q = signedQuotient(e, a, magnitude);
  if (wantsRemainder) return e.add(a, e.multiply(q, e.constant(magnitude)).negated());
  return d < 0 ? e.add(Operand::rz(), q.negated()) : q;
}

Operand signed64(Expansion& e, Operand a, std::int64_t d, bool wantsRemainder) {
  const std::uint64_t magnitude = d < 0 ? 0u - static_cast<std::uint64_t>(d) : static_cast<std::uint64_t>(d);
  Arithmetic arithmetic(e, 64);
  Operand sign = e.signMask(Expansion::high(a)), positive = e.negateWhere64(a, sign);
  if (wantsRemainder) return e.negateWhere64(arithmetic.remainder(positive, magnitude), sign);
  Operand q = e.negateWhere64(arithmetic.quotient(positive, magnitude), sign);
  return d < 0 ? arithmetic.negated(q) : q;
}

} // namespace

Operand divideByConstant(Expansion& e, Operand a, std::uint64_t d, IntegerDivision how) {
  Arithmetic arithmetic(e, how.bits);
  if (d == 0) return arithmetic.constant(~std::uint64_t{0});
  if (!how.isSigned) return how.wantsRemainder ? arithmetic.remainder(a, d) : arithmetic.quotient(a, d);
  if (how.bits == 32) return signed32(e, a, static_cast<std::int32_t>(d), how.wantsRemainder);
  return signed64(e, a, static_cast<std::int64_t>(d), how.wantsRemainder);
}

} // namespace orias::phases
