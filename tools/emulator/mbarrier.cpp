// Barriers in shared memory (SYNCS) and their signals. The hardware's format of a barrier word is only partly known;
// the rest is ours. The counts are complements, as in ptxas' code for pending_count and init, and the expected bytes
// are in the bits between.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

#include <bit>

namespace orias::emu {

using isa::Op;

namespace {

constexpr std::uint32_t kCounts = 1u << 20;
constexpr unsigned kBytesBits = 22;

/// pending: bits 43..62, expected: bits 1..20, both as 2^20 minus the count; bytes: bits 21..42, signed; phase: bit 63.
struct Word {
  std::int64_t pending = 0, expected = 0, bytes = 0;
  bool phase = false;

  static Word decode(std::uint64_t bits) {
    Word w;
    w.expected = kCounts - static_cast<std::int64_t>(bits >> 1 & (kCounts - 1));
    w.pending = kCounts - static_cast<std::int64_t>(bits >> 43 & (kCounts - 1));
    // A pending count of 0 is the complement's zero.
    if (w.pending == kCounts) w.pending = 0;
    if (w.expected == kCounts) w.expected = 0;
    w.bytes = static_cast<std::int64_t>(bits << (64 - 21 - kBytesBits)) >> (64 - kBytesBits);
    w.phase = bits >> 63 != 0;
    return w;
  }
  std::uint64_t encode() const {
    const auto complement = [](std::int64_t count) {
      return static_cast<std::uint64_t>(kCounts - count) & (kCounts - 1);
    };
    return complement(expected) << 1 | complement(pending) << 43 |
           (static_cast<std::uint64_t>(bytes) & ((1u << kBytesBits) - 1)) << 21 | std::uint64_t{phase} << 63;
  }
  void endPhaseIfDone() {
    if (pending != 0 || bytes != 0) return;
    phase = !phase;
    pending = expected;
  }
};

} // namespace

template <typename F> void Machine::changeBarrier(std::uint64_t address, unsigned lane, F change) {
  if (options_.racecheck) races_.synchronise(warp().number, address);
  std::uint64_t bits = 0;
  if (!readMemory(Space::Cluster, address, lane, std::as_writable_bytes(std::span(&bits, 1)), true)) return;
  Word w = Word::decode(bits);
  change(w, bits);
  bits = w.encode();
  writeMemory(Space::Cluster, address, lane, std::as_bytes(std::span(&bits, 1)), true);
}

void Machine::startPairBarrier(Cta& cta) {
  constexpr std::uint32_t kPlace = 8;
  Word w;
  w.pending = w.expected = 1;
  w.phase = cta.rank % 2 == 0;
  const std::uint64_t bits = w.encode();
  cta.records.write(cta.records.base() + kPlace, std::as_bytes(std::span(&bits, 1)));
}

/// SYNCS.EXCH: the same for all lanes.
void Machine::initBarrier(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const std::uint64_t address =
      word(op, row.slotIndex(isa::SlotId::URa), 0, lane) + static_cast<std::uint32_t>(op.offset);
  const std::uint64_t bits = value64(op, row.slotIndex(isa::SlotId::URb), lane);
  writeMemory(Space::Shared, address, lane, std::as_bytes(std::span(&bits, 1)), true);
}

void Machine::arriveAtBarrier(const Operation& op, std::uint32_t lanes) {
  enum { Expect, ArriveOne, ByteOne, ExpectOnly, Complete, ArriveMany };
  const unsigned kind = isa::getMod(op.inst, isa::Mod::Func);
  const bool drops = isa::getMod(op.inst, isa::Mod::Sub3) != 0;
  // The lanes of a warp that arrive at one barrier arrive together: all get the state before them (observed on an
  // H100). TMASK, where PTX promises that the phase does not end (.noComplete): the low word of the result is the mask
  // of those lanes, so that code can count those before its own.
  const bool endsNothing = isa::getMod(op.inst, isa::Mod::Sub) != 0;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_;) {
    const std::uint64_t address = addressOf(op, static_cast<unsigned>(std::countr_zero(rest)));
    std::uint32_t together = 0;
    for (std::uint32_t others = rest; others != 0; others &= others - 1)
      if (const auto lane = static_cast<unsigned>(std::countr_zero(others)); addressOf(op, lane) == address)
        together |= 1u << lane;
    rest &= ~together;
    std::uint64_t state = 0;
    bool isFirst = true;
    for (std::uint32_t left = together; left != 0 && !stopped_; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const std::int64_t operand = word(op, op.data, 0, lane);
      changeBarrier(address, lane, [&](Word& w, std::uint64_t before) {
        if (isFirst) state = before;
        const std::int64_t arrivals = kind == ArriveMany ? operand : kind == Expect || kind == ArriveOne ? 1 : 0;
        if (kind == Expect || kind == ExpectOnly) w.bytes += operand;
        if (kind == ByteOne) ++w.bytes;
        if (kind == Complete) w.bytes -= operand;
        if (arrivals > w.pending) return stop("mbarrier", "more arrivals than the phase expects");
        if (endsNothing && arrivals == w.pending) return stop("mbarrier", "an arrive.noComplete completes the phase");
        w.pending -= arrivals;
        if (drops) w.expected -= arrivals;
        const bool phase = w.phase;
        if (arrivals != 0 || kind == Complete) w.endPhaseIfDone();
        setWord(op, op.result, 0, lane, endsNothing ? together : static_cast<std::uint32_t>(state));
        setWord(op, op.result, 1, lane, static_cast<std::uint32_t>(state >> 32));
        isFirst = w.phase != phase; // lanes after these arrive in the next phase
      });
    }
  }
}

