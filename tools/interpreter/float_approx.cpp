#include "tools/interpreter/float.h"

#include <cmath>

// The approximate functions (.approx, .full): the value nearest to the exact one, as support/ieee.h specifies.

namespace orias::interp {

namespace {

using ieee::Bits;
using ieee::Format;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

/// A function of float; for halves, rounded from single precision.
template <float (*Function)(float)> struct OfFloat {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode&) {
    const Bits result = ieee::bitsOf(Function(ieee::floatOf(ieee::convert(Format::F32, F, a))));
    return ieee::convert(F, Format::F32, result);
  }
};

/// div.full, and div.approx without .ftz, which scales its operands as well.
struct DivFull {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode&) { return ieee::div(F, a, b); }
};
/// div.approx.ftz: the reciprocal of a divisor above 2^126 is flushed to zero, so the result is zero, or NaN for an
/// infinite dividend.
struct DivFlushing {
  template <Format F> static Bits apply(Bits a, Bits b, Bits, const FloatMode&) {
    const float divisor = std::fabs(ieee::floatOf(b));
    if (divisor > 0x1p126f && std::isfinite(divisor))
      return ieee::mul(F, a, ieee::bitsOf(std::copysign(0.0f, ieee::floatOf(b))));
    return ieee::div(F, a, b);
  }
};

/// Only the high words are used: rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64.
constexpr Bits kHighWord = 0xffffffff00000000;

struct RcpHigh {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode&) {
    return ieee::bitsOf(ieee::rcp(ieee::doubleOf(a & kHighWord))) & kHighWord;
  }
};
double rsqrtOf(double a) {
  const auto value = static_cast<double>(1.0L / std::sqrt(static_cast<long double>(a)));
  return std::isnan(value) ? ieee::doubleOf(ieee::canonicalNan(Format::F64)) : value;
}
struct Rsqrt64 {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode&) {
    return ieee::bitsOf(rsqrtOf(ieee::doubleOf(a)));
  }
};
struct RsqrtHigh {
  template <Format F> static Bits apply(Bits a, Bits, Bits, const FloatMode&) {
    return ieee::bitsOf(rsqrtOf(ieee::doubleOf(a & kHighWord))) & kHighWord;
  }
};

template <typename Op> constexpr Handler kOnFloat = &floatElements<Op, Format::F32, 1>;
template <typename Op> constexpr Handler kOnDouble = &floatElements<Op, Format::F64, 1>;

bool translateDouble(FunctionTranslator& t) {
  const Form& f = t.form();
  switch (f.op) {
  case Op::Rcp: return emitFloat(t, kOnDouble<RcpHigh>, 1);
  case Op::Rsqrt: return emitFloat(t, f.ftz() ? kOnDouble<RsqrtHigh> : kOnDouble<Rsqrt64>, 1);
  default: return false;
  }
}

} // namespace

bool translateFloatApprox(FunctionTranslator& t) {
  namespace approx = ieee::approx;
  const Form& f = t.form();
  const Type type = f.type();
  if (f.rounding() != Mod::Approx && f.rounding() != Mod::Full) return false;
  if (type == Type::F64) return translateDouble(t);
  switch (f.op) {
  case Op::Div:
    return emitFloat(t, f.rounding() == Mod::Approx && f.ftz() ? kOnFloat<DivFlushing> : kOnFloat<DivFull>, 2);
  case Op::Rcp: return emitFloat(t, kOnFloat<OfFloat<approx::rcp>>, 1);
  case Op::Rsqrt: return emitFloat(t, kOnFloat<OfFloat<approx::rsqrt>>, 1);
  case Op::Sqrt: return emitFloat(t, kOnFloat<OfFloat<approx::sqrt>>, 1);
  case Op::Sin: return emitFloat(t, kOnFloat<OfFloat<approx::sin>>, 1);
  case Op::Cos: return emitFloat(t, kOnFloat<OfFloat<approx::cos>>, 1);
  case Op::Lg2: return emitFloat(t, kOnFloat<OfFloat<approx::lg2>>, 1);
  case Op::Ex2: return emitFloat(t, floatHandler<OfFloat<approx::ex2>>(type), 1);
  case Op::Tanh: return emitFloat(t, floatHandler<OfFloat<approx::tanh>>(type), 1);
  default: return false;
  }
}

} // namespace orias::interp
