#include "regalloc/frame.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "ori/module.h"
#include "support/align.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace orias::regalloc {

using isa::File;
using IsaOperand = isa::Operand;

namespace {
constexpr std::uint32_t kStackGranule = 8;
} // namespace

std::uint32_t frameAlignment(const ori::Function& function) {
  std::uint32_t alignment = kStackGranule;
  for (const ori::FrameObject& object : function.frame)
    if (!object.isIncoming && !object.isOutgoing) alignment = std::max(alignment, object.align);
  return alignment;
}

namespace {

/// The alignment of the stack pointer when the function begins. A caller that puts an aligned parameter on the stack
/// ensures it (observed: ptxas' callers and callees).
std::uint32_t alignmentAtEntry(const ori::Function& function) {
  std::uint32_t alignment = kStackGranule;
  for (const ori::FrameObject& object : function.frame)
    if (object.isIncoming) alignment = std::max(alignment, object.align);
  return alignment;
}

} // namespace

bool alignsStack(const ori::Function& function) {
  return !function.isKernel() && frameAlignment(function) > alignmentAtEntry(function);
}

namespace {

/// Frame objects for which a place between others is searched; each costs a walk over the objects placed before.
constexpr std::size_t kMaxShared = 4096;

/// Gives each object the lowest offset where it overlaps no other object that is in use at the same time.
class FrameRoom {
 public:
  FrameRoom(ori::Function& function, std::span<const Range> lives, std::uint32_t start)
      : function_(function), lives_(lives), start_(start), end_(start) {}

  void place(std::uint32_t id) {
    ori::FrameObject& object = function_.frame[id];
    std::uint32_t at = end_;
    if (id < lives_.size() && placed_.size() < kMaxShared) {
      taken_.clear();
      for (const std::uint32_t other : placed_)
        if (other >= lives_.size() || lives_[other].overlaps(lives_[id]))
          taken_.emplace_back(static_cast<std::uint32_t>(function_.frame[other].offset),
                              function_.frame[other].offset + function_.frame[other].size);
      std::ranges::sort(taken_);
      at = start_;
      for (const auto& [first, last] : taken_) {
        if (alignUp(at, object.align) + object.size <= first) break;
        at = std::max<std::uint32_t>(at, static_cast<std::uint32_t>(last));
      }
    }
    at = alignUp(at, object.align);
    object.offset = static_cast<std::int32_t>(at);
    end_ = std::max(end_, at + object.size);
    placed_.push_back(id);
  }

  std::uint32_t end() const { return end_; }

 private:
  ori::Function& function_;
  const std::span<const Range> lives_;
  const std::uint32_t start_;
  std::uint32_t end_;
  std::vector<std::uint32_t> placed_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> taken_; // scratch
};

/// Categories 1, 2, 3, then the other objects of the program, then spill slots.
unsigned placeInLayout(const ori::FrameObject& object, ori::FrameCategory category) {
  if (object.isSpill) return 5;
  return category == ori::FrameCategory::Named ? 4 : static_cast<unsigned>(category);
}

} // namespace

unsigned layOutFrame(ori::Function& function, const FrameFacts& facts) {
  const auto isDead = [&](std::uint32_t id) { return id < facts.dead.size() && facts.dead[id]; };
  const auto placeOf = [&](std::uint32_t id) {
    return placeInLayout(function.frame[id],
                         id < facts.categories.size() ? facts.categories[id] : ori::FrameCategory::Named);
  };
  std::vector<std::uint32_t> order(function.frame.size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](std::uint32_t id) {
    return function.frame[id].isIncoming || function.frame[id].isOutgoing || isDead(id);
  });
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (placeOf(a) != placeOf(b)) return placeOf(a) < placeOf(b);
    return function.frame[a].align > function.frame[b].align;
  });
  std::uint32_t at = function.outgoingBytes;
  for (ori::FrameObject& object : function.frame)
    if (object.isOutgoing) object.offset = static_cast<std::int32_t>(at = alignUp(at, object.align));
  FrameRoom room(function, facts.lives, at);
  for (std::uint32_t id : order)
    room.place(id);
  const std::uint32_t bytes = alignUp(room.end(), std::max(frameAlignment(function), alignmentAtEntry(function)));
  for (ori::FrameObject& object : function.frame)
    if (object.isIncoming) object.offset += static_cast<std::int32_t>(bytes);
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const ori::Operand& o = instr.op_(i);
        if (o.kind != IsaOperand::Kind::Frame) continue;
        function.setOperand(&instr, i, IsaOperand::immediate(function.frame[o.reg].offset + o.imm));
      }
  return bytes;
}

namespace {

void addToStackPointer(ori::Builder& b, std::int32_t bytes) {
  const IsaOperand sp = IsaOperand::physical(File::R, ori::kStackPointer);
  b.emit(isa::Op::IADD3, {sp, IsaOperand::pt(), IsaOperand::pt(), sp, IsaOperand::immediate(bytes), IsaOperand::rz()});
}

} // namespace

void insertPrologue(ori::Function& function, unsigned frameBytes) {
  const IsaOperand sp = IsaOperand::physical(File::R, ori::kStackPointer);
  ori::Block* entry = function.entry();
  ori::Builder b = entry->first ? ori::Builder::before(function, entry->first) : ori::Builder(function, entry);
  b.setSource({});
  b.emit(isa::Op::LDC,
         {sp, IsaOperand::immediate(0), IsaOperand::rz(),
          IsaOperand::immediate(static_cast<std::int32_t>(function.module().target().stackPointerOffset()))},
         {{isa::Mod::Size, isa::MemSize::B32}});
  if (frameBytes != 0) addToStackPointer(b, -static_cast<std::int32_t>(frameBytes));
  if (function.hasFramePointer) b.emit(isa::Op::MOV, {IsaOperand::physical(File::R, ori::kFramePointer), sp});
}

void useFramePointer(ori::Function& function) {
  const IsaOperand sp = IsaOperand::physical(File::R, ori::kStackPointer);
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (unsigned i = 0; i < instr.operandCount; ++i)
        if (!instr.op_(i).isDef && instr.op_(i).value() == sp)
          function.setOperand(&instr, i, IsaOperand::physical(File::R, ori::kFramePointer));
}

void insertFrame(ori::Function& function, unsigned frameBytes) {
  if (frameBytes == 0) return;
  const IsaOperand sp = IsaOperand::physical(File::R, ori::kStackPointer);
  const IsaOperand caller = IsaOperand::physical(File::R, ori::kScratchAtEntry);
  const bool isAligned = alignsStack(function);
  ori::Builder b = ori::Builder::before(function, function.entry()->first);
  b.setSource({});
  if (isAligned) b.emit(isa::Op::MOV, {caller, sp});
  addToStackPointer(b, -static_cast<std::int32_t>(frameBytes));
  if (isAligned) {
    constexpr std::int32_t kAnd = 0xc0;
    b.emit(isa::Op::LOP3,
           {IsaOperand::pt(), sp, sp, IsaOperand::immediate(-static_cast<std::int32_t>(frameAlignment(function))),
            IsaOperand::rz(), IsaOperand::immediate(kAnd), IsaOperand::pt().notted()});
  }
  for (ori::Block* block : function.layout()) {
    if (!block->last || block->last->op != isa::Op::RET) continue;
    ori::Builder end = ori::Builder::before(function, block->last);
    end.setSource(block->last->source);
    if (isAligned)
      end.emit(isa::Op::MOV, {sp, caller});
    else
      addToStackPointer(end, static_cast<std::int32_t>(frameBytes));
  }
}

} // namespace orias::regalloc
