#include "ori/builder.h"

#include "encoder/isa/desc.h"
#include "support/check.h"

#include <algorithm>
#include <array>
#include <string>

namespace orias::ori {

Builder Builder::before(Function& function, Instr* where) {
  Builder builder(function, where->block);
  builder.before_ = where;
  builder.source_ = where->source;
  return builder;
}

Builder Builder::after(Function& function, Instr* where) {
  Builder builder(function, where->block);
  builder.before_ = where->next;
  builder.source_ = where->source;
  return builder;
}

Instr* Builder::emit(Op op, std::initializer_list<isa::Operand> operands, std::initializer_list<isa::ModValue> mods) {
  return emit(op, std::span<const isa::Operand>(operands.begin(), operands.size()),
              std::span<const isa::ModValue>(mods.begin(), mods.size()));
}

Instr* Builder::emit(Op op, std::span<const isa::Operand> operands, std::span<const isa::ModValue> mods) {
  ORIAS_CHECK(block_ != nullptr, "the builder has no insertion point");
  const isa::InstrDesc& desc = isa::desc(op);
  Instr* instr = nullptr;
  if (operands.size() >= desc.slotCount) {
    instr = function_->create(op, operands, source_);
  } else {
    std::array<isa::Operand, isa::kMaxOperands> all = desc.defaults;
    std::copy(operands.begin(), operands.end(), all.begin());
    instr = function_->create(op, std::span<const isa::Operand>(all.data(), desc.slotCount), source_);
  }
  for (const isa::ModValue& mod : mods)
    ORIAS_CHECK(isa::setMod(op, instr->mods, mod), std::string(desc.name) + " has no such modifier or value");
  if (before_)
    function_->insertBefore(before_, instr);
  else
    function_->append(block_, instr);
  if (!guard_.isZeroReg() || guard_.inverted()) function_->setGuard(instr, guard_);
  return instr;
}

Instr* Builder::copy(const isa::Operand& to, const isa::Operand& from) {
  return emit(Op::COPY, {to, from});
}

Instr* Builder::branch(const Block* target) {
  return emit(Op::BRA, {isa::Operand::pt(), isa::Operand::label(target->id)});
}

} // namespace orias::ori
