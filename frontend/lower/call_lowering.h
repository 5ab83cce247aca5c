#pragma once

#include "frontend/lower/abi_call.h"
#include "frontend/lower/call_params.h"
#include "frontend/lower/recursive_calls.h"
#include "frontend/lower/shared_calls.h"

namespace orias::ptx {

/// The calls of a function: decides for each how it is lowered, and inlines.
class CallLowering {
 public:
  explicit CallLowering(FunctionLowering& f) : f_(f), abi_(f), shared_(f), recursive_(f) {}

  /// Lowers `call`: inlines the callee; for a pointer, all possible callees.
  void call(const Instruction& instruction);

  AbiCalls& abi() { return abi_; }
  SharedCalls& shared() { return shared_; }
  RecursiveCalls& recursive() { return recursive_; }

 private:
  void callOne(FunctionId callee, std::span<const Operand> args, std::span<const Operand> results);
  void inlineBody(const Function& callee, const CallValues& call);

  FunctionLowering& f_;
  AbiCalls abi_;
  SharedCalls shared_;
  RecursiveCalls recursive_;
};

/// After the call of a `.noreturn` function no code executes.
void endAfterCall(FunctionLowering& f, bool noreturn);

} // namespace orias::ptx
