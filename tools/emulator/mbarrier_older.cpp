// Barriers in shared memory before sm_90, which are words that ordinary instructions make, look at and change (STS,
// LDS, ATOMS), but for the arrival itself (ATOMS.ARRIVE, ATOM.ARRIVE, and ARRIVES for the copies of a thread). Observed
// in ptxas' code: the upper word counts up to 2^31 from that less what is awaited, so that its top bit, the phase,
// changes when the last one comes; the lower word is 2^30 less what each phase awaits. From there the next phase
// counts: what the machine does then follows from that, and from how ptxas reads the words (mbarrier.pending_count).

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"

#include <bit>

namespace orias::emu {

namespace {

constexpr std::uint32_t kPhase = 1u << 31, kCountMask = kPhase - 1;
/// In the lower word the count has 30 bits, in the upper one 31.
constexpr std::uint32_t kLowCountMask = (1u << 30) - 1, kHighOnly = 1u << 30;

std::uint64_t afterArrival(std::uint64_t word) {
  const auto low = static_cast<std::uint32_t>(word);
  std::uint32_t high = static_cast<std::uint32_t>(word >> 32) + 1;
  if ((high & kCountMask) == 0) high += (low & kLowCountMask) | kHighOnly;
  return low | std::uint64_t{high} << 32;
}

} // namespace

/// ATOMS.ARRIVE, ATOM.ARRIVE: one arrival of each lane; the result is the word before.
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

/// ARRIVES.LDGSTSBAR: the copies of the lanes are done now, so that they arrive at once.
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
