#include "test/forms/protocols.h"
#include "test/forms/values.h"

// Bulk copies and reductions, which notify a barrier or complete in groups, and stores and reductions of single values
// in the shared memory of the cluster. Each lane has its own barrier and its own bytes, so lanes may copy different
// numbers of bytes.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;

namespace {

constexpr unsigned kBarrierBytes = 8, kBytes = 64;

std::vector<std::byte> content(const KernelWriter& w, unsigned number) {
  return reducedValues(w.form().type(), std::size_t{kBytes} * w.lanes(), w.seed() + 2000 + number);
}

/// A barrier for each lane, at %w0, that expects `bytes`.
void putBarrier(KernelWriter& w, std::string_view bytes) {
  w.shared("bar", w.block * kBarrierBytes, kBarrierBytes);
  w.put("  mov.b32 %w0, bar;\n  mad.lo.u32 %w0, %lane, {}, %w0;\n  mbarrier.init.shared.b64 [%w0], 1;\n"
        "  fence.proxy.async;\n  mbarrier.arrive.expect_tx.shared.b64 %x1, [%w0], {};\n",
        kBarrierBytes, bytes);
}
/// Shows whether the phase is complete, before and after an arrival with the bytes that the statement does not copy.
void seeBarrier(KernelWriter& w) {
  w.put("  mbarrier.test_wait.shared.b64 %ok0, [%w0], %x1;\n");
  w.seePredicate("%ok0");
  w.put("  mbarrier.arrive.shared.b64 %x1, [%w0];\n  mbarrier.test_wait.shared.b64 %ok0, [%w0], %x1;\n");
  w.seePredicate("%ok0");
}

/// Writes bulk copies and reductions in all directions. The `k`-th address is in shared memory or in a buffer.
void writeBulk(KernelWriter& w) {
  const bool reduces = w.form().op == Op::CpReduceAsyncBulk;
  const auto place = [&](unsigned k, StateSpace space, std::string_view name, bool isOwn) {
    if (space == StateSpace::Shared) {
      w.shared(name, w.block * kBytes);
      w.fillShared(name, fmt::format("{}_before", name), content(w, k), kBytes);
      w.placeShared(k, name, kBytes, 0, isOwn);
    } else {
      // With floating-point types any NaN is accepted.
      w.buffer(fmt::format("{}_global", name), reduces ? elementOf(w.form().type()) : launch::ElementType::U32,
               content(w, k), kBytes);
      w.put("  mov.b64 {}, %at;\n", w.use(Role::Address, k).name);
    }
  };
  // Both blocks copy the same number of bytes, because each barrier is notified of the copies of the other block.
  w.setSource("size", [&](unsigned lane) { return 16 * (lane % w.block % 5); });
  w.setSource("mask", [&](unsigned lane) { return lane < w.block ? 2 : 1; });
  w.sources();
  const bool prefetches = w.form().op == Op::CpAsyncBulkPrefetch;
  place(0, w.form().space(), "first", false);
  if (!prefetches) place(1, w.form().space2(), "second", true);
  const bool hasBarrier = w.uses(Role::Address) == 3;
  if (hasBarrier) {
    putBarrier(w, w.use(Role::Source, 0).name);
    w.placeShared(2, "bar", kBarrierBytes);
  } else {
    w.put("  fence.proxy.async;\n");
  }
  w.putStatement();
  if (hasBarrier) {
    w.put("WAIT:\n  mbarrier.test_wait.parity.shared.b64 %ok0, [%w0], 0;\n  @!%ok0 bra WAIT;\n");
    seeBarrier(w);
  } else if (!prefetches) {
    w.put("  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n");
  }
  if (w.form().space() == StateSpace::Shared) w.seeShared("first", kBytes);
}

/// Writes a kernel whose statement ends a group or waits for one.
void writeGroup(KernelWriter& w) {
  const bool commits = w.form().op == Op::CpAsyncBulkCommitGroup;
  w.shared("from", w.block * kBytes);
  w.fillShared("from", "before", content(w, 0), kBytes);
  w.put("  fence.proxy.async;\n  mov.b32 %w0, from;\n  mad.lo.u32 %w0, %lane, {}, %w0;\n", kBytes);
  w.buffer("to", launch::ElementType::U32, content(w, 1), kBytes);
  w.put("  cp.async.bulk.global.shared::cta.bulk_group [%at], [%w0], {};\n{}", kBytes,
        commits ? "" : "  cp.async.bulk.commit_group;\n");
  w.putStatement();
  w.put("  cp.async.bulk.wait_group 0;\n  ld.global.u32 %w1, [%at+60];\n");
  w.see("%w1");
}

/// Writes stores and reductions to the lane's own address, with its own barrier.
void writeRemote(KernelWriter& w) {
  const unsigned bytes = ptx::bitWidth(w.form().type()) / 8 * w.form().vectorSize();
  w.shared("data", w.block * kBytes);
  w.fillShared("data", "before", content(w, 0), kBytes);
  w.sources();
  w.placeShared(0, "data", kBytes, 16);
  putBarrier(w, fmt::format("{}", bytes));
  w.placeShared(1, "bar", kBarrierBytes);
  w.putStatement();
  w.put("WAIT:\n  mbarrier.test_wait.parity.shared.b64 %ok0, [%w0], 0;\n  @!%ok0 bra WAIT;\n");
  seeBarrier(w);
  w.seeShared("data", kBytes);
}

/// st.bulk: each lane clears a different number of its bytes.
void writeClear(KernelWriter& w) {
  constexpr unsigned kUnit = 8;
  w.shared("data", w.block * kBytes);
  w.fillShared("data", "before", content(w, 0), kBytes);
  w.setSource("size", [](unsigned lane) { return kUnit * (lane % (kBytes / kUnit + 1)); });
  w.sources();
  w.placeShared(0, "data", kBytes);
  w.putStatement();
  w.seeShared("data", kBytes);
}

/// The response is that there is no other block.
void writeAsk(KernelWriter& w) {
  constexpr unsigned kAnswer = 16;
  w.shared("answer", w.block * kAnswer);
  w.fillShared("answer", "before", reducedValues(ptx::Type::U32, std::size_t{kAnswer} * w.lanes(), w.seed() + 2000),
               kAnswer);
  w.sources();
  w.placeShared(0, "answer", kAnswer);
  putBarrier(w, fmt::format("{}", kAnswer));
  w.placeShared(1, "bar", kBarrierBytes);
  w.putStatement();
  w.put("WAIT:\n  mbarrier.test_wait.parity.shared.b64 %ok0, [%w0], 0;\n  @!%ok0 bra WAIT;\n");
  seeBarrier(w);
  w.seeShared("answer", kAnswer);
}

} // namespace

bool writeBulkCopy(KernelWriter& w) {
  switch (w.form().op) {
  case Op::CpAsyncBulk:
  case Op::CpReduceAsyncBulk:
  case Op::CpAsyncBulkPrefetch: writeBulk(w); return true;
  case Op::CpAsyncBulkCommitGroup:
  case Op::CpAsyncBulkWaitGroup: writeGroup(w); return true;
  case Op::StBulk: writeClear(w); return true;
  case Op::ClusterlaunchcontrolTryCancel: writeAsk(w); return true;
  case Op::StAsync:
  case Op::RedAsync:
    // The others are plain stores to global memory.
    if (w.form().get(Slot::Completion) == Mod::None) return false;
    writeRemote(w);
    return true;
  default: return false;
  }
}

} // namespace orias::forms
