#include "tools/interpreter/handlers.h"

#include <algorithm>
#include <limits>

// Integer arithmetic (manual: "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions").

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// Exact in 128 bits for every type; casts back wrap.
template <typename T> Int128 wide(T value) {
  return static_cast<Int128>(value);
}
/// Wraps to T without overflow.
template <typename T> T wrap(Int128 value) {
  return static_cast<T>(static_cast<std::uint64_t>(static_cast<UInt128>(value)));
}

template <typename T> T clampTo(Int128 value) {
  return static_cast<T>(std::clamp<Int128>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

struct Add {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct Sub {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
};
struct AddSat {
  template <typename T> T operator()(T a, T b) const { return clampTo<T>(wide(a) + wide(b)); }
};
struct SubSat {
  template <typename T> T operator()(T a, T b) const { return clampTo<T>(wide(a) - wide(b)); }
};
struct MulLo {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
template <typename T> T high(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(wide(a) * wide(b) >> 8 * sizeof(T));
  else
    return static_cast<T>(static_cast<UInt128>(a) * static_cast<UInt128>(b) >> 8 * sizeof(T));
}
struct MulHi {
  template <typename T> T operator()(T a, T b) const { return high(a, b); }
};
/// The product in twice the width.
struct MulWide {
  template <typename T> auto operator()(T a, T b) const {
    using W = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<W>(a) * static_cast<W>(b);
  }
};
struct MadLo {
  template <typename T> T operator()(T a, T b, T c) const { return Add{}(MulLo{}(a, b), c); }
};
struct MadHi {
  template <typename T> T operator()(T a, T b, T c) const { return Add{}(high(a, b), c); }
};
struct MadHiSat {
  template <typename T> T operator()(T a, T b, T c) const { return clampTo<T>(wide(high(a, b)) + wide(c)); }
};
struct MadWide {
  template <typename T, typename W> W operator()(T a, T b, W c) const {
    return Add{}(static_cast<W>(MulWide{}(a, b)), c);
  }
};

/// The low 24 bits, with the sign of bit 23 for signed types.
template <typename T> std::int64_t low24(T a) {
  const std::uint32_t bits = static_cast<std::uint32_t>(a) & 0xffffff;
  return std::is_signed_v<T> && (bits & 0x800000) ? static_cast<std::int64_t>(bits) - 0x1000000 : bits;
}
struct Mul24Lo {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(low24(a) * low24(b)); }
};
/// Bits 16 to 47 of the product.
struct Mul24Hi {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(low24(a) * low24(b) >> 16); }
};
struct Mad24Lo {
  template <typename T> T operator()(T a, T b, T c) const { return Add{}(Mul24Lo{}(a, b), c); }
};
struct Mad24Hi {
  template <typename T> T operator()(T a, T b, T c) const { return Add{}(Mul24Hi{}(a, b), c); }
};
struct Mad24HiSat {
  template <typename T> T operator()(T a, T b, T c) const { return clampTo<T>(wide(Mul24Hi{}(a, b)) + wide(c)); }
};

struct Sad {
  template <typename T> T operator()(T a, T b, T c) const {
    return wrap<T>(wide(c) + (a < b ? wide(b) - wide(a) : wide(a) - wide(b)));
  }
};

/// Division by zero gives all ones, for quotient and remainder (unspecified in the manual).
struct Div {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    return wrap<T>(wide(a) / wide(b));
  }
};
struct Rem {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    return wrap<T>(wide(a) % wide(b));
  }
};

struct Abs {
  template <typename T> T operator()(T a) const { return a < 0 ? Sub{}(T{0}, a) : a; }
};
struct Neg {
  template <typename T> T operator()(T a) const { return Sub{}(T{0}, a); }
};
struct Min {
  template <typename T> T operator()(T a, T b) const { return std::min(a, b); }
};
struct Max {
  template <typename T> T operator()(T a, T b) const { return std::max(a, b); }
};
/// .relu: negative results become zero.
struct MinRelu {
  template <typename T> T operator()(T a, T b) const { return std::max<T>(std::min(a, b), 0); }
};
struct MaxRelu {
  template <typename T> T operator()(T a, T b) const { return std::max<T>(std::max(a, b), 0); }
};

