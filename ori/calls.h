#pragma once

#include "ori/call_abi.h"
#include "ori/function.h"
#include "ori/register_set.h"

#include <cstdint>
#include <optional>

namespace orias::ori {

/// Whether this is a pseudo instruction that calls another function.
inline bool isCall(const Instr& instr) {
  return instr.op == Op::CALL_EXTERN || instr.op == Op::CALL_FUNCTION;
}
/// CALL_FUNCTION has its results first, then its callee, then its arguments.
inline constexpr unsigned kResultTuples = 3;
/// Whether the callee's address is in a register.
inline bool isThroughPointer(const Instr& call) {
  return call.op == Op::CALL_FUNCTION && call.op_(kResultTuples).isReg();
}
/// The ABI between the caller and the callee of this call.
inline Convention conventionOf(const Instr& call) {
  if (call.op == Op::CALL_EXTERN) {
    constexpr unsigned kFirstTuple = 2;
    unsigned words = 0;
    for (unsigned i = kFirstTuple; i < call.operandCount; ++i)
      if (!call.op_(i).isZeroReg()) words += call.op_(i).width;
    return words > kArgumentsBelowCallee ? Convention::Pointer : Convention::System;
  }
  const bool hasRoom = call.operandCount - kResultTuples - 1 <= kArgumentsBelowCallee;
  return isThroughPointer(call) && !hasRoom ? Convention::Pointer : Convention::Function;
}
/// Whether the function has such pseudo instructions.
bool hasCalls(const Function& function);

/// The function of the module that a CALL_FUNCTION (or, after allocation, CALL_ABS) calls. None for calls through a
/// pointer and for functions defined elsewhere.
std::optional<std::uint32_t> calleeOf(const Instr& call);

/// The registers that may have another value after a call of an allocated function in its current form: those that it
/// writes and does not restore, and those of its callees.
RegisterSet changedByCalling(const Function& function);

/// What the callee changes (`Function::changedByCallee`); null where that is not known.
const RegisterSet* knownChanges(const Function& caller, const Instr& call);

/// The registers that may have another value after a call that is not expanded yet (regalloc/calls.h): of files R and P
/// those that its callee changes if that is known (`Function::changedByCallee`), or else all that the ABI does not
/// preserve; and those used to pass arguments.
RegisterSet changedAt(const Function& caller, const Instr& call);

} // namespace orias::ori
