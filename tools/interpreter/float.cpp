#include "tools/interpreter/float.h"

// Floating-point arithmetic with a single rounding, minima, signs and tests, in all precisions (manual: "Floating Point
// Instructions", "Half Precision Floating Point Instructions").

namespace orias::interp {

namespace {

using ieee::Bits;
using ieee::Format;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

/// f(a, …) on float and double for speed, and on the bits of other formats.
template <Format F, typename Operation, typename... Operands> Bits onValues(Operation operation, Operands... operands) {
  if constexpr (F == Format::F32)
    return ieee::bitsOf(operation(ieee::floatOf(operands)...));
  else if constexpr (F == Format::F64)
    return ieee::bitsOf(operation(ieee::doubleOf(operands)...));
  else
    return operation(F, operands...);
}

struct Add {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode& mode) {
    return onValues<F>([&](auto... x) { return ieee::add(x..., mode.rounding); }, a, b);
  }
};
struct Sub {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode& mode) {
    return Add::apply<F>(a, b ^ kFloatSign<F>, 0, mode);
  }
};
struct Mul {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode& mode) {
    return onValues<F>([&](auto... x) { return ieee::mul(x..., mode.rounding); }, a, b);
  }
};
struct Fma {
  template <Format F> static Bits apply(Bits a, Bits b, Bits c, const FloatMode& mode) {
    return onValues<F>([&](auto... x) { return ieee::fma(x..., mode.rounding); }, a, b, c);
  }
};
struct Div {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode& mode) {
    if constexpr (F == Format::F32)
      if (mode.ftz) return ieee::bitsOf(ieee::divFlushed(ieee::floatOf(a), ieee::floatOf(b), mode.rounding));
    return onValues<F>([&](auto... x) { return ieee::div(x..., mode.rounding); }, a, b);
  }
};
struct Sqrt {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode& mode) {
    return onValues<F>([&](auto... x) { return ieee::sqrt(x..., mode.rounding); }, a);
  }
};
struct Rcp {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode& mode) {
    return Div::apply<F>(ieee::fromUnsigned(F, 1), a, 0, mode);
  }
};

/// A number with a changed sign. A NaN of single or double precision becomes the canonical one, as in arithmetic; one
/// of half precision keeps its payload.
template <Format F> Bits withSign(Bits value) {
  constexpr bool isArithmetic = F == Format::F32 || F == Format::F64;
  return isArithmetic && ieee::isNan(F, value) ? ieee::canonicalNan(F) : value;
}
struct Abs {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode&) {
    return withSign<F>(a & ~kFloatSign<F>);
  }
};
struct Neg {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode&) { return withSign<F>(a ^ kFloatSign<F>); }
};
/// The sign of the first, the magnitude of the second.
struct Copysign {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode&) {
    return (a & kFloatSign<F>) | (b & ~kFloatSign<F>);
  }
};

/// .xorsign.abs: of the magnitudes, with the product of the signs.
template <bool Least> struct Extremum {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode& mode) {
    const auto choose = [&](Bits x, Bits y) {
      return Least ? ieee::minimum(F, x, y, mode.nan) : ieee::maximum(F, x, y, mode.nan);
    };
    if (!mode.xorsign) return choose(a, b);
    const Bits magnitude = choose(a & ~kFloatSign<F>, b & ~kFloatSign<F>);
    return ieee::isNan(F, magnitude) ? magnitude : magnitude | ((a ^ b) & kFloatSign<F>);
  }
};

/// Of three; with .abs, of their magnitudes.
template <bool Least, bool Magnitudes> struct ExtremumOfThree {
  template <Format F> static Bits apply(Bits a, Bits b, Bits c, const FloatMode& mode) {
    const Bits kept = Magnitudes ? ~kFloatSign<F> : ~Bits{0};
    const Bits ofTwo = Extremum<Least>::template apply<F>(a & kept, b & kept, 0, mode);
    return Extremum<Least>::template apply<F>(ofTwo, c & kept, 0, mode);
  }
};
template <bool Least> bool emitExtremum(FunctionTranslator& t) {
  const Type type = t.form().type();
  if (t.operandCount() == 3) return emitFloat(t, floatHandler<Extremum<Least>>(type), 2);
  return emitFloat(t,
                   t.form().has(Mod::Abs) ? floatHandler<ExtremumOfThree<Least, true>>(type)
                                          : floatHandler<ExtremumOfThree<Least, false>>(type),
                   3);
}

// ---- testp: the class of a number, by its magnitude. Zero counts as normal.

template <Format F> constexpr Bits kInfinity = F == Format::F32 ? 0x7f800000 : 0x7ff0000000000000;
template <Format F> constexpr Bits kLeastNormal = F == Format::F32 ? 0x00800000 : 0x0010000000000000;

struct IsFinite {
  template <Format F> static bool holds(Bits magnitude) { return magnitude < kInfinity<F>; }
};
struct IsInfinite {
  template <Format F> static bool holds(Bits magnitude) { return magnitude == kInfinity<F>; }
};
struct IsNumber {
  template <Format F> static bool holds(Bits magnitude) { return magnitude <= kInfinity<F>; }
};
struct IsNotANumber {
  template <Format F> static bool holds(Bits magnitude) { return magnitude > kInfinity<F>; }
};
struct IsSubnormal {
  template <Format F> static bool holds(Bits magnitude) { return magnitude != 0 && magnitude < kLeastNormal<F>; }
};
struct IsNormal {
  template <Format F> static bool holds(Bits magnitude) {
    return IsFinite::holds<F>(magnitude) && !IsSubnormal::holds<F>(magnitude);
  }
};