/// An operation on both halves of a word.
template <typename Op, typename T> struct Halves {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const auto half = [&](unsigned shift) {
      return static_cast<std::uint16_t>(Op{}(static_cast<T>(a >> shift), static_cast<T>(b >> shift)));
    };
    return half(0) | static_cast<std::uint32_t>(half(16)) << 16;
  }
};

// ---- With carry. option: 1 = reads the carry, 2 = writes it.

constexpr std::uint16_t kCarryIn = 1;
constexpr std::uint16_t kCarryOut = 2;

template <typename T> void addWithCarry(Thread& t, const Inst& i, T a, T b) {
  const UInt128 sum = UInt128{a} + b + (i.option & kCarryIn && t.carry ? 1 : 0);
  put<T>(t, i.d, static_cast<T>(sum));
  if (i.option & kCarryOut) t.carry = (sum >> 8 * sizeof(T)) != 0;
}
template <typename T> void addCarry(Thread& t, const Inst& i) {
  addWithCarry<T>(t, i, get<T>(t, i.a), get<T>(t, i.b));
}
/// The manual calls the carry of a subtraction a borrow. ptxas' code uses the opposite value, the carry of the sum with
/// the complement. They differ only if an addition reads the flag of a subtraction.
template <typename T> void subCarry(Thread& t, const Inst& i) {
  const T a = get<T>(t, i.a), b = get<T>(t, i.b);
  const bool noBorrowIn = i.option & kCarryIn ? t.carry : true;
  const UInt128 sum = UInt128{a} + static_cast<T>(~b) + (noBorrowIn ? 1 : 0);
  put<T>(t, i.d, static_cast<T>(sum));
  if (i.option & kCarryOut) t.carry = (sum >> 8 * sizeof(T)) != 0;
}
template <typename T> void madLoCarry(Thread& t, const Inst& i) {
  using U = std::make_unsigned_t<T>;
  addWithCarry<U>(t, i, static_cast<U>(MulLo{}(get<T>(t, i.a), get<T>(t, i.b))), get<U>(t, i.c));
}
template <typename T> void madHiCarry(Thread& t, const Inst& i) {
  using U = std::make_unsigned_t<T>;
  addWithCarry<U>(t, i, static_cast<U>(high(get<T>(t, i.a), get<T>(t, i.b))), get<U>(t, i.c));
}

// ---- Choice

template <typename Op> Handler binaryOf(Type type) {
  return forInteger(type, []<typename T>() -> Handler { return &binary<Op, T>; });
}
template <typename Op> Handler ternaryOf(Type type) {
  return forInteger(type, []<typename T>() -> Handler { return &ternary<Op, T>; });
}
template <typename Op> Handler halvesOf(Type type) {
  if (type == Type::U16x2) return &binary<Halves<Op, std::uint16_t>, std::uint32_t>;
  if (type == Type::S16x2) return &binary<Halves<Op, std::int16_t>, std::uint32_t>;
  return nullptr;
}

template <typename Op> Handler wideOf(Type type) {
  switch (type) {
  case Type::U16: return &binary<Op, std::uint32_t, std::uint16_t>;
  case Type::S16: return &binary<Op, std::int32_t, std::int16_t>;
  case Type::U32: return &binary<Op, std::uint64_t, std::uint32_t>;
  case Type::S32: return &binary<Op, std::int64_t, std::int32_t>;
  default: return nullptr;
  }
}
Handler madWideOf(Type type) {
  switch (type) {
  case Type::U16: return &ternary<MadWide, std::uint32_t, std::uint16_t>;
  case Type::S16: return &ternary<MadWide, std::int32_t, std::int16_t>;
  case Type::U32: return &ternary<MadWide, std::uint64_t, std::uint32_t>;
  case Type::S32: return &ternary<MadWide, std::int64_t, std::int32_t>;
  default: return nullptr;
  }
}

Type wideType(Type type) {
  return bitWidth(type) == 16 ? Type::B32 : Type::B64;
}

