#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/expansion.h"

#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

// Executes what phase 5 makes of macros, with a MUFU that is wrong by up to a unit in its last place, and compares with
// the host.

namespace orias::phases {

namespace {

using isa::Mod;
using isa::Op;
using isa::Operand;

int hostRounding(isa::Rnd r) {
  switch (r) {
  case isa::Rnd::RM: return FE_DOWNWARD;
  case isa::Rnd::RP: return FE_UPWARD;
  case isa::Rnd::RZ: return FE_TOWARDZERO;
  default: return FE_TONEAREST;
  }
}

class Rounding {
 public:
  explicit Rounding(isa::Rnd r) { std::fesetround(hostRounding(r)); }
  ~Rounding() { std::fesetround(FE_TONEAREST); }
};

float asFloat(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
std::uint32_t asBits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

/// Executes straight-line Ori of the instructions that the expansions use.
class Machine {
 public:
  explicit Machine(const ori::Function& f) : f_(f), words_(f.vregCount()) {}
  int error = 0; ///< of MUFU, in units of the last place

  std::uint64_t run(std::uint64_t a, std::uint64_t b) {
    put(0, a);
    put(1, b);
    for (const ori::Instr& i : *f_.entry())
      step(i);
    return words_[2].w[0] | std::uint64_t{words_[2].w[1]} << 32;
  }

 private:
  struct Words {
    std::uint32_t w[2] = {0, 0};
  };

  void put(unsigned reg, std::uint64_t v) {
    words_[reg] = {{static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32)}};
  }

  std::uint32_t raw(const Operand& o, unsigned k = 0) const {
    if (o.isImm()) return static_cast<std::uint32_t>(o.imm);
    if (o.isZeroReg()) return 0;
    return words_[o.reg].w[o.sub + k];
  }
  std::uint32_t word(const Operand& o) const { return o.neg() ? 0u - raw(o) : raw(o); }
  std::uint64_t pair(const Operand& o) const {
    const std::uint64_t v = raw(o) | std::uint64_t{o.isZeroReg() ? 0 : raw(o, 1)} << 32;
    return o.neg() ? 0 - v : v;
  }
  bool predicate(const Operand& o) const { return (o.isZeroReg() ? true : words_[o.reg].w[0] != 0) != o.inverted(); }
  float real(const Operand& o) const {
    const float v = asFloat(raw(o));
    return o.neg() ? -v : v;
  }
  double real64(const Operand& o) const {
    const std::uint64_t v =
        o.isImm() ? std::uint64_t{raw(o)} << 32 : raw(o) | std::uint64_t{o.isZeroReg() ? 0 : raw(o, 1)} << 32;
    return o.neg() ? -std::bit_cast<double>(v) : std::bit_cast<double>(v);
  }
  void set(const Operand& o, std::uint32_t v) {
    if (!o.isZeroReg()) words_[o.reg].w[o.sub] = v;
  }
  void set64(const Operand& o, std::uint64_t v) {
    words_[o.reg].w[o.sub] = static_cast<std::uint32_t>(v);
    words_[o.reg].w[o.sub + 1] = static_cast<std::uint32_t>(v >> 32);
  }

  template <typename T> static bool compares(isa::ICmp cmp, T a, T b) {
    switch (cmp) {
    case isa::ICmp::LT: return a < b;
    case isa::ICmp::GE: return a >= b;
    default: REQUIRE(false); return false;
    }
  }

  std::uint32_t mufu(isa::Mufu function, const Operand& o) const {
    switch (function) {
    case isa::Mufu::RCP: {
      const float r = flushed(1.0f / flushed(real(o)));
      return std::isfinite(r) && r != 0 ? asBits(r) + static_cast<std::uint32_t>(error) : asBits(r);
    }
    case isa::Mufu::RCP64H:
    case isa::Mufu::RSQ64H: {
      const double x = std::bit_cast<double>(std::uint64_t{raw(o)} << 32);
      const double r = function == isa::Mufu::RCP64H ? 1.0 / x : 1.0 / std::sqrt(x);
      const std::uint32_t high = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(r) >> 32);
      return std::isfinite(r) && r != 0 ? high + static_cast<std::uint32_t>(error) : high;
    }
    default: REQUIRE(false); return 0;
    }
  }

