#include "tools/interpreter/access.h"
#include "tools/interpreter/handlers.h"

// Loads and stores, and instructions without effect on values: prefetches and cache hints.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::StateSpace;
using ptx::Type;
using ptx::TypeClass;

std::uint64_t lowBits(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t addressIn(const Thread& t, const Inst& i) {
  return t.r[i.a] + static_cast<std::uint64_t>(i.imm);
}

/// option: the space; width: bits of the destination register, to which signed values are extended.
template <typename T> void loadOne(Thread& t, const Inst& i) {
  const T value = loadAs<T>(t, static_cast<Space>(i.option), addressIn(t, i));
  if constexpr (std::is_signed_v<T>)
    t.r[i.d] = lowBits(static_cast<std::uint64_t>(std::int64_t{value}), i.width);
  else
    t.r[i.d] = value;
}
template <typename T> void storeOne(Thread& t, const Inst& i) {
  storeAs<T>(t, static_cast<Space>(i.option), addressIn(t, i), get<T>(t, i.b));
}

/// list: the elements.
template <typename T> void loadVector(Thread& t, const Inst& i) {
  T values[8];
  load(t, static_cast<Space>(i.option), addressIn(t, i), std::as_writable_bytes(std::span(values, i.list.size())));
  for (std::size_t k = 0; k < i.list.size(); ++k) {
    if constexpr (std::is_signed_v<T>)
      t.r[i.list[k]] = lowBits(static_cast<std::uint64_t>(std::int64_t{values[k]}), i.width);
    else
      t.r[i.list[k]] = values[k];
  }
}
template <typename T> void storeVector(Thread& t, const Inst& i) {
  T values[8];
  for (std::size_t k = 0; k < i.list.size(); ++k)
    values[k] = get<T>(t, i.list[k]);
  store(t, static_cast<Space>(i.option), addressIn(t, i), std::as_bytes(std::span(values, i.list.size())));
}

/// Floating-point values are bits; a 128-bit value is two of 64.
Type bitsOf(Type type) {
  switch (bitWidth(type)) {
  case 8: return typeClass(type) == TypeClass::Signed ? Type::S8 : Type::B8;
  case 16: return typeClass(type) == TypeClass::Signed ? Type::S16 : Type::B16;
  case 32: return typeClass(type) == TypeClass::Signed ? Type::S32 : Type::B32;
  default: return typeClass(type) == TypeClass::Signed ? Type::S64 : Type::B64;
  }
}

void place(Inst& inst, const Address& at) {
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.option = static_cast<std::uint16_t>(at.space);
}

bool translateLoad(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = bitsOf(f.type());
  const Address at = t.address(1, f.space());
  const auto to = t.defs(0, f.type());
  const bool one = to.size() == 1;
  const Handler handler = one ? forInteger(type, []<typename T>() -> Handler { return &loadOne<T>; })
                              : forInteger(type, []<typename T>() -> Handler { return &loadVector<T>; });
  Inst& inst = t.emit(handler);
  place(inst, at);
  inst.width = static_cast<std::uint8_t>(t.registerBits(0));
  if (one)
    inst.d = to[0];
  else
    inst.list = to;
  return true;
}

bool translateStore(FunctionTranslator& t) {
  const Form& f = t.form();
  const Address at = t.address(0, f.space());
  const auto from = t.uses(1, f.type());
  const bool one = from.size() == 1;
  const Handler handler = one ? forWidth(bitsOf(f.type()), []<typename T>() -> Handler { return &storeOne<T>; })
                              : forWidth(bitsOf(f.type()), []<typename T>() -> Handler { return &storeVector<T>; });
  Inst& inst = t.emit(handler);
  place(inst, at);
  if (one)
    inst.b = from[0];
  else
    inst.list = from;
  return true;
}

void nothing(Thread&, const Inst&) {}

/// A policy is only a cache hint and is never read.
bool translatePolicy(FunctionTranslator& t) {
  Inst& inst = t.emit([](Thread& thread, const Inst& i) { thread.r[i.d] = 0; });
  inst.d = t.def(0);
  return true;
}

} // namespace

bool translateMemory(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::Ld:
  case Op::Ldu: return translateLoad(t);
  case Op::St: return translateStore(t);
  case Op::StAsync: // the others are of the cluster
    return t.form().get(ptx::Slot::Completion) == ptx::Mod::None && translateStore(t);
  case Op::Prefetch:
  case Op::Prefetchu:
  case Op::Discard: // undefined contents may be the old ones
  case Op::Applypriority: t.emit(&nothing); return true;
  case Op::Createpolicy: return translatePolicy(t);
  default: return false;
  }
}

} // namespace orias::interp
