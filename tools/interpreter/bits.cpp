#include "tools/interpreter/handlers.h"

#include <algorithm>
#include <bit>

// Bit operations on integers, and dot products of their bytes and halves.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

struct Popc {
  template <typename T> std::uint32_t operator()(T a) const { return static_cast<std::uint32_t>(std::popcount(a)); }
};
struct Clz {
  template <typename T> std::uint32_t operator()(T a) const { return static_cast<std::uint32_t>(std::countl_zero(a)); }
};
struct Brev {
  template <typename T> T operator()(T a) const {
    T reversed = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      reversed |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return reversed;
  }
};
/// The highest bit that differs from the sign; all ones if there is none.
template <bool ShiftAmount> struct Bfind {
  template <typename T> std::uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(a < 0 ? ~a : a);
    if (bits == 0) return ~0u;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return ShiftAmount ? zeros : static_cast<std::uint32_t>(8 * sizeof(T)) - 1 - zeros;
  }
};

struct Bfe {
  template <typename T> T operator()(T a, std::uint32_t position, std::uint32_t length) const {
    constexpr unsigned kLast = 8 * sizeof(T) - 1;
    const unsigned from = position & 0xff;
    const unsigned count = length & 0xff;
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(a);
    const bool sign = std::is_signed_v<T> && count != 0 && (bits >> std::min(from + count - 1, kLast) & 1) != 0;
    U result = 0;
    for (unsigned i = 0; i <= kLast; ++i) {
      const bool bit = i < count && from + i <= kLast ? (bits >> (from + i) & 1) != 0 : sign;
      result |= static_cast<U>(U{bit} << i);
    }
    return static_cast<T>(result);
  }
};

template <typename T> void bfi(Thread& t, const Inst& i) {
  const T field = get<T>(t, i.a);
  T result = get<T>(t, i.b);
  const unsigned from = get<std::uint32_t>(t, i.c) & 0xff;
  const unsigned count = get<std::uint32_t>(t, i.list[0]) & 0xff;
  for (unsigned k = 0; k < count && from + k < 8 * sizeof(T); ++k)
    result = (result & ~(T{1} << (from + k))) | (field >> k & 1) << (from + k);
  put<T>(t, i.d, result);
}

/// The n-th set bit of the mask from `base`: upwards for a positive offset, downwards for a negative one; 0 takes the
/// base itself. All ones if there is none.
struct Fns {
  std::uint32_t operator()(std::uint32_t mask, std::uint32_t base, std::int32_t offset) const {
    if (offset == 0) return base < 32 && (mask >> base & 1) ? base : ~0u;
    const int step = offset > 0 ? 1 : -1;
    std::int64_t left = offset > 0 ? std::int64_t{offset} : -std::int64_t{offset};
    for (std::int64_t at = base; at >= 0 && at < 32; at += step)
      if ((mask >> at & 1) && --left == 0) return static_cast<std::uint32_t>(at);
    return ~0u;
  }
};

template <bool Clamp> struct Bmsk {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t from = a & 31;
    const std::uint32_t count = b & 31;
    if (Clamp && a >= 32) return 0;
    const std::uint32_t above = ~0u << from;
    if ((Clamp && b >= 32) || from + count >= 32) return above;
    return count == 0 ? 0 : above & ~(~0u << (from + count));
  }
};

/// The low N bits, extended; for N of at least the width, the whole word.
template <bool Clamp> struct Szext {
  template <typename T> T operator()(T a, std::uint32_t n) const {
    if (Clamp && n >= 32) return a;
    n &= 31;
    const std::uint32_t low = static_cast<std::uint32_t>(a) & ((1u << n) - 1);
    const bool sign = std::is_signed_v<T> && n != 0 && (low >> (n - 1) & 1);
    return static_cast<T>(sign ? low | ~0u << n : low);
  }
};

/// Element `k` of `bits` bits, extended as T says.
template <typename T> std::int64_t element(std::uint32_t word, unsigned k) {
  return static_cast<T>(word >> 8 * sizeof(T) * k);
}

