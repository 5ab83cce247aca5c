// LDGSTS: copies from global to shared memory beside the warp. A copy is read when it is issued and written when the
// lane waits for its group, the latest moment that the machine may choose: a program that forgets to wait finds the old
// bytes.

#include "encoder/isa/desc.h"
#include "tools/emulator/machine.h"

#include <algorithm>
#include <bit>

namespace orias::emu {

/// Under a false predicate zeros are written. With ZFILL the source need not be aligned: as many bytes as it lies
/// behind an aligned address are zeros, at the end.
void Machine::copyToShared(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const int to = row.slotIndex("Rs"), toOffset = row.slotIndex("sharedOffset"), from = row.slotIndex("Ra");
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

/// LDGDEPBAR: what was issued since the last one is a group, which the scoreboard counts.
void Machine::endCopyGroup(const Operation& op, std::uint32_t lanes) {
  Warp& w = warp();
  w.copyScoreboard = op.inst.control.writeBarrier;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    ++w.copyGroups[static_cast<unsigned>(std::countr_zero(rest))];
}

/// DEPBAR.LE: all but the newest groups are there; DEPBAR: all are, if their scoreboard is listed. Other scoreboards
/// than that of the groups are Timing's affair. The next instruction does not wait for them if it issues too early.
void Machine::waitForCopies(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const auto immediate = [&](isa::SlotKey slot) {
    return static_cast<std::uint32_t>(op.inst.operands[static_cast<unsigned>(row.slotIndex(slot))].imm);
  };
  if (timing_ && timing_->isCutShort()) return;
  const Warp& w = warp();
  if (row.slotIndex("sb") < 0) {
    if (w.copyScoreboard != isa::Control::kNoBarrier && (immediate("others") >> w.copyScoreboard & 1) != 0)
      finishCopies(lanes, 0);
    return;
  }
  if (w.copyScoreboard != isa::Control::kNoBarrier && immediate("sb") != w.copyScoreboard) return;
  finishCopies(lanes, immediate("count"));
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

/// Copies that a lane leaves behind are done when it exits, so that they are looked at.
void Machine::abandonCopies(std::uint32_t lanes) {
  if (warp().copies.empty()) return;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    ++warp().copyGroups[static_cast<unsigned>(std::countr_zero(rest))];
  finishCopies(lanes, 0);
}

} // namespace orias::emu
