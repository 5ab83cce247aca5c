// LDGSTS: asynchronous copies from global to shared memory. A copy is read when it is issued and written when the lane
// waits for its group, the latest time that the hardware may choose. So a program without the wait reads the old bytes.

#include "encoder/isa/desc.h"
#include "tools/emulator/machine.h"

#include <algorithm>
#include <bit>

namespace orias::emu {

/// A false predicate writes zeros. With ZFILL the source need not be aligned: its offset from an aligned address is the
/// number of zeros at the end.
void Machine::copyToShared(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const int to = row.slotIndex(isa::SlotId::Rs), toOffset = row.slotIndex(isa::SlotId::sharedOffset),
            from = row.slotIndex(isa::SlotId::Ra);
  const std::uint32_t enabled = predicateMask(op, op.predicate);
  const bool fillsZero = isa::getMod(op.inst, isa::Mod::Sub2) != 0;
  Warp& w = warp();
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    PendingCopy copy;
    copy.target = word(op, to, 0, lane) + word(op, toOffset, 0, lane);
    copy.bytes = static_cast<std::uint8_t>(op.size);
    copy.lane = static_cast<std::uint8_t>(lane);
    copy.group = w.copyGroups[lane];
    if ((enabled >> lane & 1) != 0) {
      const std::uint64_t source = value64(op, from, lane) + static_cast<std::uint64_t>(std::int64_t{op.offset});
      const std::uint64_t missing = fillsZero ? source % op.size : 0;
      for (std::uint64_t k = 0; missing != 0 && k < op.size - missing; ++k)
        readMemory(Space::Global, source - missing + k, lane, {copy.data.data() + k, 1});
      if (missing == 0) readMemory(Space::Global, source, lane, {copy.data.data(), op.size});
    }
    if (!stopped_) w.copies.push_back(copy);
  }
}

/// LDGDEPBAR: the copies since the last one form a group, which the scoreboard counts.
void Machine::endCopyGroup(const Operation& op, std::uint32_t lanes) {
  Warp& w = warp();
  w.copyScoreboard = op.inst.control.writeBarrier;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    ++w.copyGroups[static_cast<unsigned>(std::countr_zero(rest))];
}

/// DEPBAR.LE: waits until at most the given number of groups is in flight. DEPBAR: waits for all groups if their
/// scoreboard is listed. Timing handles other scoreboards. The next instruction does not wait if it issues too early.
void Machine::waitForCopies(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const auto immediate = [&](isa::SlotId slot) {
    return static_cast<std::uint32_t>(op.inst.operands[row.slot(slot)].imm);
  };
  if (timing_ && timing_->isCutShort()) return;
  const Warp& w = warp();
  if (row.slotIndex(isa::SlotId::sb) < 0) {
    if (w.copyScoreboard != isa::Control::kNoBarrier && (immediate(isa::SlotId::others) >> w.copyScoreboard & 1) != 0)
      finishCopies(lanes, 0);
    return;
  }
  if (w.copyScoreboard != isa::Control::kNoBarrier && immediate(isa::SlotId::sb) != w.copyScoreboard) return;
  finishCopies(lanes, immediate(isa::SlotId::count));
}

void Machine::finishCopies(std::uint32_t lanes, std::uint32_t newestGroups) {
  Warp& w = warp();
  const auto isWaitedFor = [&](const PendingCopy& copy) {
    return (lanes >> copy.lane & 1) != 0 && copy.group + newestGroups < w.copyGroups[copy.lane];
  };
  for (const PendingCopy& copy : w.copies)
    if (isWaitedFor(copy) && !stopped_)
      writeMemory(Space::Shared, copy.target, copy.lane, {copy.data.data(), copy.bytes});
  std::erase_if(w.copies, isWaitedFor);
}

/// Copies that a lane has not waited for are completed when it exits, so that they are checked.
void Machine::abandonCopies(std::uint32_t lanes) {
  if (warp().copies.empty()) return;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    ++warp().copyGroups[static_cast<unsigned>(std::countr_zero(rest))];
  finishCopies(lanes, 0);
}

} // namespace orias::emu
