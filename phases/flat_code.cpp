#include "phases/flat_code.h"

#include "ori/module.h"
#include "support/check.h"

#include <bitset>

namespace orias::phases {

namespace {

/// Whether this is mbarrier.init or mbarrier.inval.
bool writesBarrierWords(const ori::Instr& instr) {
  return instr.op == isa::Op::SYNCS_EXCH || instr.op == isa::Op::SYNCS_CCTL_IV;
}

} // namespace

FlatCode::FlatCode(const ori::Function& function) : target_(&function.module().target()) {
  // mbarrier words matter only in functions that write them.
  bool writesBarriers = false;
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      writesBarriers |= writesBarrierWords(instr);
  std::vector<std::uint32_t> indexOf(function.blockIdCount(), ori::kNoId);
  for (ori::Block* block : function.layout()) {
    indexOf[block->id] = static_cast<std::uint32_t>(blocks.size());
    FlatBlock flat;
    flat.block = block;
    flat.first = static_cast<std::uint32_t>(instrs.size());
    for (ori::Instr& instr : *block) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      ORIAS_CHECK(!row.isPseudo(), "control words are for real instructions only");
      FlatInstr f;
      f.instr = &instr;
      f.latencyClass = isa::latencyClassOf(instr.op, instr.mods);
      if (instr.isGuarded()) {
        f.guard = unitOf(instr.guard().file, instr.guard().reg);
        f.guardInverted = instr.guard().inverted();
      }
      // A branch to a register or a symbol, not to a block, leaves the function: a call or a return. EXIT does not.
      bool isToBlock = false, isElsewhere = false;
      for (const ori::Operand& operand : instr.ops()) {
        isToBlock |= operand.kind == isa::Operand::Kind::Label;
        isElsewhere |= operand.kind == isa::Operand::Kind::Symbol || operand.isReg(isa::File::R);
      }
      // Calls and returns of the function's subroutines count as well, so that no result stays in flight across one.
      const bool isOfSubroutine = instr.op == isa::Op::CALL_REL || instr.op == isa::Op::RET;
      f.leaves = isOfSubroutine || (f.latencyClass == isa::LatencyClass::Branch && isElsewhere && !isToBlock);
      f.awaitsAll = f.leaves || isa::desc(instr.op).has(isa::Flag::AwaitsAll);
      f.firstTouch = static_cast<std::uint32_t>(touches_.size());
      isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(),
                        std::span<const ori::Operand>(instr.ops()), *target_, [&](const isa::Touch& t) {
                          ORIAS_CHECK(!t.operand || !t.operand->isVirtual(), "control words come after allocation");
                          touches_.push_back({unitOf(t.file, t.reg), t.isDef, t.isLate, t.access});
                        });
      if (instr.op == isa::Op::WARPGROUP_ARRIVE) addArrivals(instr);
      if (instr.op == isa::Op::USETMAXREG_DEALLOC) addReleases(instr);
      if (writesBarriers) addBarrierWords(instr, f.latencyClass);
      f.endTouch = static_cast<std::uint32_t>(touches_.size());
      instrs.push_back(f);
    }
    flat.end = static_cast<std::uint32_t>(instrs.size());
    blocks.push_back(std::move(flat));
  }
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    for (ori::BlockId to : function.successors(*blocks[b].block)) {
      blocks[b].successors.push_back(indexOf[to]);
      blocks[indexOf[to]].predecessors.push_back(b);
    }
}

/// At WARPGROUP.ARRIVE the registers of the products that follow must be ready: their sources written, and their
/// results read by earlier instructions. ptxas waits before WARPGROUP.ARRIVE, never at the product; an H200 reported
/// products with a wait as illegal instructions.
void FlatCode::addArrivals(const ori::Instr& arrive) {
  std::bitset<kUnitCount> isThere, isAddendThere;
  for (const ori::Instr* next = arrive.next; next && next->op != isa::Op::WARPGROUP_ARRIVE; next = next->next)
    if (isa::latencyClassOf(next->op, next->mods) == isa::LatencyClass::Gmma)
      isa::forEachTouch(
          next->op, std::span<const std::uint8_t, isa::kMaxMods>(next->mods), next->guard(),
          std::span<const ori::Operand>(next->ops()), *target_, [&](const isa::Touch& t) {
            const Unit unit = unitOf(t.file, t.reg);
            auto& seen = t.access.port == isa::Access::Port::Addend ? isAddendThere : isThere;
            if (t.file != isa::File::R || seen.test(unit)) return;
            seen.set(unit);
            touches_.push_back({unit, false, false, {isa::LatencyClass::WarpGroup, t.access.port}, t.isDef});
          });
}

/// mbarrier.init and mbarrier.inval must be complete before the next barrier, or anything else visible to other threads
/// or units. ptxas waits for them before each barrier; on an H200 other warps saw barriers without their initial words.
void FlatCode::addBarrierWords(const ori::Instr& instr, isa::LatencyClass latencyClass) {
  using enum isa::LatencyClass;
  const isa::InstrDesc& row = isa::desc(instr.op);
  const isa::Access access{latencyClass, isa::Access::Port::Main};
  const bool isShared =
      latencyClass == SharedLoad || latencyClass == SharedStore || latencyClass == AsyncCopy || latencyClass == Tma;
  if (isShared || row.has(isa::Flag::Atomic) || row.has(isa::Flag::Fence) || row.has(isa::Flag::SideEffect))
    touches_.push_back({kBarrierWords, false, false, access});
  if (writesBarrierWords(instr)) touches_.push_back({kBarrierWords, true, true, access});
}

/// Registers that are given back belong to other warps from here on, which may write them at once: no late read or
/// write of this warp may be pending (ptxas waits for stores before USETMAXREG.DEALLOC). Modeled as a write of these
/// registers.
void FlatCode::addReleases(const ori::Instr& release) {
  const auto left = static_cast<std::uint32_t>(release.op_(release.operandCount - 1U).imm);
  for (std::uint32_t r = left; r < isa::kRZ; ++r)
    touches_.push_back({unitOf(isa::File::R, r), true, false, {isa::LatencyClass::SetMaxReg, isa::Access::Port::Main}});
}

} // namespace orias::phases
