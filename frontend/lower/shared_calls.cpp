// A body that is too large for a copy at each call, but is still inlined: once per kernel. A call writes its number to
// a register and jumps; the end of the body compares that register. So arguments and results are ordinary registers, an
// argument that is the same at all calls is not passed, and no register is saved around a call.

#include "frontend/lower/shared_calls.h"

#include "frontend/lower/function_lowering.h"

#include <algorithm>

namespace orias::ptx {

bool actsAlone(const Form& form) {
  const auto isIn = [&](Op first, Op last) { return first <= form.op && form.op <= last; };
  switch (form.op) {
  case Op::Ld:
  case Op::St:
    return !form.has(Mod::Volatile) && !form.has(Mod::Relaxed) && !form.has(Mod::Acquire) && !form.has(Mod::Release) &&
           !form.has(Mod::Mmio);
  case Op::Ldu:
  case Op::Red:
  case Op::Prefetch:
  case Op::Prefetchu:
  case Op::Griddepcontrol:
  case Op::Bra:
  case Op::BrxIdx:
  case Op::Call:
  case Op::Exit:
  case Op::Pmevent:
  case Op::Ret:
  case Op::Trap: return true;
  default: return isIn(Op::Abs, Op::Prmt) || isIn(Op::Suld, Op::Vsub4); // arithmetic and moves; textures and video
  }
}

/// The instructions between a backward jump and its target. Each cycle of the control flow graph is covered by such
/// ranges.
std::vector<bool> instructionsInLoops(const Function& function, const FormTable& forms) {
  const std::size_t count = function.statements.size();
  std::size_t firstLabel = count;
  for (std::size_t s = count; s > 0; --s)
    if (function.statements[s - 1].kind == StatementKind::Label) firstLabel = s - 1;
  std::vector<int> begins(count + 1, 0); // number of ranges that begin here, minus those that end before the statement
  for (std::size_t s = 0; s < count; ++s) {
    if (function.statements[s].kind != StatementKind::Instruction) continue;
    const Instruction& i = function.instructions[function.statements[s].index];
    const Op op = forms.form(i).op;
    if (op != Op::Bra && op != Op::BrxIdx) continue;
    const Operand& to = function.operandsOf(i)[0];
    const std::size_t target = to.is(OperandKind::Label) ? function.labels[index(to.labelId())].statement : firstLabel;
    if (target > s) continue;
    ++begins[target];
    --begins[s + 1];
  }
  std::vector<bool> inLoop(function.instructions.size(), false);
  int open = 0;
  for (std::size_t s = 0; s < count; ++s) {
    open += begins[s];
    if (function.statements[s].kind == StatementKind::Instruction) inLoop[function.statements[s].index] = open > 0;
  }
  return inLoop;
}

SharedBody* SharedCalls::find(FunctionId callee) {
  const auto found = std::ranges::find(bodies_, callee, [](const auto& body) { return body->function; });
  return found == bodies_.end() ? nullptr : found->get();
}

void SharedCalls::call(FunctionId id, const CallValues& call) {
  const Function& callee = f_.module().function(id);
  SharedBody* body = find(id);
  const bool isFirst = body == nullptr;
  if (isFirst) {
    bodies_.push_back(std::make_unique<SharedBody>(
        SharedBody{id, f_.newBlock(), f_.newBlock(), f_.declareRegisters(callee), f_.newR()}));
    body = bodies_.back().get();
  }
  ori::Block* const resume = f_.newBlock();
  f_.copy(body->returnTo, Value::constant(body->returns.size(), 1));
  f_.params().pass(callee, body->vregOf, call.args);
  body->returns.push_back(resume);
  if (isFirst) {
    FunctionLowering::Activation caller = f_.enterBody(callee, body->exit, body->vregOf);
    f_.enter(body->entry);
    f_.lowerStatements();
    if (f_.blockIsOpen()) f_.branch(body->exit);
    f_.leaveBody(std::move(caller));
  } else {
    f_.branch(body->entry);
  }
  f_.startBlock(resume);
  f_.params().take(call, f_.params().results(callee, body->vregOf));
}

void SharedCalls::lowerReturns() {
  for (const auto& body : bodies_) {
    f_.b().setSource({f_.module().function(body->function).endLoc.line, 0});
    f_.startBlock(body->exit);
    for (std::size_t n = 0; n + 1 < body->returns.size(); ++n)
      f_.branchIf(f_.compared(body->returnTo, isa::ICmp::EQ, static_cast<std::int64_t>(n)), body->returns[n]);
    f_.branch(body->returns.back());
  }
}

} // namespace orias::ptx