Handler binaryHandler(const Form& f) {
  const Type type = f.type();
  const bool isHalves = type == Type::U16x2 || type == Type::S16x2;
  switch (f.op) {
  case Op::Add:
    if (isHalves) return halvesOf<Add>(type);
    return f.sat() ? Handler{&binary<AddSat, std::int32_t>} : binaryOf<Add>(type);
  case Op::Sub: return f.sat() ? Handler{&binary<SubSat, std::int32_t>} : binaryOf<Sub>(type);
  case Op::Mul:
    if (f.mode() == Mod::Wide) return wideOf<MulWide>(type);
    return f.mode() == Mod::Hi ? binaryOf<MulHi>(type) : binaryOf<MulLo>(type);
  case Op::Mul24: return f.mode() == Mod::Hi ? binaryOf<Mul24Hi>(type) : binaryOf<Mul24Lo>(type);
  case Op::Div: return binaryOf<Div>(type);
  case Op::Rem: return binaryOf<Rem>(type);
  case Op::Min:
    if (f.has(Mod::Relu)) return isHalves ? halvesOf<MinRelu>(type) : Handler{&binary<MinRelu, std::int32_t>};
    return isHalves ? halvesOf<Min>(type) : binaryOf<Min>(type);
  case Op::Max:
    if (f.has(Mod::Relu)) return isHalves ? halvesOf<MaxRelu>(type) : Handler{&binary<MaxRelu, std::int32_t>};
    return isHalves ? halvesOf<Max>(type) : binaryOf<Max>(type);
  default: return nullptr;
  }
}

Handler ternaryHandler(const Form& f) {
  const Type type = f.type();
  const bool hi = f.mode() == Mod::Hi;
  switch (f.op) {
  case Op::Mad:
    if (f.mode() == Mod::Wide) return madWideOf(type);
    if (f.sat()) return &ternary<MadHiSat, std::int32_t>;
    return hi ? ternaryOf<MadHi>(type) : ternaryOf<MadLo>(type);
  case Op::Mad24:
    if (f.sat()) return &ternary<Mad24HiSat, std::int32_t>;
    return hi ? ternaryOf<Mad24Hi>(type) : ternaryOf<Mad24Lo>(type);
  case Op::Sad: return ternaryOf<Sad>(type);
  default: return nullptr;
  }
}

bool emitCarry(FunctionTranslator& t, Handler handler, bool reads, bool isMad) {
  const Type type = t.form().type();
  const bool done = isMad ? emitWith(t, handler, {type, type, type}) : emitWith(t, handler, {type, type});
  if (done)
    t.code().insts.back().option =
        static_cast<std::uint16_t>((reads ? kCarryIn : 0) | (t.form().has(Mod::Cc) ? kCarryOut : 0));
  return done;
}

bool translateCarry(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = f.type();
  const bool hi = f.mode() == Mod::Hi;
  switch (f.op) {
  case Op::Add:
  case Op::Addc:
    return emitCarry(t, forWidth(type, []<typename T>() -> Handler { return &addCarry<T>; }), f.op == Op::Addc, false);
  case Op::Sub:
  case Op::Subc:
    return emitCarry(t, forWidth(type, []<typename T>() -> Handler { return &subCarry<T>; }), f.op == Op::Subc, false);
  case Op::Mad:
  case Op::Madc:
    return emitCarry(t,
                     hi ? forInteger(type, []<typename T>() -> Handler { return &madHiCarry<T>; })
                        : forInteger(type, []<typename T>() -> Handler { return &madLoCarry<T>; }),
                     f.op == Op::Madc, true);
  default: return false;
  }
}

} // namespace

bool translateInteger(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = f.type();
  const ptx::TypeClass kind = typeClass(type);
  if (kind != ptx::TypeClass::Unsigned && kind != ptx::TypeClass::Signed) return false;
  if (f.has(Mod::Cc) || f.op == Op::Addc || f.op == Op::Subc || f.op == Op::Madc) return translateCarry(t);
  switch (f.op) {
  case Op::Abs: return emitWith(t, forInteger(type, []<typename T>() -> Handler { return &unary<Abs, T>; }), {type});
  case Op::Neg: return emitWith(t, forInteger(type, []<typename T>() -> Handler { return &unary<Neg, T>; }), {type});
  case Op::Mad:
  case Op::Mad24:
  case Op::Sad: {
    const Type third = f.mode() == Mod::Wide ? wideType(type) : type;
    return emitWith(t, ternaryHandler(f), {type, type, third});
  }
  default: return emitWith(t, binaryHandler(f), {type, type});
  }
}

} // namespace orias::interp
