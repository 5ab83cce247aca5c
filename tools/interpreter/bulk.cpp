#include "tools/interpreter/access.h"
#include "tools/interpreter/async.h"
#include "tools/interpreter/combine.h"
#include "tools/interpreter/handlers.h"

#include <algorithm>
#include <fmt/format.h>

// Bulk copies and reductions (cp.async.bulk, cp.reduce.async.bulk), and stores and reductions of single values in
// shared memory (st.async, red.async). All are done at once; barriers hear of the bytes that have come. A cluster has
// one block.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;
using ptx::Type;

/// Inst::list are the addresses to and from, the bytes, and the blocks of the cluster that get a copy; Inst::a is where
/// the barrier is.
struct Bulk {
  Space to = Space::Shared, from = Space::Global;
  bool hasBarrier = false;
  Mod action = Mod::None; ///< None: a copy
  Type type = Type::U32;  ///< of what is combined
};

constexpr std::uint32_t kUnit = 16;

void copyBulk(Thread& t, const Inst& i) {
  const auto& bulk = *static_cast<const Bulk*>(i.detail);
  const std::uint64_t to = t.r[i.list[0]], from = t.r[i.list[1]];
  const auto size = get<std::uint32_t>(t, i.list[2]);
  if (size % kUnit != 0) throw Stop{"memcheck", fmt::format("a bulk copy of {} bytes, no multiple of 16", size)};
  if ((t.r[i.list[3]] & 1) == 0) return; // not to this block, the only one
  for (std::uint32_t k = 0; k < size; k += kUnit) {
    std::array<std::byte, kUnit> bytes, old;
    load(t, bulk.from, from + k, bytes);
    if (bulk.action != Mod::None) {
      load(t, bulk.to, to + k, old);
      const std::size_t each = bitWidth(bulk.type) / 8;
      for (std::size_t at = 0; at < kUnit; at += each) {
        std::uint64_t a = 0, b = 0;
        std::memcpy(&a, old.data() + at, each);
        std::memcpy(&b, bytes.data() + at, each);
        a = combined(bulk.action, bulk.type, a, b);
        std::memcpy(bytes.data() + at, &a, each);
      }
    }
    store(t, bulk.to, to + k, bytes);
  }
  if (bulk.hasBarrier) bytesCame(t, Space::Shared, t.r[i.a], size);
}

bool translateCopy(FunctionTranslator& t) {
  const Form& f = t.form();
  if (f.has(Mod::CpMask)) return false;
  Bulk bulk;
  bulk.to = f.space() == StateSpace::Shared ? Space::Shared : Space::Global;
  bulk.from = f.space2() == StateSpace::Shared ? Space::Shared : Space::Global;
  bulk.hasBarrier = f.space() == StateSpace::Shared;
  if (f.op == Op::CpReduceAsyncBulk) {
    bulk.action = f.action();
    bulk.type = f.type();
  }
  const std::uint32_t to = sumOf(t, t.address(0, f.space())), from = sumOf(t, t.address(1, f.space2()));
  const std::uint32_t size = t.use(2, Type::U32);
  const std::uint32_t barrier = bulk.hasBarrier ? sumOf(t, t.address(3, StateSpace::Shared)) : kSink;
  const bool isMulticast = f.get(Slot::Multicast) != Mod::None;
  const std::uint32_t blocks = isMulticast ? t.use(4, Type::B16) : t.constant(1);
  const auto slots = t.list({to, from, size, blocks});
  Inst& inst = t.emit(&copyBulk);
  inst.list = slots;
  inst.a = barrier;
  inst.detail = t.keep(bulk);
  return true;
}

// ---- Single values. a: where to, a generic or shared address (option); b: the barrier; list: the values

struct Remote {
  Mod action = Mod::None;
  Type type = Type::B32;
};

void writeRemote(Thread& t, const Inst& i) {
  const auto& remote = *static_cast<const Remote*>(i.detail);
  const std::size_t each = bitWidth(remote.type) / 8;
  const auto space = static_cast<Space>(i.option);
  std::uint64_t at = t.r[i.a];
  if (locate(space, at).space != Space::Shared)
    throw Stop{"memcheck", "an address that is not in the shared memory of the cluster"};
  for (const std::uint32_t slot : i.list) {
    std::uint64_t value = t.r[slot];
    if (remote.action != Mod::None) {
      std::uint64_t old = 0;
      load(t, space, at, std::as_writable_bytes(std::span(&old, 1)).first(each));
      value = combined(remote.action, remote.type, old, value);
    }
    store(t, space, at, std::as_bytes(std::span(&value, 1)).first(each));
    at += each;
  }
  bytesCame(t, Space::Shared, t.r[i.b], each * i.list.size());
}

bool translateRemote(FunctionTranslator& t) {
  const Form& f = t.form();
  // The others are for global memory.
  if (f.get(Slot::Completion) == Mod::None || t.operandCount() != 3) return false;
  Remote remote;
  remote.type = f.type();
  if (f.op == Op::RedAsync) remote.action = f.action();
  const Address to = t.address(0, f.space());
  const std::uint32_t at = sumOf(t, to), barrier = sumOf(t, t.address(2, StateSpace::Shared));
  const auto values = t.uses(1, f.type());
  Inst& inst = t.emit(&writeRemote);
  inst.a = at;
  inst.option = static_cast<std::uint16_t>(to.space);
  inst.b = barrier;
  inst.list = values;
  inst.detail = t.keep(remote);
  return true;
}

void nothing(Thread&, const Inst&) {}

} // namespace

bool translateBulk(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::CpAsyncBulk:
  case Op::CpReduceAsyncBulk: return translateCopy(t);
  case Op::StAsync:
  case Op::RedAsync: return translateRemote(t);
  case Op::CpAsyncBulkPrefetch:
  case Op::CpAsyncBulkCommitGroup:
  case Op::CpAsyncBulkWaitGroup: t.emit(&nothing); return true;
  default: return false;
  }
}

} // namespace orias::interp
