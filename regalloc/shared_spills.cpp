#include "regalloc/shared_spills.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/calls.h"
#include "ori/module.h"
#include "regalloc/webs.h"
#include "support/align.h"
#include "support/check.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace orias::regalloc {

using isa::File;
using isa::Op;
using IsaOperand = isa::Operand;

namespace {

constexpr unsigned kWarpThreads = 32, kWordBytes = 4, kRowBytes = kWarpThreads * kWordBytes;
/// The largest block, where the program names no size.
constexpr unsigned kMaxThreads = 1024;
/// Numbers of special registers, as nvdisasm names them.
constexpr std::int32_t kTidX = 33, kTidY = 34, kTidZ = 35, kCgaCtaId = 136;

/// The threads of the largest block that the program allows.
unsigned maxThreads(const ori::LaunchBounds& bounds) {
  const unsigned threads = bounds.threads();
  return threads == 0 ? kMaxThreads : std::min(threads, kMaxThreads);
}

std::uint32_t slotsBegin(const ori::Function& function) {
  return alignUp(function.sharedBytes, kWordBytes);
}

/// A spill slot and the accesses to it.
struct Slot {
  std::uint32_t object = 0;
  bool isSpillOnly = true; ///< accessed by spill code only
  double weight = 0;
  std::vector<ori::Instr*> accesses = {};
  unsigned words = 0, word = 0;
};

bool isSpillAccess(const ori::Instr& instr) {
  return instr.op == Op::LDL || instr.op == Op::STL;
}

std::vector<Slot> findSlots(const ori::Function& function) {
  std::vector<Slot> slots;
  for (std::uint32_t id = 0; id < function.frame.size(); ++id)
    slots.push_back({id, function.frame[id].isSpill});
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (const ori::Operand& o : instr.ops()) {
        if (o.kind != IsaOperand::Kind::Frame) continue;
        Slot& slot = slots[o.reg];
        slot.isSpillOnly = slot.isSpillOnly && isSpillAccess(instr);
        slot.weight += weightOf(instr);
        slot.accesses.push_back(&instr);
      }
  std::erase_if(slots, [](const Slot& slot) { return !slot.isSpillOnly || slot.accesses.empty(); });
  for (Slot& slot : slots)
    slot.words = alignUp(function.frame[slot.object].size, kWordBytes) / kWordBytes;
  std::ranges::stable_sort(slots, std::greater{}, [](const Slot& slot) { return slot.weight / slot.words; });
  return slots;
}

/// Gives slots the lowest words that no slot has which is in use at the same time, and drops slots that find none.
/// Returns how many words are used.
unsigned placeSlots(std::vector<Slot>& slots, unsigned words, std::span<const Range> lives) {
  std::vector<Slot> placed;
  std::vector<bool> isTaken;
  unsigned used = 0;
  for (Slot& slot : slots) {
    isTaken.assign(words, false);
    for (const Slot& other : placed)
      if (std::max(slot.object, other.object) >= lives.size() || lives[slot.object].overlaps(lives[other.object]))
        std::fill_n(isTaken.begin() + other.word, other.words, true);
    unsigned run = 0, end = 0;
    while (end < words && run < slot.words)
      run = isTaken[end++] ? 0 : run + 1;
    if (run < slot.words) continue;
    slot.word = end - slot.words;
    used = std::max(used, end);
    placed.push_back(std::move(slot));
  }
  slots = std::move(placed);
  return used;
}

/// Replaces an access to local memory by one to shared memory for each word.
void replaceAccess(ori::Function& function, ori::Instr* local, unsigned firstWord) {
  const bool isLoad = local->op == Op::LDL;
  const Op op = isLoad ? Op::LDS : Op::STS;
  const isa::InstrDesc &from = isa::desc(local->op), &row = isa::desc(op);
  const auto operandOf = [&](isa::SlotId name) { return local->op_(from.slot(name)).value(); };
  const IsaOperand data = operandOf(isLoad ? isa::SlotId::Rd : isa::SlotId::Rb), where = operandOf(isa::SlotId::offset);
  const unsigned width = std::max<unsigned>(data.width, 1);
  for (unsigned w = 0; w < width; ++w) {
    std::vector<IsaOperand> operands(row.defaults.begin(), row.defaults.begin() + row.slotCount);
    const auto set = [&](isa::SlotId name, const IsaOperand& o) { operands[row.slot(name)] = o; };
    const unsigned word = firstWord + static_cast<unsigned>(where.imm) / kWordBytes + w;
    set(isLoad ? isa::SlotId::Rd : isa::SlotId::Rb, ori::component(data, w));
    set(isa::SlotId::Ra, IsaOperand::physical(File::R, kSharedSpillBase));
    set(isa::SlotId::offset, IsaOperand::immediate(static_cast<std::int32_t>(word * kRowBytes)));
    ori::Instr* shared = function.create(op, operands);
    ORIAS_CHECK(isa::setMod(op, shared->mods, {isa::Mod::Size, isa::MemSize::B32}));
    shared->source = local->source;
    function.setGuard(shared, local->guard().value());
    function.insertBefore(local, shared);
  }
  function.erase(local);
}

/// R0 = the address of the first word of this thread.
void insertBase(ori::Function& function, unsigned words) {
  const isa::Target& target = function.module().target();
  const IsaOperand base = IsaOperand::physical(File::R, kSharedSpillBase), rz = IsaOperand::rz();
  const IsaOperand lane = IsaOperand::physical(File::R, kSharedSpillScratch - 1);
  const IsaOperand other = IsaOperand::physical(File::R, kSharedSpillScratch);
  const auto size = [&](unsigned axis) {
    return IsaOperand::constant(0, static_cast<std::int32_t>(target.ntidOffset(axis)));
  };
  ori::Block* entry = function.entry();
  ori::Builder b = entry->first ? ori::Builder::before(function, entry->first) : ori::Builder(function, entry);
  b.setSource({});
  b.emit(Op::S2R, {base, IsaOperand::immediate(kTidX)});
  const std::uint32_t* exact = function.bounds.reqntid;
  if (exact[0] == 0 || exact[1] > 1 || exact[2] > 1) {
    b.emit(Op::S2R, {lane, IsaOperand::immediate(kTidY)});
    b.emit(Op::S2R, {other, IsaOperand::immediate(kTidZ)});
    b.emit(Op::IMAD, {lane, other, size(1), lane}, {{isa::Mod::Type, isa::IntType::U32}});
    b.emit(Op::IMAD, {base, lane, size(0), base}, {{isa::Mod::Type, isa::IntType::U32}});
  }
  constexpr std::int32_t kAnd = 0xc0;
  b.emit(Op::LOP3, {IsaOperand::pt(), lane, base, IsaOperand::immediate(kWarpThreads - 1), rz,
                    IsaOperand::immediate(kAnd), IsaOperand::pt().notted()});
  b.emit(Op::SHF, {base, rz, IsaOperand::immediate(5), base},
         {{isa::Mod::ShiftDir, isa::ShiftDir::R}, {isa::Mod::ShiftType, isa::ShiftType::U32}, {isa::Mod::Hi, 1}});
  const auto start = static_cast<std::int32_t>(target.sharedBase() + slotsBegin(function));
  b.emit(Op::LEA, {lane, IsaOperand::pt(), lane, IsaOperand::immediate(start), IsaOperand::immediate(2)});
  b.emit(Op::IMAD, {base, base, IsaOperand::immediate(static_cast<std::int32_t>(words * kRowBytes)), lane},
         {{isa::Mod::Type, isa::IntType::U32}});
  if (target.sharedBase() == 0) return;
  // Each CTA of a cluster has its window of 16 MB.
  b.emit(Op::S2R, {other, IsaOperand::immediate(kCgaCtaId)});
  b.emit(Op::LEA, {base, IsaOperand::pt(), other, base, IsaOperand::immediate(24)});
}

} // namespace

bool maySpillToShared(const ori::Function& function) {
  return function.isKernel() && !ori::hasCalls(function) && !function.growsStack && !function.usesDynamicShared &&
         !function.module().relocatable;
}

std::uint32_t sharedSpillBytes(const ori::Function& function, unsigned words) {
  if (words == 0) return function.sharedBytes;
  const unsigned warps = (maxThreads(function.bounds) + kWarpThreads - 1) / kWarpThreads;
  return slotsBegin(function) + warps * words * kRowBytes;
}

unsigned moveSpillsToShared(ori::Function& function, unsigned words, std::span<const Range> lives) {
  if (words == 0) return 0;
  std::vector<Slot> slots = findSlots(function);
  const unsigned used = placeSlots(slots, words, lives);
  if (used == 0) return 0;
  for (const Slot& slot : slots)
    for (ori::Instr* access : slot.accesses)
      replaceAccess(function, access, slot.word);
  insertBase(function, used);
  function.sharedBytes = sharedSpillBytes(function, used);
  function.sharedAlign = std::max<std::uint32_t>(function.sharedAlign, kWordBytes);
  return used;
}

} // namespace orias::regalloc
