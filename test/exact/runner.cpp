#include "test/exact/runner.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "support/check.h"

namespace orias::exact {

using isa::Op;
using isa::Operand;

Runner::Slot Runner::slotOf(const Operand& operand) const {
  Slot slot;
  if (operand.isReg() && operand.isVirtual()) {
    slot.place = base_[operand.reg] + operand.sub;
    slot.words = operand.width ? operand.width : 1;
  }
  return slot;
}

Runner::Runner(const ori::Function& function, ori::VRegId a, ori::VRegId b, ori::VRegId result) {
  for (ori::VRegId id = 0; id < function.vregCount(); ++id) {
    base_.push_back(static_cast<std::uint32_t>(words_.size()));
    words_.resize(words_.size() + function.vreg(id).width);
  }
  const std::array<ori::VRegId, 3> ends{a, b, result};
  for (unsigned i = 0; i < 3; ++i)
    ends_[i] = {base_[ends[i]], function.vreg(ends[i]).width};
  std::vector<std::uint32_t> startOf(function.blockIdCount());
  for (const ori::Block* block : function.layout()) {
    startOf[block->id] = static_cast<std::uint32_t>(steps_.size());
    for (const ori::Instr& instr : *block) {
      Step step;
      const Operand guard = instr.guard().value();
      step.hasGuard = !guard.isZeroReg();
      step.guard = slotOf(guard);
      step.guardInverted = guard.inverted();
      if (instr.op == Op::BRA) {
        step.target = instr.op_(1).value().reg; // a block id until all blocks are placed
        steps_.push_back(step);
        continue;
      }
      step.inst.op = instr.op;
      step.inst.mods = instr.mods;
      step.count = static_cast<std::uint8_t>(instr.operandCount);
      for (unsigned i = 0; i < step.count; ++i) {
        const Operand o = instr.op_(i).value();
        step.inst.operands[i] = o;
        step.slots[i] = slotOf(o);
        if (instr.op_(i).isDef) step.defs |= static_cast<std::uint8_t>(1u << i);
        if (o.isImm()) step.slots[i].constant = isa::immediateValue(step.inst, i);
        if (o.isReg() && o.isZeroReg() && o.file == isa::File::P) step.slots[i].constant = isa::LaneValue::of(1);
      }
      if (instr.op == Op::MUFU) {
        const auto which = isa::modAs<isa::Mufu>(step.inst, isa::Mod::Func);
        const bool isWide = which == isa::Mufu::RCP64H || which == isa::Mufu::RSQ64H;
        ORIAS_CHECK(isWide || which == isa::Mufu::RCP || which == isa::Mufu::RSQ, "a function without a known error");
        step.leastSeed = isWide ? 0x00100000 : 0x00800000;
        step.firstInfinite = isWide ? 0x7ff00000 : 0x7f800000;
      }
      step.function = isa::laneFunction(instr.op);
      ORIAS_CHECK(step.function, std::string(isa::desc(instr.op).name));
      steps_.push_back(step);
    }
    const ori::Instr* last = block->last;
    if (last && ori::isTerminator(last->op) && !ori::isConditional(*last)) continue;
    Step onward;
    onward.target = block->fallthrough;
    steps_.push_back(onward);
  }
  for (Step& step : steps_)
    if (!step.function)
      step.target = step.target == ori::kNoId ? static_cast<std::uint32_t>(steps_.size()) : startOf[step.target];
}

void Runner::read(const Slot& slot, isa::LaneValue& value) const {
  if (slot.words == 0) {
    value = slot.constant;
    return;
  }
  value = {};
  for (unsigned w = 0; w < slot.words; ++w)
    value.w[w] = words_[slot.place + w];
}

bool Runner::holds(const Step& step) const {
  return !step.hasGuard || (step.guard.words ? words_[step.guard.place] != 0 : true) != step.guardInverted;
}

std::uint64_t Runner::run(std::uint64_t a, std::uint64_t b) {
  const auto put = [&](End end, std::uint64_t v) {
    words_[end.place] = static_cast<std::uint32_t>(v);
    if (end.words == 2) words_[end.place + 1] = static_cast<std::uint32_t>(v >> 32);
  };
  put(ends_[0], a);
  put(ends_[1], b);
  wentCold_ = false;
  isa::LaneValues values;
  for (std::size_t at = 0; at < steps_.size();) {
    const Step& step = steps_[at++];
    if (!holds(step)) continue;
    if (!step.function) {
      wentCold_ |= step.hasGuard;
      at = step.target;
      continue;
    }
    for (unsigned i = 0; i < step.count; ++i)
      if (!(step.defs >> i & 1)) read(step.slots[i], values[i]);
    step.function(step.inst, values);
    if (step.firstInfinite) {
      const std::uint32_t magnitude = values[0].w[0] & 0x7fffffff;
      if (magnitude >= step.leastSeed && magnitude < step.firstInfinite)
        values[0].w[0] += static_cast<std::uint32_t>(seedError);
    }
    for (unsigned i = 0; i < step.count; ++i)
      if (step.defs >> i & 1)
        for (unsigned w = 0; w < step.slots[i].words; ++w)
          words_[step.slots[i].place + w] = values[i].w[w];
  }
  const End end = ends_[2];
  return words_[end.place] | (end.words == 2 ? std::uint64_t{words_[end.place + 1]} << 32 : 0);
}

} // namespace orias::exact
