// Calls. Functions with a body are inlined at their calls, except recursive ones (recursive_calls.cpp) and large ones
// (shared_calls.cpp). Arguments and results are kept in registers.

#include "frontend/lower/call_lowering.h"

#include "frontend/instr_form_table.h"
#include "frontend/lower/external_call.h"
#include "frontend/lower/families.h"
#include "frontend/lower/inline_plan.h"

#include <fmt/format.h>

namespace orias::ptx {

using IsaOperand = isa::Operand;

void CallLowering::inlineBody(const Function& callee, const CallValues& call) {
  ori::Block* after = f_.newBlock();
  const bool givesStackBack = takesStack(callee, *f_.layout().forms);
  const IsaOperand stack = givesStackBack ? f_.newR() : IsaOperand();
  if (givesStackBack) f_.copy(stack, Value::of(f_.stack().pointer()));
  FunctionLowering::Activation caller = f_.enterBody(callee, after, f_.declareRegisters(callee));
  f_.params().pass(callee, f_.vregs(), call.args);
  f_.lowerStatements();
  f_.enter(after);
  if (givesStackBack) f_.copy(f_.stack().pointer(), Value::of(stack));
  const auto returned = f_.params().results(callee, f_.vregs());
  f_.leaveBody(std::move(caller));
  f_.params().take(call, returned);
}

void endAfterCall(FunctionLowering& f, bool noreturn) {
  if (noreturn) f.endBlock(f.b().emit(IsaOp::EXIT, {}));
}

void CallLowering::callOne(FunctionId id, std::span<const Operand> args, std::span<const Operand> results) {
  const Function& callee = f_.module().function(id);
  if (args.size() != callee.params.size() || results.size() != callee.returns.size()) {
    f_.unsupported(fmt::format("this call of '{}'", f_.module().text(callee.name)));
    return;
  }
  if (!f_.layout().plan->isInlined(id) && !isDriverFunction(f_.module().text(callee.name))) {
    abi_.call(id, args, results);
    return;
  }
  if (!callee.hasBody) {
    callExternal(f_, id, args, results);
    return;
  }
  if (f_.isLinked() && f_.layout().calls->isRecursive(id)) {
    f_.unsupported(fmt::format(
        "recursion of '{}', which cannot be called by the ABI, with calls of functions that are not inlined",
        f_.module().text(callee.name)));
    return;
  }
  ori::Block* join = f_.beginUnguarded();
  CallValues call{{}, {}, results};
  // All arguments are read before any parameter is written.
  for (std::size_t n = 0; n < args.size(); ++n)
    call.args.push_back(f_.params().argument(args[n], callee.params[n].variable));
  // A result that is returned directly in a register of the caller.
  for (const Operand& result : results)
    call.direct.push_back(result.is(OperandKind::Variable) ? IsaOperand() : f_.dest(result));
  if (f_.layout().calls->isRecursive(id))
    recursive_.call(id, call);
  else if (f_.layout().plan->isShared(id))
    shared_.call(id, call);
  else
    inlineBody(callee, call);
  endAfterCall(f_, callee.noreturn);
  f_.endUnguarded(join);
}

void CallLowering::call(const Instruction& instruction) {
  const CallParts parts = callParts(f_.body(), instruction);
  const auto passed = [&](const Operand* list) { return list ? f_.body().parts(*list) : std::span<const Operand>(); };
  const auto args = passed(parts.args), results = passed(parts.returns);
  const std::vector<FunctionId> targets = f_.layout().calls->targets(f_.body(), instruction);
  if (parts.callee->is(OperandKind::Function)) {
    callOne(targets.front(), args, results);
    return;
  }
  if (f_.isRelocatable()) {
    abi_.callThroughPointer(parts, args, results);
    return;
  }
  // Through a pointer: a comparison for each possible callee. Any other value is not a function, and traps.
  ori::Block* join = f_.beginUnguarded();
  ori::Block* after = f_.newBlock();
  const IsaOperand pointer = f_.sourceReg(*parts.callee, Type::U64);
  for (const FunctionId target : targets) {
    ori::Block* next = f_.newBlock();
    const auto address = static_cast<std::int64_t>(functionAddress(target));
    f_.branchIf(f_.compared(ori::component(pointer, 0), isa::ICmp::NE, address), next);
    callOne(target, args, results);
    f_.branch(after);
    f_.enter(next);
  }
  f_.emit(IsaOp::BPT, {f_.imm(1)});
  f_.enter(after);
  f_.endUnguarded(join);
}

void lowerCall(FunctionLowering& f, const Instruction& i, const Form&) {
  f.calls().call(i);
}

} // namespace orias::ptx
