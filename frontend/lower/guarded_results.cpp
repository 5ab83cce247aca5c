#include "frontend/lower/guarded_results.h"

namespace orias::ptx {

void GuardedResults::begin() {
  before_ = builder_.block()->last;
  isActive_ = true;
}

isa::Operand GuardedResults::of(isa::Operand destination) {
  if (!isActive_) return destination;
  for (const Staged& s : staged_)
    if (s.destination == destination) return s.result;
  ori::Function& function = builder_.function();
  const isa::Operand result = function.use(function.newVReg(destination.file, destination.width));
  staged_.push_back({result, destination});
  return result;
}

void GuardedResults::finish(isa::Operand guard) {
  isActive_ = false;
  ori::Instr* first = before_ ? before_->next : builder_.block()->first;
  if (first && first == builder_.block()->last) {
    for (unsigned i = 0; i < first->operandCount; ++i)
      for (const Staged& s : staged_)
        if (first->op_(i).isDef && first->op_(i).isReg(s.result.file) && first->op_(i).reg == s.result.reg)
          builder_.function().setOperand(first, i,
                                         ori::component(s.destination, first->op_(i).sub, first->op_(i).width));
    builder_.function().setGuard(first, guard);
  } else {
    builder_.setGuard(guard);
    for (const Staged& s : staged_)
      builder_.emit(isa::Op::COPY, {s.destination, s.result});
    builder_.setGuard(isa::Operand::pt());
  }
  staged_.clear();
}

} // namespace orias::ptx
