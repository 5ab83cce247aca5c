#pragma once

#include "tools/interpreter/machine.h"
#include "tools/interpreter/translate.h"

// Handlers made of a function object and types: `binary<Add, std::uint32_t>`.

namespace orias::interp {

template <typename Op, typename D, typename A = D> void unary(Thread& t, const Inst& i) {
  put<D>(t, i.d, static_cast<D>(Op{}(get<A>(t, i.a))));
}

template <typename Op, typename D, typename A = D, typename B = A> void binary(Thread& t, const Inst& i) {
  put<D>(t, i.d, static_cast<D>(Op{}(get<A>(t, i.a), get<B>(t, i.b))));
}

template <typename Op, typename D, typename A = D, typename B = A, typename C = D>
void ternary(Thread& t, const Inst& i) {
  put<D>(t, i.d, static_cast<D>(Op{}(get<A>(t, i.a), get<B>(t, i.b), get<C>(t, i.c))));
}

/// make.operator()<T>() for the integer type of `type`; null for other types. Bits count as unsigned.
template <typename Make> Handler forInteger(ptx::Type type, Make make) {
  using ptx::Type;
  switch (type) {
  case Type::U8:
  case Type::B8: return make.template operator()<std::uint8_t>();
  case Type::U16:
  case Type::B16: return make.template operator()<std::uint16_t>();
  case Type::U32:
  case Type::B32: return make.template operator()<std::uint32_t>();
  case Type::U64:
  case Type::B64: return make.template operator()<std::uint64_t>();
  case Type::S8: return make.template operator()<std::int8_t>();
  case Type::S16: return make.template operator()<std::int16_t>();
  case Type::S32: return make.template operator()<std::int32_t>();
  case Type::S64: return make.template operator()<std::int64_t>();
  default: return nullptr;
  }
}

/// Likewise for unsigned integers of the type's width, for any type.
template <typename Make> Handler forWidth(ptx::Type type, Make make) {
  switch (ptx::bitWidth(type)) {
  case 8: return make.template operator()<std::uint8_t>();
  case 16: return make.template operator()<std::uint16_t>();
  case 32: return make.template operator()<std::uint32_t>();
  case 64: return make.template operator()<std::uint64_t>();
  default: return nullptr;
  }
}

/// Emits `handler` with the destination in operand 0 followed by sources of these types; false without a handler.
inline bool emitWith(FunctionTranslator& t, Handler handler, std::initializer_list<ptx::Type> sources) {
  if (!handler) return false;
  std::uint32_t slots[3] = {kSink, kSink, kSink};
  unsigned n = 0;
  for (ptx::Type type : sources) {
    slots[n] = t.use(n + 1, type);
    ++n;
  }
  Inst& inst = t.emit(handler);
  inst.d = t.def(0);
  inst.a = slots[0];
  inst.b = slots[1];
  inst.c = slots[2];
  return true;
}

} // namespace orias::interp
