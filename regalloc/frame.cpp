#include "regalloc/frame.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"

#include <algorithm>
#include <numeric>

namespace orias::regalloc {

using isa::File;
using IsaOperand = isa::Operand;

namespace {
constexpr std::uint32_t kStackGranule = 8;
constexpr std::uint32_t kStackPointer = 1;

std::uint32_t alignUp(std::uint32_t value, std::uint32_t align) {
  return (value + align - 1) / align * align;
}
} // namespace

unsigned layOutFrame(ori::Function& function) {
  std::vector<std::uint32_t> order(function.frame.size());
  std::iota(order.begin(), order.end(), 0u);
  // The program's own objects first, spill slots behind them; each group from the largest alignment down.
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const ori::FrameObject &x = function.frame[a], &y = function.frame[b];
    if (x.isSpill != y.isSpill) return !x.isSpill;
    return x.align > y.align;
  });
  std::uint32_t at = 0, granule = kStackGranule;
  for (std::uint32_t id : order) {
    ori::FrameObject& object = function.frame[id];
    at = alignUp(at, object.align);
    object.offset = static_cast<std::int32_t>(at);
    at += object.size;
    granule = std::max(granule, object.align);
  }
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const ori::Operand& o = instr.op_(i);
        if (o.kind != IsaOperand::Kind::Frame) continue;
        function.setOperand(&instr, i, IsaOperand::immediate(function.frame[o.reg].offset + o.imm));
      }
  return alignUp(at, granule);
}

void insertPrologue(ori::Function& function, unsigned frameBytes) {
  const IsaOperand sp = IsaOperand::physical(File::R, kStackPointer);
  ori::Block* entry = function.entry();
  ori::Builder b = entry->first ? ori::Builder::before(function, entry->first) : ori::Builder(function, entry);
  b.setSource({});
  b.emit(isa::Op::LDC,
         {sp, IsaOperand::immediate(0), IsaOperand::rz(),
          IsaOperand::immediate(static_cast<std::int32_t>(function.module().target().stackPointerOffset()))},
         {{isa::Mod::Size, isa::MemSize::B32}});
  if (frameBytes == 0) return;
  b.emit(isa::Op::IADD3, {sp, IsaOperand::pt(), IsaOperand::pt(), sp,
                          IsaOperand::immediate(-static_cast<std::int32_t>(frameBytes)), IsaOperand::rz()});
}

} // namespace orias::regalloc