template <typename A, typename B> struct Dp4a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    std::int64_t sum = c;
    for (unsigned k = 0; k < 4; ++k)
      sum += element<A>(a, k) * element<B>(b, k);
    return static_cast<std::uint32_t>(sum);
  }
};
/// Halves of a with the low (.lo) or high (.hi) two bytes of b.
template <bool High> struct Dp2a {
  template <typename A, typename B> struct Of {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
      std::int64_t sum = c;
      for (unsigned k = 0; k < 2; ++k)
        sum += element<A>(a, k) * element<B>(b, k + (High ? 2 : 0));
      return static_cast<std::uint32_t>(sum);
    }
  };
};

template <template <typename, typename> typename Dot, typename AU, typename AS> Handler dotOf(const Form& f) {
  using U8 = std::uint8_t;
  using S8 = std::int8_t;
  using W = std::uint32_t;
  if (f.type(0) == Type::U32) return f.type(1) == Type::U32 ? &ternary<Dot<AU, U8>, W> : &ternary<Dot<AU, S8>, W>;
  return f.type(1) == Type::U32 ? &ternary<Dot<AS, U8>, W> : &ternary<Dot<AS, S8>, W>;
}

bool translateBfi(FunctionTranslator& t) {
  const Type type = t.form().type();
  const std::uint32_t slots[] = {t.use(1, type), t.use(2, type), t.use(3, Type::U32), t.use(4, Type::U32)};
  Inst& inst = t.emit(forWidth(type, []<typename T>() -> Handler { return &bfi<T>; }));
  inst.d = t.def(0);
  inst.a = slots[0];
  inst.b = slots[1];
  inst.c = slots[2];
  inst.list = t.list({slots[3]});
  return true;
}

} // namespace

bool translateBits(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = f.type();
  using U32 = std::uint32_t;
  const bool clamp = f.mode() == Mod::Clamp;
  switch (f.op) {
  case Op::Popc:
    return emitWith(t, forWidth(type, []<typename T>() -> Handler { return &unary<Popc, U32, T>; }), {type});
  case Op::Clz: return emitWith(t, forWidth(type, []<typename T>() -> Handler { return &unary<Clz, U32, T>; }), {type});
  case Op::Brev: return emitWith(t, forWidth(type, []<typename T>() -> Handler { return &unary<Brev, T>; }), {type});
  case Op::Bfind:
    return emitWith(t,
                    f.has(Mod::Shiftamt)
                        ? forInteger(type, []<typename T>() -> Handler { return &unary<Bfind<true>, U32, T>; })
                        : forInteger(type, []<typename T>() -> Handler { return &unary<Bfind<false>, U32, T>; }),
                    {type});
  case Op::Bfe:
    return emitWith(t, forInteger(type, []<typename T>() -> Handler { return &ternary<Bfe, T, T, U32, U32>; }),
                    {type, Type::U32, Type::U32});
  case Op::Bfi: return translateBfi(t);
  case Op::Fns: return emitWith(t, &ternary<Fns, U32, U32, U32, std::int32_t>, {Type::B32, Type::U32, Type::S32});
  case Op::Bmsk:
    return emitWith(t, clamp ? &binary<Bmsk<true>, U32> : &binary<Bmsk<false>, U32>, {Type::B32, Type::U32});
  case Op::Szext:
    if (type == Type::S32)
      return emitWith(t,
                      clamp ? &binary<Szext<true>, std::int32_t, std::int32_t, U32>
                            : &binary<Szext<false>, std::int32_t, std::int32_t, U32>,
                      {type, Type::U32});
    return emitWith(t, clamp ? &binary<Szext<true>, U32> : &binary<Szext<false>, U32>, {type, Type::U32});
  case Op::Dp4a: return emitWith(t, dotOf<Dp4a, std::uint8_t, std::int8_t>(f), {Type::B32, Type::B32, Type::B32});
  case Op::Dp2a:
    return emitWith(t,
                    f.mode() == Mod::Hi ? dotOf<Dp2a<true>::Of, std::uint16_t, std::int16_t>(f)
                                        : dotOf<Dp2a<false>::Of, std::uint16_t, std::int16_t>(f),
                    {Type::B32, Type::B32, Type::B32});
  default: return false;
  }
}

} // namespace orias::interp
