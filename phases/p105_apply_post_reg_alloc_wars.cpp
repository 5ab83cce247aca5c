#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/phases.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::Instr;

namespace {

constexpr unsigned kClear = 1; ///< BMOV.32.CLEAR: the barrier that is read is empty then

Operand barrier(unsigned number) {
  return Operand::physical(File::B, number);
}

/// sm_75: BMOV.32.CLEAR RZ, B in front of each BSSY B.
bool emptyBarriers(ori::Function& function) {
  bool changed = false;
  for (Block* block : function.layout())
    for (Instr& instr : *block) {
      if (instr.op != Op::BSSY) continue;
      const auto slots = instr.ops();
      const auto at = std::ranges::find_if(slots, [](const ori::Operand& o) { return o.isReg(File::B); });
      ori::Builder b = ori::Builder::before(function, &instr);
      b.setSource(instr.source);
      b.setGuard(instr.guard().value());
      b.emit(Op::BMOV_R, {Operand::rz(), at->value()}, {{Mod::Sub, kClear}});
      changed = true;
    }
  return changed;
}

/// sm_87: unless UR2 says that it has been done, all lanes go through all barriers in turn.
void setBarriersUp(ori::Function& function) {
  const unsigned count = function.module().target().registerCount(File::B);
  const Operand isDone = Operand::physical(File::P, 0), mark = Operand::physical(File::UR, isa::kSetupMark);
  Block* const entry = function.entry();
  std::vector<Block*> layout = function.layout();
  Block* const test = function.newBlock();
  Block* const setup = function.newBlock();
  layout.insert(layout.begin(), {test, setup});
  function.setLayout(std::move(layout));

  ori::Builder b(function, test);
  if (entry->first) b.setSource(entry->first->source);
  b.emit(Op::ISETP, {isDone, Operand::pt(), Operand::rz(), mark, Operand::pt()},
         {{Mod::Cmp, isa::ICmp::NE}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
  b.setGuard(isDone);
  b.branch(entry);
  test->fallthrough = setup->id;

  b = ori::Builder(function, setup);
  if (entry->first) b.setSource(entry->first->source);
  b.emit(Op::BMOV_I, {barrier(0), Operand::immediate(-1)});
  for (unsigned i = 1; i < count; ++i)
    b.emit(Op::BMOV_BB, {barrier(i), barrier(i - 1)}, {{Mod::Sub, kClear}});
  b.emit(Op::BMOV_I, {barrier(count - 1), Operand::immediate(0)});
  b.emit(Op::UMOV, {mark, Operand::immediate(1)});
  setup->fallthrough = entry->id;
}

} // namespace

/// Phase 105. What ptxas has its code do because of the chip (observed): on sm_75 barriers are emptied before they are
/// set, on sm_87 kernels set all of them up once.
bool applyPostRegAllocWars(ori::Function& function, PhaseContext& context) {
  bool changed = context.target.needsEmptyBarriers() && emptyBarriers(function);
  if (context.target.needsBarrierSetup() && function.isKernel()) {
    setBarriersUp(function);
    changed = true;
  }
  return changed;
}

} // namespace orias::phases
