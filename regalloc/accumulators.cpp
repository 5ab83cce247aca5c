#include "regalloc/accumulators.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "ori/builder.h"
#include "regalloc/calls.h"
#include "support/check.h"

namespace orias::regalloc {

using isa::Operand;

bool hasAccumulators(const ori::Function& function) {
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      if (isa::latencyClassOf(instr.op, instr.mods) == isa::LatencyClass::Gmma) return true;
  return false;
}

std::optional<SumSlots> sumSlotsOf(const ori::Instr& instr) {
  const isa::LatencyClass latencyClass = isa::latencyClassOf(instr.op, instr.mods);
  if (latencyClass != isa::LatencyClass::Gmma && latencyClass != isa::LatencyClass::TensorLoad) return std::nullopt;
  const int sum = isa::desc(instr.op).slotIndex(isa::SlotId::Rd), old = isa::desc(instr.op).slotIndex(isa::SlotId::Rc);
  if (sum < 0 || old < 0 || static_cast<unsigned>(old) >= instr.operandCount) return std::nullopt;
  if (instr.op_(static_cast<unsigned>(old)).isNone()) return std::nullopt;
  return SumSlots{static_cast<unsigned>(sum), static_cast<unsigned>(old)};
}

void tieAccumulators(ori::Function& function) {
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](ori::Instr& instr) {
      const std::optional<SumSlots> slots = sumSlotsOf(instr);
      if (!slots) return;
      const Operand sum = instr.op_(slots->sum).value(), old = instr.op_(slots->old).value();
      // The result of this half of the load is unused, so the other half's values need not be kept.
      if (sum.isZeroReg() && isa::latencyClassOf(instr.op, instr.mods) == isa::LatencyClass::TensorLoad)
        return function.setOperand(&instr, slots->old, Operand());
      if (old.isZeroReg()) {
        // ptxas has no product that adds RZ.
        const int isAdded = isa::desc(instr.op).slotIndex(isa::SlotId::UPp);
        ORIAS_CHECK(isAdded >= 0);
        function.setOperand(&instr, static_cast<unsigned>(isAdded), Operand::zero(isa::File::UP).notted());
      }
      if (old.isZeroReg() || old.reg == sum.reg) return;
      ORIAS_CHECK(!instr.isGuarded() && !sum.isZeroReg());
      std::vector<Move> moves;
      for (unsigned w = 0; w < old.width; ++w)
        moves.push_back({sum.reg + w, ori::component(old, w)});
      ori::Builder b = ori::Builder::before(function, &instr);
      b.setSource(instr.source);
      // All registers move by the same distance, so no cycle needs a scratch register.
      emitMoves(b, std::move(moves), isa::kRZ);
      function.setOperand(&instr, slots->old, sum);
    });
}

} // namespace orias::regalloc
