// Barriers in shared memory before sm_90. They are words that ordinary instructions initialize, read and change (STS,
// LDS, ATOMS), except for the arrival itself (ATOMS.ARRIVE, ATOM.ARRIVE, and ARRIVES for the copies of a thread).
// Observed in ptxas' code: the upper word starts at 2^31 minus the expected arrivals and counts up, so its top bit, the
// phase, flips at the last arrival. The lower word is 2^30 minus the expected arrivals of each phase; the next phase
// starts from it. The behavior of the hardware follows from that, and from how ptxas reads the words
// (mbarrier.pending_count).

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"

#include <bit>

namespace orias::emu {

namespace {

constexpr std::uint32_t kPhase = 1u << 31, kCountMask = kPhase - 1;
/// The count has 30 bits in the lower word, 31 in the upper one.
constexpr std::uint32_t kLowCountMask = (1u << 30) - 1, kHighOnly = 1u << 30;

std::uint64_t afterArrival(std::uint64_t word) {
  const auto low = static_cast<std::uint32_t>(word);
  std::uint32_t high = static_cast<std::uint32_t>(word >> 32) + 1;
  if ((high & kCountMask) == 0) high += (low & kLowCountMask) | kHighOnly;
  return low | std::uint64_t{high} << 32;
}

} // namespace

/// ATOMS.ARRIVE, ATOM.ARRIVE: one arrival of each lane; the result is the previous word.
void Machine::atomicArrive(const Operation& op, std::uint32_t lanes) {
  const Space space = spaceOf(op.inst.op);
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t address = addressOf(op, lane);
    if (options_.racecheck && space == Space::Shared) races_.synchronise(warp().number, address);
    std::uint64_t word = 0;
    if (!readMemory(space, address, lane, std::as_writable_bytes(std::span(&word, 1)), true)) continue;
    const std::uint64_t fresh = afterArrival(word);
    writeMemory(space, address, lane, std::as_bytes(std::span(&fresh, 1)), true);
    const std::uint32_t before[] = {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
    setAtomicResult(op, lane, true, before);
  }
}

/// ARRIVES.LDGSTSBAR: the copies of the lanes complete now, so the lanes arrive immediately.
void Machine::arriveAfterOlderCopies(const Operation& op, std::uint32_t lanes) {
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t address = addressOf(op, lane);
    if (options_.racecheck) races_.synchronise(warp().number, address);
    std::uint64_t word = 0;
    if (!readMemory(Space::Shared, address, lane, std::as_writable_bytes(std::span(&word, 1)), true)) continue;
    word = afterArrival(word);
    writeMemory(Space::Shared, address, lane, std::as_bytes(std::span(&word, 1)), true);
  }
}

} // namespace orias::emu
