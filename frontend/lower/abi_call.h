#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/module.h"
#include "ori/function.h"

#include <cstdint>
#include <span>
#include <vector>

namespace orias::ptx {

class FunctionLowering;

/// Functions with an ABI of their own, in relocatable code: their calls, prologues and epilogues.
class AbiCalls {
 public:
  explicit AbiCalls(FunctionLowering& f) : f_(f) {}

  void call(FunctionId callee, std::span<const Operand> args, std::span<const Operand> results);
  void callThroughPointer(const CallParts& parts, std::span<const Operand> args, std::span<const Operand> results);
  /// Reads the parameters of the function being lowered from the locations of the ABI.
  void beginFunction();
  /// Returns its results.
  void endFunction();

 private:
  /// A callee, with its parameters and results.
  struct Callee {
    isa::Operand where; ///< a symbol, or a register that holds the address
    std::vector<VariableId> params, returns;
    bool noreturn = false;
  };
  Callee calleeOf(FunctionId id) const;
  void call(const Callee& callee, std::span<const Operand> args, std::span<const Operand> results);
  /// Whether the result does not fit in registers and is stored at an address from the caller.
  bool returnsInMemory() const;
  ori::Source sourceOfReturn() const;
  /// The frame area where callees store such results; shared by all calls.
  isa::Operand resultArea(const Variable& result);

  FunctionLowering& f_;
  isa::Operand resultAddress_;       // of returnsInMemory()
  std::uint32_t resultArea_ = kNoId; // a frame object
};

/// Whether a call in `body` may have stack arguments if it is by the ABI.
bool passesArgumentsOnStack(const Module& module, const Function& body, const Instruction& call);

} // namespace orias::ptx
