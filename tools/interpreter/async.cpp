#include "tools/interpreter/async.h"
#include "tools/interpreter/access.h"
#include "tools/interpreter/handlers.h"

#include <algorithm>
#include <fmt/format.h>

// Asynchronous copies (cp.async) and barriers in memory (mbarrier). A copy reads its source at once and writes as late
// as possible, when the thread waits for it, so a missing wait has a visible effect.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::StateSpace;
using ptx::Type;

std::uint64_t addressIn(const Thread& t, const Inst& i) {
  return t.r[i.a] + static_cast<std::uint64_t>(i.imm);
}

// ---- cp.async. a, imm: destination (option: the space); b: source, in global memory; c: bytes read, the rest are
// zeros; width: bytes written

void copy(Thread& t, const Inst& i) {
  AsyncCopy copy{static_cast<Space>(i.option), addressIn(t, i), {}, i.width};
  const auto from = get<std::uint32_t>(t, i.c);
  if (from > i.width) throw Stop{"cp.async", fmt::format("{} bytes are read for {}", from, unsigned{i.width})};
  // A partial copy accesses only its bytes.
  const std::uint64_t source = t.r[i.b];
  if (from == i.width)
    load(t, Space::Global, source, std::span(copy.bytes).first(i.width));
  else
    for (std::uint32_t k = 0; k < from; ++k)
      load(t, Space::Global, source + k, std::span(copy.bytes).subspan(k, 1));
  t.copies.push_back(copy);
}

/// Writes the first `count` copies in flight.
void complete(Thread& t, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    store(t, t.copies[k].space, t.copies[k].address, std::span(t.copies[k].bytes).first(t.copies[k].size));
  t.copies.erase(t.copies.begin(), t.copies.begin() + static_cast<std::ptrdiff_t>(count));
  std::erase_if(t.copyGroups, [&](std::size_t end) { return end <= count; });
  for (std::size_t& end : t.copyGroups)
    end -= count;
}

void commitGroup(Thread& t, const Inst&) {
  t.copyGroups.push_back(t.copies.size());
}
/// imm: how many groups may remain in flight.
void waitGroup(Thread& t, const Inst& i) {
  const auto left = static_cast<std::size_t>(i.imm);
  if (t.copyGroups.size() > left) complete(t, t.copyGroups[t.copyGroups.size() - 1 - left]);
}
void waitAll(Thread& t, const Inst&) {
  complete(t, t.copies.size());
  t.copyGroups.clear();
}

bool translateCopy(FunctionTranslator& t) {
  const Form& f = t.form();
  const auto width = static_cast<std::uint8_t>(t.operand(2).bits());
  const Address to = t.address(0, StateSpace::Shared), from = t.address(1, StateSpace::Global);
  std::uint32_t bytes = t.constant(width);
  const unsigned count = t.operandCount() - (f.has(Mod::L2CacheHint) ? 1 : 0);
  if (count > 3) {
    const ptx::Operand& last = t.operand(3);
    const bool isPredicate = last.is(ptx::OperandKind::Register) && t.registerType(last.registerId()) == Type::Pred;
    if (isPredicate) {
      // True: the source is not read.
      const std::uint32_t ignores = t.use(3, Type::Pred), none = t.constant(0), all = bytes;
      bytes = t.temporary();
      Inst& select = t.emit([](Thread& thread, const Inst& i) {
        ++thread.uncounted;
        thread.r[i.d] = get<bool>(thread, i.a) ? thread.r[i.b] : thread.r[i.c];
      });
      select.d = bytes;
      select.a = ignores;
      select.b = none;
      select.c = all;
    } else {
      bytes = t.use(3, Type::U32);
    }
  }
  const std::uint32_t source = sumOf(t, from);
  Inst& inst = t.emit(&copy);
  inst.a = to.slot;
  inst.imm = to.offset;
  inst.option = static_cast<std::uint16_t>(to.space);
  inst.b = source;
  inst.c = bytes;
  inst.width = width;
  return true;
}

// ---- mbarrier: 64 bits in shared memory, opaque to programs. Our format: pending arrivals of this phase (20 bits),
// arrivals of each phase (20), the phase (1), expected bytes of copies that have not arrived (23, signed).