  void step(const ori::Instr& i) {
    auto o = [&](unsigned k) -> const Operand& { return i.op_(k); };
    auto mod = [&](Mod m) { return isa::getMod(i.op, i.mods, m); };
    auto rnd = [&] { return static_cast<isa::Rnd>(mod(Mod::Rnd)); };
    const bool isSigned = mod(Mod::Type) == static_cast<std::uint8_t>(isa::IntType::S32);
    const auto cmp = static_cast<isa::ICmp>(mod(Mod::Cmp));
    switch (i.op) {
    case Op::MOV: set(o(0), word(o(1))); break;
    case Op::COPY: o(0).width == 2 ? set64(o(0), pair(o(1))) : set(o(0), word(o(1))); break;
    case Op::IADD3: set(o(0), word(o(3)) + word(o(4)) + word(o(5))); break;
    case Op::IMAD: set(o(0), word(o(1)) * word(o(2)) + word(o(3))); break;
    case Op::IMAD_HI:
      set(o(0), static_cast<std::uint32_t>(std::uint64_t{word(o(2))} * word(o(3)) >> 32) + word(o(4)));
      break;
    case Op::IMAD_WIDE: set64(o(0), std::uint64_t{word(o(2))} * word(o(3)) + pair(o(4))); break;
    case Op::IADD64: set64(o(0), pair(o(1)) + pair(o(2))); break;
    case Op::IMUL64: set64(o(0), pair(o(1)) * pair(o(2))); break;
    case Op::IABS: set(o(0), static_cast<std::int32_t>(word(o(1))) < 0 ? 0u - word(o(1)) : word(o(1))); break;
    case Op::SEL: set(o(0), predicate(o(3)) ? word(o(1)) : word(o(2))); break;
    case Op::SHF: set(o(0), static_cast<std::uint32_t>(static_cast<std::int32_t>(word(o(3))) >> word(o(2)))); break;
    case Op::PRMT:
      set(o(0), raw(o(2)) == 0x9910 ? static_cast<std::uint32_t>(static_cast<std::int16_t>(word(o(1))))
                                    : word(o(1)) & 0xffff);
      break;
    case Op::LOP3:
      REQUIRE((raw(o(5)) == 0xc0 || raw(o(5)) == 0x3c));
      set(o(1), raw(o(5)) == 0xc0 ? word(o(2)) & word(o(3)) : word(o(2)) ^ word(o(3)));
      break;
    case Op::ISETP:
      set(o(0), isSigned ? compares(cmp, static_cast<std::int32_t>(word(o(2))), static_cast<std::int32_t>(word(o(3))))
                         : compares(cmp, word(o(2)), word(o(3))));
      break;
    case Op::ISETP_EX: {
      const std::uint32_t a = word(o(2)), b = word(o(3));
      set(o(0), a == b ? predicate(o(5)) : compares(cmp, a, b));
      break;
    }
    case Op::FSETP: {
      const bool equal = real(o(2)) == real(o(3));
      set(o(0), mod(Mod::Bool) == static_cast<std::uint8_t>(isa::BoolOp::OR) ? equal || predicate(o(4))
                                                                             : equal && predicate(o(4)));
      break;
    }
    case Op::I2F:
    case Op::I2F_64: {
      Rounding mode(rnd());
      volatile std::uint64_t v = i.op == Op::I2F ? word(o(1)) : pair(o(1));
      volatile float r = static_cast<float>(v);
      set(o(0), asBits(r));
      break;
    }
    case Op::F2I: set(o(0), real(o(1)) < 0x1p32f ? static_cast<std::uint32_t>(real(o(1))) : ~0u); break;
    case Op::F2I_64:
      set64(o(0), real(o(1)) < 0x1p64f ? static_cast<std::uint64_t>(real(o(1))) : ~std::uint64_t{0});
      break;
    case Op::F2F_64:
      if (o(0).width == 2) {
        set64(o(0), std::bit_cast<std::uint64_t>(static_cast<double>(real(o(1)))));
      } else {
        Rounding mode(rnd());
        volatile double v = real64(o(1));
        volatile float r = static_cast<float>(v);
        set(o(0), asBits(r));
      }
      break;
    case Op::FADD: set(o(0), asBits(flushed(flushed(real(o(1))) + real(o(2))))); break;
    case Op::FMUL: {
      Rounding mode(rnd());
      volatile float a = real(o(1)), b = real(o(2));
      volatile float r = a * b;
      set(o(0), asBits(r));
      break;
    }
    case Op::DMUL: set64(o(0), std::bit_cast<std::uint64_t>(real64(o(1)) * real64(o(2)))); break;
    case Op::DFMA: set64(o(0), std::bit_cast<std::uint64_t>(std::fma(real64(o(1)), real64(o(2)), real64(o(3))))); break;
    case Op::MUFU: set(o(0), mufu(static_cast<isa::Mufu>(mod(Mod::Func)), o(1))); break;
    default: FAIL("an instruction that the test does not know: ", isa::desc(i.op).name);
    }
  }

