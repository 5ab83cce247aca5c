#include "test/forms/protocols.h"
#include "test/forms/values.h"

// Barriers in shared memory. Each lane has its own barrier, so the counts may differ. The contents of a state depend on
// the implementation: the tests show its pending count, and whether its phase is complete.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;

namespace {

constexpr unsigned kBarrierBytes = 8, kDataBytes = 16;

/// The lane's barrier is at %w0.
class Barrier {
 public:
  explicit Barrier(KernelWriter& w) : w_(w) {
    w.shared("bar", w.block * kBarrierBytes, kBarrierBytes);
    w.put("  mov.b32 %w0, bar;\n  mad.lo.u32 %w0, %lane, {}, %w0;\n", kBarrierBytes);
  }
  void init(unsigned count) { w_.put("  mbarrier.init.shared.b64 [%w0], {};\n", count); }
  /// Arrives; the previous state is in %x1.
  void arrive() { w_.put("  mbarrier.arrive.shared.b64 %x1, [%w0];\n"); }
  void seePending(std::string_view state) {
    w_.put("  mbarrier.pending_count.b64 %w1, {};\n", state);
    w_.see("%w1");
  }
  void seeIsOver(std::string_view state) {
    w_.put("  mbarrier.test_wait.shared.b64 %ok0, [%w0], {};\n", state);
    w_.seePredicate("%ok0");
  }
  void seeParityIsOver(unsigned parity) {
    w_.put("  mbarrier.test_wait.parity.shared.b64 %ok0, [%w0], {};\n", parity);
    w_.seePredicate("%ok0");
  }
  /// Shows for each of `count` arrivals the pending count before it, and whether it completed the phase.
  void probe(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      arrive();
      seePending("%x1");
      seeIsOver("%x1");
    }
  }
  /// Sets the address register of the statement.
  void place() { w_.placeShared(0, "bar", kBarrierBytes); }

 private:
  KernelWriter& w_;
};

/// Continues arrivals through two more phases; the second shows the effect of arrive_drop.
void writeArrive(KernelWriter& w) {
  constexpr unsigned kArrivals = 7;
  Barrier bar(w);
  bar.init(kArrivals);
  bar.place();
  w.setSource("count", [](unsigned lane) { return 1 + lane % 3; });
  w.setSource("tx", [](unsigned lane) { return 16 * (1 + lane % 4); });
  w.sources();
  w.putStatement();
  if (w.uses(Role::Result) != 0) {
    bar.seePending(w.use(Role::Result, 0).name);
    bar.seeIsOver(w.use(Role::Result, 0).name);
  }
  if (w.form().has(Mod::ExpectTx)) {
    for (unsigned i = 1; i < kArrivals; ++i)
      bar.arrive();
    bar.seeParityIsOver(0);
    w.put("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%w0], {};\n", w.use(Role::Source, 0).name);
    bar.seeParityIsOver(0);
  }
  bar.probe(2 * kArrivals);
}

/// Bytes are expected before they are transferred.
void writeBytes(KernelWriter& w) {
  Barrier bar(w);
  bar.init(1);
  bar.place();
  w.setSource("tx", [](unsigned lane) { return 16 * (1 + lane % 4); });
  w.sources();
  const std::string_view bytes = w.use(Role::Source, 0).name;
  const bool isComplete = w.form().op == Op::MbarrierCompleteTx;
  if (isComplete)
    w.put("  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%w0], {};\n", bytes);
  else
    w.putStatement();
  w.put("  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%w0], 48;\n");
  bar.arrive();
  bar.seePending("%x1");
  bar.seeIsOver("%x1");
  if (isComplete)
    w.putStatement();
  else
    w.put("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%w0], {};\n", bytes);
  bar.seeIsOver("%x1");
  w.put("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%w0], 48;\n");
  bar.seeIsOver("%x1");
  bar.probe(2);
}

/// Tests before and after the end of a phase; with a parity also the phase before the first.
void writeWait(KernelWriter& w) {
  Barrier bar(w);
  bar.init(2);
  bar.place();
  w.setSource("state", 0);
  w.setSource("parity", 0);
  w.setSource("hint", 100);
  w.sources();
  const Use &result = w.use(Role::Result, 0), &asked = w.use(Role::Source, 0);
  const auto ask = [&] {
    w.putStatement();
    w.see(result);
  };
  bar.arrive();
  const bool isParity = w.form().has(Mod::Parity);
  if (!isParity) w.put("  mov.b64 {}, %x1;\n", asked.name);
  ask();
  bar.arrive();
  ask();
  if (!isParity) return;
  w.put("  mov.b32 {}, 1;\n", asked.name);
  ask();
  bar.probe(2);
  ask();
}

void writeInit(KernelWriter& w) {
  Barrier bar(w);
  bar.place();
  w.setSource("count", [](unsigned lane) { return 1 + lane % 5; });
  w.sources();
  if (w.form().op == Op::MbarrierInval) { // the memory can be reused
    bar.init(3);
    bar.arrive();
  }
  w.putStatement();
  if (w.form().op == Op::MbarrierInval) bar.init(2);
  bar.probe(8);
}

void writePendingCount(KernelWriter& w) {
  Barrier bar(w);
  bar.init(9);
  w.setSource("state", 0);
  w.sources();
  for (unsigned i = 0; i < 10; ++i) {
    bar.arrive();
    w.put("  mov.b64 {}, %x1;\n", w.use(Role::Source, 0).name);
    w.putStatement();
    w.see(w.use(Role::Result, 0));
  }
}

void writeInitFence(KernelWriter& w) {
  Barrier bar(w);
  bar.init(3);
  w.putStatement();
  bar.probe(4);
}

/// A copy notifies the barrier.
void writeArriveAfterCopies(KernelWriter& w) {
  Barrier bar(w);
  w.shared("data", w.block * kDataBytes);
  bar.init(1);
  bar.place();
  w.buffer("from", launch::ElementType::U32,
           memoryValues(w.statement(), std::size_t{kDataBytes} * w.lanes(), w.seed() + 2000), kDataBytes);
  w.put("  mov.b32 %w2, data;\n  mad.lo.u32 %w2, %lane, {0}, %w2;\n  cp.async.ca.shared.global [%w2], [%at], {0};\n",
        kDataBytes);
  w.putStatement();
  // Without .noinc the phase requires one more arrival.
  if (!w.form().has(Mod::Noinc)) bar.arrive();
  w.put("WAIT:\n  mbarrier.test_wait.parity.shared.b64 %ok0, [%w0], 0;\n  @!%ok0 bra WAIT;\n");
  w.seeShared("data", kDataBytes);
  bar.probe(2);
}

} // namespace

bool writeMbarrier(KernelWriter& w) {
  switch (w.form().op) {
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop: writeArrive(w); return true;
  case Op::MbarrierExpectTx:
  case Op::MbarrierCompleteTx: writeBytes(w); return true;
  case Op::MbarrierTestWait:
  case Op::MbarrierTryWait: writeWait(w); return true;
  case Op::MbarrierInit:
  case Op::MbarrierInval: writeInit(w); return true;
  case Op::MbarrierPendingCount: writePendingCount(w); return true;
  case Op::FenceMbarrierInit: writeInitFence(w); return true;
  case Op::CpAsyncMbarrierArrive: writeArriveAfterCopies(w); return true;
  default: return false;
  }
}

} // namespace orias::forms