/// SYNCS.PHASECHK: tests whether the phase in the top bit has completed. Waiting lanes let other warps run.
void Machine::checkBarrier(const Operation& op, std::uint32_t lanes) {
  ++path().pc;
  bool waits = false;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const bool asked = word(op, op.data, 0, lane) >> 31 != 0;
    std::uint64_t bits = 0;
    if (!readMemory(Space::Shared, addressOf(op, lane), lane, std::as_writable_bytes(std::span(&bits, 1)), true))
      return;
    if (options_.racecheck) races_.synchronise(warp().number, addressOf(op, lane));
    const bool isOver = Word::decode(bits).phase != asked;
    waits |= !isOver;
    setWord(op, 0, 0, lane, isOver ? 1 : 0);
  }
  if (waits && !meetsAnywhere_) isSwitching_ = givesWay_ = keepsPath_ = true;
}

/// ARRIVES.LDGSTSBAR: the copies complete now, which is one of the times that the hardware may choose, so the arrival
/// or its byte is signaled immediately.
void Machine::arriveAfterCopies(const Operation& op, std::uint32_t lanes) {
  enum { None, Arrival, Transaction };
  abandonCopies(lanes);
  if (!program_.target->has(isa::Capability::AsyncBarriers)) return arriveAfterOlderCopies(op, lanes);
  const bool isArrival = isa::getMod(op.inst, isa::Mod::Sub) == Arrival;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    changeBarrier(addressOf(op, lane), lane, [&](Word& w, std::uint64_t) {
      (isArrival ? w.pending : w.bytes) -= 1;
      w.endPhaseIfDone();
    });
  }
}

void Machine::arriveOnce(std::uint64_t barrier, unsigned lane) {
  changeBarrier(barrier, lane, [&](Word& w, std::uint64_t) {
    if (w.pending == 0) return stop("mbarrier", "more arrivals than the phase expects");
    --w.pending;
    w.endPhaseIfDone();
  });
}

void Machine::bytesCame(std::uint64_t barrier, unsigned lane, std::uint32_t bytes) {
  changeBarrier(barrier, lane, [&](Word& w, std::uint64_t) {
    w.bytes -= std::int64_t{bytes};
    w.endPhaseIfDone();
  });
}

} // namespace orias::emu
