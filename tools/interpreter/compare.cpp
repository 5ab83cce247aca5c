#include "support/ieee.h"
#include "tools/interpreter/handlers.h"

#include <cmath>

// setp and set: comparisons of integers and floating-point values, combined with a predicate.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;
using ptx::TypeClass;

// ---- Operands

template <typename T> struct IntegerSource {
  static T read(const Thread& t, std::uint32_t slot, bool) { return get<T>(t, slot); }
};
struct F32Source {
  static float read(const Thread& t, std::uint32_t slot, bool ftz) {
    const auto value = get<float>(t, slot);
    return ftz ? ieee::flush(value) : value;
  }
};
struct F64Source {
  static double read(const Thread& t, std::uint32_t slot, bool) { return get<double>(t, slot); }
};
template <ieee::Format Half, unsigned Shift> struct HalfSource {
  static float read(const Thread& t, std::uint32_t slot, bool ftz) {
    ieee::Bits bits = t.r[slot] >> Shift & 0xffff;
    if (ftz) bits = ieee::flush(Half, bits);
    return ieee::floatOf(ieee::convert(ieee::Format::F32, Half, bits));
  }
};

// ---- Comparisons; a floating-point one is false for NaN unless its name says unordered.

template <typename T> bool unordered(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(a) || std::isnan(b);
  else
    return false;
}

template <typename T> bool holds(Mod compare, T a, T b) {
  switch (compare) {
  case Mod::Eq: return a == b;
  case Mod::Ne: return a != b && !unordered(a, b);
  case Mod::Lt:
  case Mod::Lo: return a < b;
  case Mod::Le:
  case Mod::Ls: return a <= b;
  case Mod::Gt:
  case Mod::Hi: return a > b;
  case Mod::Ge:
  case Mod::Hs: return a >= b;
  case Mod::Equ: return a == b || unordered(a, b);
  case Mod::Neu: return a != b;
  case Mod::Ltu: return !(a >= b);
  case Mod::Leu: return !(a > b);
  case Mod::Gtu: return !(a <= b);
  case Mod::Geu: return !(a < b);
  case Mod::Num: return !unordered(a, b);
  case Mod::Nan: return unordered(a, b);
  default: return false;
  }
}

template <typename Source, Mod Compare> bool compares(Thread& t, const Inst& i) {
  const bool ftz = i.width != 0;
  return holds(Compare, Source::read(t, i.a, ftz), Source::read(t, i.b, ftz));
}

// ---- option: how the result is combined with the predicate in slot c.

constexpr std::uint16_t kAlone = 0, kAnd = 1, kOr = 2, kXor = 3;

bool combine(Thread& t, const Inst& i, bool result) {
  switch (i.option) {
  case kAnd: return result && get<bool>(t, i.c);
  case kOr: return result || get<bool>(t, i.c);
  case kXor: return result != get<bool>(t, i.c);
  default: return result;
  }
}

template <typename Source, Mod Compare> void setp(Thread& t, const Inst& i) {
  const bool result = compares<Source, Compare>(t, i);
  // Both are computed before either is written, because c may be one of the destinations.
  const bool p = combine(t, i, result);
  const bool q = combine(t, i, !result);
  put(t, i.d, p);
  put(t, i.e, q);
}
/// One predicate for each half.
template <typename Low, typename High, Mod Compare> void setpHalves(Thread& t, const Inst& i) {
  const bool p = combine(t, i, compares<Low, Compare>(t, i));
  const bool q = combine(t, i, compares<High, Compare>(t, i));
  put(t, i.d, p);
  put(t, i.e, q);
}
/// imm: the value for true.
template <typename Source, Mod Compare> void set(Thread& t, const Inst& i) {
  t.r[i.d] = combine(t, i, compares<Source, Compare>(t, i)) ? static_cast<std::uint64_t>(i.imm) : 0;
}
template <typename Low, typename High, Mod Compare> void setHalves(Thread& t, const Inst& i) {
  const std::uint64_t low = combine(t, i, compares<Low, Compare>(t, i)) ? static_cast<std::uint64_t>(i.imm) : 0;
  const std::uint64_t high = combine(t, i, compares<High, Compare>(t, i)) ? static_cast<std::uint64_t>(i.imm) : 0;
  t.r[i.d] = low | high << 16;
}

// ---- Choice