template <typename Test, Format F> void testp(Thread& t, const Inst& i) {
  put(t, i.d, Test::template holds<F>(t.r[i.a] & kFloatMask<F> & ~kFloatSign<F>));
}
template <typename Test> Handler testpHandler(Type type) {
  return type == Type::F32 ? Handler{&testp<Test, Format::F32>} : Handler{&testp<Test, Format::F64>};
}
Handler testpHandler(Mod query, Type type) {
  switch (query) {
  case Mod::Finite: return testpHandler<IsFinite>(type);
  case Mod::Infinite: return testpHandler<IsInfinite>(type);
  case Mod::Number: return testpHandler<IsNumber>(type);
  case Mod::NotANumber: return testpHandler<IsNotANumber>(type);
  case Mod::Normal: return testpHandler<IsNormal>(type);
  case Mod::Subnormal: return testpHandler<IsSubnormal>(type);
  default: return nullptr;
  }
}

/// fma.oob gives zero for the NaN that represents an out-of-bounds value. The manual does not give its bits. It can
/// only be the NaN of all ones, so without such a source the operation equals fma.
void refuseOutOfBounds(FunctionTranslator& t) {
  for (unsigned k = 1; k < t.operandCount(); ++k) {
    const std::uint32_t source = t.use(k, t.form().type());
    t.emit([](Thread& thread, const Inst& i) {
       ++thread.uncounted;
       const std::uint64_t bits = thread.r[i.a];
       if ((bits & 0xffff) == 0xffff || (bits >> 16 & 0xffff) == 0xffff)
         throw Stop{"unsupported", "fma.oob of a NaN that may represent an out-of-bounds value"};
     }).a = source;
  }
}

/// Sums in f32 of f16 or bf16 (imm) with f32.
enum class MixedSum : std::uint8_t { Add, Sub, Fma };
template <MixedSum Kind> void mixedSum(Thread& t, const Inst& i) {
  const FloatMode mode = FloatMode::unpack(i.option);
  const auto factor = [&](std::uint32_t slot) {
    return ieee::floatOf(ieee::convert(Format::F32, static_cast<Format>(i.imm), t.r[slot] & 0xffff));
  };
  float sum = 0;
  if constexpr (Kind == MixedSum::Fma) {
    sum = ieee::fma(factor(i.a), factor(i.b), ieee::floatOf(t.r[i.c]), mode.rounding);
  } else {
    const Bits sign = Kind == MixedSum::Sub ? 0x80000000 : 0;
    sum = ieee::add(factor(i.a), ieee::floatOf((t.r[i.b] & 0xffffffff) ^ sign), mode.rounding);
  }
  t.r[i.d] = mode.finish(Format::F32, ieee::bitsOf(sum));
}

bool translateMixed(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type half = f.type(1);
  const bool done = f.op == Op::Fma   ? emitWith(t, &mixedSum<MixedSum::Fma>, {half, half, Type::F32})
                    : f.op == Op::Add ? emitWith(t, &mixedSum<MixedSum::Add>, {half, Type::F32})
                                      : emitWith(t, &mixedSum<MixedSum::Sub>, {half, Type::F32});
  if (!done) return false;
  Inst& inst = t.code().insts.back();
  inst.option = FloatMode::of(f).pack();
  inst.imm = static_cast<std::int64_t>(*formatOf(half));
  return true;
}

} // namespace

bool translateFloat(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = f.type();
  if (!formatOf(type)) return false;
  if (f.typeCount() == 2 && type == Type::F32 && (f.op == Op::Add || f.op == Op::Sub || f.op == Op::Fma))
    return translateMixed(t);
  if (f.has(Mod::Oob)) refuseOutOfBounds(t);
  const bool isApproximate = f.rounding() == Mod::Approx || f.rounding() == Mod::Full;
  if (isApproximate) return false; // float_approx.cpp
  switch (f.op) {
  case Op::Add: return emitFloat(t, floatHandler<Add>(type), 2);
  case Op::Sub: return emitFloat(t, floatHandler<Sub>(type), 2);
  case Op::Mul: return emitFloat(t, floatHandler<Mul>(type), 2);
  case Op::Fma:
  case Op::Mad: return emitFloat(t, floatHandler<Fma>(type), 3);
  case Op::Div: return emitFloat(t, floatHandler<Div>(type), 2);
  case Op::Rcp: return emitFloat(t, floatHandler<Rcp>(type), 1);
  case Op::Sqrt: return emitFloat(t, floatHandler<Sqrt>(type), 1);
  case Op::Abs: return emitFloat(t, floatHandler<Abs>(type), 1);
  case Op::Neg: return emitFloat(t, floatHandler<Neg>(type), 1);
  case Op::Copysign: return emitFloat(t, floatHandler<Copysign>(type), 2);
  case Op::Min: return emitExtremum<true>(t);
  case Op::Max: return emitExtremum<false>(t);
  case Op::Testp: return emitWith(t, testpHandler(f.get(ptx::Slot::Query), type), {type});
  default: return false;
  }
}

} // namespace orias::interp
