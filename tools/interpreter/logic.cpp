#include "tools/interpreter/handlers.h"

#include <algorithm>

// Logic, shifts, selection and byte permutation.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

struct And {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
struct Not {
  bool operator()(bool a) const { return !a; }
  template <typename T> T operator()(T a) const { return static_cast<T>(~a); }
};
struct Cnot {
  template <typename T> T operator()(T a) const { return a == 0; }
};

/// Shifts by the width or more give zero, or the sign.
struct Shl {
  template <typename T> T operator()(T a, std::uint32_t n) const {
    return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << n);
  }
};
struct Shr {
  template <typename T> T operator()(T a, std::uint32_t n) const {
    constexpr unsigned kBits = 8 * sizeof(T);
    if (n >= kBits) return static_cast<T>(a < 0 ? -1 : 0);
    return static_cast<T>(a >> n);
  }
};
/// [b:a] shifted: the high word for a left shift, the low word for a right shift.
template <bool Left, bool Clamp> struct Shf {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint32_t n = Clamp ? std::min(c, 32u) : c & 31;
    const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
    return Left ? static_cast<std::uint32_t>(both << n >> 32) : static_cast<std::uint32_t>(both >> n);
  }
};

std::uint32_t lookUp(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}
/// imm: the table; option: 1 for `p = (d != 0) or q`, 2 for and.
void lop3(Thread& t, const Inst& i) {
  const std::uint32_t d = lookUp(get<std::uint32_t>(t, i.a), get<std::uint32_t>(t, i.b), get<std::uint32_t>(t, i.c),
                                 static_cast<std::uint32_t>(i.imm));
  if (i.option != 0) {
    const bool q = get<bool>(t, i.list[0]);
    put(t, i.e, i.option == 1 ? d != 0 || q : d != 0 && q);
  }
  put(t, i.d, d);
}

template <typename T> void selp(Thread& t, const Inst& i) {
  put<T>(t, i.d, get<bool>(t, i.c) ? get<T>(t, i.a) : get<T>(t, i.b));
}
template <typename T> void slctInteger(Thread& t, const Inst& i) {
  put<T>(t, i.d, get<std::int32_t>(t, i.c) >= 0 ? get<T>(t, i.a) : get<T>(t, i.b));
}
/// -0 counts as zero, and so does a negative subnormal with .ftz (option); NaN takes the second.
template <typename T> void slctFloat(Thread& t, const Inst& i) {
  const auto c = get<float>(t, i.c);
  const bool flushed = i.option != 0 && (std::bit_cast<std::uint32_t>(c) & 0x7f800000) == 0;
  put<T>(t, i.d, flushed || c >= 0 ? get<T>(t, i.a) : get<T>(t, i.b));
}

std::uint32_t byteOf(std::uint64_t bytes, unsigned k) {
  return static_cast<std::uint32_t>(bytes >> 8 * (k & 7)) & 0xff;
}
/// The general form: each nibble selects a byte of [b:a]; its high bit replicates the sign of the byte instead.
struct Prmt {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t selector) const {
    const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
    std::uint32_t result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint32_t nibble = selector >> 4 * k & 0xf;
      std::uint32_t byte = byteOf(bytes, nibble & 7);
      if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * k;
    }
    return result;
  }
};
/// The special modes: the low two bits of c determine the permutation.
template <Mod Mode> struct PrmtMode {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
    const unsigned n = c & 3;
    std::uint32_t result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned from = 0;
      switch (Mode) {
      case Mod::F4e: from = n + k; break;
      case Mod::B4e: from = n - k; break;
      case Mod::Rc8: from = n; break;
      case Mod::Ecl: from = std::max(k, n); break;
      case Mod::Ecr: from = std::min(k, n); break;
      default: from = (n & 1) * 2 + (k & 1); break; // rc16
      }
      result |= byteOf(bytes, from) << 8 * k;
    }
    return result;
  }
};