template <typename Make> Handler forCompare(Mod compare, Make make) {
  switch (compare) {
  case Mod::Eq: return make.template operator()<Mod::Eq>();
  case Mod::Ne: return make.template operator()<Mod::Ne>();
  case Mod::Lt:
  case Mod::Lo: return make.template operator()<Mod::Lt>();
  case Mod::Le:
  case Mod::Ls: return make.template operator()<Mod::Le>();
  case Mod::Gt:
  case Mod::Hi: return make.template operator()<Mod::Gt>();
  case Mod::Ge:
  case Mod::Hs: return make.template operator()<Mod::Ge>();
  case Mod::Equ: return make.template operator()<Mod::Equ>();
  case Mod::Neu: return make.template operator()<Mod::Neu>();
  case Mod::Ltu: return make.template operator()<Mod::Ltu>();
  case Mod::Leu: return make.template operator()<Mod::Leu>();
  case Mod::Gtu: return make.template operator()<Mod::Gtu>();
  case Mod::Geu: return make.template operator()<Mod::Geu>();
  case Mod::Num: return make.template operator()<Mod::Num>();
  case Mod::Nan: return make.template operator()<Mod::Nan>();
  default: return nullptr;
  }
}

template <typename Source> Handler handlerOf(bool isSetp, Mod compare) {
  return isSetp ? forCompare(compare, []<Mod C>() -> Handler { return &setp<Source, C>; })
                : forCompare(compare, []<Mod C>() -> Handler { return &set<Source, C>; });
}
template <ieee::Format Half> Handler halvesHandlerOf(bool isSetp, Mod compare) {
  using Low = HalfSource<Half, 0>;
  using High = HalfSource<Half, 16>;
  return isSetp ? forCompare(compare, []<Mod C>() -> Handler { return &setpHalves<Low, High, C>; })
                : forCompare(compare, []<Mod C>() -> Handler { return &setHalves<Low, High, C>; });
}

Handler handlerFor(Type type, bool isSetp, Mod compare) {
  switch (type) {
  case Type::F32: return handlerOf<F32Source>(isSetp, compare);
  case Type::F64: return handlerOf<F64Source>(isSetp, compare);
  case Type::F16: return handlerOf<HalfSource<ieee::Format::F16, 0>>(isSetp, compare);
  case Type::BF16: return handlerOf<HalfSource<ieee::Format::BF16, 0>>(isSetp, compare);
  case Type::F16x2: return halvesHandlerOf<ieee::Format::F16>(isSetp, compare);
  case Type::BF16x2: return halvesHandlerOf<ieee::Format::BF16>(isSetp, compare);
  default:
    return forInteger(type, [&]<typename T>() -> Handler { return handlerOf<IntegerSource<T>>(isSetp, compare); });
  }
}

std::int64_t trueValue(Type type, Type source) {
  if (source == Type::F16x2 || source == Type::BF16x2) type = typeClass(type) == TypeClass::Float ? source : Type::U16;
  switch (type) {
  case Type::F32: return 0x3f800000;
  case Type::F16:
  case Type::F16x2: return 0x3c00;
  case Type::BF16:
  case Type::BF16x2: return 0x3f80;
  case Type::U16:
  case Type::S16: return 0xffff;
  default: return 0xffffffff;
  }
}

} // namespace

bool translateCompare(FunctionTranslator& t) {
  const Form& f = t.form();
  if (f.op != Op::Setp && f.op != Op::Set) return false;
  const bool isSetp = f.op == Op::Setp;
  const Type type = f.type(isSetp ? 0 : 1);
  const Handler handler = handlerFor(type, isSetp, f.compare());
  if (!handler) return false;
  const std::uint32_t a = t.use(1, type);
  const std::uint32_t b = t.use(2, type);
  const std::uint32_t c = t.operandCount() > 3 ? t.use(3, Type::Pred) : kSink;
  Inst& inst = t.emit(handler);
  inst.d = t.def(0);
  inst.e = t.secondDef(0);
  inst.a = a;
  inst.b = b;
  inst.c = c;
  inst.width = f.ftz();
  inst.option = f.boolOp() == Mod::And ? kAnd : f.boolOp() == Mod::Or ? kOr : f.boolOp() == Mod::Xor ? kXor : kAlone;
  if (!isSetp) inst.imm = trueValue(f.type(0), type);
  return true;
}

} // namespace orias::interp