struct Mbarrier {
  std::int64_t pending = 0, expected = 0, bytes = 0;
  bool phase = false;

  static Mbarrier decode(std::uint64_t bits) {
    constexpr std::uint64_t kCount = (1u << 20) - 1;
    return {static_cast<std::int64_t>(bits & kCount), static_cast<std::int64_t>(bits >> 20 & kCount),
            static_cast<std::int64_t>(bits) >> 41, (bits >> 40 & 1) != 0};
  }
  std::uint64_t encode() const {
    return static_cast<std::uint64_t>(pending) | static_cast<std::uint64_t>(expected) << 20 |
           std::uint64_t{phase} << 40 | static_cast<std::uint64_t>(bytes) << 41;
  }
  void endPhaseIfDone() {
    if (pending != 0 || bytes != 0) return;
    phase = !phase;
    pending = expected;
  }
};

/// a, imm, option: the barrier's address; b: a count or a number of bytes.
Mbarrier readBarrier(Thread& t, const Inst& i) {
  return Mbarrier::decode(loadAs<std::uint64_t>(t, static_cast<Space>(i.option), addressIn(t, i)));
}
void writeBarrier(Thread& t, const Inst& i, const Mbarrier& barrier) {
  storeAs(t, static_cast<Space>(i.option), addressIn(t, i), barrier.encode());
}

void arriveAt(Mbarrier& barrier, std::int64_t count) {
  if (count < 1 || count > barrier.pending)
    throw Stop{"mbarrier", fmt::format("{} arrivals at a barrier that waits for {}", count, barrier.pending)};
  barrier.pending -= count;
  barrier.endPhaseIfDone();
}

void initBarrier(Thread& t, const Inst& i) {
  const auto count = get<std::uint32_t>(t, i.b);
  if (count < 1 || count >= 1u << 20) throw Stop{"mbarrier", fmt::format("a barrier of {} arrivals", count)};
  writeBarrier(t, i, {count, count, 0, false});
}
void invalidateBarrier(Thread& t, const Inst& i) {
  readBarrier(t, i);
}

/// d: the previous state; width: kDrops, kExpectsBytes, kCannotComplete.
enum ArriveFlag : std::uint8_t { kDrops = 1, kExpectsBytes = 2, kCannotComplete = 4 };
void arrive(Thread& t, const Inst& i) {
  Mbarrier barrier = readBarrier(t, i);
  t.r[i.d] = barrier.encode();
  const std::int64_t operand = get<std::uint32_t>(t, i.b);
  const std::int64_t count = (i.width & kExpectsBytes) ? 1 : operand;
  if (i.width & kExpectsBytes) barrier.bytes += operand;
  if (i.width & kDrops) barrier.expected -= count;
  if ((i.width & kCannotComplete) && count >= barrier.pending)
    throw Stop{"mbarrier", "arrive.noComplete would end the phase"};
  arriveAt(barrier, count);
  writeBarrier(t, i, barrier);
}

template <int Sign> void countBytes(Thread& t, const Inst& i) {
  Mbarrier barrier = readBarrier(t, i);
  barrier.bytes += Sign * std::int64_t{get<std::uint32_t>(t, i.b)};
  if (Sign < 0) barrier.endPhaseIfDone();
  writeBarrier(t, i, barrier);
}

/// b: the state or (width) the parity of the tested phase.
constexpr std::uint8_t kParity = 1;
void testWait(Thread& t, const Inst& i) {
  const bool asked = i.width == kParity ? (t.r[i.b] & 1) != 0 : Mbarrier::decode(t.r[i.b]).phase;
  const bool isOver = readBarrier(t, i).phase != asked;
  put(t, i.d, isOver);
  if (!isOver) t.yield();
}

void pendingCount(Thread& t, const Inst& i) {
  put(t, i.d, static_cast<std::uint32_t>(Mbarrier::decode(t.r[i.a]).pending));
}

/// Arrives when the thread's copies are done; here they complete immediately. width: without .noinc the phase expects
/// one more arrival, so the counts cancel.
constexpr std::uint8_t kCountsItself = 1;
void arriveAfterCopies(Thread& t, const Inst& i) {
  waitAll(t, i);
  if (i.width == kCountsItself) return;
  Mbarrier barrier = readBarrier(t, i);
  arriveAt(barrier, 1);
  writeBarrier(t, i, barrier);
}