template <typename Op> bool emitLogic(FunctionTranslator& t) {
  const Type type = t.form().type();
  if constexpr (std::is_same_v<Op, Not> || std::is_same_v<Op, Cnot>) {
    const Handler handler = type == Type::Pred ? Handler{&unary<Not, bool>}
                                               : forWidth(type, []<typename T>() -> Handler { return &unary<Op, T>; });
    return emitWith(t, handler, {type});
  } else {
    const Handler handler = type == Type::Pred ? Handler{&binary<Op, bool>}
                                               : forWidth(type, []<typename T>() -> Handler { return &binary<Op, T>; });
    return emitWith(t, handler, {type, type});
  }
}

bool translateLop3(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool hasPredicate = f.boolOp() != Mod::None;
  const std::uint32_t slots[] = {t.use(1, Type::B32), t.use(2, Type::B32), t.use(3, Type::B32)};
  const std::uint32_t q = hasPredicate ? t.use(5, Type::Pred) : kSink;
  Inst& inst = t.emit(&lop3);
  inst.d = t.def(0);
  inst.e = t.secondDef(0);
  inst.a = slots[0];
  inst.b = slots[1];
  inst.c = slots[2];
  inst.imm = t.operand(4).intValue();
  if (hasPredicate) {
    inst.option = f.boolOp() == Mod::Or ? 1 : 2;
    inst.list = t.list({q});
  }
  return true;
}

Handler prmtHandler(Mod mode) {
  switch (mode) {
  case Mod::None: return &ternary<Prmt, std::uint32_t>;
  case Mod::F4e: return &ternary<PrmtMode<Mod::F4e>, std::uint32_t>;
  case Mod::B4e: return &ternary<PrmtMode<Mod::B4e>, std::uint32_t>;
  case Mod::Rc8: return &ternary<PrmtMode<Mod::Rc8>, std::uint32_t>;
  case Mod::Ecl: return &ternary<PrmtMode<Mod::Ecl>, std::uint32_t>;
  case Mod::Ecr: return &ternary<PrmtMode<Mod::Ecr>, std::uint32_t>;
  case Mod::Rc16: return &ternary<PrmtMode<Mod::Rc16>, std::uint32_t>;
  default: return nullptr;
  }
}

Handler shfHandler(const Form& f) {
  const bool clamp = f.mode() == Mod::Clamp;
  if (f.get(ptx::Slot::Part) == Mod::L)
    return clamp ? &ternary<Shf<true, true>, std::uint32_t> : &ternary<Shf<true, false>, std::uint32_t>;
  return clamp ? &ternary<Shf<false, true>, std::uint32_t> : &ternary<Shf<false, false>, std::uint32_t>;
}

} // namespace

bool translateLogic(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = f.type();
  using U32 = std::uint32_t;
  switch (f.op) {
  case Op::And: return emitLogic<And>(t);
  case Op::Or: return emitLogic<Or>(t);
  case Op::Xor: return emitLogic<Xor>(t);
  case Op::Not: return emitLogic<Not>(t);
  case Op::Cnot: return emitLogic<Cnot>(t);
  case Op::Lop3: return translateLop3(t);
  case Op::Shl:
    return emitWith(t, forWidth(type, []<typename T>() -> Handler { return &binary<Shl, T, T, U32>; }),
                    {type, Type::U32});
  case Op::Shr:
    return emitWith(t, forInteger(type, []<typename T>() -> Handler { return &binary<Shr, T, T, U32>; }),
                    {type, Type::U32});
  case Op::Shf: return emitWith(t, shfHandler(f), {Type::B32, Type::B32, Type::U32});
  case Op::Prmt: return emitWith(t, prmtHandler(f.mode()), {Type::B32, Type::B32, Type::B32});
  case Op::Selp:
    return emitWith(t, forWidth(type, []<typename T>() -> Handler { return &selp<T>; }), {type, type, Type::Pred});
  case Op::Slct:
    if (f.type(1) == Type::S32)
      return emitWith(t, forWidth(type, []<typename T>() -> Handler { return &slctInteger<T>; }),
                      {type, type, Type::S32});
    emitWith(t, forWidth(type, []<typename T>() -> Handler { return &slctFloat<T>; }), {type, type, Type::F32});
    t.code().insts.back().option = f.ftz();
    return true;
  default: return false;
  }
}

} // namespace orias::interp