  const ori::Function& f_;
  std::vector<Words> words_;
};

/// A function of one macro, expanded: registers 0 and 1 are the sources, 2 is the result.
class Expanded {
 public:
  Expanded(Op op, isa::MacroType type, isa::MacroKind kind = isa::MacroKind::RN, bool ftz = false)
      : module_(*isa::Target::find("sm_90")), function_(module_, "f", true) {
    const bool wide = type == isa::MacroType::U64 || type == isa::MacroType::S64;
    ori::Builder b(function_, function_.newBlock());
    Operand x = b.newR(wide ? 2 : 1), y = b.newR(wide ? 2 : 1), d = b.newR(wide ? 2 : 1);
    if (op == Op::IDIV || op == Op::IREM) {
      expandIntegerDivision(function_, b.emit(op, {d, x, y}, {{Mod::MacroType, type}}));
      return;
    }
    std::vector<Operand> operands{d, x};
    if (op == Op::FDIV) operands.push_back(y);
    const std::vector<isa::ModValue> mods{{Mod::MacroType, type}, {Mod::MacroKind, kind}, {Mod::Ftz, ftz ? 1 : 0}};
    expandFloatMacro(function_, b.emit(op, operands, mods));
  }
  const ori::Function& function() const { return function_; }

 private:
  ori::Module module_;
  ori::Function function_;
};

/// Numbers of all sizes, near powers of two and at random.
std::vector<std::uint64_t> integers(unsigned bits, unsigned random) {
  std::vector<std::uint64_t> all{0};
  for (unsigned k = 0; k < bits; ++k)
    for (int delta = -2; delta <= 2; ++delta)
      all.push_back((std::uint64_t{1} << k) + static_cast<std::uint64_t>(delta));
  for (int k = 0; k < 3; ++k)
    all.push_back(~std::uint64_t{0} - static_cast<unsigned>(k));
  std::mt19937_64 generator(bits);
  for (unsigned k = 0; k < random; ++k)
    all.push_back(generator() >> (generator() % bits));
  return all;
}

template <typename T> void checkDivision(isa::MacroType type, unsigned random, std::size_t stride) {
  Expanded quotient(Op::IDIV, type), remainder(Op::IREM, type);
  Machine q(quotient.function()), r(remainder.function());
  const std::vector<std::uint64_t> numbers = integers(sizeof(T) * 8, random);
  std::size_t wrong = 0, n = 0;
  for (std::uint64_t x : numbers)
    for (std::uint64_t y : numbers) {
      if (++n % stride) continue;
      const T a = static_cast<T>(x), b = static_cast<T>(y);
      if (b == 0 ||
          (std::numeric_limits<T>::is_signed && b == static_cast<T>(-1) && a == std::numeric_limits<T>::min()))
        continue;
      q.error = r.error = static_cast<int>(n / stride % 3) - 1;
      wrong += static_cast<T>(q.run(x, y)) != static_cast<T>(a / b);
      wrong += static_cast<T>(r.run(x, y)) != static_cast<T>(a % b);
    }
  CHECK(wrong == 0);
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : asBits(a) == asBits(b);
}

/// Numbers of all classes, among them those with few bits, whose quotients and roots are exact or midpoints.
std::vector<float> reals(unsigned random) {
  std::vector<float> all;
  for (std::uint32_t bits :
       {0u, 1u, 2u, 3u, 0x7fffffu, 0x800000u, 0x800001u, 0x3f800000u, 0x3f7fffffu, 0x3f800001u, 0x7f7fffffu,
        0x7f800000u, 0x7fc00000u, 0x7e800000u, 0x7e800001u, 0x400000u, 0x00ffffffu, 0x40400000u})
    for (std::uint32_t sign : {0u, 0x80000000u})
      all.push_back(asFloat(bits | sign));
  std::mt19937 generator(7);
  for (unsigned k = 0; k < random; ++k) {
    all.push_back(asFloat(generator()));
    all.push_back(asFloat(generator() & 0x807fffffu));
    all.push_back(asFloat((generator() & 0xfffff000u)));
    all.push_back(asFloat((generator() & 0x807fffffu) | 0x3f800000u));
  }
  return all;
}

constexpr isa::MacroKind kKinds[] = {isa::MacroKind::RN, isa::MacroKind::RM, isa::MacroKind::RP, isa::MacroKind::RZ};

} // namespace