// ---- Choice

/// An instruction on the barrier that operand `i` addresses.
Inst& emitOnBarrier(FunctionTranslator& t, Handler handler, unsigned i, std::uint32_t b = kSink) {
  const Address at = t.address(i, t.form().space());
  Inst& inst = t.emit(handler);
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.option = static_cast<std::uint16_t>(at.space);
  inst.b = b;
  return inst;
}

bool translateArrive(FunctionTranslator& t, std::uint8_t flags) {
  const Form& f = t.form();
  if (f.has(Mod::ExpectTx)) flags |= kExpectsBytes;
  if (f.has(Mod::NoComplete)) flags |= kCannotComplete;
  const std::uint32_t count = t.operandCount() > 2 ? t.use(2, Type::U32) : t.constant(1);
  const std::uint32_t state = t.def(0);
  Inst& inst = emitOnBarrier(t, &arrive, 1, count);
  inst.d = state;
  inst.width = flags;
  return true;
}

bool translateWait(FunctionTranslator& t) {
  const bool isParity = t.form().has(Mod::Parity);
  const std::uint32_t asked = t.use(2, isParity ? Type::U32 : Type::B64);
  const std::uint32_t result = t.def(0);
  Inst& inst = emitOnBarrier(t, &testWait, 1, asked);
  inst.d = result;
  inst.width = isParity ? kParity : 0;
  return true;
}

} // namespace

void arriveOnce(Thread& t, Space space, std::uint64_t address) {
  Mbarrier barrier = Mbarrier::decode(loadAs<std::uint64_t>(t, space, address));
  arriveAt(barrier, 1);
  storeAs(t, space, address, barrier.encode());
}

void bytesCame(Thread& t, Space space, std::uint64_t address, std::uint64_t bytes) {
  Mbarrier barrier = Mbarrier::decode(loadAs<std::uint64_t>(t, space, address));
  barrier.bytes -= static_cast<std::int64_t>(bytes);
  barrier.endPhaseIfDone();
  storeAs(t, space, address, barrier.encode());
}

std::uint32_t sumOf(FunctionTranslator& t, const Address& at) {
  const std::uint32_t slot = t.temporary();
  Inst& add = t.emit([](Thread& thread, const Inst& i) {
    ++thread.uncounted;
    thread.r[i.d] = addressIn(thread, i);
  });
  add.d = slot;
  add.a = at.slot;
  add.imm = at.offset;
  return slot;
}

bool translateAsync(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::CpAsync: return translateCopy(t);
  case Op::CpAsyncCommitGroup: t.emit(&commitGroup); return true;
  case Op::CpAsyncWaitGroup: {
    const auto left = static_cast<std::int64_t>(t.operand(0).bits());
    t.emit(&waitGroup).imm = left;
    return true;
  }
  case Op::CpAsyncWaitAll: t.emit(&waitAll); return true;
  case Op::CpAsyncMbarrierArrive: {
    emitOnBarrier(t, &arriveAfterCopies, 0).width = t.form().has(Mod::Noinc) ? 0 : kCountsItself;
    return true;
  }
  case Op::MbarrierInit: emitOnBarrier(t, &initBarrier, 0, t.use(1, Type::U32)); return true;
  case Op::MbarrierInval: emitOnBarrier(t, &invalidateBarrier, 0); return true;
  case Op::MbarrierArrive: return translateArrive(t, 0);
  case Op::MbarrierArriveDrop: return translateArrive(t, kDrops);
  case Op::MbarrierExpectTx: emitOnBarrier(t, &countBytes<1>, 0, t.use(1, Type::U32)); return true;
  case Op::MbarrierCompleteTx: emitOnBarrier(t, &countBytes<-1>, 0, t.use(1, Type::U32)); return true;
  case Op::MbarrierTestWait:
  case Op::MbarrierTryWait: return translateWait(t);
  case Op::MbarrierPendingCount: {
    const std::uint32_t state = t.use(1, Type::B64);
    Inst& inst = t.emit(&pendingCount);
    inst.d = t.def(0);
    inst.a = state;
    return true;
  }
  default: return translateBulk(t);
  }
}

} // namespace orias::interp
