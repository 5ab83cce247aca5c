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

constexpr unsigned kClear = 1; ///< BMOV.32.CLEAR: empties the barrier that it reads

Operand barrier(unsigned number) {
  return Operand::physical(File::B, number);
}

/// sm_75: inserts BMOV.32.CLEAR RZ, B before each BSSY B.
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

/// sm_87: unless UR2 says that it has been done, all lanes pass all barriers in turn.
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

/// ULDC becomes LDCU, which has bank, register and offset as separate operands.
bool loadByLdcu(ori::Function& function) {
  bool changed = false;
  for (Block* block : function.layout())
    for (Instr& instr : *block) {
      if (instr.op != Op::ULDC && instr.op != Op::ULDC_INDEXED) continue;
      const auto size = isa::modAs<isa::MemSize>(instr, Mod::Size);
      const Operand to = instr.op_(0).value(), from = instr.op_(1).value();
      Operand place[] = {to, Operand::immediate(from.bank), Operand::zero(File::UR), Operand::immediate(from.imm)};
      if (instr.op == Op::ULDC_INDEXED) {
        place[1] = from;
        place[2] = instr.op_(2).value();
        place[3] = instr.op_(3).value();
      }
      function.rewrite(&instr, Op::LDCU, place);
      isa::setMod(Op::LDCU, instr.mods, {Mod::Size, size});
      changed = true;
    }
  return changed;
}

/// REDUX.MIN and REDUX.MAX become CREDUX.
bool reduceByCredux(ori::Function& function) {
  constexpr unsigned kMin = 4, kMax = 5, kCreduxMax = 0, kCreduxMin = 2;
  bool changed = false;
  for (Block* block : function.layout())
    for (Instr& instr : *block) {
      if (instr.op != Op::REDUX) continue;
      const unsigned kind = isa::getMod(instr.op, instr.mods, Mod::Func);
      if (kind != kMin && kind != kMax) continue;
      const unsigned type = isa::getMod(instr.op, instr.mods, Mod::Type);
      const Operand operands[] = {instr.op_(0).value(), instr.op_(1).value()};
      function.rewrite(&instr, Op::CREDUX, operands);
      isa::setMod(Op::CREDUX, instr.mods, {Mod::Func, kind == kMin ? kCreduxMin : kCreduxMax});
      isa::setMod(Op::CREDUX, instr.mods, {Mod::Type, type});
      changed = true;
    }
  return changed;
}

} // namespace

/// Phase 105. Chip-specific changes that ptxas makes (observed): on sm_75 barriers are emptied before they are set, and
/// on sm_87 kernels set up all of them once. From sm_100 on, constants are loaded to uniform registers by LDCU, which
/// all earlier phases call ULDC, and sm_100 and sm_103 have minimum and maximum over the lanes as CREDUX.
bool applyPostRegAllocWars(ori::Function& function, PhaseContext& context) {
  bool changed = context.target.has(isa::Capability::EmptyBarriers) && emptyBarriers(function);
  if (context.target.has(isa::Capability::BarrierSetup) && function.isKernel()) {
    setBarriersUp(function);
    changed = true;
  }
  if (context.target.has(isa::Capability::UniformLoadConstant)) changed |= loadByLdcu(function);
  if (context.target.has(isa::Capability::MinMaxReduction)) changed |= reduceByCredux(function);
  return changed;
}

} // namespace orias::phases
