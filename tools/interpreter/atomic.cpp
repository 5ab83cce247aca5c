#include "tools/interpreter/atomic.h"

#include "support/ieee.h"
#include "tools/interpreter/handlers.h"

#include <algorithm>

// atom and red: read, compute, write. No other thread runs in between, so no lock is needed, and neither the order nor
// the scope of an operation matters. A red is an atom without a result.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

/// d: the old value; a: the address; b: the operand; option: the space.
template <typename Compute, typename T> void update(Thread& t, const Inst& i) {
  const Location at = atomicTarget(t, i);
  const T old = loadAs<T>(t, at.space, at.address);
  storeAs<T>(t, at.space, at.address, static_cast<T>(Compute{}(old, get<T>(t, i.b))));
  put<T>(t, i.d, old);
}

/// Likewise; c is written if the old value equals b.
template <typename T> void compareAndSwap(Thread& t, const Inst& i) {
  const Location at = atomicTarget(t, i);
  const T old = loadAs<T>(t, at.space, at.address);
  if (old == get<T>(t, i.b)) storeAs<T>(t, at.space, at.address, get<T>(t, i.c));
  put<T>(t, i.d, old);
}

/// Global memory flushes subnormals, shared memory does not.
void addF32(Thread& t, const Inst& i) {
  const Location at = atomicTarget(t, i);
  const auto flushed = [&](ieee::Bits value) {
    return at.space == Space::Global ? ieee::flush(ieee::Format::F32, value) : value;
  };
  const auto old = loadAs<std::uint32_t>(t, at.space, at.address);
  const ieee::Bits sum = ieee::add(ieee::Format::F32, flushed(old), flushed(get<std::uint32_t>(t, i.b)));
  storeAs<std::uint32_t>(t, at.space, at.address, static_cast<std::uint32_t>(flushed(sum)));
  put<std::uint32_t>(t, i.d, old);
}

// ---- What is computed from the old value and the operand

struct Add {
  template <typename T> T operator()(T old, T b) const { return static_cast<T>(old + b); }
};
struct Min {
  template <typename T> T operator()(T old, T b) const { return std::min(old, b); }
};
struct Max {
  template <typename T> T operator()(T old, T b) const { return std::max(old, b); }
};
struct And {
  template <typename T> T operator()(T old, T b) const { return old & b; }
};
struct Or {
  template <typename T> T operator()(T old, T b) const { return old | b; }
};
struct Xor {
  template <typename T> T operator()(T old, T b) const { return old ^ b; }
};
struct Exchange {
  template <typename T> T operator()(T, T b) const { return b; }
};
/// Counts 0 .. b and wraps; values above b wrap, too.
struct Increment {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b) const { return old >= b ? 0 : old + 1; }
};
/// Counts b .. 0 and wraps; values above b become b, too.
struct Decrement {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b) const { return old == 0 || old > b ? b : old - 1; }
};
/// Floating-point values are bits; subnormals are kept.
template <ieee::Format F> struct AddFloat {
  ieee::Bits operator()(ieee::Bits old, ieee::Bits b) const { return ieee::add(F, old, b); }
};
/// Each half of 32 bits separately.
template <ieee::Format F> struct AddHalves {
  ieee::Bits operator()(std::uint32_t old, std::uint32_t b) const {
    return ieee::add(F, old >> 16, b >> 16) << 16 | ieee::add(F, old & 0xffff, b & 0xffff);
  }
};

// ---- Which handler

/// For 32 and 64 bits.
template <typename Compute> Handler forBits(Type type) {
  return bitWidth(type) == 32   ? &update<Compute, std::uint32_t>
         : bitWidth(type) == 64 ? &update<Compute, std::uint64_t>
                                : nullptr;
}

/// For operations that depend on the sign.
template <typename Compute> Handler forOrder(Type type) {
  switch (type) {
  case Type::S32: return &update<Compute, std::int32_t>;
  case Type::S64: return &update<Compute, std::int64_t>;
  default: return forBits<Compute>(type);
  }
}

Handler additionOf(Type type) {
  using ieee::Format;
  switch (type) {
  case Type::F32: return &addF32;
  case Type::F64: return &update<AddFloat<Format::F64>, std::uint64_t>;
  case Type::F16: return &update<AddFloat<Format::F16>, std::uint16_t>;
  case Type::BF16: return &update<AddFloat<Format::BF16>, std::uint16_t>;
  case Type::F16x2: return &update<AddHalves<Format::F16>, std::uint32_t>;
  case Type::BF16x2: return &update<AddHalves<Format::BF16>, std::uint32_t>;
  default: return forBits<Add>(type);
  }
}

Handler swapOf(Type type) {
  switch (type) {
  case Type::B16: return &compareAndSwap<std::uint16_t>;
  case Type::B32: return &compareAndSwap<std::uint32_t>;
  case Type::B64: return &compareAndSwap<std::uint64_t>;
  default: return nullptr;
  }
}

/// Null for vectors and 128 bits.
Handler handlerOf(const Form& f) {
  if (f.vectorSize() != 1) return nullptr;
  switch (f.action()) {
  case Mod::Add: return additionOf(f.type());
  case Mod::Min: return forOrder<Min>(f.type());
  case Mod::Max: return forOrder<Max>(f.type());
  case Mod::Inc: return &update<Increment, std::uint32_t>;
  case Mod::Dec: return &update<Decrement, std::uint32_t>;
  case Mod::And: return forBits<And>(f.type());
  case Mod::Or: return forBits<Or>(f.type());
  case Mod::Xor: return forBits<Xor>(f.type());
  case Mod::Exch: return forBits<Exchange>(f.type());
  case Mod::Cas: return swapOf(f.type());
  default: return nullptr;
  }
}

} // namespace

Location atomicTarget(const Thread& t, const Inst& i) {
  const Location at = locate(static_cast<Space>(i.option), t.r[i.a] + static_cast<std::uint64_t>(i.imm));
  if (at.space != Space::Global && at.space != Space::Shared && at.space != Space::Cluster)
    throw Stop{"memcheck", "atomic operation on memory that is neither global nor shared"};
  return at;
}

bool translateAtomic(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool isAsync =
      f.op == Op::RedAsync && f.get(ptx::Slot::Completion) == Mod::None; // the others are of the cluster
  if (f.op != Op::Atom && f.op != Op::Red && !isAsync) return false;
  const Handler handler = handlerOf(f);
  if (!handler) return translateWideAtomic(t);
  const unsigned first = f.op == Op::Atom ? 1 : 0; // index of the address; values follow it
  const Address at = t.address(first, f.space());
  const std::uint32_t value = t.use(first + 1, f.type());
  const std::uint32_t replacement = f.action() == Mod::Cas ? t.use(first + 2, f.type()) : kSink;
  Inst& inst = t.emit(handler);
  inst.d = f.op == Op::Atom ? t.def(0) : kSink;
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.option = static_cast<std::uint16_t>(at.space);
  inst.b = value;
  inst.c = replacement;
  return true;
}

} // namespace orias::interp