TEST_CASE("integer division is exact at all widths") {
  checkDivision<std::uint16_t>(isa::MacroType::U16, 20, 3);
  checkDivision<std::int16_t>(isa::MacroType::S16, 20, 3);
  checkDivision<std::uint32_t>(isa::MacroType::U32, 100, 3);
  checkDivision<std::int32_t>(isa::MacroType::S32, 100, 5);
  checkDivision<std::uint64_t>(isa::MacroType::U64, 100, 11);
  checkDivision<std::int64_t>(isa::MacroType::S64, 50, 23);
}

TEST_CASE("f32 division and reciprocal round as IEEE 754 wants in all modes") {
  const std::vector<float> numbers = reals(40);
  for (isa::MacroKind kind : kKinds) {
    Expanded division(Op::FDIV, isa::MacroType::F32, kind), reciprocal(Op::FRCP, isa::MacroType::F32, kind);
    Machine divide(division.function()), invert(reciprocal.function());
    std::size_t wrong = 0, n = 0;
    for (float x : numbers) {
      for (float y : numbers) {
        divide.error = static_cast<int>(++n % 3) - 1;
        const float got = asFloat(static_cast<std::uint32_t>(divide.run(asBits(x), asBits(y))));
        Rounding mode(static_cast<isa::Rnd>(kind));
        volatile float a = x, b = y;
        volatile float expected = a / b;
        wrong += !same(expected, got);
      }
      const float got = asFloat(static_cast<std::uint32_t>(invert.run(asBits(x), 0)));
      Rounding mode(static_cast<isa::Rnd>(kind));
      volatile float one = 1.0f, a = x;
      volatile float expected = one / a;
      wrong += !same(expected, got);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("f32 square roots round as IEEE 754 wants in all modes") {
  const std::vector<float> numbers = reals(4000);
  for (isa::MacroKind kind : kKinds) {
    Expanded root(Op::FSQRT, isa::MacroType::F32, kind);
    Machine machine(root.function());
    std::size_t wrong = 0, n = 0;
    for (float x : numbers) {
      machine.error = static_cast<int>(++n % 3) - 1;
      const float got = asFloat(static_cast<std::uint32_t>(machine.run(asBits(x), 0)));
      Rounding mode(static_cast<isa::Rnd>(kind));
      volatile float a = x;
      volatile float expected = std::sqrt(a);
      wrong += !same(expected, got);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("flushing variants take subnormal numbers for zero, before and after") {
  Expanded division(Op::FDIV, isa::MacroType::F32, isa::MacroKind::RN, true);
  Machine divide(division.function());
  CHECK(std::isinf(asFloat(static_cast<std::uint32_t>(divide.run(asBits(1.0f), 1)))));
  CHECK(divide.run(asBits(0x1p-126f), asBits(2.0f)) == 0);
  CHECK(asFloat(static_cast<std::uint32_t>(divide.run(asBits(6.0f), asBits(3.0f)))) == 2.0f);
}

} // namespace orias::phases
